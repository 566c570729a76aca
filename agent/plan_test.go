package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sim"
)

// plan is a life as data.
type plan struct {
	calls   []([]any)    // what the provider does, a list for each call, as events takes it
	seats   []placed     // the models of a life over the wire APIs; nil: lifeModels, of the fake
	answers []sim.Answer // and what they answer
	acts    []act
	wounds  map[int]wound
	lost    map[int]bool
}

type act struct {
	kind string
	n    int
	wait time.Duration // afterwards
}

func drawPlan(t *rapid.T) plan {
	p := plan{wounds: make(map[int]wound), lost: make(map[int]bool)}
	calls := rapid.IntRange(1, 12).Draw(t, "calls")
	for i := range calls {
		p.calls = append(p.calls, drawCall(t, i))
	}
	p.acts = drawActs(t, 1, 25, []string{"prompt", "prompt", "prompt", "prompt", "prompt with a level", "prompt or reject", "cancel", "cancel one", "cancel nothing",
		"set", "attach", "attach slow", "attach and detach", "read", "crash", "close", "resume", "idle", "compare", "wait", "history",
		"prompt once", "prompt again", "leave", "come back",
		"model", "prompt elsewhere", "compact", "compact", "compact", "stop compacting", "uncompact", "uncompact", "pin", "pin", "unpin", "fork before", "fork", "fork", "fork",
		"steer", "append", "run", "run", "run", "allow", "allow", "deny"}, []int{0, 0, 1, 20, 90, 1500, 70_000})
	for range rapid.IntRange(0, 3).Draw(t, "wounds") {
		p.wounds[rapid.IntRange(1, 60).Draw(t, "append")] = wound(rapid.IntRange(int(readOnly), int(killedWritten)).Draw(t, "wound"))
	}
	for range rapid.IntRange(0, 2).Draw(t, "lost") {
		p.lost[rapid.IntRange(1, 60).Draw(t, "checkpoint")] = true
	}
	return p
}

// drawReturns is a life of clients that go and come back while something is going on.
func drawReturns(t *rapid.T) plan {
	p := plan{wounds: make(map[int]wound), lost: make(map[int]bool)}
	for i := range 12 {
		var slow []any
		for _, e := range drawCall(t, i) {
			slow = append(slow, 7*time.Millisecond, e)
		}
		p.calls = append(p.calls, slow)
	}
	p.acts = append([]act{{kind: "attach"}, {kind: "attach slow"}}, drawActs(t, 10, 60, []string{"prompt once", "prompt once", "prompt again", "cancel",
		"attach", "attach slow", "read", "leave", "leave", "leave", "steer", "run", "run", "allow", "come back", "come back", "come back", "come back", "compare", "crash", "compact", "prompt elsewhere"},
		[]int{0, 1, 5, 10, 30})...)
	if rapid.IntRange(0, 3).Draw(t, "wounded") == 0 {
		p.wounds[rapid.IntRange(1, 60).Draw(t, "append")] = wound(rapid.IntRange(int(readOnly), int(killedWritten)).Draw(t, "wound"))
	}
	return p
}

