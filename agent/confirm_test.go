package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/tool/approval"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// shell is a host that knows what its calls would do.
type shell struct {
	host
	inspect func(call provider.ToolCall) approval.Inspection
}

func (h *shell) Inspect(_ context.Context, call provider.ToolCall) approval.Inspection {
	return h.inspect(call)
}

// commands inspects calls of which the argument "at" is a command.
func commands(call provider.ToolCall) approval.Inspection {
	var in struct{ At string }
	if err := json.Unmarshal(call.Input, &in); err != nil {
		panic(err)
	}
	return approval.Inspection{Parts: []approval.Part{{Kind: approval.CommandPart, Text: in.At}}, Command: in.At}
}

// askBench has a session with one tool of an effect, about which people are asked.
func askBench(t *testing.T, h *shell, effect tool.Effect, scripts ...script) (*bench, session.ID) {
	t.Helper()
	if h.run == nil {
		h.run = func(context.Context, provider.ToolCall, func(string)) provider.ToolResult { return said("done") }
	}
	b := newBench(t, scripts...)
	b.cfg.Hosts = func(session.Owner, session.Session) []toolhost.Host { return []toolhost.Host{h} }
	b.cfg.Rules = tool.Policy{Effects: map[tool.Effect]tool.Rule{effect: tool.Ask}}
	b.group.Close()
	b.start()
	s, err := b.group.For(session.Operator).Create(t.Context(), session.Session{CWD: "/home/u/shop", Settings: session.Settings{Model: session.ModelRef{Provider: "sim", ID: "claude"}},
		Tools: []tool.Tool{{Tool: provider.Tool{Name: "look", Schema: json.RawMessage(`{"type":"object"}`)}, Host: tool.Builtin, Source: "files", Effect: effect}}})
	if err != nil {
		t.Fatal(err)
	}
	return b, s.ID
}

// questions prompts, and waits until the turn asks a person or has ended.
func (b *bench) questions(id session.ID) []feed.Confirm {
	b.Helper()
	if _, err := b.agent(id).Prompt(b.Context(), text("Go on.")); err != nil {
		b.Fatal(err)
	}
	return b.open(id)
}

// open is the questions that are open once nothing goes on.
func (b *bench) open(id session.ID) []feed.Confirm {
	b.Helper()
	synctest.Wait()
	snap, sub, err := b.agent(id).Attach(b.Context(), 0)
	if err != nil {
		b.Fatal(err)
	}
	sub.Close()
	if snap.Turn == nil {
		return nil
	}
	return snap.Turn.Confirms
}

func (b *bench) rule(id session.ID, question string, r Ruling) {
	b.Helper()
	if ok, err := b.agent(id).Answer(b.Context(), question, r); !ok || err != nil {
		b.Fatal(ok, err)
	}
}

// served is the host of a server, which may define its tool otherwise than when the session began.
type served struct {
	shell
	changed atomic.Bool
}

func (h *served) Examine(context.Context, tool.Tool, provider.ToolCall) approval.Concern {
	if h.changed.Load() {
		return approval.Concern{Danger: approval.Changed, Place: "other", Why: "the server describes this tool otherwise"}
	}
	return approval.Concern{}
}

