package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/vendors"
	"github.com/thinkd/thinkd/session"
)

// refusing is a host that refuses every request in which a word stands, and passes the others on. Where it serves, it refuses none.
type refusing struct {
	to     http.RoundTripper
	word   string
	status int
	body   string
	serves bool
}

func (h *refusing) RoundTrip(r *http.Request) (*http.Response, error) {
	sent, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if !h.serves && bytes.Contains(sent, []byte(h.word)) {
		header := http.Header{"Content-Type": {"application/json"}}
		return reply(h.status, header, []byte(h.body))(r)
	}
	r.Body = io.NopCloser(bytes.NewReader(sent))
	return h.to.RoundTrip(r)
}

// prompt is a prompt with its end.
func (c *clockwork) prompt(text string) (end agent.Ended) {
	c.t.Helper()
	return c.say(provider.Blocks{provider.Text{Text: text}})
}

// say is prompt for any content.
func (c *clockwork) say(content provider.Blocks) agent.Ended {
	c.t.Helper()
	end, err := c.try(content)
	if err != nil {
		c.t.Fatal(err)
	}
	return end
}

// try is say for a prompt that may be refused.
func (c *clockwork) try(content provider.Blocks) (end agent.Ended, err error) {
	err = c.group.For(session.Operator).Do(c.t.Context(), c.session, func(a *agent.Agent) error {
		r, err := a.Prompt(c.t.Context(), agent.Prompt{Content: content})
		if err == nil {
			end, err = a.Wait(c.t.Context(), r.Turn)
		}
		return err
	})
	return end, err
}

// refusalBody is how a host refuses.
type refusalBody struct {
	status int
	body   string
}

