package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"iter"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

var optionWalks = flag.Int("optionwalks", 1, "how many sessions TestOptionWalks leads through 20 turns each")

// wireAPIs are those that each walk has a model of.
var wireAPIs = []string{"messages", "responses", "chat", "gemini", "ollama", "converse", "cohere"}

// optionFigures count over all walks.
type optionFigures struct {
	walks, turns, calls, kills, switches, asked, sent, not, continued int
}

// TestOptionWalks leads sessions through 20 turns with other options in each, over changes of the model among all wire APIs and kills in the
// middle of answers, with the strict simulators behind them. No vendor refuses a request, and each option that is asked for has an outcome.
func TestOptionWalks(t *testing.T) {
	catalog := registry.Default()
	all := map[string][]placed{}
	for _, s := range seats {
		if p := s.place(t, catalog); p.row.Tools {
			all[p.row.API] = append(all[p.row.API], p)
		}
	}
	var f optionFigures
	for seed := range *optionWalks {
		var err error
		synctest.Test(t, func(t *testing.T) { err = f.lead(t, uint64(seed), all) })
		if f.walks++; err != nil {
			t.Errorf("walk %d: %v", seed, err)
		}
	}
	t.Logf("%d walks, %d turns, %d kills, %d of the turns continued, %d changes of the model, %d calls, 0 refused unless said above; %d options were asked for: %d were sent as asked, %d adjusted or left out",
		f.walks, f.turns, f.kills, f.continued, f.switches, f.calls, f.asked, f.sent, f.not)
}

// optionWalk is one session.
type optionWalk struct {
	*bench
	rnd    *rand.Rand
	server *sim.Server
	store  *wounded
	places []placed
	cut    int // events of the next call until the process is killed; negative: it is not
}

// cutting is a provider that kills the process in the middle of an answer.
type cutting struct {
	provider.Provider
	w  *optionWalk
	at placed
}

func (c cutting) Convert(req *provider.Request) (provider.Conversion, error) {
	return c.Provider.(provider.Converter).Convert(req)
}

func (c cutting) Returns(req *provider.Request, b provider.Thinking, late provider.State, calls bool) bool {
	return c.Provider.(provider.Returner).Returns(req, b, late, calls)
}

func (c cutting) OptionsWire(req *provider.Request) (json.RawMessage, error) {
	return provider.OptionsWireOf(c.Provider, req)
}

func (c cutting) Stream(ctx context.Context, req *provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		c.w.server.Script(c.w.answer(c.at))
		n := 0
		for ev, err := range c.Provider.Stream(ctx, req) {
			if n == c.w.cut {
				c.w.store.kill()
			}
			if n++; !yield(ev, err) {
				return
			}
		}
	}
}

func (w *optionWalk) answer(at placed) sim.Answer {
	var parts []sim.Part
	if at.thinks() {
		parts = append(parts, sim.Part{Kind: sim.Thinking, Text: fmt.Sprintf("Thought of %s.", at)})
	}
	parts = append(parts, sim.Part{Kind: sim.Text, Text: `{"words":"some"}`})
	if w.rnd.IntN(3) == 0 {
		parts = append(parts, sim.Part{Kind: sim.Call, Name: "look", Input: json.RawMessage(fmt.Sprintf(`{"at":"%d"}`, w.rnd.Int()))})
	}
	return sim.Answer{Parts: parts}
}

// options draws up to four options.
func (w *optionWalk) options() (o provider.Options) {
	one := func(n int) int { return w.rnd.IntN(n) }
	for range one(5) {
		switch one(12) {
		case 0:
			o.Schema, o.Output = &provider.OutputSchema{Schema: json.RawMessage(`{"type":"object","properties":{"words":{"type":"string"}},"required":["words"],"additionalProperties":false}`)}, ""
		case 1:
			if o.Schema == nil {
				o.Output = provider.OutputJSON
			}
		case 2:
			o.ToolChoice = []provider.ToolChoice{provider.ChooseAuto, provider.ChooseNone, provider.ChooseRequired, "look"}[one(4)]
		case 3:
			o.ParallelTools = new(one(2) == 0)
		case 4:
			o.MaxOutput = 16 << one(12)
		case 5:
			o.Temperature = new(float64(one(5)) / 4)
		case 6:
			o.TopP = new(float64(1+one(4)) / 4)
		case 7:
			o.TopK = new(1 + one(100))
		case 8:
			o.Stop = []string{"END", "STOP", "DONE", "OVER", "FIN", "HALT"}[:1+one(6)]
		case 9:
			o.Seed = new(int32(one(1000)))
		case 10:
			o.Verbosity = []provider.Verbosity{provider.VerbosityLow, provider.VerbosityMedium, provider.VerbosityHigh}[one(3)]
			o.ServiceTier = []provider.ServiceTier{provider.TierAuto, provider.TierStandard, provider.TierFlex, provider.TierPriority}[one(4)]
		case 11:
			o.Cache = []provider.CacheTime{provider.CacheOff, provider.CacheShort, provider.CacheLong}[one(3)]
		}
	}
	return o
}

