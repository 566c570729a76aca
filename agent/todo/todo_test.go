package todo

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

func TestOf(t *testing.T) {
	const turn, reply = session.TurnID("T"), session.MessageID("R")
	v := session.NewView(session.Session{Tools: []tool.Tool{{Tool: provider.Tool{Name: tool.PlanTool}, Host: tool.Builtin}, {Tool: provider.Tool{Name: "run"}, Host: tool.Builtin}}})
	seq := uint64(0)
	apply := func(b session.Body) {
		t.Helper()
		seq++
		if err := v.Apply(session.Entry{Seq: seq, Turn: turn, Body: b}); err != nil {
			t.Fatal(err)
		}
	}
	calls := 0
	call := func(name, input string) {
		calls++
		apply(session.Sealed{Message: reply, Number: calls, Block: provider.ToolCall{ID: fmt.Sprint(calls), Name: name, Input: json.RawMessage(input)}})
	}
	plan := func(content string) string {
		return fmt.Sprintf(`{"items":[{"content":%q,"status":"pending"}]}`, content)
	}
	apply(session.Prompt{Message: "P"})
	apply(session.TurnStart{})
	call(tool.PlanTool, plan("first"))
	call(tool.PlanTool, plan("second"))
	call(tool.PlanTool, plan("failed"))
	call("run", plan("of another tool"))
	apply(session.MessageEnd{Message: reply, StopReason: session.StopToolUse})
	check := func(want string) {
		t.Helper()
		if got := fmt.Sprint(Of(v)); got != want {
			t.Errorf("plan %s, want %s", got, want)
		}
	}
	check("[]")
	end := func(number int, failed bool) {
		apply(session.ToolEnd{Message: "A", Number: number, Reply: reply, CallID: fmt.Sprint(number + 1), Failed: failed})
	}
	end(0, false)
	check("[{first pending medium}]")
	end(1, false)
	end(2, true)
	end(3, false)
	check("[{second pending medium}]")
	v.Session.Tools[0].Host = tool.Client // a client's tool of that name is its own business
	check("[]")
}
