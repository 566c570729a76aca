package agent

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
)

// judging is a catalog of one row that judges names as the whole one does.
type judging struct {
	sole
	catalog *registry.Catalog
}

func (c judging) Served(asked provider.Model, answer string) registry.Service {
	return c.catalog.Served(asked, answer)
}

// seen is what a turn was for its clients.
type seen struct {
	order  []string // methods, notices by their kind
	start  feed.MessageStart
	end    feed.MessageEnd
	notice string // of another model
}

func watched(sub *feed.Subscription) (w seen) {
	for {
		u, err := sub.TryNext()
		if u == nil || err != nil {
			return w
		}
		word := u.Event.Method()
		switch e := u.Event.(type) {
		case feed.MessageStart:
			w.start = e
		case feed.MessageEnd:
			w.end = e
		case feed.Notice:
			if word = e.Kind; word == noticeSubstituted {
				w.notice = e.Message
			}
		}
		w.order = append(w.order, word)
	}
}

// before reports whether a word comes before the first growth of any kind.
func (w seen) before(word string) bool {
	at := slices.Index(w.order, word)
	grows := slices.IndexFunc(w.order, func(s string) bool { return strings.HasSuffix(s, "_delta") })
	return at >= 0 && (grows < 0 || at < grows)
}

// TestOtherModelOverWires lets a host of each wire API and dialect answer as another model, and as the one that was asked for.
func TestOtherModelOverWires(t *testing.T) {
	catalog := registry.Default()
	type figures struct{ turns, reported, alarms, stopped, wrong int }
	sums := map[string]*figures{}
	for _, seat := range seats {
		p := seat.place(t, catalog)
		if p.row.API == "converse" || p.row.API == "cohere" { // their answers name no model
			continue
		}
		t.Run(seat.String(), func(t *testing.T) {
			server := sim.New(sim.Config{})
			b := seated(t, p, server, func(cfg *Config) { cfg.Catalog = judging{sole{p.row}, catalog} })
			id := b.session(sole{p.row}.ref().String(), p.level)
			sub, err := b.agent(id).Subscribe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer sub.Close()
			sum := sums[p.row.API]
			if sum == nil {
				sum = &figures{}
				sums[p.row.API] = sum
			}
			ask := session.ModelRef{Provider: p.row.Provider, ID: p.row.ID}

			e, w := b.turn(id, "Which date is later?"), watched(sub)
			if sum.turns++; w.notice != "" {
				sum.alarms++
				t.Errorf("false alarm: %s", w.notice)
			}
			if by := e.Message.End.Served; by == nil || by.Other || by.Requested != ask || by.Sent != p.row.ID || by.Model == "" || by.Host == "" {
				sum.wrong++
				t.Errorf("record %+v", by)
			}

			e, w = b.turn(id, "Which date is later? [[sim: served=small-0]]"), watched(sub)
			if sum.turns++; w.before(noticeSubstituted) && w.start.Served != nil && *w.start.Served == (feed.Served{Model: "small-0", Host: w.start.Served.Host, Other: true}) {
				sum.reported++
			} else {
				t.Errorf("%v, start %+v", w.order, w.start.Served)
			}
			if by := e.Message.End.Served; by == nil || !by.Other || by.Requested != ask || by.Sent != p.row.ID || by.Model != "small-0" || e.End.Usage.Cost != nil && p.row.Dialect != "openrouter" {
				sum.wrong++
				t.Errorf("record %+v, cost %v", by, e.End.Usage.Cost)
			}

			stop := provider.OtherStop
			if _, err := b.agent(id).Set(t.Context(), session.Setting{OnOther: &stop}); err != nil {
				t.Fatal(err)
			}
			e, w = b.turn(id, "Which date is later? [[sim: served=small-0]]"), watched(sub)
			said := slices.ContainsFunc(w.order, func(s string) bool { return strings.HasPrefix(s, "message_") || strings.HasPrefix(s, "thinking_") })
			if sum.turns++; e.End.Error != nil && e.End.Error.Kind == string(provider.KindOther) && e.Message == nil && !said && e.End.Usage.Estimated && e.End.Usage.Input > 0 {
				sum.stopped++
			} else {
				t.Errorf("%v, %+v", w.order, e.End)
			}
			stop = provider.OtherNotify // some hosts get both prompts as one
			if _, err := b.agent(id).Set(t.Context(), session.Setting{OnOther: &stop}); err != nil {
				t.Fatal(err)
			}
			if e = b.turn(id, "And now?"); e.End.StopReason != session.StopEndTurn {
				t.Errorf("after it: %+v", e.End.Error)
			}
			if list := server.Refusals(); len(list) > 0 {
				t.Errorf("refused: %+v", list)
			}
		})
	}
	for _, api := range slices.Sorted(maps.Keys(sums)) {
		s := *sums[api]
		fmt.Printf("another model, %-9s: %2d hosts, %2d reported before the first delta, %2d stopped, %d false alarms, %d wrong records\n",
			api, s.turns/3, s.reported, s.stopped, s.alarms, s.wrong)
	}
}