// refusalBodies are refusals in the forms and for the reasons that vendors have, with their status.
var refusalBodies = []refusalBody{
	{400, `{"error":{"message":"Invalid request.","type":"invalid_request_error"}}`},
	{400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages.2.content.0: the text must not be blank"}}`},
	{400, `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"Request contains an invalid argument."}}`},
	{400, `[{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"the mime type is not one of ours"}}]`},
	{400, `{"error":"the image cannot be decoded"}`},
	{400, `{"detail":"no such field"}`},
	{422, `{"detail":[{"type":"extra_forbidden","loc":["body","messages",2,"user","name"],"msg":"Extra inputs are not permitted"}]}`},
	{400, `{"object":"error","message":"a user message may not follow this one","code":"3230"}`},
	{400, `{"code":"1214","message":"The messages are not as they should be."}`},
	{400, `{"error":{"message":"blocked by the content filter","code":"content_filter"}}`},
	{400, `not JSON at all`},
	{400, ``},
	{404, `{"error":{"message":"no host takes an image","code":404}}`},
	{404, `{"error":{"message":"item rs_1 is not stored"}}`},
	{404, ``},
	{413, ``},
	{413, `{"error":{"type":"request_too_large","message":"the request is too large"}}`},
	{422, ``},
	{500, `{"error":{"code":500,"message":"the chat template raised: roles must alternate","type":"server_error"}}`},
	{400, `{"error":{"message":"prompt is too long: 207000 tokens","type":"invalid_request_error"}}`},
	{400, `{"error":{"message":"the input is above the maximum context length","code":"context_length_exceeded"}}`},
	{400, `{"error":{"message":"Unsupported parameter: 'top_k'","code":"unsupported_parameter","param":"top_k"}}`},
	{400, `{"error":{"message":"The requested model is not supported.","code":"model_not_supported"}}`},
	{400, `{"error":{"message":"the organization is not verified"}}`},
	{429, `{"error":{"type":"rate_limit_error","message":"more usage must be bought for this"}}`},
	{402, `{"error":{"message":"nothing is left to spend"}}`},
}

// collected are the refusals of an API in the table that package provider is tested with.
func collected(t *testing.T, api string) (rows []refusalBody) {
	t.Helper()
	table, err := os.ReadFile("../../../provider/exchange/testdata/refusals.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		var row struct {
			API    string `json:"api"`
			Status int    `json:"status"`
			Body   string `json:"body"`
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		if row.API == api && row.Status >= 400 {
			rows = append(rows, refusalBody{row.Status, row.Body})
		}
	}
	return rows
}

// TestNoSessionIsStuck has a host refuse every request that contains one prompt, in each way that vendors have, over each
// wire API. The prompt is the first of its session, or comes after one that was answered: with -allpairs the API's own refusals are tried in
// both places, and each of the others over each API. Otherwise a refusal is tried in one place, which is not the same for each API, and one that
// is not the API's own over half of the APIs. The next plain prompt is answered, and so is the one
// after it. Where the host names a limit or a quota, it serves everybody from then on, and the
// prompt is not left out.
func TestNoSessionIsStuck(t *testing.T) {
	for n, api := range vendors.APIs {
		t.Run(api.Name, func(t *testing.T) {
			t.Parallel()
			own := collected(t, api.Name)
			if len(own) == 0 {
				t.Error("the table has no refusal of this API")
			}
			sessions := 0
			for i, row := range slices.Concat(refusalBodies, own) {
				if i < len(refusalBodies) && (i/2+n)%2 == 0 && !*allPairs {
					continue
				}
				for _, first := range []bool{true, false} {
					if both := *allPairs && i >= len(refusalBodies); !both && first != ((i+n)%2 == 0) {
						continue
					}
					synctest.Test(t, func(t *testing.T) { survive(t, api, row, first) })
					sessions++
				}
			}
			t.Logf("%s: %d sessions", api.Name, sessions)
		})
	}
}

// survive is a session with one refused prompt.
func survive(t *testing.T, api vendors.API, row refusalBody, first bool) {
	vendor := sim.New(sim.Config{})
	through := lineTo(t, vendor)
	host := &refusing{to: through, word: "POISON", status: row.status, body: row.body}
	c := newClockwork(t, api, host, 0)
	defer c.group.Close()
	if !first {
		if how := howEnded(c.prompt("hello [[sim: pace=0]]")); how != "end_turn" {
			t.Fatal("before: ", how)
		}
	}
	how := howEnded(c.prompt("POISON [[sim: pace=0]]"))
	if how == "end_turn" {
		t.Errorf("%d %s: the refused prompt ended with %s", row.status, row.body, how)
	}
	if how == "rate_limit" || how == "quota" { // it is not the prompt: the host serves nobody, and later everybody
		host.serves = true
	}
	for _, text := range []string{"what is next? [[sim: pace=0]]", "and then? [[sim: pace=0]]"} {
		if e := c.prompt(text); howEnded(e) != "end_turn" {
			t.Errorf("%d %s: stuck: %s: %+v", row.status, row.body, howEnded(e), e.End.Error)
		}
	}
	if refused := vendor.Refusals(); len(refused) > 0 {
		t.Errorf("%d %s: the host itself refused %+v", row.status, row.body, refused)
	}
}

// once is a host with one tool, which counts how often it was called with the same arguments.
type once struct {
	reader
	mu  sync.Mutex
	ran map[string]int
}

func (o *once) Run(_ context.Context, call provider.ToolCall, _ func(string)) provider.ToolResult {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ran[string(call.Input)]++
	return provider.ToolResult{CallID: call.ID, Blocks: provider.Blocks{provider.Text{Text: "a file"}}}
}

var _ toolhost.Host = (*once)(nil)

// limiting is a host that answers some requests, by their number, with a limit of the rate and no time.
type limiting struct {
	to      http.RoundTripper
	numbers map[int]bool
	n       int // requests so far; they never overlap
}

func (h *limiting) RoundTrip(r *http.Request) (*http.Response, error) {
	h.n++
	if h.numbers[h.n-1] {
		return reply(429, http.Header{"Content-Type": {"application/json"}}, []byte(`{"error":{"message":"too many requests","status":"RESOURCE_EXHAUSTED"}}`))(r)
	}
	return h.to.RoundTrip(r)
}

// TestLoopOfFaults is a loop of 15 tool calls, or of 30 with -allpairs. Each model call is overloaded once, every third is limited without a time, and
// every fifth is cut inside the arguments of its tool call, behind a text. The turn ends well over each wire API, and no
// tool call runs twice.
func TestLoopOfFaults(t *testing.T) {
	loop := 15
	if *allPairs {
		loop = 30
	}
	for _, api := range vendors.APIs {
		t.Run(api.Name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				vendor := sim.New(sim.Config{})
				through := lineTo(t, vendor)
				host := &limiting{to: through, numbers: make(map[int]bool)}
				requests, faults := 0, 0
				for i := range loop {
					input, err := json.Marshal(map[string]string{"path": fmt.Sprintf("%d-%s", i, strings.Repeat("long ", 200))})
					if err != nil {
						t.Fatal(err)
					}
					call := sim.Answer{Parts: []sim.Part{{Kind: sim.Text, Text: "I read it."}, {Kind: sim.Call, Name: "read", Input: input}}, Pace: -1}
					script := []sim.Answer{{Fault: sim.FaultOverloaded}}
					if i%3 == 0 {
						host.numbers[requests+1] = true
						faults, requests = faults+1, requests+1
					}
					if i%5 == 0 {
						cut := call
						cut.Fault, cut.After = sim.FaultCut, sim.After(6)
						script = append(script, cut)
					}
					faults += len(script)
					requests += len(script) + 1
					vendor.Script(append(script, call)...)
				}
				vendor.Script(sim.Answer{Parts: []sim.Part{{Kind: sim.Text, Text: "Done."}}})
				files := &once{ran: make(map[string]int)}
				c := newClockwork(t, api, host, 0, files)
				defer c.group.Close()
				e := c.turn()
				if how := howEnded(e); how != "end_turn" {
					t.Errorf("ended with %s: %+v", how, e.End.Error)
				}
				if len(files.ran) != loop {
					t.Errorf("%d calls ran", len(files.ran))
				}
				for input, n := range files.ran {
					if n != 1 {
						t.Errorf("%.20s ran %d times", input, n)
					}
				}
				if refused := vendor.Refusals(); len(refused) > 0 {
					t.Errorf("refused: %+v", refused)
				}
				waits, _ := c.told()
				if len(waits) != faults {
					t.Errorf("%d retries for %d faults", len(waits), faults)
				}
				t.Logf("%s: %d tool calls, %d faults, %d retries", api.Name, len(files.ran), faults, len(waits))
			})
		})
	}
}
