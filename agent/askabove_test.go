package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/session"
)

// asking is a bench whose sessions ask before a prompt that may cost more than askAbove.
type asking struct {
	*quoted
	calls atomic.Int32              // that the vendors got
	down  atomic.Pointer[sim.Fault] // what they answer; nil: the answer
}

const (
	askAbove = 0.02 // USD; a prompt of the sessions here may cost more when they are cold
	opus     = "anthropic/claude-opus-5-5"
)

var gpt = session.ModelRef{Provider: "openai", ID: "gpt-6.1-sol"}

func newAsking(t *testing.T) *asking {
	t.Helper()
	a := &asking{quoted: newQuoted(t, 3)}
	a.group.Close()
	a.cfg.Limits.AskAbove, a.cfg.Limits.Park = provider.MoneyOf(askAbove), 12*time.Hour
	a.start()
	a.server.ScriptFunc(func(sim.Request) *sim.Answer {
		a.calls.Add(1)
		if fault := a.down.Load(); fault != nil {
			return &sim.Answer{Fault: *fault}
		}
		return &sim.Answer{Parts: []sim.Part{{Text: strings.Repeat("The later date is in May. ", 40)}}}
	})
	return a
}

func (a *asking) text() provider.Blocks { return provider.Blocks{provider.Text{Text: a.words(8000)}} }

// talked is a session with three turns. Nobody was asked: the first prompts were cheap, and then the vendor had them in its cache.
func (a *asking) talked(model string) session.ID {
	a.Helper()
	id := a.session(model, provider.Low)
	for range 3 {
		a.prompts(id, a.text())
	}
	return id
}

// used is how many calls the vendors got since a number of them.
func (a *asking) since(before int32) int { return int(a.calls.Load() - before) }

// asksNow expects that a turn is parked with a question about its prompt.
func (a *asking) asksNow(id session.ID) *feed.TurnParked {
	a.Helper()
	p := a.parkedTurn(id)
	if p.Why != session.ParkedBudget || p.Resumes != session.ResumesOnRequest || p.Spending == nil {
		a.Fatalf("parked: %+v", p)
	}
	q := p.Spending
	if q.Limit != session.LimitPrompt || q.Used != 0 || q.Most != a.cfg.Limits.AskAbove || q.Next <= q.Most || q.Quote == nil || q.Quote.Cost == nil || q.Quote.Prompt == nil || q.Quote.Cost.High.Amount != q.Next {
		a.Fatalf("the question: %+v", q)
	}
	return p
}

func (a *asking) resume(id session.ID, turn session.TurnID, how Resumption) session.TurnID {
	a.Helper()
	on, err := a.agent(id).ResumeTurn(a.Context(), turn, how)
	if err != nil {
		a.Fatal(err)
	}
	return on
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestAskAbove parks a turn before an expensive prompt into a cold session, and answers in each way, with and without a restart.
func TestAskAbove(t *testing.T) {
	for _, answer := range []string{"go on", "compact", "cancel"} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/restart=%v", answer, restart), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					a := newAsking(t)
					id := a.talked(opus)
					time.Sleep(10 * time.Minute)
					prompt := a.text()
					quote, spent, calls := a.quote(id, session.Override{}, prompt).Quoted(), a.agentState(id).Session.Usage, a.calls.Load()
					r := a.prompted(id, Prompt{Content: prompt})
					p := a.asksNow(id)
					check(t, "the quote in the question", asJSON(t, p.Spending.Quote), asJSON(t, quote))
					if restart {
						a.restart()
						check(t, "after a restart", asJSON(t, a.asksNow(id)), asJSON(t, p))
					}
					check(t, "what lists say that it needs", a.listedAs(id), "parked parked")
					time.Sleep(time.Hour)
					check(t, "calls meanwhile", a.since(calls), 0)
					for _, how := range []Resumption{{Raise: 1}, {Compact: true, Model: &gpt}} {
						if _, err := a.agent(id).ResumeTurn(t.Context(), r.Turn, how); !errors.Is(err, ErrNoLimit) && !errors.Is(err, ErrNoCompaction) {
							t.Errorf("%+v: %v", how, err)
						}
					}
					a.answersPrompt(id, r.Turn, answer, *p.Spending.Quote, spent)
				})
			})
		}
	}
}