// A grant carries the definition that the person approved. It covers no call of a tool that its server defines otherwise, also
// not after a restart, and covers them again when the definition is the old one.
func TestHostileGrantIsForADefinition(t *testing.T) {
	testgo.Cost(t)
	synctest.Test(t, func(t *testing.T) {
		h := &served{}
		h.inspect = commands
		look := func(id string) []script { return []script{calls(id, `{"at":"`+id+`"}`), nil} }
		b, id := askBench(t, &h.shell, tool.Other, slices.Concat(look("a"), look("b"), look("c"), look("d"), look("e"))...)
		defer func() { b.close() }()
		b.cfg.Hosts = func(session.Owner, session.Session) []toolhost.Host { return []toolhost.Host{h} }
		restart := func() {
			b.group.Close()
			b.start()
			sub, err := b.agent(id).Subscribe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			sub.Confirms() // a client that can ask a person
		}
		restart()

		asked := b.questions(id)
		if len(asked) != 1 {
			t.Fatalf("%d questions", len(asked))
		}
		b.rule(id, asked[0].ID, Ruling{Action: session.AllowSession})
		synctest.Wait()
		st, err := b.agent(id).State(t.Context())
		if err != nil || len(st.Grants) != 1 {
			t.Fatal(st.Grants, err)
		}
		if want := st.Session.Tools[0].Definition(); st.Grants[0].Definition != want {
			t.Errorf("the grant is for the definition %q, want %q", st.Grants[0].Definition, want)
		}
		if open := b.questions(id); len(open) > 0 {
			t.Fatalf("the grant does not cover the next call: %+v", open)
		}
		check(t, "runs", h.runs.Load(), int64(2))

		h.changed.Store(true)
		for _, when := range []string{"the server was updated", "the daemon was started again"} {
			asked = b.questions(id)
			if len(asked) != 1 || len(asked[0].Grants) > 0 || !slices.Equal(asked[0].Actions, []session.Action{session.AllowOnce, session.Deny}) || !strings.Contains(asked[0].Message, "describes this tool otherwise") {
				t.Fatalf("%s: %+v", when, asked)
			}
			b.rule(id, asked[0].ID, Ruling{Action: session.Deny})
			synctest.Wait()
			check(t, when+": runs", h.runs.Load(), int64(2))
			restart()
		}
		h.changed.Store(false)
		if open := b.questions(id); len(open) > 0 {
			t.Fatalf("the definition is the old one again: %+v", open)
		}
		check(t, "runs in the end", h.runs.Load(), int64(3))
	})
}

// A person sees all of a call, and can approve later ones by their first words. The grant outlives a restart and ends when
// it is revoked.
func TestGrants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &shell{inspect: commands}
		one := func(id, command string) script {
			input, err := json.Marshal(map[string]string{"at": command})
			if err != nil {
				t.Fatal(err)
			}
			return calls(id, string(input))
		}
		b, id := askBench(t, h, tool.Run, one("a", "git diff --stat"), one("b", "git diff HEAD"), script(nil), one("c", "git diff; rm -r /"), script(nil), one("d", "git diff"), script(nil),
			one("e", "git diff"))
		defer func() { b.close() }()
		asked := b.questions(id)
		if len(asked) != 1 {
			t.Fatalf("%d questions", len(asked))
		}
		q := asked[0]
		check(t, "origin", q.Origin, feed.Origin{Provider: "sim", Model: "claude", Host: tool.Builtin, Effect: tool.Run, Folder: "/home/u/shop"})
		check(t, "parts", q.Parts, []approval.Part{{Kind: approval.CommandPart, Text: "git diff --stat"}})
		check(t, "actions", q.Actions, []session.Action{session.AllowOnce, session.AllowSession, session.Deny})
		check(t, "grants", grantIDs(q.Grants), []string{"prefix", approval.ToolGrant})
		for _, r := range []Ruling{{Action: session.AllowOnce, Grant: "folder"}, {Action: session.Deny, Grant: "folder"}, {Action: session.AllowSession, Grant: "prefix"}} {
			if _, err := b.agent(id).Answer(t.Context(), q.ID, r); !errors.Is(err, ErrNoGrant) {
				t.Errorf("%+v: %v", r, err)
			}
		}
		check(t, "runs before an answer", h.runs.Load(), int64(0))
		b.rule(id, q.ID, Ruling{Action: session.AllowOnce, Grant: "prefix"})
		if open := b.open(id); len(open) > 0 {
			t.Fatalf("a call that the grant covers asks: %+v", open)
		}
		check(t, "runs", h.runs.Load(), int64(2))

		asked = b.questions(id)
		if len(asked) != 1 || asked[0].Parts[0].Text != "git diff; rm -r /" {
			t.Fatalf("a second command does not ask: %+v", asked)
		}
		check(t, "grants of two commands", grantIDs(asked[0].Grants), []string{approval.ToolGrant})
		b.rule(id, asked[0].ID, Ruling{Action: session.Deny, Reason: "Not that."})
		synctest.Wait()
		if got := b.results(); got[len(got)-1] != "c0 a person did not allow this call, so it was not run: Not that. (failed)" {
			t.Errorf("the model gets %q", got[len(got)-1])
		}

		b.group.Close()
		b.start()
		if open := b.questions(id); len(open) > 0 {
			t.Fatalf("after a restart the grant is forgotten: %+v", open)
		}
		check(t, "runs after a restart", h.runs.Load(), int64(3))
		st, err := b.agent(id).State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		check(t, "in force", grantIDs(st.Grants), []string{q.ID})
		forked, err := b.group.For(session.Operator).Fork(t.Context(), id, "")
		if err != nil {
			t.Fatal(err)
		}
		if st, err := b.agent(forked.ID).State(t.Context()); err != nil || len(st.Grants) > 0 {
			t.Errorf("a fork has %v, %v", st.Grants, err)
		}

		sub, err := b.agent(id).Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if st, err = b.agent(id).Set(t.Context(), Change{Revoke: []string{q.ID, "unknown"}}); err != nil || len(st.Grants) > 0 {
			t.Fatalf("%v, %v", st.Grants, err)
		}
		u, err := sub.TryNext()
		if err != nil || u == nil {
			t.Fatal(u, err)
		}
		if e := u.Event.(feed.SessionUpdate); e.Grants == nil || len(*e.Grants) > 0 {
			t.Errorf("the update has %+v", e)
		}
		if open := b.questions(id); len(open) != 1 {
			t.Fatalf("a revoked grant still applies: %+v", open)
		}
	})
}

