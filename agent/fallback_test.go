package agent

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
)

// chained is a bench with a fake for each of some providers, whose sessions fall back from the first to the others.
type chained struct {
	*bench
	fakes map[string]*fake
	asked []string // providers in the order of their calls, with the names of keys
}

// noting is a fake that notes each call.
type noting struct {
	*fake
	id  string
	all *chained
	mu  *sync.Mutex
}

func (n noting) Stream(ctx context.Context, req *provider.Request) iter.Seq2[provider.Event, error] {
	n.mu.Lock()
	n.all.asked = append(n.all.asked, strings.TrimSuffix(n.id+":"+req.Key, ":"))
	n.mu.Unlock()
	return n.fake.Stream(ctx, req)
}

func (n noting) Convert(*provider.Request) (provider.Conversion, error) {
	return provider.Conversion{Kept: 1, Dropped: 2, Why: []string{"why"}}, nil
}

func linkTo(words string) session.Link {
	id, key, _ := strings.Cut(words, ":")
	return session.Link{Model: session.ModelRef{Provider: id, ID: "m"}, Key: key}
}

func chain(t *testing.T, fallbacks string, change func(*Config)) *chained {
	t.Helper()
	c := &chained{bench: newBench(t), fakes: make(map[string]*fake)}
	c.group.Close()
	var providers []registry.Provider
	var links []session.Link
	var mu sync.Mutex
	for _, word := range strings.Fields("a " + fallbacks) {
		l := linkTo(word)
		if links = append(links, l); c.fakes[l.Model.Provider] == nil {
			c.fakes[l.Model.Provider] = &fake{}
			providers = append(providers, registry.Provider{ID: l.Model.Provider})
		}
	}
	catalog, err := registry.New(providers)
	if err != nil {
		t.Fatal(err)
	}
	c.cfg.Catalog, c.cfg.Fallbacks = catalog, links[1:]
	c.cfg.Provider = func(id string) provider.Provider {
		if c.fakes[id] == nil {
			return nil
		}
		return noting{c.fakes[id], id, c, &mu}
	}
	c.cfg.Payer = func(id, key string) *session.Payer {
		return &session.Payer{Payer: provider.Payer{Kind: provider.PaidByKey, Name: cmp.Or(key, "KEY")}, Account: id + key}
	}
	if change != nil {
		change(&c.cfg)
	}
	c.start()
	return c
}

func overloaded() *provider.Error {
	return &provider.Error{Provider: "a", Kind: provider.KindOverloaded, Status: 529, Message: "overloaded"}
}

func refused(kind provider.Kind) *provider.Error {
	return &provider.Error{Provider: "a", Kind: kind, Message: string(kind)}
}

// fell lists the switches in a subscription, and all methods.
func fell(sub *feed.Subscription) (list []feed.FellBack, all []string) {
	for {
		u, err := sub.TryNext()
		if u == nil || err != nil {
			return list, all
		}
		all = append(all, u.Event.Method())
		if e, ok := u.Event.(feed.FellBack); ok {
			list = append(list, e)
		}
		if n, ok := u.Event.(feed.Notice); ok {
			all[len(all)-1] += " " + n.Kind
		}
	}
}

