package daemon

import "testing"

// TestHangUpInMidTurn leaves a daemon inside the process while it has much to say: that is no failure of the command.
func TestHangUpInMidTurn(t *testing.T) {
	t.Parallel()
	link := inProcess(t, nil) // hangs up at the end of the test
	s := newConversation(t, link, "sim/claude")
	s.call("session/prompt", map[string]any{"text": "Which date is later? [[sim: thinking=100000 pace=0]]"}, nil)
	for len(s.starts) == 0 {
		s.next()
	}
}
