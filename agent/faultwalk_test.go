package agent

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

var faultWalks = flag.Int("faultwalks", 10, "how many sessions TestFaultWalks leads through faults of their providers")

// rows is a catalog of some rows, each at a provider of its own.
type rows []provider.Model

func (c rows) Model(providerID, _ string) provider.Model {
	for _, m := range c {
		if m.Provider == providerID {
			return m
		}
	}
	return provider.Model{Provider: providerID}
}

func (c rows) Served(asked provider.Model, _ string) registry.Service {
	return registry.Service{Row: asked}
}
func (c rows) Find(string) (provider.Model, error) { return c[0], nil }
func (c rows) Models() []provider.Model            { return c }
func (c rows) Providers() []string                 { return nil }

// walk is one session with its faults. The simulator answers what gets through.
type walk struct {
	rnd    *rand.Rand
	server *sim.Server
	places []placed
	calm   bool

	mu     sync.Mutex
	left   int // rounds of tools in this turn
	n      int // of the next call of a tool
	called map[string]int
	ran    map[string]int
	bodies map[string][]string // request bodies that were answered, by provider
}

// faulty is a provider of a walk.
type faulty struct {
	provider.Provider
	w  *walk
	at placed
}

func (f faulty) Convert(req *provider.Request) (provider.Conversion, error) {
	return f.Provider.(provider.Converter).Convert(req)
}

func (f faulty) Returns(req *provider.Request, b provider.Thinking, late provider.State, calls bool) bool {
	return f.Provider.(provider.Returner).Returns(req, b, late, calls)
}

// fault is what becomes of the next call: an error at once, or a number of events before it breaks off; negative: neither.
func (w *walk) fault(at placed) (pe *provider.Error, after int) {
	if w.calm || w.rnd.IntN(10) < 6 {
		return nil, -1
	}
	kinds := []provider.Kind{provider.KindAuth, provider.KindQuota, provider.KindOverloaded, provider.KindRateLimit, provider.KindTransport, provider.KindStalled}
	pe = &provider.Error{API: at.row.API, Provider: at.row.Provider, Kind: kinds[w.rnd.IntN(len(kinds))], Message: "a fault of the test"}
	if pe.Kind == provider.KindRateLimit && w.rnd.IntN(2) == 0 {
		pe.RetryAfter = time.Duration(w.rnd.IntN(100)) * time.Second
	}
	if w.rnd.IntN(2) == 0 {
		pe.Kind = provider.KindTransport
		return pe, 1 + w.rnd.IntN(12)
	}
	return pe, 0
}

// answer is what the model says: calls of tools while the turn has rounds left, else text.
func (w *walk) answer(at placed) sim.Answer {
	var parts []sim.Part
	if at.thinks() {
		parts = append(parts, sim.Part{Kind: sim.Thinking, Text: fmt.Sprintf("Thought number %d of %s.", w.n, at)})
	}
	parts = append(parts, sim.Part{Kind: sim.Text, Text: fmt.Sprintf("Words number %d.", w.n)})
	w.n++
	if w.left > 0 && at.row.Tools {
		for range 1 + w.rnd.IntN(2) {
			w.n++
			parts = append(parts, sim.Part{Kind: sim.Call, Name: "look", Input: json.RawMessage(fmt.Sprintf(`{"at":"%d"}`, w.n))})
		}
	}
	return sim.Answer{Parts: parts}
}

func (f faulty) Stream(ctx context.Context, req *provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		w := f.w
		w.mu.Lock()
		w.called[f.at.row.Provider]++
		pe, after := w.fault(f.at)
		if after != 0 {
			w.server.Script(w.answer(f.at))
		}
		w.mu.Unlock()
		if after == 0 {
			yield(nil, pe)
			return
		}
		n := 0
		for ev, err := range f.Provider.Stream(ctx, req) {
			if _, over := ev.(provider.Stop); over {
				w.mu.Lock()
				all := w.server.Requests()
				w.bodies[f.at.row.Provider] = append(w.bodies[f.at.row.Provider], string(all[len(all)-1].Body))
				w.left--
				w.mu.Unlock()
			} else if after > 0 && n == after {
				yield(nil, pe)
				return
			}
			n++
			if !yield(ev, err) {
				return
			}
		}
	}
}

// walkFigures count over all walks.
type walkFigures struct {
	walks, turns, calls, switches, returns, unreported, continued int
	refused, tools, twice, outside, kept, lost                    int
}

// TestFaultWalks leads sessions through random faults of models of all wire APIs, with the strict simulators behind them. Nothing is
// refused, no tool runs twice, no call leaves the session's egress, each switch is reported, and a session that returns to its first
// choice sends that model's own thinking byte for byte.
func TestFaultWalks(t *testing.T) {
	catalog := registry.Default()
	var all []placed
	for _, s := range seats {
		if p := s.place(t, catalog); p.row.Tools {
			all = append(all, p)
		}
	}
	var f walkFigures
	for seed := range *faultWalks {
		var err error
		synctest.Test(t, func(t *testing.T) { err = f.lead(t, uint64(seed), all) })
		if f.walks++; err != nil { // reported out here: an error inside would end the test with this walk
			t.Errorf("walk %d: %v", seed, err)
		}
	}
	t.Logf("%d walks, %d turns, %d calls of models, %d refused, %d outside egress; %d calls of tools, %d of them more than once; %d switches and %d returns, %d unreported; %d answers continued; on return %d thoughts sent byte for byte, %d lost",
		f.walks, f.turns, f.calls, f.refused, f.outside, f.tools, f.twice, f.switches, f.returns, f.unreported, f.continued, f.kept, f.lost)
}