// TestFallsBack makes the failed call with the next link of the chain, and tells people before its answer.
func TestFallsBack(t *testing.T) {
	for _, c := range []struct {
		name      string
		fallbacks string
		fail      *provider.Error
		asked     string
		why       feed.SwitchReason // empty: no switch
	}{
		{"no key", "b", refused(provider.KindAuth), "a b", "auth"},
		{"no credit", "b c", refused(provider.KindQuota), "a b", "quota"},
		{"overloaded", "b", overloaded(), "a a a b", "overloaded"},
		{"another key", "a:k b", refused(provider.KindQuota), "a a:k", "quota"},
		{"a provider that is not there", "a:k", refused(provider.KindQuota), "a a:k", "quota"},
		{"a limit with a time", "b", &provider.Error{Provider: "a", Kind: provider.KindRateLimit, Status: 429, RetryAfter: 11 * time.Second}, "a b", "rate_limit"},
		{"a wrong request", "b", &provider.Error{Provider: "a", Kind: provider.KindBadRequest, Status: 400}, "a", ""},
		{"a refusal", "b", refused(provider.KindRefused), "a", ""},
		{"itself", "a", refused(provider.KindAuth), "a", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := chain(t, c.fallbacks, nil)
				defer b.close()
				fails := events(c.fail)
				b.fakes["a"].judge = func(req *provider.Request, play script) script {
					if req.Key == "" {
						return fails
					}
					return play
				}
				id := b.session("a/m", "")
				sub, err := b.agent(id).Subscribe(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer sub.Close()
				e := b.turn(id, "go")
				list, all := fell(sub)
				if got := strings.Join(b.asked, " "); got != c.asked {
					t.Errorf("asked %s, want %s", got, c.asked)
				}
				if c.why == "" {
					if len(list) > 0 || e.End.StopReason != session.StopError {
						t.Errorf("%+v, %+v", list, e.End)
					}
					return
				}
				if e.End.StopReason != session.StopEndTurn || len(list) != 1 {
					t.Fatalf("%+v, %+v", list, e.End)
				}
				to := linkTo(strings.Fields(c.fallbacks)[0])
				got := list[0]
				if got.Reason != c.why || got.To.Provider != to.Model.Provider || got.Key != to.Key || got.From.Provider != "a" || got.Error == nil || got.Error.Kind != string(c.why) ||
					got.Payer == nil || got.Payer.Name != cmp.Or(to.Key, "KEY") || got.PriceFactor != nil {
					t.Errorf("%+v", got)
				}
				if want := (&feed.Thoughts{Kept: 1, Dropped: 2, Why: []string{"why"}}); !reflect.DeepEqual(got.Thinking, want) {
					t.Errorf("thinking %+v", got.Thinking)
				}
				order := strings.Join(all, ", ")
				if at := strings.Index(order, "fell_back"); at < 0 || at > strings.Index(order, "message_start") {
					t.Errorf("order: %s", order)
				}
				if e.Start.Model.Provider != to.Model.Provider || e.Start.Instead == nil || e.Message == nil || e.Message.Start.Model != to.Model {
					t.Errorf("the log: %+v", e.Start)
				}
			})
		})
	}
}

// TestAllLinksFail ends or parks the turn as without fallbacks, after each link was tried once.
func TestAllLinksFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, limit := range []time.Duration{0, time.Hour} {
			b := chain(t, "b c", func(cfg *Config) { cfg.Limits.Park = limit })
			id := b.session("a/m", "")
			for _, f := range b.fakes {
				f.scripts = []script{events(refused(provider.KindQuota))}
			}
			r := b.prompted(id, text("go"))
			if limit == 0 {
				check(t, "its end", b.outcome(id, r.Turn).End.StopReason, session.StopError)
			} else {
				if p := b.parkedTurn(id); p.Why != session.ParkedQuota {
					t.Fatalf("parked: %+v", p)
				}
				b.restart() // the turn goes on with the link that it had
				if _, err := b.agent(id).ResumeTurn(t.Context(), r.Turn, Resumption{}); err != nil {
					t.Fatal(err)
				}
				check(t, "its end", b.outcome(id, r.Turn).End.StopReason, session.StopEndTurn)
			}
			want := "a b c"
			if limit > 0 {
				want = "a b c c"
			}
			check(t, "asked", strings.Join(b.asked, " "), want)
			b.close()
		}
	})
}