// drawTools is a life of models that mostly call tools.
func drawTools(t *rapid.T) plan {
	p := plan{wounds: make(map[int]wound), lost: make(map[int]bool)}
	for i := range 14 {
		if rapid.IntRange(0, 5).Draw(t, "kind") == 0 {
			p.calls = append(p.calls, drawCall(t, i))
			continue
		}
		list := []any{3 * time.Millisecond, provider.Begin{Index: 0, Block: provider.Thinking{}}, provider.Delta{Index: 0, Text: "hm"},
			provider.End{Index: 0, Block: signed("hm")}}
		for n := range rapid.IntRange(1, 4).Draw(t, "calls") {
			call := drawTool(t, i, n)
			list = append(list, provider.End{Index: n + 1, Block: call}, 2*time.Millisecond)
		}
		p.calls = append(p.calls, append(list, provider.Stop{Reason: provider.StopToolUse, Usage: provider.Usage{Input: 10, Output: 5}}))
	}
	p.acts = append([]act{{kind: "prompt", wait: 20 * time.Millisecond}, {kind: "attach"}}, drawActs(t, 10, 35, []string{"prompt", "steer", "steer",
		"run", "run", "run", "run", "run", "run", "run", "run", "allow", "allow", "allow", "allow", "deny", "model", "compact", "fork", "attach", "leave", "come back", "compare",
		"cancel", "crash", "close", "idle"}, []int{5, 20, 20, 100, 2000, 70_000})...)
	if rapid.IntRange(0, 2).Draw(t, "wounded") == 0 {
		p.wounds[rapid.IntRange(1, 60).Draw(t, "append")] = wound(rapid.IntRange(int(readOnly), int(killedWritten)).Draw(t, "wound"))
	}
	return p
}

// drawTool is a call of a tool, now and then one that cannot be run.
func drawTool(t *rapid.T, call, n int) provider.ToolCall {
	tool := provider.ToolCall{ID: fmt.Sprintf("call_%d_%d", call, n), Input: fmt.Appendf(nil, `{"n":%d}`, 100*call+n),
		Name: rapid.SampledFrom([]string{"read", "read", "write", "fetch", "fetch", "shell", "none"}).Draw(t, "tool")}
	switch rapid.IntRange(0, 15).Draw(t, "input") {
	case 0:
		tool.Input, tool.Invalid = nil, "not JSON"
	case 1:
		tool.Input = json.RawMessage(`{"path":1}`)
	case 2:
		tool.ID = fmt.Sprintf("call_%d", call) // maybe that of another one
	}
	return tool
}

func drawActs(t *rapid.T, least, most int, kinds []string, waits []int) (acts []act) {
	for range rapid.IntRange(least, most).Draw(t, "acts") {
		acts = append(acts, act{rapid.SampledFrom(kinds).Draw(t, "act"), rapid.IntRange(0, 40).Draw(t, "n"),
			time.Duration(rapid.SampledFrom(waits).Draw(t, "wait ms")) * time.Millisecond})
	}
	return acts
}

