package agent

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session/tool"
)

// TestServerTools follows the tools of a vendor over a pause: clients get the call and its result, the log has both, and the next calls
// return them as they came.
func TestServerTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := provider.State{Origin: provider.Origin{API: "messages", Vendor: "anthropic"}, Data: json.RawMessage(`{"encrypted":"x"}`)}
		call := provider.ServerTool{ID: "s1", Name: "web_search", Input: json.RawMessage(`{"query":"sky"}`), State: state}
		result := provider.ServerTool{ID: "s1", Name: "web_search", Done: true, Text: "1 page", Sources: []provider.Citation{{URL: "https://a.example"}}, State: state}
		whole := result
		whole.ID, whole.Input = "s2", call.Input
		b := newBench(t,
			events(concat(think("x"), []any{provider.Begin{Index: 1, Block: provider.ServerTool{}}, provider.End{Index: 1, Block: call}, provider.Stop{Reason: provider.StopPause}})...),
			events(concat([]any{provider.End{Index: 7, Block: result}, provider.Begin{Index: 8, Block: provider.ServerTool{ID: "s2", Name: "web_search"}},
				provider.End{Index: 8, Block: whole}}, say("Blue."), []any{provider.Stop{Reason: provider.StopEndTurn}})...))
		defer b.close()
		id := b.session("sim/claude", "")
		sub, err := b.agent(id).Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		check(t, "end", string(b.turn(id, "go").End.StopReason), "end_turn")
		var seen []string
		for {
			u, err := sub.TryNext()
			if u == nil || err != nil {
				break
			}
			if e, ok := u.Event.(feed.ServerTool); ok {
				seen = append(seen, e.CallID+" "+string(e.Status)+" "+string(e.Arguments)+" "+e.Text)
			}
		}
		check(t, "updates", seen, []string{`s1 running {"query":"sky"} `, `s1 done  1 page`, `s2 running  `, `s2 done {"query":"sky"} 1 page`})
		b.turn(id, "on")
		var back []provider.Block
		for _, m := range b.fake.requests[2].Messages {
			for _, block := range m.Blocks {
				if provider.KindOf(block) == provider.KindServerTool {
					back = append(back, block)
				}
			}
		}
		check(t, "goes back", back, []provider.Block{call, result, whole})
	})
}

// TestServerToolsInReadMode: in the tool mode read a call has no tools of the vendor's, and the decision says why. In other modes it has.
func TestServerToolsInReadMode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, events(concat(say("One."), []any{provider.Stop{Reason: provider.StopEndTurn}})...), events(concat(say("Two."), []any{provider.Stop{Reason: provider.StopEndTurn}})...))
		defer b.close()
		id := b.session("sim/claude", "")
		asked := provider.Options{ServerTools: []provider.ServerToolName{provider.WebSearch}}
		mode := tool.ModeRead
		if _, err := b.agent(id).Set(t.Context(), Change{Options: &asked, Mode: &mode}); err != nil {
			t.Fatal(err)
		}
		b.turn(id, "go")
		check(t, "in the mode read", len(b.fake.requests[0].Options.ServerTools), 0)
		mode = tool.ModeAsk
		if _, err := b.agent(id).Set(t.Context(), Change{Mode: &mode}); err != nil {
			t.Fatal(err)
		}
		b.turn(id, "on")
		check(t, "in the mode ask", b.fake.requests[1].Options.ServerTools, asked.ServerTools)
	})
}