// TestAllLinksWait ends or parks the turn with the earliest wait of all links, which need not be that of the last.
func TestAllLinksWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, limit := range []time.Duration{0, 12 * time.Hour} {
			b := chain(t, "b c", func(cfg *Config) { cfg.Limits.Park = limit })
			id := b.session("a/m", "")
			b.fakes["a"].scripts = []script{events(quota(3 * time.Hour))}
			b.fakes["b"].scripts = []script{events(quota(time.Hour))}
			b.fakes["c"].scripts = []script{events(refused(provider.KindAuth))}
			r := b.prompted(id, text("go"))
			if limit == 0 {
				e := b.outcome(id, r.Turn).End
				if e.Error == nil || e.Error.Kind != string(provider.KindRateLimit) || e.Error.RetryAfterMS != time.Hour.Milliseconds() || !strings.Contains(e.Error.Message, "c/m failed too: auth") {
					t.Errorf("its end: %+v", e.Error)
				}
				b.close()
				continue
			}
			p := b.parkedTurn(id)
			if p == nil {
				t.Fatal("the turn is not parked")
			}
			if in := time.Until(time.UnixMilli(p.Until)); in < time.Hour || in > time.Hour+time.Minute || p.Error.RetryAfterMS != time.Hour.Milliseconds() {
				t.Errorf("parked for %s: %+v", in, p.Error)
			}
			b.fakes["c"].scripts = []script{events(refused(provider.KindAuth))}
			b.fakes["a"].scripts = []script{events(quota(2 * time.Hour))}
			check(t, "its end", b.outcome(id, r.Turn).End.StopReason, session.StopEndTurn)
			if got := b.asked[len(b.asked)-1]; got != "b" {
				t.Errorf("%s answered after %v", got, b.asked)
			}
			b.close()
		}
	})
}

// TestContinuesOnFallback keeps the text that people saw, and has the next model go on from there.
func TestContinuesOnFallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := chain(t, "b", nil)
		defer b.close()
		broken := append(concat(think("Hm."), say("One, two")[:2]), refused(provider.KindTransport))
		b.fakes["a"].scripts = []script{events(broken...)}
		b.fakes["b"].scripts = []script{answer("So.", ", three.")}
		id := b.session("a/m", "")
		sub, err := b.agent(id).Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		e := b.turn(id, "count")
		check(t, "its end", e.End.StopReason, session.StopEndTurn)
		list, _ := fell(sub)
		if len(list) != 1 || !list[0].Continues {
			t.Fatalf("%+v", list)
		}
		for range 2 { // also in later requests
			sent := b.fakes["b"].requests[len(b.fakes["b"].requests)-1].Messages
			var words []string
			for _, m := range sent {
				for _, block := range m.Blocks {
					if said, ok := block.(provider.Text); ok {
						words = append(words, fmt.Sprintf("%s: %.20s", m.Role, said.Text))
					}
				}
			}
			got := strings.Join(words, "\n")
			if !strings.HasPrefix(got, "user: count\nassistant: One, two\nuser: Your answer above wa") {
				t.Errorf("sent:\n%s", got)
			}
			b.turn(id, "and then?")
		}
	})
}

// TestOptionsOnFallback decides the options of the turn again for the fallback, and says so. Options of the session that change while
// the turn runs are for the next one.
func TestOptionsOnFallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := chain(t, "b", nil)
		defer b.close()
		b.fakes["b"].scripts = []script{answer("Hm.", "Yes.")}
		id := b.session("a/m", "")
		set := func(text string) {
			o, err := provider.ParseOptions([]byte(text))
			if err == nil {
				_, err = b.agent(id).Set(t.Context(), Change{Options: &o})
			}
			if err != nil {
				t.Error(err)
			}
		}
		set(`{"seed":7}`)
		b.fakes["a"].scripts = []script{func(_ context.Context, yield func(provider.Event, error) bool) {
			set(`{"seed":8}`)
			yield(nil, refused(provider.KindAuth))
		}}
		sub, err := b.agent(id).Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		e := b.turn(id, "hello")
		check(t, "its end", e.End.StopReason, session.StopEndTurn)
		list, _ := fell(sub)
		if len(list) != 1 || list[0].Options == nil || len(list[0].Options.Outcomes) != 1 {
			t.Fatalf("%+v", list)
		}
		check(t, "the option", list[0].Options.Outcomes[0].Option+" "+string(list[0].Options.Outcomes[0].Requested), "seed 7")
	})
}

