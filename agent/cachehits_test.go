package agent

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

var longErrands = flag.Bool("errands", false, "TestPromptCacheHits: loops of 50 steps with all models")

// errand is a session of 50 steps with tools, or of 13 in the short form. Between its turns the level changes, another model answers, and the earlier turns are
// summarized. In two steps a prompt steers, once into a step with many calls.
type errand struct {
	*bench
	id     session.ID
	server *sim.Server
	first  placed
	other  placed

	keeps   bool // a change of level keeps the cache
	forgets bool // the vendor leaves out the thinking of earlier turns

	mu    sync.Mutex
	steer string // the prompt that the next call of a tool sends

	// Figures in tokens, as the simulator's cache counts them.
	seen    int            // requests of the journal that were counted
	last    map[string]int // the prompt of the newest request, by provider
	began   map[string]int // the prompt of the first request of its turn
	allowed int
	read    int
	worst   string // the request that missed most
	missed  int
}

// steps is a turn with n steps, each with that many calls.
func (e *errand) steps(n, calls int) {
	e.Helper()
	if !*longErrands {
		n = (n + 3) / 4
	}
	var answers []sim.Answer
	for i := range n {
		parts := []sim.Part{{Kind: sim.Text, Text: fmt.Sprintf("Step %d.", i)}}
		for c := range calls {
			parts = append(parts, sim.Part{Kind: sim.Call, Name: "look", Input: json.RawMessage(fmt.Sprintf(`{"at":"%d/%d"}`, i, c))})
		}
		answers = append(answers, sim.Answer{Parts: parts})
	}
	e.server.Script(append(answers, sim.Answer{Parts: []sim.Part{answered}})...)
	if end := e.turn(e.id, "Look at everything."); end.End.StopReason != session.StopEndTurn {
		e.Fatalf("the turn ended with %+v", end.End)
	}
}

func (e *errand) steerAt(words string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.steer = words
}

// run is the tool. Its results are long, as those of a coding agent.
func (e *errand) run(_ context.Context, call provider.ToolCall, _ func(string)) provider.ToolResult {
	e.mu.Lock()
	words := e.steer
	e.steer = ""
	e.mu.Unlock()
	if words != "" {
		p := text(words)
		p.Steer = true
		if _, err := e.agent(e.id).Prompt(e.Context(), p); err != nil {
			e.Error(err)
		}
	}
	return said(e.long("A line of "+string(call.Input)+". ", 40))
}

// long repeats words, a quarter as often in the short form.
func (e *errand) long(words string, times int) string {
	if !*longErrands {
		times /= 4
	}
	return strings.Repeat(words, times)
}

func (e *errand) set(c Change) {
	e.Helper()
	if _, err := e.agent(e.id).Set(e.Context(), c); err != nil {
		e.Fatal(err)
	}
}

func (e *errand) summarize() {
	e.Helper()
	e.server.Script(sim.Answer{Parts: []sim.Part{{Kind: sim.Text, Text: "It was about places."}}})
	over, err := e.agent(e.id).Compact(e.Context())
	if err != nil {
		e.Fatal(err)
	}
	if err := <-over; err != nil {
		e.Fatal(err)
	}
	e.seen++ // the request for a summary is not part of the conversation
}

// count compares the requests since the last call with what the rules allow. A request can read the whole prompt of the one before it
// to the same model, since a conversation only grows. The first one of the turn can read less: no more than most, unless negative. If
// the vendor leaves out the thinking of earlier turns, it can read the prompt of the first one of the turn before.
func (e *errand) count(p placed, what string, most int) {
	e.Helper()
	all := e.server.Requests()
	for i, r := range all[e.seen:] {
		if r.Prompt == 0 {
			e.Fatalf("%s: request %d was not counted", what, i)
		}
		allowed := e.last[p.row.Provider]
		if i == 0 && most >= 0 {
			allowed = min(allowed, most)
		}
		if i == 0 && e.forgets {
			allowed = min(allowed, e.began[p.row.Provider])
		}
		read := min(r.Cached.Read, allowed) // what other requests of the session left by chance does not make up for a miss
		if miss := allowed - read; miss > e.missed {
			e.missed, e.worst = miss, fmt.Sprintf("%s, request %d: read %d of %d", what, i, read, allowed)
		}
		e.allowed, e.read, e.last[p.row.Provider] = e.allowed+allowed, e.read+read, r.Prompt
		if i == 0 {
			e.began[p.row.Provider] = r.Prompt
		}
	}
	e.seen = len(all)
}

