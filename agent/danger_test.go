package agent

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/tool/approval"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// examiner is a host that finds a danger in arguments, which name it.
type examiner struct {
	host
	decided []approval.Concern // of the calls that ran
}

var dangers = map[string]approval.Danger{"broad": approval.Broad, "program": approval.Program, "secret": approval.Secret, "protected": approval.Protected}

func (h *examiner) Examine(_ context.Context, _ tool.Tool, call provider.ToolCall) approval.Concern {
	var in struct{ At string }
	if err := json.Unmarshal(call.Input, &in); err != nil {
		panic(err)
	}
	return approval.Concern{Danger: dangers[in.At], Place: in.At, Why: in.At + " is a place"}
}

func (h *examiner) Run(ctx context.Context, call provider.ToolCall, progress func(string)) provider.ToolResult {
	h.decided = append(h.decided, approval.DecisionOn(ctx).Concern)
	return h.host.Run(ctx, call, progress)
}

func examinerBench(t *testing.T, rules tool.Policy, scripts ...script) (*bench, session.ID, *examiner) {
	t.Helper()
	h := &examiner{host: host{run: func(context.Context, provider.ToolCall, func(string)) provider.ToolResult { return said("done") }}}
	b, id := toolBench(t, &h.host, scripts...)
	b.cfg.Rules, b.cfg.Hosts = rules, func(session.Owner, session.Session) []toolhost.Host { return []toolhost.Host{h} }
	b.group.Close()
	b.start()
	return b, id, h
}

// A call that only a person can allow is refused at once where no client can ask one, whatever the rules say.
func TestHostileNobodyToAsk(t *testing.T) {
	testgo.Cost(t)
	synctest.Test(t, func(t *testing.T) {
		allow := tool.Policy{Names: map[string]tool.Rule{"look": tool.Allow}}
		b, id, h := examinerBench(t, allow, calls("a", `{"at":"secret"}`, `{"at":"protected"}`, `{"at":"broad"}`))
		defer b.close()
		if _, err := b.agent(id).Subscribe(t.Context()); err != nil { // a client that says nothing of confirming
			t.Fatal(err)
		}
		begun := time.Now()
		e := b.turn(id, "Look around.")
		check(t, "end", string(e.End.StopReason), "end_turn")
		check(t, "time", time.Since(begun), time.Duration(0))
		got := b.results()
		if len(got) != 3 || !strings.Contains(got[0], "no client that could ask one is connected") || !strings.Contains(got[1], "no tool may touch it") || got[2] != "a2 done" {
			t.Errorf("%q", got)
		}
		check(t, "runs", h.runs.Load(), int64(1))
	})
}

