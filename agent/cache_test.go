package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/session"
)

// changes are the six turns that begin with another level than the one before, of a talk of twenty.
var changes = map[int]provider.Level{3: provider.High, 5: provider.Medium, 8: provider.XHigh, 11: provider.Low, 12: provider.Max, 17: provider.Low}

const longTalk = 20

// talked is what a talk told: of each turn what the vendor had in its cache, what turn_start said of it, and the
// notices of a lost one.
type talked struct {
	cached  []int
	said    []provider.CacheState
	notices int
}

// talk has 20 turns with a model of the simulator's, with or without changes of level; half-way the daemon ends and
// another one begins.
func talk(t *testing.T, model string, changes map[int]provider.Level) (told talked, server *sim.Server) {
	server = sim.New(sim.Config{})
	listener := server.Listen()
	defer listener.Close()
	b := newBench(t)
	defer b.close()
	api := opener(t, b.cfg.Catalog.Model("sim", model))(listener.Transport())
	b.group.Close()
	b.cfg.Provider = func(string) provider.Provider { return api }
	b.start()
	id := b.session("sim/"+model, provider.Low)
	for turn := range longTalk {
		if turn == longTalk/2 {
			b.group.Close()
			b.start()
		}
		a := b.agent(id)
		if level, ok := changes[turn]; ok {
			if _, err := a.Set(t.Context(), Change{Level: &level}); err != nil {
				t.Fatal(err)
			}
		}
		_, sub, err := a.Attach(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		server.Script(sim.Answer{Parts: []sim.Part{{Kind: sim.Thinking, Text: "Both dates are in May."}, answered}})
		words := 100
		if turn == 0 {
			words = 250 // vendors keep no prompt of less than 1,024 tokens
		}
		e := b.turn(id, fmt.Sprintf("Turn %d. ", turn)+strings.Repeat("Which date is later? ", words))
		if e.End.StopReason != "end_turn" {
			t.Fatalf("%s, turn %d: %+v", model, turn, e.End)
		}
		told.cached = append(told.cached, e.End.Usage.Cached)
		told.read(sub)
		sub.Close()
	}
	return told, server
}

func (told *talked) read(sub *feed.Subscription) {
	for {
		u, err := sub.TryNext()
		if err != nil || u == nil {
			return
		}
		switch e := u.Event.(type) {
		case feed.TurnStart:
			told.said = append(told.said, e.State)
		case feed.Notice:
			if e.Kind == noticeCacheLost {
				told.notices++
			}
		}
	}
}

// A change of level keeps the vendor's prompt cache if the vendor's API has a form for that, also after a restart. For all other
// vendors a notice says that the cache is lost, and it is.
func TestCacheOverLevels(t *testing.T) {
	for _, tc := range []struct {
		model string
		keeps bool
	}{{"claude-always", true}, {"gpt-always", true}, {"claude", true}, {"gpt", false}, {"claude-budget", false}} {
		t.Run(tc.model, func(t *testing.T) {
			even, _ := talk(t, tc.model, nil)
			told, server := talk(t, tc.model, changes)
			t.Logf("cached tokens: level never changed %v; changed six times %v", even.cached, told.cached)
			if r := server.Refusals(); len(r) > 0 {
				t.Fatal("refused:", r)
			}
			for turn, cached := range told.cached {
				_, changed := changes[turn]
				state := provider.CacheKept
				switch {
				case turn == 0:
					state = ""
				case changed && !tc.keeps:
					state = provider.CacheLost
				}
				check(t, fmt.Sprint("cache of turn ", turn), told.said[turn], state)
				switch more := cached - even.cached[turn]; {
				case turn == 0 && cached != 0, turn > 0 && even.cached[turn] == 0:
					t.Errorf("turn %d: %d cached, %d with a level that never changed", turn, cached, even.cached[turn])
				case state != provider.CacheLost && tc.keeps && (more < 0 || more > 25*len(changes)): // a change is some tokens itself
					t.Errorf("turn %d: %d cached, %d with a level that never changed", turn, cached, even.cached[turn])
				case state == provider.CacheLost && more > -400: // at most what another turn with this level left there
					t.Errorf("turn %d: %d cached, %d with a level that never changed, and the cache is lost", turn, cached, even.cached[turn])
				}
			}
			lost := 0
			if !tc.keeps {
				lost = len(changes)
			}
			check(t, "notices", told.notices, lost)
		})
	}
}

// renamed speaks to another model than the row's.
type renamed struct {
	provider.Provider
	real string
}

func (r renamed) asked(req *provider.Request) *provider.Request {
	asked := *req
	asked.Model.ID = r.real
	return &asked
}

func (r renamed) Stream(ctx context.Context, req *provider.Request) iter.Seq2[provider.Event, error] {
	return r.Provider.Stream(ctx, r.asked(req))
}

func (r renamed) Wire(req *provider.Request) (json.RawMessage, error) {
	return r.Provider.Wire(r.asked(req))
}

func (r renamed) Cache(before json.RawMessage, req *provider.Request) (provider.CacheState, string) {
	return provider.CacheOf(r.Provider, before, r.asked(req))
}

// A model that refuses the form is asked once more without it, and never again with it.
func TestCacheFormRefused(t *testing.T) {
	for _, tc := range []struct{ model, real string }{{"claude-always", "claude-opus-4-8"}, {"gpt-always", "gpt-5.6-sol"}} {
		server := sim.New(sim.Config{})
		listener := server.Listen()
		b := newBench(t)
		api := opener(t, b.cfg.Catalog.Model("sim", tc.model))(listener.Transport())
		b.group.Close()
		b.cfg.Provider = func(string) provider.Provider { return renamed{api, tc.real} }
		b.start()
		id := b.session("sim/"+tc.model, provider.Low)
		var repairs []int
		var told talked
		for _, level := range []provider.Level{provider.Low, provider.High, provider.Medium} {
			if _, err := b.agent(id).Set(t.Context(), Change{Level: &level}); err != nil {
				t.Fatal(err)
			}
			_, sub, err := b.agent(id).Attach(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			if e := b.turn(id, "Which date is later?"); e.End.StopReason != "end_turn" {
				t.Fatalf("%s at %s: %+v", tc.model, level, e.End)
			}
			told.read(sub)
			sub.Close()
			view, err := session.Load(t.Context(), b.store, id)
			if err != nil {
				t.Fatal(err)
			}
			repairs = append(repairs, len(view.Repairs))
		}
		if diff := cmp.Diff([]int{0, 1, 1}, repairs); diff != "" {
			t.Errorf("%s: repairs after each turn (-want +got):\n%s", tc.model, diff)
		}
		check(t, tc.model+": refusals", len(server.Refusals()), 1)
		check(t, tc.model+": what turn_start said", fmt.Sprint(told.said), "[ kept lost]")
		check(t, tc.model+": notices of a lost cache", told.notices, 2)
		b.close()
		listener.Close()
	}
}

// TestCacheOption: what a session wants of its vendors' caches goes with each of its calls, also if an older build wrote its record.
func TestCacheOption(t *testing.T) {
	model := session.ModelRef{Provider: "sim", ID: "claude"}
	for _, settings := range []session.Settings{{Model: model, Cache: provider.CacheLong}, {Model: model, Options: &provider.Options{Cache: provider.CacheLong}}} {
		testCacheOption(t, settings)
	}
}

func testCacheOption(t *testing.T, settings session.Settings) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.close()
		s, err := b.group.For(session.Operator).Create(t.Context(), session.Session{Settings: settings})
		if err != nil {
			t.Fatal(err)
		}
		b.turn(s.ID, "One?")
		b.turn(s.ID, "Two?")
		for i, req := range b.fake.requests {
			if req.Options.Cache != provider.CacheLong {
				t.Errorf("request %d has the cache %q", i, req.Options.Cache)
			}
		}
	})
}
