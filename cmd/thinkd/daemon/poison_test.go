package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/agent/media"
	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/vendors"
	"github.com/thinkd/thinkd/session/tool"
)

// strict is a host that refuses what a vendor refuses in a request, in the vendor's words, and passes the rest on.
type strict struct {
	to      http.RoundTripper
	breach  func(api string, body gjson.Result) string
	api     string
	refused []string
}

func (h *strict) RoundTrip(r *http.Request) (*http.Response, error) {
	sent, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if said := h.breach(h.api, gjson.ParseBytes(sent)); said != "" {
		h.refused = append(h.refused, said)
		body, err := proof.RefusalForm(h.api, said)
		if err != nil {
			return nil, err
		}
		return reply(http.StatusBadRequest, http.Header{"Content-Type": {"application/json"}}, body)(r)
	}
	r.Body = io.NopCloser(strings.NewReader(string(sent)))
	return h.to.RoundTrip(r)
}

// oddity is a host of a tool with a schema, whose calls end in a result. It counts them.
type oddity struct {
	schema string
	result provider.ToolResult
	ran    int // calls so far; they never overlap
}

func (o *oddity) Name() string      { return "files" }
func (o *oddity) Close() error      { return nil }
func (o *oddity) TrustsHints() bool { return true }

func (o *oddity) Tools(context.Context) ([]tool.Tool, error) {
	return []tool.Tool{{Tool: provider.Tool{Name: proof.PoisonTool, Schema: json.RawMessage(o.schema)}, Host: tool.MCP, Source: o.Name(), Effect: tool.Read}}, nil
}

func (o *oddity) Run(_ context.Context, call provider.ToolCall, _ func(string)) provider.ToolResult {
	o.ran++
	o.result.CallID = call.ID
	return o.result
}

// TestPoisonedTurns has, for each rule by which vendors refuse a history or a tool, a host that refuses its breach, and a turn
// that has the shape in it. Over each wire API the host refuses nothing, and the next plain prompts end well.
func TestPoisonedTurns(t *testing.T) {
	for _, api := range vendors.APIs {
		t.Run(api.Name, func(t *testing.T) {
			t.Parallel()
			stuck, sessions := 0, 0
			for _, row := range proof.Poisons() {
				synctest.Test(t, func(t *testing.T) {
					vendor := sim.New(sim.Config{})
					vendor.Script(row.Script...)
					through := lineTo(t, vendor)
					host := &strict{to: through, breach: row.Breach, api: api.Name}
					files := &oddity{schema: row.Schema, result: row.Result}
					c := newClockwork(t, api, host, 0, files)
					defer c.group.Close()
					said := row.Prompt
					if said == nil {
						said = provider.Blocks{provider.Text{Text: "read it [[sim: pace=0]]"}}
					}
					if row.Refused {
						_, err := c.try(said)
						if _, refused := errors.AsType[*media.Error](err); !refused {
							t.Errorf("%s: %v", row.Name, err)
						}
					} else if how := howEnded(c.say(said)); (how != "end_turn") != row.Fails {
						t.Errorf("%s: the poisoned turn ended with %s", row.Name, how)
					}
					if called := row.Result.Failed || row.Result.Blocks != nil; called != (files.ran == 1) {
						t.Errorf("%s: the tool ran %d times", row.Name, files.ran)
					}
					sessions++
					for _, text := range []string{"what is next? [[sim: pace=0]]", "and then? [[sim: pace=0]]"} {
						if e := c.prompt(text); howEnded(e) != "end_turn" {
							stuck++
							t.Errorf("%s: stuck: %s: %+v", row.Name, howEnded(e), e.End.Error)
						}
					}
					if len(host.refused) > 0 {
						t.Errorf("%s: the host refused: %s", row.Name, host.refused[0])
					}
					for _, r := range vendor.Refusals() {
						blind := api.Name == "ollama" && strings.Contains(r.Message, "required for image input") // the model sees nothing, and is not shown it again
						if r.Status != http.StatusUnauthorized && !blind {
							t.Errorf("%s: the simulator refused %+v", row.Name, r)
						}
					}
				})
			}
			t.Logf("%s: %d of %d sessions stuck", api.Name, stuck, sessions)
		})
	}
}

// A request tells the model that its tool failed: in a member if the API has one, otherwise in the text.
func TestFailedToolsAreTold(t *testing.T) {
	for _, api := range vendors.APIs {
		t.Run(api.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				vendor := sim.New(sim.Config{})
				vendor.Script(sim.Answer{Parts: []sim.Part{{Kind: sim.Call, Name: proof.PoisonTool, Input: json.RawMessage(`{}`)}}})
				through := lineTo(t, vendor)
				c := newClockwork(t, api, through, 0, &oddity{schema: `{"type":"object"}`,
					result: provider.ToolResult{Failed: true, Blocks: provider.Blocks{provider.Text{Text: "no such file"}}}})
				defer c.group.Close()
				if how := howEnded(c.prompt("read it [[sim: pace=0]]")); how != "end_turn" {
					t.Fatal("ended with ", how)
				}
				requests := vendor.Requests()
				sent := gjson.ParseBytes(requests[len(requests)-1].Body)
				path, want := "", "error: no such file"
				switch api.Name {
				case "messages":
					path, want = `messages.2.content.0.is_error`, "true"
				case "responses":
					path = `input.#(type=="function_call_output").output`
				case "chat", "ollama":
					path = `messages.#(role=="tool").content`
				case "cohere":
					path = `messages.#(role=="tool").content.0.text`
				case "converse":
					path, want = `messages.2.content.0.toolResult.status`, "error"
				case "gemini":
					path, want = `contents.2.parts.0.functionResponse.response.error`, "no such file"
				}
				if got := sent.Get(path).String(); got != want {
					t.Errorf("%s is %q, want %q: %s", path, got, want, sent.Raw)
				}
			})
		})
	}
}
