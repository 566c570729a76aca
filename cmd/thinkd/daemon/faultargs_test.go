package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/vendors"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// reader is a host with one tool, which counts its calls.
type reader struct{ ran atomic.Int64 }

func (r *reader) Name() string { return "files" }
func (r *reader) Close() error { return nil }

func (r *reader) TrustsHints() bool { return true }

func (r *reader) Tools(context.Context) ([]tool.Tool, error) {
	return []tool.Tool{{Tool: provider.Tool{Name: "read", Description: "Reads a file.",
		Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
		Host: tool.MCP, Source: r.Name(), Effect: tool.Read}}, nil
}

func (r *reader) Run(_ context.Context, call provider.ToolCall, _ func(string)) provider.ToolResult {
	r.ran.Add(1)
	return provider.ToolResult{CallID: call.ID, Blocks: provider.Blocks{provider.Text{Text: "a file"}}}
}

// Arguments of a tool that are not what they should be: over each wire API the tool does not run, the model gets an error
// for a result, which its vendor takes, and what it wrote is kept. With -v the table is printed.
func TestToolArguments(t *testing.T) {
	call := func(id, input string) sim.Part {
		return sim.Part{Kind: sim.Call, Name: "read", ID: id, Input: json.RawMessage(input)}
	}
	one := func(input string) []sim.Answer { return []sim.Answer{{Parts: []sim.Part{call("", input)}}} }
	half := `{"path": "a`
	for _, api := range vendors.APIs {
		t.Run(api.Name, func(t *testing.T) {
			t.Parallel()
			longArguments(t, api)
			for _, row := range []struct {
				name   string
				script []sim.Answer
				kept   string // among what is kept of the first call
				ran    int64
				failed int // results
				ends   string
			}{
				{"as they should be", one(`{"path":"a"}`), `{"path":"a"}`, 1, 0, "end_turn"},
				{"half of a JSON text", one(half), half, 0, 1, "end_turn"},
				{"no JSON", one(`path=a`), `path=a`, 0, 1, "end_turn"},
				{"nothing, where a member is required", one(``), ``, 0, 1, "end_turn"},
				{"a list", one(`["a"]`), `["a"]`, 0, 1, "end_turn"},
				{"a text", one(`"a"`), `"a"`, 0, 1, "end_turn"},
				{"null", one(`null`), ``, 0, 1, "end_turn"},
				{"a member of another type", one(`{"path":1}`), `{"path":1}`, 0, 1, "end_turn"},
				{"no such tool", []sim.Answer{{Parts: []sim.Part{{Kind: sim.Call, Name: "write", Input: json.RawMessage(`{"path":"a"}`)}}}}, `{"path":"a"}`, 0, 1, "end_turn"},
				{"one id twice", []sim.Answer{{Parts: []sim.Part{call("call00001", `{"path":"a"}`), call("call00001", `{"path":"b"}`)}}}, `{"path":"a"}`, 1, 1, "end_turn"},
				{"three in a row", slices.Concat(one(half), one(half+"b"), one(half+"c")), half, 0, 3, "limit invalid_calls"},
				{"the same three times", slices.Concat(one(half), one(half), one(half)), half, 0, 3, "limit repetition"},
				{"two, a good one, and two", slices.Concat(one(half), one(half), one(`{"path":"a"}`), one(half), one(half)), half, 1, 4, "end_turn"},
			} {
				synctest.Test(t, func(t *testing.T) {
					vendor := sim.New(sim.Config{})
					vendor.Script(row.script...)
					through := lineTo(t, vendor)
					host := &reader{}
					c := newClockwork(t, api, through, 0, host)
					defer c.group.Close()
					e := c.turn()
					ends := strings.TrimSpace(howEnded(e) + " " + e.End.Limit)
					first, failed := c.calls()
					verdict := "ok  "
					if ends != row.ends || host.ran.Load() != row.ran || failed != row.failed || !keeps(first, row.kept) || len(vendor.Refusals()) > 0 {
						verdict = "FAIL"
						t.Errorf("%s: %s, %d ran, %d failed results, kept %.60s; refused: %v; want %s, %d, %d, %.60s",
							row.name, ends, host.ran.Load(), failed, first, vendor.Refusals(), row.ends, row.ran, row.failed, row.kept)
					}
					t.Logf("%s %-10s %-38s ran %d, %d errors to the model, %s", verdict, api.Name, row.name, host.ran.Load(), failed, ends)
				})
			}
		})
	}
}

// longArguments is the row of two million bytes, twice as many as an agent takes. No stand-in says so much, so its answer is stretched.
func longArguments(t *testing.T, api vendors.API) {
	const mark = "~" // in no other place of an answer
	stream, body, _, err := played(t, api, sim.Answer{Parts: []sim.Part{{Kind: sim.Call, Name: "read", Input: json.RawMessage(`{"path":"` + mark + `"}`)}}})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("a", 2<<20)
	body = stretch(api.Name, body, mark, long)
	_, whole := recorded(t, api)
	synctest.Test(t, func(t *testing.T) {
		host, files := &listing{script: []answerer{reply(200, stream, body), reply(200, stream, whole)}}, &reader{}
		c := newClockwork(t, api, host, 0, files)
		defer c.group.Close()
		e := c.turn()
		first, failed := c.calls()
		verdict := "ok  "
		if howEnded(e) != "end_turn" || files.ran.Load() != 0 || failed != 1 || first != `{"path":"`+long+`"}` || len(host.called) != 2 {
			verdict = "FAIL"
			t.Errorf("2 MB: %s, %d ran, %d failed results, kept %d bytes, %d calls", howEnded(e), files.ran.Load(), failed, len(first), len(host.called))
		}
		t.Logf("%s %-10s %-38s ran %d, %d errors to the model, %s", verdict, api.Name, "2 MB", files.ran.Load(), failed, howEnded(e))
	})
}

// calls is what is kept of the first call's arguments, and how many calls were answered with an error.
func (c *clockwork) calls() (first string, failed int) {
	c.t.Helper()
	err := c.group.For(session.Operator).Do(c.t.Context(), c.session, func(a *agent.Agent) error {
		list, _, err := a.History(c.t.Context(), agent.Page{Limit: 1000})
		found := false
		for _, m := range list {
			for _, p := range m.Parts {
				switch b := p.Block.(type) {
				case provider.ToolCall:
					if !found {
						first, found = string(b.Input)+b.Invalid, true
					}
				case provider.ToolResult:
					if b.Failed {
						failed++
					}
				}
			}
		}
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return first, failed
}

// keeps reports whether a text is among what was kept, as it is or, where arguments travel as values, as a JSON text.
func keeps(kept, text string) bool {
	return strings.Contains(kept, text) || strings.Contains(kept, strings.Trim(fmt.Sprintf("%q", text), `"`))
}