// A standing denial ends the other open questions that it covers, denies later calls without a question, in every tool mode and after a
// restart, and ends when it is revoked.
func TestDenials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &shell{inspect: commands}
		b, id := askBench(t, h, tool.Run, calls("a", `{"at":"git push origin"}`, `{"at":"git push --force"}`, `{"at":"git diff"}`), nil,
			calls("b", `{"at":"git push"}`), nil, calls("c", `{"at":"git push"}`), nil, calls("d", `{"at":"git push"}`))
		defer func() { b.close() }()
		asked := b.questions(id)
		if len(asked) != 3 {
			t.Fatalf("%d questions", len(asked))
		}
		check(t, "denials", grantIDs(asked[0].Denials), []string{"prefix", approval.ToolDenial})
		for _, r := range []Ruling{{Action: session.AllowOnce, Grant: approval.ToolDenial}, {Action: session.Deny, Grant: approval.ToolGrant}, {Action: session.Deny, Grant: "folder"}} {
			if _, err := b.agent(id).Answer(t.Context(), asked[0].ID, r); !errors.Is(err, ErrNoGrant) {
				t.Errorf("%+v: %v", r, err)
			}
		}
		b.rule(id, asked[0].ID, Ruling{Action: session.Deny, Grant: "prefix"})
		open := b.open(id)
		if len(open) != 1 || open[0].Parts[0].Text != "git diff" {
			t.Fatalf("open after the denial: %+v", open)
		}
		b.rule(id, open[0].ID, Ruling{Action: session.AllowOnce, Grant: approval.ToolGrant})

		denied := func(when string) {
			t.Helper()
			if open := b.questions(id); len(open) > 0 {
				t.Fatalf("%s: a denied call asks: %+v", when, open)
			}
			if got := b.results(); !strings.Contains(got[len(got)-1], "a person has denied these calls until the session ends, so it was not run: Commands that begin with `git push`") {
				t.Errorf("%s: the model gets %q", when, got[len(got)-1])
			}
			check(t, "runs "+when, h.runs.Load(), int64(1))
		}
		denied("under an approval of the whole tool")
		b.group.Close()
		b.start()
		denied("after a restart")
		st, err := b.agent(id).Set(t.Context(), Change{Revoke: []string{asked[0].ID}})
		if err != nil || len(st.Grants) != 1 || st.Grants[0].Deny {
			t.Fatalf("%v, %v", st.Grants, err)
		}
		if open := b.questions(id); len(open) > 0 {
			t.Errorf("a call asks under an approval of the whole tool: %+v", open)
		}
		check(t, "runs after the denial was revoked", h.runs.Load(), int64(2))
	})
}