// The price is that of the model that answers, as far as the catalog has it. Where it has none, nothing is made up.
func TestOtherModelPrice(t *testing.T) {
	price := func(usd float64) *provider.Price {
		return &provider.Price{Rates: provider.Rates{Input: usd, Output: usd}}
	}
	catalog, err := registry.New([]registry.Provider{{ID: "shop", API: "chat", Rows: []registry.Row{
		{ID: "dear", Control: provider.ControlNone, Price: price(10)}, {ID: "cheap", Control: provider.ControlNone, Price: price(1)}}}})
	if err != nil {
		t.Fatal(err)
	}
	for answer, want := range map[string]*provider.Cost{"": usd(1000), "dear": usd(1000), "dear-2026-01-31": usd(1000), "cheap": usd(100), "small-0": nil} {
		t.Run(answer, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				list := concat([]any{provider.Served{Model: answer, Host: "h"}}, say("a"), []any{stop(provider.Usage{Input: 90, Output: 10, Tier: ""})})
				b := newBench(t, events(list...))
				defer b.close()
				b.group.Close()
				b.cfg.Catalog = catalog
				b.start()
				e := b.turn(b.session("shop/dear", ""), "one")
				check(t, "cost", e.End.Usage.Cost, want)
				check(t, "record", *e.Message.End.Served, session.Served{Requested: session.ModelRef{Provider: "shop", ID: "dear"}, Sent: "dear", Model: answer,
					Host: "h", Other: answer == "cheap" || answer == "small-0"})
			})
		})
	}
}

// An answer that names another model in its middle, and one that another model gives after a failure.
func TestOtherModelLater(t *testing.T) {
	served := func(model string) provider.Served { return provider.Served{Model: model, Host: "h"} }
	opening := []any{provider.Begin{Index: 1, Block: provider.Text{}}, provider.Delta{Index: 1, Text: "a"}}
	closing := []any{provider.End{Index: 1, Block: provider.Text{Text: "a"}}, ended}
	changes := events(concat([]any{served("claude")}, opening, []any{served("small-0")}, closing)...)
	busy := &provider.Error{Kind: provider.KindOverloaded, Status: 529}
	for _, test := range []struct {
		name    string
		scripts []script
		stop    bool
		want    string
	}{
		{"in the middle", []script{changes}, false,
			"prompt turn_start message_start message_delta model_substituted text_end message_end usage turn_end"},
		{"in the middle, stopped", []script{changes}, true,
			"model_substituted message_end usage turn_end"},
		{"after a failure", []script{events(served("claude"), provider.Begin{Index: 0, Block: provider.Thinking{Kind: provider.ThinkingSummary}},
			provider.Delta{Index: 0, Text: "x"}, busy), events(concat([]any{served("small-0")}, say("a"), []any{ended})...)}, false,
			"retry model_substituted message_delta text_end message_end"},
		{"refused behind its name", []script{events(served("small-0"), busy), events(concat([]any{served("claude")}, say("a"), []any{ended})...)}, false,
			"model_substituted retry message_start message_delta"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, test.scripts...)
				defer b.close()
				if test.stop {
					b.group.Close()
					b.cfg.OnOther = provider.OtherStop
					b.start()
				}
				id := b.session("sim/claude", provider.High)
				sub, err := b.agent(id).Subscribe(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer sub.Close()
				e, w := b.turn(id, "one"), watched(sub)
				order := w.order
				for _, word := range strings.Fields(test.want) {
					if at := slices.Index(order, word); at < 0 {
						t.Errorf("%v: no %q in its place", w.order, word)
					} else {
						order = order[at+1:]
					}
				}
				if test.stop {
					if e.End.Error == nil || e.End.Error.Kind != "other_model" || e.Message == nil || len(e.Message.Parts) > 0 || e.End.Usage.Output == 0 {
						t.Errorf("%+v, %+v", e.End, e.Message)
					}
					return
				}
				last := "small-0"
				if test.name == "refused behind its name" {
					last = "claude"
				}
				if by := e.Message.End.Served; by.Model != last || by.Other != (last == "small-0") {
					t.Errorf("record %+v", by)
				}
				if corrected := w.end.Served; (corrected != nil) != (w.start.Served.Model != last) || corrected != nil && corrected.Model != last {
					t.Errorf("start %+v, end %+v", w.start.Served, corrected)
				}
			})
		})
	}
}