// A person is asked about each call that touches a secret place, also after the tool was allowed for the session, and has no
// action that would allow the next one.
func TestHostileSecretAsksEachTime(t *testing.T) {
	testgo.Cost(t)
	synctest.Test(t, func(t *testing.T) {
		allow := tool.Policy{Names: map[string]tool.Rule{"look": tool.Allow}}
		b, id, h := examinerBench(t, allow, calls("a", `{"at":"secret"}`), calls("b", `{"at":"secret"}`))
		defer b.close()
		a := b.agent(id)
		sub, err := a.Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		sub.Confirms()
		asked := 0
		done := testgo.Go(t, func() { // ends with the turn
			for {
				u, err := sub.Next(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				switch e := u.Event.(type) {
				case feed.Confirm:
					asked++
					check(t, "runs before the answer", h.runs.Load(), int64(asked-1))
					check(t, "actions", e.Actions, []session.Action{session.AllowOnce, session.Deny})
					if !strings.Contains(e.Message, "secret is a place") {
						t.Errorf("the question does not say why: %q", e.Message)
					}
					if ok, err := a.Answer(t.Context(), e.ID, Ruling{Action: session.AllowOnce, Client: "me"}); !ok || err != nil {
						t.Errorf("%v, %v", ok, err)
					}
				case feed.TurnEnd:
					return
				}
			}
		})
		b.turn(id, "Look around.")
		<-done
		check(t, "questions", asked, 2)
		check(t, "decided on", h.decided, []approval.Concern{{Danger: approval.Secret, Place: "secret", Why: "secret is a place"}, {Danger: approval.Secret, Place: "secret", Why: "secret is a place"}})
	})
}

// slow is a store that gives all other goroutines the time to do what they can before it stores.
type slow struct {
	session.Sessions
	storing func(session.Entry)
}

func (s slow) Claim(ctx context.Context, id session.ID) (session.Log, error) {
	return appending(ctx, s.Sessions, id, s.add)
}

func (s slow) add(ctx context.Context, log session.Log, entries ...session.Entry) (uint64, error) {
	synctest.Wait()
	for _, e := range entries {
		s.storing(e)
	}
	return log.Append(ctx, entries...)
}

// No tool runs before its start is stored, nor before the approval is: after a crash a call that ran must not look as if it
// never had.
func TestHostileApprovalIsStoredFirst(t *testing.T) {
	testgo.Cost(t)
	for _, asks := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			at := `{"at":"broad"}`
			if !asks {
				at = `{}`
			}
			b, id, h := examinerBench(t, tool.Policy{}, calls("a", at))
			defer b.close()
			starts, verdicts := 0, 0
			b.cfg.Store = only{slow{b.store, func(e session.Entry) {
				switch e.Body.(type) {
				case session.ToolStart:
					starts++
					check(t, "runs before the start is stored", h.runs.Load(), int64(0))
				case session.Verdict:
					verdicts++
					check(t, "runs before the approval is stored", h.runs.Load(), int64(0))
				}
			}}, b.local.Ledger()}
			b.group.Close()
			b.start()
			a := b.agent(id)
			sub, err := a.Subscribe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			sub.Confirms()
			if _, err := a.Prompt(t.Context(), text("Look around.")); err != nil {
				t.Fatal(err)
			}
			for ended := false; !ended; {
				u, err := sub.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				switch e := u.Event.(type) {
				case feed.Confirm:
					if ok, err := a.Answer(t.Context(), e.ID, Ruling{Action: session.AllowOnce, Client: "me"}); !ok || err != nil {
						t.Errorf("%v, %v", ok, err)
					}
				case feed.TurnEnd:
					ended = true
				}
			}
			want := 0
			if asks {
				want = 1
			}
			check(t, "starts, approvals and runs", []int{starts, verdicts, int(h.runs.Load())}, []int{1, want, 1})
		})
	}
}

// A tool that does not heed its context holds up the end of its session no longer than the limit, and a cancel not at all.
func TestHostileToolIgnoresTheEnd(t *testing.T) {
	testgo.Cost(t)
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		h := &host{run: func(context.Context, provider.ToolCall, func(string)) provider.ToolResult {
			<-release
			return said("at last")
		}}
		b, id := toolBench(t, h, calls("a", `{}`), calls("b", `{}`))
		for _, act := range []struct {
			name string
			end  func()
			want time.Duration
		}{
			{"cancel", func() {
				if _, err := b.agent(id).Cancel(t.Context(), ""); err != nil {
					t.Error(err)
				}
			}, 0},
			{"shutdown", b.close, callsEnd},
		} {
			a := b.agent(id)
			sub, err := a.Subscribe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := a.Prompt(t.Context(), text("Look around.")); err != nil {
				t.Fatal(err)
			}
			synctest.Wait() // the tool runs
			begun := time.Now()
			act.end()
			check(t, act.name, time.Since(begun), act.want)
			if act.want == 0 {
				for end := false; !end; {
					u, err := sub.Next(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					_, end = u.Event.(feed.TurnEnd)
				}
				check(t, "the turn's end after "+act.name, time.Since(begun), time.Duration(0))
			}
		}
		check(t, "runs", h.runs.Load(), int64(2))
	})
}