// drawCall is one answer: blocks, oddities between them, and an end.
func drawCall(t *rapid.T, call int) []any {
	var list []any
	pause := func() {
		if ms := rapid.SampledFrom([]int{0, 0, 0, 5, 50, 800}).Draw(t, "pause ms"); ms > 0 {
			list = append(list, time.Duration(ms)*time.Millisecond)
		}
	}
	used := -1 // index of the block before
	odd := func(index int) {
		garbage := provider.Delta{Index: index + 100, Text: "garbage"}
		switch rapid.IntRange(0, 11).Draw(t, "odd") {
		case 0:
			list = append(list, garbage)
		case 1:
			if used >= 0 {
				list = append(list, provider.End{Index: used, Block: provider.Media{Type: "garbage"}}, garbage)
			}
		case 2:
			list = append(list, provider.Begin{Index: index}, provider.End{Index: index + 50}, provider.Alive{})
		case 3:
			list = append(list, provider.Notice{Kind: provider.NoticeOverride, Text: "odd"}, provider.Delta{Index: -1, Text: "garbage"})
		}
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "blocks") {
		if i > 0 {
			odd(i)
		}
		kind := rapid.SampledFrom([]string{"thinking", "thinking", "text", "text", "text", "tool", "redacted", "empty", "flood", "at once"}).Draw(t, "block")
		switch words := fmt.Sprintf("%s %d.%d", kind, call, i); kind {
		case "thinking", "text":
			begin, end := provider.Block(provider.Thinking{Kind: provider.ThinkingSummary}), provider.Block(signed(words))
			if kind == "text" {
				begin, end = provider.Text{}, provider.Text{Text: words}
			}
			list = append(list, provider.Begin{Index: i, Block: begin})
			if rapid.Bool().Draw(t, "twice") {
				list = append(list, provider.Begin{Index: i, Block: begin})
			}
			for piece := range strings.SplitAfterSeq(words, " ") {
				list = append(list, provider.Delta{Index: i, Text: piece})
				pause()
			}
			switch rapid.IntRange(0, 9).Draw(t, "end") {
			case 0: // never
			case 1:
				list = append(list, provider.End{Index: i, Block: provider.ToolCall{ID: "odd", Name: "odd"}}, provider.End{Index: i, Block: end})
			case 2:
				list = append(list, provider.End{Index: i, Block: end}, provider.End{Index: i, Block: end}, provider.Begin{Index: i, Block: begin},
					provider.Delta{Index: i, Text: "garbage"})
			default:
				list = append(list, provider.End{Index: i, Block: end})
			}
		case "tool":
			tool := drawTool(t, call, i)
			list = append(list, provider.Begin{Index: i, Block: provider.ToolCall{ID: tool.ID, Name: tool.Name}}, provider.Delta{Index: i, Text: "{}"})
			pause()
			if rapid.IntRange(0, 3).Draw(t, "end") > 0 {
				list = append(list, provider.End{Index: i, Block: tool})
			}
		case "redacted":
			hidden := signed("")
			hidden.Kind = provider.ThinkingRedacted
			list = append(list, provider.End{Index: i, Block: hidden})
		case "empty":
			list = append(list, provider.Begin{Index: i, Block: provider.Thinking{}}, provider.End{Index: i, Block: provider.Thinking{}})
		case "flood": // two blocks grow alternately, so that nothing merges
			a, b := 2*i+1000, 2*i+1001
			list = append(list, provider.Begin{Index: a, Block: provider.Text{}}, provider.Begin{Index: b, Block: provider.Thinking{}})
			n := rapid.SampledFrom([]int{3, 600}).Draw(t, "flood")
			for range n {
				list = append(list, provider.Delta{Index: a, Text: "x"}, provider.Delta{Index: b, Text: "y"})
			}
			list = append(list, provider.End{Index: b, Block: signed(strings.Repeat("y", n))}, provider.End{Index: a, Block: provider.Text{Text: strings.Repeat("x", n)}})
		case "at once":
			list = append(list, provider.End{Index: i, Block: provider.Text{Text: words}})
		}
		if used = i; kind == "flood" {
			used = 2*i + 1000
		}
		pause()
	}
	odd(7)
	fail := func(e provider.Error) []any { e.API = "fake"; return append(list, &e) }
	switch rapid.SampledFrom([]string{"stop", "stop", "stop", "stop", "cut off", "refusal", "pause", "overloaded", "overloaded", "limited", "bad", "repair", "too long",
		"cut", "stall", "panic", "foreign error"}).Draw(t, "end") {
	case "stop":
		return append(list, ended)
	case "cut off":
		return append(list, provider.Stop{Reason: provider.StopMaxTokens})
	case "refusal":
		return append(list, provider.Stop{Reason: provider.StopRefusal})
	case "pause":
		return append(list, provider.Stop{Reason: provider.StopPause})
	case "overloaded":
		return fail(provider.Error{Kind: provider.KindOverloaded, Status: 529})
	case "limited":
		return fail(provider.Error{Kind: provider.KindRateLimit, Status: 429, RetryAfter: 30 * time.Second})
	case "bad":
		return fail(provider.Error{Kind: provider.KindBadRequest, Status: 400})
	case "too long":
		return fail(provider.Error{Kind: provider.KindTooLong, Status: 400})
	case "repair":
		return fail(provider.Error{Kind: provider.KindBadRequest, Status: 400,
			Repair: provider.Repair(rapid.SampledFrom([]string{"strip", "drop_block"}).Draw(t, "repair"))})
	case "stall":
		return append(list, time.Hour)
	case "panic":
		return append(list, panicking{})
	case "foreign error":
		return append(list, errors.New("nobody knows this"))
	}
	return list // cut: the sequence just ends
}