func grantIDs(list []tool.Grant) (ids []string) {
	for _, g := range list {
		ids = append(ids, g.ID)
	}
	return ids
}

// Edits below a granted folder run, and no others.
func TestFolderGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &shell{inspect: func(call provider.ToolCall) approval.Inspection {
			in := commands(call)
			return approval.Inspection{Parts: in.Parts, Folder: in.Command}
		}}
		b, id := askBench(t, h, tool.Edit, calls("a", `{"at":"/home/u/shop/cart"}`), calls("b", `{"at":"/home/u/shop/cart/deep"}`, `{"at":"/home/u/shop"}`))
		defer b.close()
		b.rule(id, b.questions(id)[0].ID, Ruling{Action: session.AllowOnce, Grant: "folder"})
		open := b.open(id)
		if len(open) != 1 || open[0].Parts[0].Text != "/home/u/shop" {
			t.Errorf("%+v", open)
		}
		check(t, "runs", h.runs.Load(), int64(2))
	})
}

// A mode that refuses calls answers the open questions about them: nobody can allow them any more.
func TestToolModeAnswersQuestions(t *testing.T) {
	for effect, want := range map[tool.Effect]int{tool.Edit: 0, tool.Run: 0, tool.Other: 0, tool.Read: 2} {
		synctest.Test(t, func(t *testing.T) {
			h := &shell{inspect: commands}
			b, id := askBench(t, h, effect, calls("a", `{"at":"x"}`, `{"at":"y"}`))
			defer b.close()
			asked := b.questions(id)
			sub, err := b.agent(id).Subscribe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			mode := tool.ModeRead
			if _, err := b.agent(id).Set(t.Context(), Change{Mode: &mode}); err != nil {
				t.Fatal(err)
			}
			if open := b.open(id); len(open) != want {
				t.Errorf("%s: %d questions are open", effect, len(open))
			}
			if want > 0 {
				return
			}
			if ok, err := b.agent(id).Answer(t.Context(), asked[0].ID, Ruling{Action: session.AllowOnce}); ok || err != nil {
				t.Errorf("%s: an answer counts after the mode: %v, %v", effect, ok, err)
			}
			var by []feed.By
			for u, _ := sub.TryNext(); u != nil; u, _ = sub.TryNext() {
				if e, ok := u.Event.(feed.ConfirmResolved); ok {
					by = append(by, e.By)
				}
			}
			check(t, "by", by, []feed.By{feed.ByMode, feed.ByMode})
			check(t, "runs", h.runs.Load(), int64(0))
			check(t, "results", b.results(), []string{"a0 the session was set to the tool mode read, so this call was not run (failed)",
				"a1 the session was set to the tool mode read, so this call was not run (failed)"})
		})
	}
}

// What cannot be shown whole can only be denied, and the model gets the limit.
func TestApprovalTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &shell{inspect: func(provider.ToolCall) approval.Inspection {
			return approval.Inspection{Parts: []approval.Part{{Kind: approval.ContentPart, Name: "a", Text: strings.Repeat("\x01", 1000)}}} // 6 bytes each, as JSON
		}}
		b, id := askBench(t, h, tool.Edit, calls("a", `{}`))
		defer b.close()
		b.cfg.Limits.ConfirmBytes = 5000
		b.group.Close()
		b.start()
		asked := b.questions(id)
		q := asked[0]
		check(t, "actions", q.Actions, []session.Action{session.Deny})
		check(t, "limit", q.Limit, 5000)
		if len(q.Parts) > 0 || len(q.Grants) > 0 || q.Parts == nil || q.Grants == nil || !strings.Contains(q.Message, "at most 5000") {
			t.Errorf("%+v", q)
		}
		for _, r := range []Ruling{{Action: session.AllowOnce}, {Action: session.AllowSession}, {Action: session.AllowOnce, Grant: approval.ToolGrant}} {
			if _, err := b.agent(id).Answer(t.Context(), q.ID, r); !errors.Is(err, ErrNoAction) {
				t.Errorf("%+v: %v", r, err)
			}
		}
		b.rule(id, q.ID, Ruling{Action: session.Deny})
		synctest.Wait()
		check(t, "runs", h.runs.Load(), int64(0))
		if got := b.results(); len(got) != 1 || !strings.Contains(got[0], "of at most 5000 that can be shown") {
			t.Errorf("the model gets %q", got)
		}
	})
}

