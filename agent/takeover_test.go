package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// refusing is a provider whose second call fails.
type refusing struct {
	provider.Provider
	err   error
	calls int
}

func (f *refusing) Stream(ctx context.Context, req *provider.Request) iter.Seq2[provider.Event, error] {
	if f.calls++; f.calls == 2 {
		return func(yield func(provider.Event, error) bool) { yield(nil, f.err) }
	}
	return f.Provider.Stream(ctx, req)
}

func (f *refusing) Convert(req *provider.Request) (provider.Conversion, error) {
	return f.Provider.(provider.Converter).Convert(req)
}

func (f *refusing) Returns(req *provider.Request, b provider.Thinking, late provider.State, calls bool) bool {
	return f.Provider.(provider.Returner).Returns(req, b, late, calls)
}

// takeovers are the ways in which a model goes on with a turn of another one, behind the results of that one's tool calls.
var takeovers = []string{"resume", "continue", "prompt"}

// strictest are the models with rules of their own about that.
var strictest = []string{"claude-budget", "copilot/claude-haiku-4.5", "google/sim", "gemini-sim"}

// TestTakeover has each model go on inside of another model's tool loop: a parked turn is resumed with it, a failed turn is continued
// with it, or it gets the next prompt. The strict simulators refuse nothing, and no call of a tool runs twice. With -crossall, each
// model takes over from each other one in each way; otherwise some do.
func TestTakeover(t *testing.T) {
	catalog := registry.Default()
	var all []placed
	for _, s := range seats {
		if p := s.place(t, catalog); p.row.Tools {
			all = append(all, p)
		}
	}
	n := 0
	for i, to := range all {
		for j, from := range all {
			for k, how := range takeovers {
				if !*crossAll && ((i+7*(k+1))%len(all) != j || i%3 != k || i%6 != 0 && !slices.Contains(strictest, to.model)) {
					continue
				}
				n++
				var err error
				synctest.Test(t, func(t *testing.T) { err = takeOver(t, from, to, how) })
				if err != nil {
					t.Errorf("%s from %s by %s: %v", to, from, how, err)
				}
			}
		}
	}
	t.Logf("%d tool loops taken over by another one of %d models", n, len(all))
}

// takeOver leads one turn.
func takeOver(t *testing.T, from, to placed, how string) error {
	server := sim.New(sim.Config{})
	listener := server.Listen()
	defer listener.Close()
	b := newBench(t)
	defer b.close()
	b.group.Close()
	from.row.Provider, to.row.Provider = "from", "to"
	first := &refusing{Provider: from.open(listener.Transport()), err: &provider.Error{Provider: "from", Kind: provider.KindAuth, Message: "no"}}
	if how == "resume" {
		first.err = quota(time.Hour)
	}
	b.cfg.Limits.Park = 12 * time.Hour
	b.cfg.Catalog = rows{from.row, to.row}
	second := to.open(listener.Transport())
	b.cfg.Provider = func(id string) provider.Provider {
		if id == "from" {
			return first
		}
		return second
	}
	var mu sync.Mutex
	ran := map[string]int{}
	h := &host{run: func(_ context.Context, call provider.ToolCall, _ func(string)) provider.ToolResult {
		mu.Lock()
		defer mu.Unlock()
		ran[string(call.Input)]++
		return said("seen")
	}}
	b.cfg.Hosts = func(session.Owner, session.Session) []toolhost.Host { return []toolhost.Host{h} }
	b.start()
	thought, word := sim.Part{Kind: sim.Thinking, Text: "Both places count."}, sim.Part{Kind: sim.Text, Text: "So."}
	calls := func(at string) sim.Part {
		return sim.Part{Kind: sim.Call, Name: "look", Input: json.RawMessage(fmt.Sprintf(`{"at":%q}`, at))}
	}
	answer := func(p placed, parts ...sim.Part) {
		if p.thinks() {
			parts = append([]sim.Part{thought}, parts...)
		}
		server.Script(sim.Answer{Parts: parts})
	}
	s, err := b.group.For(session.Operator).Create(t.Context(), session.Session{Settings: session.Settings{Model: refOf(from.row), Level: from.level},
		Tools: []tool.Tool{{Tool: provider.Tool{Name: "look", Description: "look at a place", Schema: json.RawMessage(`{"type":"object","properties":{"at":{"type":"string"}},"required":["at"]}`)},
			Host: tool.MCP, Source: "files", Effect: tool.Read}}})
	if err != nil {
		return err
	}
	answer(from, word, calls("a"), calls("b"))
	a := b.agent(s.ID)
	r := b.prompted(s.ID, text("Look."))
	synctest.Wait()
	level, model := to.level, refOf(to.row)
	answer(to, word, calls("c"))
	answer(to, word)
	turn := r.Turn
	if how != "resume" {
		if e := b.outcome(s.ID, turn); e.End.StopReason != session.StopError {
			return fmt.Errorf("the first turn ended: %+v", e.End)
		}
		if _, err := a.Set(t.Context(), Change{Model: &model, Level: &level}); err != nil {
			return err
		}
	}
	switch how {
	case "resume":
		if turn, err = a.ResumeTurn(t.Context(), turn, Resumption{Model: &model}); err != nil {
			return err
		}
	case "continue":
		on, err := a.Continue(t.Context(), nil, false)
		if err != nil {
			return err
		}
		turn = on.Turn
	case "prompt":
		turn = b.prompted(s.ID, text("Look again.")).Turn
	}
	if e := b.outcome(s.ID, turn); e.End.StopReason != session.StopEndTurn {
		return fmt.Errorf("the turn ended: %+v %+v", e.End, e.End.Error)
	}
	answer(to, word)
	if e := b.turn(s.ID, "Thanks."); e.End.StopReason != session.StopEndTurn {
		return fmt.Errorf("the next turn ended: %+v %+v", e.End, e.End.Error)
	}
	if refused := server.Refusals(); len(refused) > 0 {
		return fmt.Errorf("refused: %+v", refused[0])
	}
	if len(ran) != 3 || ran[`{"at":"a"}`] != 1 || ran[`{"at":"c"}`] != 1 {
		return fmt.Errorf("tools that ran: %v", ran)
	}
	return nil
}
