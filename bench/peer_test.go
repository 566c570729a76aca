package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPeerProtocols reads what each peer sends in a turn of three deltas, shortened.
func TestPeerProtocols(t *testing.T) {
	const one, two = "thought 000000001", "thought 000000002thought 000000003"
	for _, test := range []struct {
		name     string
		protocol protocol
		answers  []string // before the turn
		turn     []string
		failed   string // instead of the last message
	}{
		{"codex", codexProtocol{},
			[]string{`{"id":1,"result":{"userAgent":"codex"}}`, `{"id":2,"result":{"thread":{"id":"the-session"}}}`},
			[]string{`{"id":3,"result":{"turn":{"id":"t"}}}`, `{"method":"turn/started","params":{}}`,
				`{"method":"item/reasoning/summaryTextDelta","params":{"threadId":"the-session","itemId":"i","delta":"` + one + `","summaryIndex":0}}`,
				`{"method":"item/reasoning/summaryTextDelta","params":{"threadId":"the-session","itemId":"i","delta":"` + two + `","summaryIndex":0}}`,
				`{"method":"item/agentMessage/delta","params":{"delta":"Done."}}`,
				`{"method":"turn/completed","params":{"turn":{"id":"t","status":"completed","error":null}}}`},
			`{"method":"turn/completed","params":{"turn":{"id":"t","status":"failed","error":{"message":"no"}}}}`},
		{"goose", &gooseProtocol{work: "/h", turns: make(map[int64]bool)},
			[]string{`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}`, `{"jsonrpc":"2.0","id":2,"result":{"sessionId":"the-session"}}`},
			[]string{
				`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"the-session","update":{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"` + one + `"}}}}`,
				`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"the-session","update":{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"` + two + `"}}}}`,
				`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"the-session","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Done."}}}}`,
				`{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}`},
			`{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"no"}}`},
		{"pi", &piProtocol{},
			[]string{`{"id":"1","type":"response","command":"get_state","success":true,"data":{}}`,
				`{"id":"2","type":"response","command":"get_state","success":true,"data":{"sessionId":"the-session"}}`},
			[]string{`{"id":"3","type":"response","command":"prompt","success":true}`, `{"type":"agent_start"}`,
				`{"type":"message_update","assistantMessageEvent":{"type":"thinking_delta","contentIndex":0,"delta":"` + one + `","partial":{}},"message":{}}`,
				`{"type":"message_update","assistantMessageEvent":{"type":"thinking_delta","contentIndex":0,"delta":"` + two + `","partial":{}},"message":{}}`,
				`{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":1,"delta":"Done.","partial":{}},"message":{}}`,
				`{"type":"agent_end","messages":[{"role":"user"},{"role":"assistant","stopReason":"stop"}]}`},
			`{"type":"agent_end","messages":[{"role":"user"},{"role":"assistant","stopReason":"error","errorMessage":"no"}]}`},
	} {
		for _, last := range []string{"", test.failed} {
			turn := append([]string(nil), test.turn...)
			if last != "" {
				turn[len(turn)-1] = last
			}
			if p, ok := test.protocol.(*piProtocol); ok {
				p.used = false
			}
			c := &client{protocol: test.protocol, out: func([]byte) error { return nil },
				in: newLines(strings.NewReader(strings.Join(append(append([]string(nil), test.answers...), turn...), "\n") + "\n"))}
			checkTurn(t, test.name, c, last != "")
		}
	}
}

// TestOpencodeProtocol does it over HTTP.
func TestOpencodeProtocol(t *testing.T) {
	for _, end := range []string{"session.idle", "session.error"} {
		prompted := make(chan struct{})
		event := func(w http.ResponseWriter, kind, properties string) {
			fmt.Fprintf(w, "data: {\"id\":\"e\",\"type\":%q,\"properties\":%s}\n\n", kind, properties)
			w.(http.Flusher).Flush()
		}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/event":
				event(w, "server.connected", "{}")
				<-prompted
				event(w, "message.part.updated", `{"sessionID":"the-session","part":{"id":"p1","type":"reasoning","text":""}}`)
				event(w, "message.part.delta", `{"sessionID":"the-session","messageID":"m","partID":"p1","field":"text","delta":"thought 000000001"}`)
				event(w, "message.part.delta", `{"sessionID":"the-session","messageID":"m","partID":"p1","field":"text","delta":"thought 000000002thought 000000003"}`)
				event(w, "message.part.updated", `{"sessionID":"the-session","part":{"id":"p2","type":"text","text":""}}`)
				event(w, "message.part.delta", `{"sessionID":"the-session","messageID":"m","partID":"p2","field":"text","delta":"Done."}`)
				event(w, end, `{"sessionID":"the-session"}`)
			case "/session":
				fmt.Fprint(w, `{"id":"the-session"}`)
			case "/session/the-session/prompt_async":
				close(prompted)
				w.WriteHeader(http.StatusNoContent)
			default:
				http.NotFound(w, r)
			}
		}))
		checkTurn(t, "opencode", &client{protocol: &opencodeProtocol{address: server.URL, thoughts: make(map[string]bool)}}, end == "session.error")
		server.Close()
	}
}

func checkTurn(t *testing.T, name string, c *client, fails bool) {
	t.Helper()
	if err := c.initialize(c); err != nil {
		t.Fatalf("%s: initialize: %v", name, err)
	}
	id, err := c.session(c, "")
	if err != nil || id != "the-session" {
		t.Fatalf("%s: the session is %q: %v", name, id, err)
	}
	if err := c.prompt(c, id, order{deltas: 3, thoughts: 1}); err != nil {
		t.Fatalf("%s: prompt: %v", name, err)
	}
	err = c.until(1)
	if c.deltas() != 3 {
		t.Errorf("%s: %d deltas, want 3", name, c.deltas())
	}
	if (err != nil) != fails {
		t.Errorf("%s: the turn ends with %v; it fails: %v", name, err, fails)
	}
}

// TestPeerFiles configures every peer and looks for stamps among its files.
func TestPeerFiles(t *testing.T) {
	home := t.TempDir()
	for _, s := range peers {
		env, err := s.peer.configure(home, "http://127.0.0.1:9")
		if err != nil {
			t.Fatal(err)
		}
		if len(env) == 0 || len(s.peer.command()) == 0 {
			t.Errorf("%s: the command is %v with the variables %v", s.name, s.peer.command(), env)
		}
	}
	began := time.Now()
	text := []byte("other text TOTALLYUNRELATEDZ")
	for n := range 3 {
		text = append(appendStamp(text, began.Add(time.Duration(n)*time.Second)), "and"...)
	}
	text = appendStamp(text, began.Add(2*time.Second)) // for the second time
	if err := os.WriteFile(filepath.Join(home, "log"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := storedStamps(home, began)
	if err != nil || got != 2 {
		t.Errorf("%d stamps after the first, want 2: %v", got, err)
	}
}

// TestAbsentPeers says for each peer why it is not measured.
func TestAbsentPeers(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	found, lines := findPeers(t.Context(), t.TempDir())
	if len(found) > 0 || len(lines) != len(peers) {
		t.Fatalf("%d peers in an empty PATH, and the lines %q", len(found), lines)
	}
	for _, line := range lines {
		if !strings.Contains(line, "not measured: ") {
			t.Errorf("a line without a reason: %s", line)
		}
	}
}