// TestStaysAndReturns has the session stay with the fallback while the first choice pauses, over a restart too, and then go back.
func TestStaysAndReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := chain(t, "b", nil)
		defer b.close()
		b.fakes["a"].scripts = []script{events(refused(provider.KindAuth)), events(refused(provider.KindAuth))}
		id := b.session("a/m", "")
		b.turn(id, "one")
		b.turn(id, "two")
		b.restart()
		b.turn(id, "three")
		time.Sleep(time.Minute)
		b.turn(id, "four") // a fails again
		time.Sleep(90 * time.Second)
		b.turn(id, "five") // its pause is twice as long now
		time.Sleep(time.Minute)
		sub, err := b.agent(id).Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		e := b.turn(id, "six")
		check(t, "asked", strings.Join(b.asked, " "), "a b b b a b b a")
		list, _ := fell(sub)
		if len(list) != 1 || list[0].Reason != feed.Returned || list[0].From.Provider != "b" || list[0].To.Provider != "a" || e.Start.Instead != nil {
			t.Errorf("%+v, %+v", list, e.Start)
		}
		b.turn(id, "seven")
		if list, _ = fell(sub); len(list) != 0 {
			t.Errorf("it returns twice: %+v", list)
		}
		for range 2 { // the same after a restart
			page, _, err := b.agent(id).History(t.Context(), Page{Limit: 100})
			if err != nil {
				t.Fatal(err)
			}
			var steps []string
			for i, m := range page {
				for _, s := range m.Steps {
					steps = append(steps, fmt.Sprintf("%d %s-%s %v", i, s.Switch.From.Model.Provider, s.Switch.To.Model.Provider, s.Switch.Why != nil))
				}
			}
			check(t, "steps", strings.Join(steps, ", "), "0 a-b true, 6 b-a false, 6 a-b true, 10 b-a false")
			b.restart()
		}
	})
}

// TestEgress makes no call to a provider that the session may not reach: for turns, fallbacks, summaries and side questions.
func TestEgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		labels := map[string][]string{"a": {"eu"}, "b": {"us"}, "c": nil, "d": {"eu"}}
		b := chain(t, "b c d", func(cfg *Config) { cfg.Egress = func(id string) []string { return labels[id] } })
		defer b.close()
		make := func(model string) session.ID {
			s, err := b.group.For(session.Operator).Create(t.Context(), session.Session{Settings: session.Settings{
				Model: session.ModelRef{Provider: model, ID: "m"}, Egress: []string{"eu", "local"}}})
			if err != nil {
				t.Fatal(err)
			}
			return s.ID
		}
		b.fakes["a"].scripts = []script{events(refused(provider.KindAuth))}
		check(t, "the end with a fallback", b.turn(make("a"), "go").End.StopReason, session.StopEndTurn)
		check(t, "asked", strings.Join(b.asked, " "), "a d")
		outside := make("b")
		e := b.turn(outside, "go")
		if e.End.StopReason != session.StopError || e.End.Error.Kind != string(provider.KindEgress) {
			t.Errorf("a turn outside: %+v", e.End)
		}
		in := make("d")
		b.turn(in, "one")
		b.turn(in, "two")
		model := session.ModelRef{Provider: "c", ID: "m"}
		if _, err := b.agent(in).Set(t.Context(), Change{Model: &model}); err != nil {
			t.Fatal(err)
		}
		if over, err := b.agent(in).Compact(t.Context()); err == nil && over != nil {
			if err := <-over; err == nil {
				t.Error("a summary by a provider outside")
			}
		}
		q, err := b.agent(in).Aside(t.Context(), Question{Content: text("why?").Content})
		if err == nil {
			if a, err := q.Ask(t.Context(), func(provider.BlockKind, string) {}); err == nil && a.Err == nil {
				t.Error("a side question to a provider outside")
			}
		}
		check(t, "asked", strings.Join(b.asked, " "), "a d d d")
	})
}