// A host that panics in its inspection ends nothing: people see the arguments.
func TestInspectionPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, id := askBench(t, &shell{inspect: func(provider.ToolCall) approval.Inspection { panic("a fault of the host") }}, tool.Run, calls("a", `{"at":"x"}`))
		defer b.close()
		asked := b.questions(id)
		if len(asked) != 1 {
			t.Fatalf("%d questions", len(asked))
		}
		check(t, "parts", asked[0].Parts, []approval.Part{{Kind: approval.ValuePart, Name: "at", Text: "x"}})
	})
}

// approvals is a store in which each commit waits for a word.
type approvals struct {
	session.Sessions
	entered chan []string // the kinds of the entries of a commit that is about to be made
	commit  chan error    // what becomes of it
}

func (s *approvals) Claim(ctx context.Context, id session.ID) (session.Log, error) {
	return appending(ctx, s.Sessions, id, s.add)
}

func (s *approvals) add(ctx context.Context, log session.Log, entries ...session.Entry) (uint64, error) {
	var kinds []string
	for _, e := range entries {
		kinds = append(kinds, strings.TrimPrefix(fmt.Sprintf("%T", e.Body), "session."))
	}
	if slices.Contains(kinds, "Verdict") || slices.Contains(kinds, "ToolStart") {
		s.entered <- kinds
		if err := <-s.commit; err != nil {
			return 0, err
		}
	}
	return log.Append(ctx, entries...)
}

// A tool starts only after the approval is on disk, together with the word that it starts: after a power cut nobody would
// know of a call that ran without both. Where they cannot be stored it never starts.
func TestApprovalIsStoredBeforeTheToolStarts(t *testing.T) {
	for _, failure := range []error{nil, errors.New("the disk is full")} {
		synctest.Test(t, func(t *testing.T) {
			h := &shell{inspect: commands}
			b, id := askBench(t, h, tool.Run, calls("a", `{"at":"x"}`))
			defer func() { b.close() }()
			store := &approvals{b.store, make(chan []string), make(chan error)}
			b.group.Close()
			b.store, b.cfg.Store = store, only{store, b.local.Ledger()}
			b.start()
			q := b.questions(id)[0]
			a := b.agent(id)
			answered := make(chan error)
			testgo.Go(t, func() { // ends with the answer, which is awaited below
				_, err := a.Answer(t.Context(), q.ID, Ruling{Action: session.AllowOnce})
				answered <- err
			})
			check(t, "one commit", <-store.entered, []string{"Verdict", "ToolStart"})
			synctest.Wait() // whatever could run has run, or waits
			check(t, "runs before the commit", h.runs.Load(), int64(0))
			store.commit <- failure
			err := <-answered
			synctest.Wait()
			want := int64(1)
			if failure != nil {
				want = 0
			}
			check(t, "runs after the commit", h.runs.Load(), want)
			if (err != nil) != (failure != nil) {
				t.Errorf("the answer is %v", err)
			}
		})
	}
}

// A call that a rule allows starts only after the word that it starts is on disk.
func TestStartIsStoredBeforeTheToolStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &shell{inspect: commands}
		b, id := askBench(t, h, tool.Read, calls("a", `{"at":"x"}`))
		defer b.close()
		store := &approvals{b.store, make(chan []string), make(chan error)}
		b.group.Close()
		b.store, b.cfg.Store, b.cfg.Rules = store, only{store, b.local.Ledger()}, tool.Policy{}
		b.start()
		if _, err := b.agent(id).Prompt(t.Context(), text("Look.")); err != nil {
			t.Fatal(err)
		}
		check(t, "one commit", <-store.entered, []string{"ToolStart"})
		synctest.Wait()
		check(t, "runs before the commit", h.runs.Load(), int64(0))
		store.commit <- nil
		synctest.Wait()
		check(t, "runs after the commit", h.runs.Load(), int64(1))
	})
}