// answersPrompt answers the question of TestAskAbove.
func (a *asking) answersPrompt(id session.ID, turn session.TurnID, answer string, quote session.Quoted, spent provider.Usage) {
	a.Helper()
	calls, end := a.calls.Load(), session.StopEndTurn
	want := 1
	switch answer {
	case "go on":
		a.resume(id, turn, Resumption{})
	case "compact":
		a.resume(id, turn, Resumption{Compact: true})
		want = 2
	case "cancel":
		if ok, err := a.agent(id).Cancel(a.Context(), turn); !ok || err != nil {
			a.Fatal(ok, err)
		}
		end, want = session.StopCancelled, 0
	}
	e := a.outcome(id, turn)
	check(a.T, "its end", e.End.StopReason, end)
	check(a.T, "calls", a.since(calls), want)
	switch answer {
	case "go on":
		if off := float64(e.End.Usage.Input)/float64(quote.Prompt.Tokens) - 1; off < -0.05 || off > 0.05 {
			a.Errorf("%d tokens, quoted with %d", e.End.Usage.Input, quote.Prompt.Tokens)
		}
	case "compact":
		view, err := session.Load(a.Context(), a.store, id)
		if err != nil {
			a.Fatal(err)
		}
		check(a.T, "summaries", len(view.Summaries()), 1)
	case "cancel":
		check(a.T, "used", asJSON(a.T, a.agentState(id).Session.Usage), asJSON(a.T, spent))
		return
	}
	a.prompts(id, a.text()) // the session is warm
	time.Sleep(time.Hour)
	a.prompted(id, Prompt{Content: a.text()})
	if answer == "go on" { // behind a summary, it may be cheap
		a.asksNow(id) // the answer counted for one prompt
	}
}

// TestAskAboveWays asks on each way on which a prompt gets into a cold session, and not once more about the same prompt.
func TestAskAboveWays(t *testing.T) {
	for name, way := range map[string]func(a *asking, id session.ID){
		"a fork": func(a *asking, id session.ID) {
			fork, err := a.group.For(session.Operator).Fork(a.Context(), id, "")
			if err != nil {
				a.Fatal(err)
			}
			a.prompted(fork.ID, Prompt{Content: a.text()})
			a.asksNow(fork.ID)
		},
		"a queued prompt": func(a *asking, id session.ID) {
			first := a.prompted(id, Prompt{Content: a.text()})
			second := a.prompted(id, Prompt{Content: a.text()})
			a.asksNow(id)
			a.resume(id, first.Turn, Resumption{})
			a.outcome(id, second.Turn) // it is warm
			time.Sleep(time.Hour)
			a.prompted(id, Prompt{Content: a.text()})
			third := a.prompted(id, Prompt{Content: a.text()})
			if _, err := a.agent(id).Cancel(a.Context(), ""); err != nil {
				a.Fatal(err)
			}
			a.asksNow(id)
			check(a.T, "the queued turn", a.turnOf(id), third.Turn)
		},
		"a prompt for later": func(a *asking, id session.ID) {
			a.resume(id, a.prompted(id, Prompt{Content: a.text()}).Turn, Resumption{})
			synctest.Wait()
			a.prompted(id, Prompt{Content: a.text(), NotBefore: time.Now().Add(time.Hour).UnixMilli()})
			if p := a.parkedTurn(id); p.Why != session.ParkedClient {
				a.Fatalf("%+v", p)
			}
			time.Sleep(2 * time.Hour)
			a.asksNow(id)
		},
		"continue": func(a *asking, id session.ID) {
			r := a.prompted(id, Prompt{Content: a.text()})
			a.asksNow(id)
			if _, err := a.agent(id).Cancel(a.Context(), r.Turn); err != nil {
				a.Fatal(err)
			}
			if _, err := a.agent(id).Continue(a.Context(), nil, false); err != nil {
				a.Fatal(err)
			}
			a.asksNow(id)
			a.outcome(id, a.resume(id, a.turnOf(id), Resumption{}))
		},
		"resume with another model": func(a *asking, id session.ID) {
			r := a.prompted(id, Prompt{Content: a.text()})
			a.asksNow(id)
			check(a.T, "its end", a.outcome(id, a.resume(id, r.Turn, Resumption{Model: &gpt})).End.StopReason, session.StopEndTurn)
		},
		"a fallback of a warm session": func(a *asking, id session.ID) {
			a.resume(id, a.prompted(id, Prompt{Content: a.text()}).Turn, Resumption{})
			synctest.Wait()
			a.down.Store(new(sim.FaultAuth))
			r := a.prompted(id, Prompt{Content: a.text(), Override: session.Override{Fallbacks: &[]session.Link{{Model: gpt}}}})
			a.asksNow(id) // before the first call of the fallback
			a.down.Store(nil)
			a.resume(id, r.Turn, Resumption{})
			check(a.T, "its end", a.outcome(id, r.Turn).End.StopReason, session.StopEndTurn)
		},
		"a fallback behind the answer": func(a *asking, id session.ID) {
			r := a.prompted(id, Prompt{Content: a.text(), Override: session.Override{Fallbacks: &[]session.Link{{Model: gpt}}}})
			a.asksNow(id)
			a.down.Store(new(sim.FaultAuth))
			a.resume(id, r.Turn, Resumption{})
			check(a.T, "its end", a.outcome(id, r.Turn).End.StopReason, session.StopError) // both are down, and nobody was asked twice
		},
		"quota behind the answer": func(a *asking, id session.ID) {
			r := a.prompted(id, Prompt{Content: a.text()})
			a.asksNow(id)
			a.down.Store(new(sim.FaultRateLimit))
			a.resume(id, r.Turn, Resumption{})
			time.Sleep(5 * time.Minute) // for the retries
			if p := a.parkedTurn(id); p.Why != session.ParkedQuota {
				a.Fatalf("%+v", p)
			}
			a.restart()
			a.down.Store(nil)
			check(a.T, "its end", a.outcome(id, r.Turn).End.StopReason, session.StopEndTurn)
		},
		"its own amount": func(a *asking, id session.ID) {
			if _, err := a.agent(id).Set(a.Context(), Change{AskAbove: new(provider.Money(0))}); err != nil {
				a.Fatal(err)
			}
			a.prompts(id, a.text())
			a.restart()
			time.Sleep(time.Hour)
			a.prompts(id, a.text())
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAsking(t)
				id := a.talked(opus)
				time.Sleep(10 * time.Minute)
				way(a, id)
			})
		})
	}
}