func (f *walkFigures) lead(t *testing.T, seed uint64, all []placed) error {
	rnd := rand.New(rand.NewPCG(seed, 21))
	w := &walk{rnd: rnd, server: sim.New(sim.Config{}), called: map[string]int{}, ran: map[string]int{}, bodies: map[string][]string{}}
	listener := w.server.Listen()
	defer listener.Close()
	b := newBench(t)
	defer b.close()
	b.group.Close()
	var list rows
	var links []session.Link
	providers := map[string]provider.Provider{}
	for i := range 3 + rnd.IntN(2) {
		p := all[rnd.IntN(len(all))]
		p.row.Provider = fmt.Sprint("p", i)
		w.places = append(w.places, p)
		list = append(list, p.row)
		links = append(links, session.Link{Model: refOf(p.row), Level: p.level})
		providers[p.row.Provider] = faulty{p.open(listener.Transport()), w, p}
	}
	outside := list[1].Provider
	b.cfg.Catalog, b.cfg.Fallbacks = list, links[1:]
	b.cfg.Provider = func(id string) provider.Provider { return providers[id] }
	b.cfg.Egress = func(id string) []string {
		if id == outside {
			return []string{"elsewhere"}
		}
		return []string{"here"}
	}
	var mu sync.Mutex
	h := &host{run: func(_ context.Context, call provider.ToolCall, _ func(string)) provider.ToolResult {
		mu.Lock()
		defer mu.Unlock()
		w.ran[string(call.Input)]++
		return said("seen")
	}}
	b.cfg.Hosts = func(session.Owner, session.Session) []toolhost.Host { return []toolhost.Host{h} }
	b.start()
	s, err := b.group.For(session.Operator).Create(t.Context(), session.Session{Settings: session.Settings{Model: links[0].Model, Level: links[0].Level, Egress: []string{"here"}},
		Tools: []tool.Tool{{Tool: provider.Tool{Name: "look", Description: "look at a place", Schema: json.RawMessage(`{"type":"object","properties":{"at":{"type":"string"}},"required":["at"]}`)},
			Host: tool.MCP, Source: "files", Effect: tool.Read}}})
	if err != nil {
		return err
	}
	sub, err := b.agent(s.ID).Subscribe(t.Context())
	if err != nil {
		return err
	}
	defer sub.Close()
	now := links[0].Model.Provider // as published to clients
	for range 3 + rnd.IntN(4) {
		w.mu.Lock()
		w.left, w.calm = rnd.IntN(3), rnd.IntN(3) == 0
		w.mu.Unlock()
		e := b.turn(s.ID, "Go on.")
		f.turns++
		for {
			u, err := sub.TryNext()
			if u == nil || err != nil {
				break
			}
			switch ev := u.Event.(type) {
			case feed.FellBack:
				if ev.From.Provider != now && ev.Reason != feed.Returned {
					f.unreported++
					return fmt.Errorf("a switch from %s, and clients know of %s", ev.From.Provider, now)
				}
				now = ev.To.Provider
				if f.switches++; ev.Reason == feed.Returned {
					f.switches--
					f.returns++
				}
				if ev.Continues {
					f.continued++
				}
			}
		}
		if e.Start.Model.Provider != now {
			f.unreported++
			return fmt.Errorf("the turn ran with %s at last, and clients know of %s", e.Start.Model.Provider, now)
		}
		time.Sleep(time.Duration(rnd.IntN(20)) * time.Minute)
	}
	return f.judge(w, outside)
}

func (f *walkFigures) judge(w *walk, outside string) error {
	for _, n := range w.called {
		f.calls += n
	}
	f.outside += w.called[outside]
	var twice []string
	for input, n := range w.ran {
		if f.tools += n; n > 1 {
			twice = append(twice, input)
		}
	}
	f.twice += len(twice)
	refusals := w.server.Refusals()
	f.refused += len(refusals)
	switch {
	case len(refusals) > 0:
		return fmt.Errorf("refused: %+v", refusals[0])
	case len(twice) > 0:
		return fmt.Errorf("calls that ran more than once: %s", twice)
	case w.called[outside] > 0:
		return fmt.Errorf("%d calls outside egress", w.called[outside])
	}
	first := w.places[0]
	if !slices.Contains([]string{"messages", "responses"}, first.row.API) {
		return nil
	}
	bodies := w.bodies[first.row.Provider]
	for i := 1; i < len(bodies); i++ {
		for _, part := range strings.Split(bodies[i-1], `"`) {
			if len(part) > 60 && !strings.ContainsAny(part, " {}:") { // a signature, or what is encrypted
				if !strings.Contains(bodies[i], part) {
					f.lost++
					return fmt.Errorf("%s lost its thinking %.30s… on return", first, part)
				}
				f.kept++
			}
		}
	}
	return nil
}
