package wire

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/tool/approval"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// Where there is no room for all parts of a call, this client can only deny it.
func TestConfirmRoom(t *testing.T) {
	text := strings.Repeat("x", 1000)
	q := feed.Confirm{Arguments: json.RawMessage(`{"command":"` + text + `"}`), Parts: []approval.Part{{Kind: approval.CommandPart, Text: text}},
		Actions: []session.Action{session.AllowOnce, session.AllowSession, session.Deny}, Grants: []tool.Grant{{ID: approval.ToolGrant}}}
	for _, tt := range []struct {
		room                  int
		arguments, parts, cut bool
	}{{4000, true, true, false}, {1500, false, true, true}, {500, false, false, true}} {
		w := NewConfirm(q, tt.room)
		if got := len(w.Arguments) > len(`{}`); got != tt.arguments || (len(w.Parts) > 0) != tt.parts || w.Truncated != tt.cut {
			t.Errorf("in %d bytes: arguments %v, parts %v, truncated %v", tt.room, got, w.Parts != nil, w.Truncated)
		}
		if can := len(w.Actions) > 1; can != tt.parts || (len(w.Grants) > 0) != tt.parts || (w.Limit > 0) == tt.parts || w.Actions[len(w.Actions)-1] != session.Deny {
			t.Errorf("in %d bytes: actions %v, grants %v, limit %d", tt.room, w.Actions, w.Grants, w.Limit)
		}
	}
}