// TestAskAboveUnknown: without a price nobody is asked, and a notice says so once.
func TestAskAboveUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		id := a.session("ollama/ollama", provider.Low)
		_, sub, err := a.agent(id).Attach(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		for range 4 {
			a.prompts(id, a.text())
			time.Sleep(time.Hour)
		}
		if n := strings.Count(strings.Join(methods(sub), ","), "price_unknown"); n != 1 {
			t.Errorf("%d notices", n)
		}
	})
}

// TestAskAboveSummaryFails asks again if the summary that a person chose cannot be made.
func TestAskAboveSummaryFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t)
		id := a.talked(opus)
		time.Sleep(10 * time.Minute)
		r := a.prompted(id, Prompt{Content: a.text()})
		p := a.asksNow(id)
		a.down.Store(new(sim.FaultAuth))
		calls := a.calls.Load()
		a.resume(id, r.Turn, Resumption{Compact: true})
		again := a.asksNow(id)
		check(t, "the question", asJSON(t, again.Spending), asJSON(t, p.Spending))
		check(t, "calls", a.since(calls), 1)
		if again.Error == nil {
			t.Error("nobody knows why")
		}
		a.restart()
		a.down.Store(nil)
		a.resume(id, r.Turn, Resumption{})
		check(t, "its end", a.outcome(id, r.Turn).End.StopReason, session.StopEndTurn)
	})
}

// TestAskAboveKills kills the process at each commit between the prompt and the answer. Then a person goes on with what is there. No
// call of the prompt is ever made before the answer to a question, and the question is asked once more at most.
func TestAskAboveKills(t *testing.T) {
	asked, lost := 0, 0
	for _, wounds := range []wound{killed, killedWritten} {
		for at := 1; ; at++ {
			done := false
			synctest.Test(t, func(t *testing.T) {
				a := newAsking(t)
				id := a.talked(opus)
				time.Sleep(10 * time.Minute)
				store := &wounded{Sessions: a.store, wounds: map[int]wound{at: wounds}}
				a.over(store)
				calls := a.calls.Load()
				content := a.text()
				ctx := t.Context()
				r, err := a.agent(id).Prompt(ctx, Prompt{Content: content})
				synctest.Wait()
				check(t, "calls before the answer", a.since(calls), 0)
				if err == nil && !store.isDead() {
					a.agent(id).ResumeTurn(ctx, r.Turn, Resumption{}) // it may be killed
					synctest.Wait()
				}
				if done = !store.isDead(); done {
					return
				}
				made := a.since(calls)
				a.group.Close()
				store.heal()
				a.start()
				switch p := a.parkedNow(id); {
				case p != nil:
					asked++
					check(t, "calls of a parked turn", made, 0)
					a.asksNow(id)
					a.resume(id, a.turnOf(id), Resumption{})
				case made == 0: // it ended as interrupted, or was never stored
					lost++
					if _, err := a.agent(id).Continue(ctx, nil, false); errors.Is(err, ErrFinished) {
						a.prompted(id, Prompt{Content: content})
					}
					a.asksNow(id)
					check(t, "calls before the answer", a.since(calls), made)
					a.resume(id, a.turnOf(id), Resumption{})
				}
				synctest.Wait()
				if a.since(calls) > made+1 {
					t.Errorf("%d calls", a.since(calls))
				}
			})
			if done || t.Failed() {
				break
			}
		}
	}
	t.Logf("%d times the question was there after the kill, %d times the prompt was to be sent again", asked, lost)
	if asked == 0 || lost == 0 {
		t.Error("a way was not tried")
	}
}