// Each call of a loop of tools names its model: people read it once a turn, and each message has it.
func TestOtherModelOnceATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		paused := ended
		paused.Reason = provider.StopPause
		small := provider.Served{Model: "small-0"}
		b := newBench(t, events(concat([]any{small}, say("a"), []any{paused})...), events(concat([]any{small}, say("b"), []any{ended})...),
			events(concat([]any{small}, say("c"), []any{ended})...))
		defer b.close()
		id := b.session("sim/claude", provider.High)
		sub, err := b.agent(id).Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		for n := range 2 {
			b.turn(id, "go")
			told := 0
			for _, word := range watched(sub).order {
				if word == noticeSubstituted {
					told++
				}
			}
			if told != 1 {
				t.Errorf("turn %d: %d notices", n, told)
			}
		}
	})
}

// A session says before a call that somebody else pays than before, also over restarts, and for each provider alone.
func TestPayerChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan := session.Payer{Payer: provider.Payer{Kind: provider.PaidByPlan, Name: "Pro"}, Account: "a"}
		key := session.Payer{Payer: provider.Payer{Kind: provider.PaidByKey, Name: "KEY"}, Account: "b"}
		other := key
		other.Account = "c"
		now := &plan
		b := newBench(t)
		defer b.close()
		b.group.Close()
		b.cfg.Payer = func(id, _ string) *session.Payer {
			if id == "anthropic" {
				return nil
			}
			return now
		}
		b.start()
		id := b.session("sim/claude", provider.High)
		for _, test := range []struct {
			model   string
			payer   *session.Payer
			restart bool
			notice  string
		}{
			{"sim", &plan, false, ""},
			{"sim", &plan, true, ""},
			{"sim", &key, true, "sim was paid by the plan Pro. From now on the key in KEY pays"},
			{"anthropic", &key, false, ""},
			{"sim", &other, false, "sim is paid by the key in KEY, as before, but by another account"},
			{"sim", nil, false, ""},
			{"sim", &plan, false, "sim was paid by the key in KEY. From now on the plan Pro pays"},
		} {
			now = test.payer
			if test.restart {
				b.group.Close()
				b.start()
			}
			ref := session.ModelRef{Provider: test.model, ID: "claude"}
			if test.model == "anthropic" {
				ref.ID = "claude-opus-5-5"
			}
			a := b.agent(id)
			if _, err := a.Set(t.Context(), session.Setting{Model: &ref}); err != nil {
				t.Fatal(err)
			}
			sub, err := a.Subscribe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			e := b.turn(id, "go")
			notice, before := "", true
			for {
				u, err := sub.TryNext()
				if u == nil || err != nil {
					break
				}
				switch e := u.Event.(type) {
				case feed.Notice:
					if e.Kind == noticePayer {
						notice = e.Message
					}
				case feed.MessageStart:
					before = notice != ""
				case feed.TurnStart:
					if test.payer != nil && test.model == "sim" && (e.Payer == nil || *e.Payer != test.payer.Payer) {
						t.Errorf("turn_start has %+v", e.Payer)
					}
				}
			}
			sub.Close()
			if notice != test.notice || notice != "" && !before {
				t.Errorf("%+v: notice %q, before the answer: %t", test, notice, before)
			}
			if want := test.payer; test.model == "sim" && want != nil && *e.Start.Payer != *want {
				t.Errorf("log %+v", e.Start.Payer)
			}
		}
	})
}

// A summary that another model writes is reported, and kept. A session that takes no other model gets none.
func TestOtherModelSummary(t *testing.T) {
	for _, on := range []provider.OtherModel{provider.OtherNotify, provider.OtherStop} {
		t.Run(string(on), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				defer b.close()
				b.group.Close()
				b.cfg.OnOther = on
				b.start()
				id := b.session("sim/claude", provider.High)
				b.turns(id, "one", "two", "three", "four")
				sub, err := b.agent(id).Subscribe(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer sub.Close()
				b.fake.scripts = []script{events(concat([]any{provider.Served{Model: "small-0", Host: "h"}}, say("It was about numbers."), []any{ended})...)}
				over, err := b.agent(id).Compact(t.Context())
				if err != nil || over == nil {
					t.Fatal(over, err)
				}
				err, w := <-over, watched(sub)
				if !strings.Contains(w.notice, "small-0") || !strings.Contains(w.notice, "summary") {
					t.Errorf("notice %q of %v", w.notice, w.order)
				}
				view, loadErr := session.Load(t.Context(), b.store, id)
				if loadErr != nil {
					t.Fatal(loadErr)
				}
				pe, refused := errors.AsType[*provider.Error](err)
				if kept := view.Compaction() != nil; kept != (on == provider.OtherNotify) || kept != (err == nil) || refused && pe.Kind != provider.KindOther {
					t.Errorf("kept: %v, %v", kept, err)
				}
			})
		})
	}
}
