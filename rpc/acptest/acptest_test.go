package acptest

import "testing"

// What is wrong is found.
func TestCheck(t *testing.T) {
	s, err := Open("../..")
	if Missing(err) {
		t.Skip("needs: the SDK of ACP, by `" + Install + "`")
	}
	if err != nil {
		t.Fatal(err)
	}
	const chunk = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"x","update":{"sessionUpdate":"agent_thought_chunk"`
	for message, good := range map[string]bool{
		`{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}`:                           true,
		`{"jsonrpc":"2.0","id":1,"result":{"stopReason":"bored"}}`:                              false,
		`{"jsonrpc":"2.0","id":1,"result":{}}`:                                                  true,
		`{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn","usage":{"totalTokens":1}}}`: false,
		`{"jsonrpc":"2.0","id":1,"result":{"title":null}}`:                                      false,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"bad"}}`:                      true,
		`{"jsonrpc":"2.0","id":1,"error":{"message":"bad"}}`:                                    false,
		`{"jsonrpc":"2.0","method":"session/attach","params":{}}`:                               false,
		chunk + `,"content":{"type":"text","text":"x"}}}}`:                                      true,
		chunk + `}}}`: false,
		`panic: x`:    false,
	} {
		if err := s.Check(message); (err == nil) != good {
			t.Errorf("%s: %v", message, err)
		}
	}
}