// TestPromptCacheHits measures how much of their prompts long tool loops read from the vendors' caches: at least 95 % of what the rules
// of the vendor allow, over changes of the level and the model, a summary, and prompts that steer.
func TestPromptCacheHits(t *testing.T) {
	catalog := registry.Default()
	for _, test := range []struct {
		seat
		keeps, forgets bool
		short          bool // it is part of the short form
	}{
		{seat{model: "claude", level: provider.High}, true, false, false},
		{seat{model: "claude-always", level: provider.High}, true, false, true},
		{seat{model: "anthropic/claude-haiku-4-5", level: provider.High}, false, true, false},
		{seat{model: "gpt", level: provider.High}, false, false, false},
		{seat{model: "gpt-always", level: provider.High}, true, false, true},
		{seat{model: "gemini", level: provider.High}, true, false, true},
		{seat{model: "openai/gpt-5.5", level: provider.High, api: "chat", dialect: "openai"}, false, false, false},
		{seat{model: "deepseek", level: provider.High}, true, false, false},
		{seat{model: "kimi", level: provider.High}, true, false, false},
		{seat{model: "qwen", level: provider.High}, true, false, false},
		{seat{model: "anthropic/sim", level: provider.High}, true, false, true},
		{seat{model: "bedrock/anthropic.claude-opus-4-8", level: provider.High, api: "converse"}, false, false, true},
	} {
		if !test.short && !*longErrands {
			continue
		}
		t.Run(test.String(), func(t *testing.T) {
			first := test.place(t, catalog)
			other := seat{model: "gpt", level: provider.High}.place(t, catalog)
			if first.row.API == "responses" {
				other = seat{model: "claude", level: provider.High}.place(t, catalog)
			}
			synctest.Test(t, func(t *testing.T) {
				e := newErrand(t, first, other)
				e.keeps, e.forgets = test.keeps, test.forgets
				e.lead()
			})
		})
	}
}

func newErrand(t *testing.T, first, other placed) *errand {
	e := &errand{server: sim.New(sim.Config{}), first: first, other: other, last: map[string]int{}, began: map[string]int{}}
	e.first.row.Provider, e.other.row.Provider = "first", "other"
	listener := e.server.Listen()
	e.bench = newBench(t)
	e.group.Close()
	line := listener.Transport()
	providers := map[string]provider.Provider{"first": first.open(line), "other": other.open(line)}
	e.cfg.Catalog = rows{e.first.row, e.other.row}
	e.cfg.Provider = func(id string) provider.Provider { return providers[id] }
	h := &host{run: e.run}
	e.cfg.Hosts = func(session.Owner, session.Session) []toolhost.Host { return []toolhost.Host{h} }
	e.start()
	s, err := e.group.For(session.Operator).Create(t.Context(), session.Session{System: e.long("You are careful. ", 1500),
		Settings: session.Settings{Model: refOf(e.first.row), Level: first.level},
		Tools: []tool.Tool{{Tool: provider.Tool{Name: "look", Description: "look at a place", Schema: json.RawMessage(`{"type":"object","properties":{"at":{"type":"string"}},"required":["at"]}`)},
			Host: tool.MCP, Source: "files", Effect: tool.Read}}})
	if err != nil {
		t.Fatal(err)
	}
	e.id = s.ID
	t.Cleanup(func() {
		e.close()
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func (e *errand) lead() {
	e.steps(0, 0)
	opening := e.server.Requests()[0].Prompt - 100 // without the first prompt
	e.count(e.first, "first turn", -1)

	e.steerAt("Also the cellar.")
	e.steps(15, 1)
	e.count(e.first, "steered", -1)

	level, most := provider.Low, -1
	if !e.keeps {
		most = 0
	}
	e.set(Change{Level: &level})
	e.steps(10, 1)
	e.count(e.first, "after a change of the level", most)

	e.steerAt("And the roof.")
	e.steps(2, 24)
	e.count(e.first, "steered into many calls", -1)

	model := refOf(e.other.row)
	e.set(Change{Model: &model})
	e.steps(5, 1)
	e.count(e.other, "with another model", 0)

	model = refOf(e.first.row)
	e.set(Change{Model: &model})
	e.steps(10, 2)
	e.count(e.first, "back at the first model", -1)

	e.summarize()
	e.steps(10, 1)
	e.count(e.first, "after a summary", opening)

	if r := e.server.Refusals(); len(r) > 0 {
		e.Fatal("refused:", r)
	}
	share := 100 * float64(e.read) / float64(e.allowed)
	e.Logf("%d requests read %d of %d tokens that the rules allow: %.1f %%; the worst: %s", e.seen, e.read, e.allowed, share, e.worst)
	if share < 95 {
		e.Errorf("%.1f %% of what the rules allow was read, want 95 %%", share)
	}
}