// begin makes the bench and a session, with a model of each wire API.
func (w *optionWalk) begin(all map[string][]placed) (session.ID, error) {
	listener := w.server.Listen()
	w.Cleanup(func() { listener.Close() })
	w.group.Close()
	var list rows
	providers := map[string]provider.Provider{}
	for i, api := range wireAPIs {
		p := all[api][w.rnd.IntN(len(all[api]))]
		p.row.Provider = fmt.Sprint("p", i)
		w.places, list = append(w.places, p), append(list, p.row)
		providers[p.row.Provider] = cutting{p.open(listener.Transport()), w, p}
	}
	w.cfg.Catalog = list
	w.cfg.Provider = func(id string) provider.Provider { return providers[id] }
	h := &host{run: func(context.Context, provider.ToolCall, func(string)) provider.ToolResult { return said("seen") }}
	w.cfg.Hosts = func(session.Owner, session.Session) []toolhost.Host { return []toolhost.Host{h} }
	w.store = &wounded{Sessions: w.bench.store}
	w.over(w.store)
	s, err := w.group.For(session.Operator).Create(w.Context(), session.Session{Settings: session.Settings{Model: refOf(w.places[0].row), Level: w.places[0].level},
		Tools: []tool.Tool{{Tool: provider.Tool{Name: "look", Description: "look at a place", Schema: json.RawMessage(`{"type":"object","properties":{"at":{"type":"string"}},"required":["at"]}`)},
			Host: tool.MCP, Source: "files", Effect: tool.Read}}})
	return s.ID, err
}

func (f *optionFigures) lead(t *testing.T, seed uint64, all map[string][]placed) error {
	w := &optionWalk{bench: newBench(t), rnd: rand.New(rand.NewPCG(seed, 22)), server: sim.New(sim.Config{})}
	defer w.close()
	id, err := w.begin(all)
	if err != nil {
		return err
	}
	for n := range 20 {
		p := text(fmt.Sprint("turn ", n))
		options := w.options()
		change := Change{Options: &options}
		if w.rnd.IntN(2) == 0 {
			p.Override.Options, change.Options = &options, nil
		}
		if w.rnd.IntN(2) == 0 {
			to := w.places[w.rnd.IntN(len(w.places))]
			change.Model, change.Level = new(refOf(to.row)), &to.level
			f.switches++
		}
		if _, err := w.agent(id).Set(t.Context(), change); err != nil {
			return err
		}
		if w.cut = -1; w.rnd.IntN(3) == 0 {
			w.cut = w.rnd.IntN(8)
		}
		if err := f.turn(w, id, p); err != nil {
			return fmt.Errorf("turn %d: %w", n, err)
		}
	}
	f.calls += len(w.server.Requests())
	if refused := w.server.Refusals(); len(refused) > 0 {
		return fmt.Errorf("%d refused: %+v", len(refused), refused[0])
	}
	return nil
}

// turn prompts. If the process is killed, another one follows, which continues the turn or not.
func (f *optionFigures) turn(w *optionWalk, id session.ID, p Prompt) error {
	f.turns++
	a := w.agent(id)
	sub, err := a.Subscribe(w.Context())
	if err != nil {
		return err
	}
	defer sub.Close()
	r, err := a.Prompt(w.Context(), p)
	if err != nil {
		return err
	}
	end, err := a.Wait(w.Context(), r.Turn)
	if !w.store.isDead() {
		return cmp.Or(err, f.judge(end, sub))
	}
	f.kills++
	w.group.Close()
	w.store.heal()
	w.start()
	w.cut = -1
	if w.rnd.IntN(2) == 0 {
		return nil
	}
	on, err := w.agent(id).Continue(w.Context(), nil, false)
	if errors.Is(err, ErrFinished) {
		return nil // it had ended
	}
	if err != nil {
		return err
	}
	f.continued++
	end, err = w.agent(id).Wait(w.Context(), on.Turn)
	return cmp.Or(err, f.judge(end, nil))
}

// judge looks at how a turn ended, and at what clients were shown of its options.
func (f *optionFigures) judge(end Ended, sub *feed.Subscription) error {
	if end.End.Error != nil || end.Start == nil {
		return fmt.Errorf("%s: %+v", end.End.StopReason, end.End.Error)
	}
	if sub == nil || end.Start.Options == nil {
		return nil
	}
	seen := map[string]bool{}
	for {
		u, err := sub.TryNext()
		if u == nil || err != nil {
			break
		}
		start, ok := u.Event.(feed.TurnStart)
		if !ok || start.Options == nil {
			continue
		}
		for _, o := range start.Options.Outcomes {
			if seen[o.Option] = true; o.State == provider.OptionSent {
				f.sent++
			} else {
				f.not++
			}
		}
	}
	var err error
	end.Start.Options.Each(func(name string, _ json.RawMessage) {
		if f.asked++; !seen[name] {
			err = fmt.Errorf("nothing is said of the option %s", name)
		}
	})
	return err
}
