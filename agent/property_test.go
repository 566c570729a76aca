package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/media"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/mem"
	"github.com/thinkd/thinkd/session/tool"
)

// TestRandomLife leads a session through prompts, cancels, settings, models, summaries, forks, watchers, crashes, failing
// disks and providers of all manners, and holds what clients saw and what models were sent against the log. It leads 25 lives;
// -rapid.checks=1000 makes them more, here and in the others.
func TestRandomLife(t *testing.T) {
	r := lead(t, drawPlan)
	t.Logf("%d forks were made, %d summaries begun and %d kept", r.forks, r.summaries, r.kept)
	if r.enough() && (r.forks == 0 || r.kept == 0) {
		t.Error("the plans do not reach all of these")
	}
}

// TestRandomTools has models that call tools over and over, clients that run them or not, and crashes among all that.
func TestRandomTools(t *testing.T) {
	r := lead(t, drawTools)
	t.Logf("%d calls ran on a host, %d were run by clients, %d questions were answered, %d prompts were taken in", r.hosted, r.run, r.answers, r.steered)
	if r.enough() && (r.hosted == 0 || r.run == 0 || r.answers == 0 || r.steered == 0) {
		t.Error("the plans do not reach all of these")
	}
}

// TestRandomReturns has many clients that go and come back with what they know, in sessions that are busy.
func TestRandomReturns(t *testing.T) {
	returns := lead(t, drawReturns)
	t.Logf("clients came back %d times to what followed, %d times to nothing new, %d times to all anew; %d prompts were said again",
		returns.followed, returns.nothing, returns.anew, returns.prompts)
	if returns.enough() && (returns.followed == 0 || returns.nothing == 0 || returns.anew == 0 || returns.prompts == 0) {
		t.Error("the plans do not reach all of these")
	}
}

func lead(t *testing.T, draw func(*rapid.T) plan) (returns returns) {
	testgo.Check(t, func(rt *rapid.T) {
		returns.lives++
		plan := draw(rt) // outside of the bubble: rapid panics when it is stopped from another goroutine
		var err error
		synctest.Test(t, func(t *testing.T) { err = plan.live(t.Context(), &returns) })
		if err != nil {
			rt.Fatal(err)
		}
	})
	return returns
}

// returns counts what clients that came back were given, the prompts that were known, and what became of calls of tools.
type returns struct {
	lives                            int
	followed, nothing, anew, prompts int
	hosted, run, answers, steered    int
	forks, summaries, kept, undone   int
	asked                            map[string]int // requests that were answered, by wire API
	continued                        int            // turns that were
	given                            int            // results of calls that are in the logs
}

// enough reports whether so many sessions ran that they must have reached everything. The 25 of the short form are drawn at
// random and may miss something; the nightly 1000 do not.
func (r returns) enough() bool { return r.lives >= 200 }

// life is a plan under way.
type life struct {
	plan
	ctx      context.Context
	local    *mem.Store
	mem      session.Sessions // of local
	store    *wounded
	fake     *fake
	api      provider.Provider
	hosted   hosted
	group    *Group
	id       session.ID
	watchers []*watcher
	gone     []*watcher // those that went, and may come back with what they know
	returns  *returns
	numbers  map[uint64]string // what was published under each Seq
	unkept   map[uint64]string // the same, of what this process could not store
	acked    []session.TurnID
	ended    map[session.TurnID]bool // acknowledged to have ended
	prompts  int
	forks    []forked
	once     []Prompt           // those with a stamp
	receipts map[string]Receipt // of those that were acknowledged, by stamp
}

// watcher is a client.
type watcher struct {
	*mirror
	sub  *feed.Subscription
	slow bool
	err  error // why there is no more
}

func (p plan) live(ctx context.Context, returns *returns) (err error) {
	known, err := registry.New([]registry.Provider{{ID: "anthropic", Vendor: "anthropic"}, {ID: "openai", Vendor: "openai"},
		{ID: "gemini", Vendor: "gemini"}, {ID: "deepseek", Vendor: "deepseek"}, {ID: "sim", Vendor: "sim"}})
	if err != nil {
		return err
	}
	local := mem.New()
	l := &life{plan: p, ctx: ctx, local: local, mem: local.For(session.Operator), fake: &fake{}, numbers: make(map[uint64]string), ended: make(map[session.TurnID]bool),
		returns: returns, receipts: make(map[string]Receipt)}
	for _, list := range p.calls {
		l.fake.scripts = append(l.fake.scripts, events(list...))
	}
	l.api = telling{l.fake}
	var catalog Catalog = known
	if p.seats != nil {
		catalog = placing{known, p.seats}
		w := wire(p, l.fake)
		l.api = w
		defer func() { err = errors.Join(err, w.end(returns)) }()
	}
	l.store = &wounded{Sessions: l.mem, wounds: p.wounds, lost: p.lost}
	defer func() { l.group.Close() }()
	if err := l.start(catalog); err != nil {
		return err
	}
	s, err := l.group.For(session.Operator).Create(ctx, session.Session{Tools: lifeTools, Rules: tool.Policy{Names: map[string]tool.Rule{"write": tool.Ask}}, Settings: session.Settings{Model: l.model(0)}})
	if err != nil {
		return err
	}
	l.id = s.ID
	for i, a := range p.acts {
		if err := l.act(a); err != nil {
			return fmt.Errorf("act %d, %v: %w", i, a, err)
		}
		time.Sleep(a.wait)
		synctest.Wait()
		if err := l.read(false); err != nil {
			return fmt.Errorf("after act %d, %v: %w", i, a, err)
		}
		if l.store.isDead() || a.kind == "crash" || a.kind == "close" {
			if a.kind != "close" {
				l.store.kill()
			}
			l.group.Close()
			if err := l.read(true); err != nil { // all of this process is read before there is another
				return fmt.Errorf("after the end by act %d, %v: %w", i, a, err)
			}
			if err := l.forgetAmbiguous(); err != nil {
				return err
			}
			l.store = &wounded{Sessions: l.mem, wounds: l.store.wounds, lost: l.store.lost, appends: l.store.appends, checkpoints: l.store.checkpoints}
			if err := l.start(catalog); err != nil {
				return err
			}
		}
	}
	return l.finish()
}

func (l *life) start(catalog Catalog) (err error) {
	l.unkept = make(map[uint64]string)
	l.group, err = NewGroup(l.ctx, Config{Store: only{l.store, l.local.Ledger()}, Left: l.local.OpenTurns, Catalog: catalog, Provider: func(string) provider.Provider { return l.api },
		Hosts: func(_ session.Owner, s session.Session) []toolhost.Host {
			return []toolhost.Host{hostedFor{&l.hosted, s.ID}}
		}, Log: slog.New(slog.DiscardHandler)})
	return err
}

// do runs f with the agent. What a failing store may answer is no fault of the agent's.
func (l *life) do(f func(*Agent) error) error {
	return excused(l.group.For(session.Operator).Do(l.ctx, l.id, f))
}

// excused is an error that a failing store does not account for.
func excused(err error) error {
	for _, allowed := range []error{session.ErrReadOnly, errDisk, errDead, ErrBusy, ErrHeld, ErrCompacting, ErrNoTurn} {
		if errors.Is(err, allowed) {
			return nil
		}
	}
	return err
}

func (l *life) act(a act) error {
	switch a.kind {
	case "prompt", "prompt with a level", "prompt with a picture", "prompt or reject", "prompt elsewhere":
		l.prompts++
		p := text(fmt.Sprintf("prompt %d", l.prompts))
		p.Reject = a.kind == "prompt or reject"
		if a.kind == "prompt with a picture" {
			shown := picture
			switch a.n % 4 { // of a type that vendors refuse, and with a label that is not its own
			case 1:
				shown = provider.Media{Type: "image/bmp", Data: []byte(bitmap)}
			case 2:
				shown.Data = []byte(bitmap)
			}
			p.Content = append(p.Content, shown)
		}
		if a.kind == "prompt with a level" {
			p.Override.Level = provider.Low
		}
		if a.kind == "prompt elsewhere" {
			p.Override.Model = new(l.model(a.n))
		}
		return l.do(func(agent *Agent) error {
			r, err := agent.Prompt(l.ctx, p)
			if err == nil {
				l.acked = append(l.acked, r.Turn)
			}
			if _, blind := errors.AsType[*media.Error](err); blind && a.kind == "prompt with a picture" {
				return nil
			}
			return err
		})
	case "steer":
		l.prompts++
		p := text(fmt.Sprintf("prompt %d", l.prompts))
		p.Steer = true
		return l.do(func(a *Agent) error {
			r, err := a.Prompt(l.ctx, p)
			if err == nil {
				l.acked = append(l.acked, r.Turn)
			}
			return err
		})
	case "append":
		l.prompts++
		p := text(fmt.Sprintf("prompt %d", l.prompts))
		return l.do(func(a *Agent) error {
			r, err := a.Append(l.ctx, p)
			if err == nil {
				l.acked = append(l.acked, r.Turn)
			}
			return err
		})
	case "run", "allow", "deny":
		return l.decide(a)
	case "prompt once":
		l.prompts++
		p := text(fmt.Sprintf("prompt %d", l.prompts))
		p.Stamp = &session.Stamp{ID: fmt.Sprint("stamp ", l.prompts), Digest: []byte{byte(l.prompts)}}
		l.once = append(l.once, p)
		return l.promptOnce(p)
	case "prompt again":
		if len(l.once) > 0 {
			return l.promptOnce(l.once[a.n%len(l.once)])
		}
	case "leave":
		if len(l.watchers) > 0 {
			i := a.n % len(l.watchers)
			w := l.watchers[i]
			w.sub.Close()
			w.err = feed.ErrClosed
			l.watchers, l.gone = slices.Delete(l.watchers, i, i+1), append(l.gone, w)
		}
	case "come back":
		if len(l.gone) > 0 {
			return l.comeBack(len(l.gone) - 1 - a.n%min(len(l.gone), 3)) // the last ones have something to come back to
		}
	case "cancel":
		return l.do(func(a *Agent) error { _, err := a.Cancel(l.ctx, ""); return err })
	case "cancel one", "cancel nothing":
		id := session.NewTurnID()
		if a.kind == "cancel one" && len(l.acked) > 0 {
			id = l.acked[a.n%len(l.acked)]
		}
		return l.do(func(a *Agent) error {
			_, err := a.Cancel(l.ctx, id)
			if err == nil {
				l.ended[id] = true
			}
			return err
		})
	case "set":
		level := []provider.Level{provider.Low, provider.High, provider.Off, provider.Max, provider.Auto, provider.On, provider.Medium}[a.n%7]
		return l.do(func(a *Agent) error { _, err := a.Set(l.ctx, Change{Level: &level}); return err })
	case "model":
		return l.do(func(agent *Agent) error {
			_, err := agent.Set(l.ctx, Change{Model: new(l.model(a.n))})
			return err
		})
	case "compact":
		return l.do(func(a *Agent) error {
			over, err := a.Compact(l.ctx) // how it ends, the log says
			if over != nil {
				l.returns.summaries++
			}
			return err
		})
	case "uncompact":
		return l.do(func(a *Agent) error {
			_, err := a.Uncompact(l.ctx, "")
			if errors.Is(err, ErrNotUndoable) {
				return nil
			}
			if err == nil {
				l.returns.undone++
			}
			return err
		})
	case "pin", "unpin":
		return l.do(func(agent *Agent) error {
			list, _, err := agent.History(l.ctx, Page{Limit: 20})
			if err != nil || len(list) == 0 {
				return err
			}
			_, err = agent.Pin(l.ctx, list[a.n%len(list)].ID, a.kind == "pin")
			if errors.Is(err, session.ErrUnfinished) || errors.Is(err, ErrNoMessage) {
				return nil
			}
			return err
		})
	case "fork before":
		return l.forkBefore(a)
	case "stop compacting":
		return l.do(func(a *Agent) error { return a.StopCompaction(l.ctx) })
	case "fork":
		return l.fork(a)
	case "attach", "attach slow", "attach and detach":
		return l.do(func(agent *Agent) error {
			snap, sub, err := agent.Attach(l.ctx, a.n)
			if err != nil {
				return err
			}
			w := &watcher{mirror: newMirror(snap), sub: sub, slow: a.kind == "attach slow"}
			l.watchers = append(l.watchers, w)
			if a.kind == "attach and detach" {
				sub.Close()
			}
			return nil
		})
	case "read":
		return l.read(true)
	case "continue":
		return l.do(func(a *Agent) error {
			r, err := a.Continue(l.ctx, nil, false)
			if errors.Is(err, ErrFinished) {
				return nil
			}
			if err == nil {
				l.returns.continued++
				l.ended[r.Continuation.Turn] = true
			}
			return err
		})
	case "resume":
		return l.do(func(a *Agent) error { return a.Resume(l.ctx) })
	case "idle":
		time.Sleep(15 * time.Minute)
	case "compare":
		return l.compare()
	case "wait":
		ctx, cancel := context.WithTimeout(l.ctx, time.Duration(a.n)*10*time.Second)
		defer cancel()
		if len(l.acked) == 0 {
			return nil
		}
		err := l.do(func(agent *Agent) error { _, err := agent.Wait(ctx, l.acked[a.n%len(l.acked)]); return err })
		if errors.Is(err, context.DeadlineExceeded) {
			return nil
		}
		return err
	case "history":
		return l.do(func(agent *Agent) error { return pages(l.ctx, agent, a.n%5+1) })
	}
	return nil
}

// lifeModels are of four vendors and APIs. What they say has one form here: the adapters' part is TestRandomWires'.
var lifeModels = []session.ModelRef{{Provider: "anthropic", ID: "claude-opus-4-6"}, {Provider: "openai", ID: "gpt-5.6-sol"},
	{Provider: "gemini", ID: "gemini-3.8-flash"}, {Provider: "deepseek", ID: "deepseek-v4-pro"}}

const bitmap = "BM\x1e\x00\x00\x00\x00\x00\x00\x00\x1a\x00\x00\x00"

// model is one of the life's.
func (p plan) model(n int) session.ModelRef {
	if p.seats != nil {
		row := p.seats[n%len(p.seats)].row
		return session.ModelRef{Provider: row.Provider, ID: row.ID}
	}
	return lifeModels[n%len(lifeModels)]
}

// forked is a session that goes on from a message of the life's, and what was said up to there.
type forked struct {
	id   session.ID
	said string
}

// fork goes on from one of the messages, or from the turns that have ended, and says something there.
func (l *life) fork(a act) error {
	history := func() (list []Message, err error) {
		err = l.group.For(session.Operator).Do(l.ctx, l.id, func(agent *Agent) (err error) {
			list, _, err = agent.History(l.ctx, Page{Limit: 1 << 20})
			return err
		})
		return list, err
	}
	list, err := history()
	if err != nil || len(list) == 0 {
		return excused(err)
	}
	at := list[len(list)-1-a.n%min(len(list), 10)].ID
	if a.n%4 == 0 {
		return l.forkEnded()
	}
	s, err := l.group.For(session.Operator).Fork(l.ctx, l.id, at)
	if errors.Is(err, session.ErrUnfinished) || errors.Is(err, ErrNoMessage) {
		return nil // it is being written, or was void a moment later
	}
	if err == nil {
		list, err = history() // what is shared has not changed since then
	}
	if err != nil {
		return excused(err)
	}
	list = list[:1+slices.IndexFunc(list, func(m Message) bool { return m.ID == at })]
	l.returns.forks++
	f := forked{s.ID, saidIn(list)}
	l.forks = append(l.forks, f)
	if err := l.judgeFork(f); err != nil {
		return err
	}
	return excused(l.group.For(session.Operator).Do(l.ctx, f.id, func(agent *Agent) error { _, err := agent.Prompt(l.ctx, text(inFork)); return err }))
}

// forkBefore goes on from before a summary, and says something there.
func (l *life) forkBefore(a act) error {
	var list []Summary
	err := l.group.For(session.Operator).Do(l.ctx, l.id, func(agent *Agent) (err error) {
		list, _, err = agent.Summaries(l.ctx, "", 100)
		return err
	})
	if err != nil || len(list) == 0 {
		return excused(err)
	}
	sum := list[a.n%len(list)]
	s, err := l.group.For(session.Operator).ForkBefore(l.ctx, l.id, session.Before{Summary: sum.ID})
	if err != nil {
		return excused(err)
	}
	l.returns.forks++
	return excused(l.group.For(session.Operator).Do(l.ctx, s.ID, func(agent *Agent) error {
		if has, _, err := agent.Summaries(l.ctx, "", 100); err != nil || slices.ContainsFunc(has, func(s Summary) bool { return s.ID == sum.ID }) {
			return fmt.Errorf("a fork from before summary %s has it (%v)", sum.ID, err)
		}
		_, err := agent.Prompt(l.ctx, text(inFork))
		return err
	}))
}

// forkEnded goes on from the turns that have ended.
func (l *life) forkEnded() error {
	s, err := l.group.For(session.Operator).Fork(l.ctx, l.id, "")
	if err != nil {
		return excused(err)
	}
	l.returns.forks++
	return excused(l.group.For(session.Operator).Do(l.ctx, s.ID, func(a *Agent) error {
		st, err := a.State(l.ctx)
		if err == nil && st.Session.Status != session.Idle {
			return fmt.Errorf("a fork of what has ended is %s", st.Session.Status)
		}
		return err
	}))
}

// inFork is what is said in forks.
const inFork = "in a fork"

// judgeFork holds what a fork has against what its parent had.
func (l *life) judgeFork(f forked) error {
	var list []Message
	err := l.group.For(session.Operator).Do(l.ctx, f.id, func(agent *Agent) (err error) {
		list, _, err = agent.History(l.ctx, Page{Limit: 1 << 20})
		return err
	})
	if err != nil {
		return excused(err)
	}
	if has := saidIn(list); !strings.HasPrefix(has, f.said) {
		return fmt.Errorf("fork %s has\n%s\nand was made of\n%s", f.id, testgo.Excerpt(has), testgo.Excerpt(f.said))
	}
	return nil
}

// saidIn is who said what, a line for each message.
func saidIn(list []Message) string {
	var b strings.Builder
	for _, m := range list {
		parts, err := json.Marshal(m.Parts)
		fmt.Fprintf(&b, "%s %s %s %v\n", m.ID, m.Role, parts, err)
	}
	return b.String()
}

// lifeTools are those of a life: two of its clients, of which one is asked about, and two of a host.
var lifeTools = []tool.Tool{
	{Tool: provider.Tool{Name: "read", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)}, Host: tool.Client},
	{Tool: provider.Tool{Name: "write", Schema: json.RawMessage(`{"type":"object"}`)}, Host: tool.Client},
	{Tool: provider.Tool{Name: "fetch", Schema: json.RawMessage(`{"type":"object"}`)}, Host: tool.MCP, Source: "hosted", Effect: tool.Read},
	{Tool: provider.Tool{Name: "shell", Schema: json.RawMessage(`{"type":"object"}`)}, Host: tool.MCP, Source: "hosted", Effect: tool.Run},
}

// hosted is a host that does what the number of its call says, and counts what it ran.
type hosted struct {
	mu  sync.Mutex
	ran map[string]int // by session and id
	n   int
}

// hostedFor is it for a session.
type hostedFor struct {
	*hosted
	session session.ID
}

func (h *hosted) Name() string                               { return "hosted" }
func (h *hosted) Tools(context.Context) ([]tool.Tool, error) { return nil, nil }
func (h *hosted) Close() error                               { return nil }
func (h *hosted) TrustsHints() bool                          { return true }

func (h hostedFor) Run(ctx context.Context, call provider.ToolCall, progress func(string)) provider.ToolResult {
	h.mu.Lock()
	if h.ran == nil {
		h.ran = make(map[string]int)
	}
	h.ran[string(h.session)+" "+call.ID]++
	n := h.n
	h.n++
	h.mu.Unlock()
	progress("begun")
	switch {
	case n%11 == 5:
		return provider.ToolResult{Failed: true}
	case n%11 == 8:
		return provider.ToolResult{Failed: n%2 == 0, Blocks: provider.Blocks{provider.Text{Text: "\n"}, picture}}
	}
	switch n % 5 {
	case 0:
		return provider.ToolResult{Blocks: provider.Blocks{provider.Text{Text: "at once"}}}
	case 1:
		panic("in the host")
	case 2:
		<-ctx.Done()
		return tool.Failed(call.ID, "ended")
	}
	select {
	case <-time.After(time.Duration(n) * time.Second):
	case <-ctx.Done():
	}
	progress("over")
	return provider.ToolResult{Failed: n%5 == 3, Blocks: provider.Blocks{provider.Text{Text: fmt.Sprint("result ", n)}}}
}

// decide lets clients run one of the calls that wait for them, or answer one of the questions.
func (l *life) decide(a act) error {
	return l.do(func(agent *Agent) error {
		snap, sub, err := agent.Attach(l.ctx, 0)
		if err != nil {
			return err
		}
		sub.Close()
		if snap.Turn == nil {
			return nil
		}
		if a.kind != "run" {
			action := session.AllowOnce
			switch {
			case a.kind == "deny":
				action = session.Deny
			case a.n%8 == 0:
				action = session.AllowSession
			}
			if len(snap.Turn.Confirms) > 0 {
				c := snap.Turn.Confirms[0]
				if ok, err := agent.Answer(l.ctx, c.ID, Ruling{Action: action, Client: "a client"}); err != nil || !ok {
					return fmt.Errorf("the answer to %s counts: %v, %w", c.ID, ok, err)
				}
				l.returns.answers++
				again, err := agent.Answer(l.ctx, c.ID, Ruling{Action: action, Client: "another client"})
				if err == nil && again {
					return fmt.Errorf("a second answer to %s counts", c.ID)
				}
				return err
			}
			return nil
		}
		for _, c := range snap.Turn.Tools {
			if c.Host != tool.Client {
				continue
			}
			said := provider.Blocks{provider.Text{Text: "from a client"}}
			if a.n%8 == 4 {
				said = nil // it failed without a word
			}
			if err := agent.ToolResult(l.ctx, c.CallID, said, a.n%4 == 0); err != nil {
				return err
			}
			l.returns.run++
			if err := agent.ToolResult(l.ctx, c.CallID, provider.Blocks{}, false); err == nil {
				return fmt.Errorf("call %s took a second result", c.CallID)
			} else if !errors.Is(err, ErrNoCall) {
				return err
			}
			return nil
		}
		return nil
	})
}

// promptOnce says something with a stamp. What was acknowledged once is acknowledged the same ever after.
func (l *life) promptOnce(p Prompt) error {
	return l.do(func(a *Agent) error {
		r, err := a.Prompt(l.ctx, p)
		if err != nil {
			return err
		}
		if first, again := l.receipts[p.Stamp.ID]; again {
			l.returns.prompts++
			if r != first {
				return fmt.Errorf("%s was acknowledged as %v, and now as %v", p.Stamp.ID, first, r)
			}
		}
		l.receipts[p.Stamp.ID] = r
		return nil
	})
}

// comeBack lets a client that went go on from what it knows.
func (l *life) comeBack(i int) error {
	w := l.gone[i]
	return l.do(func(a *Agent) error {
		snap, sub, err := a.AttachAfter(l.ctx, w.seq, 1<<20)
		if err != nil {
			return err
		}
		switch {
		case snap.Since == nil: // the old one stays among those that went, and what it knows is held against the log
			l.returns.anew++
			w = &watcher{mirror: newMirror(snap), slow: w.slow}
		case len(snap.Since) == 0:
			l.returns.nothing++
		default:
			l.returns.followed++
		}
		for _, u := range snap.Since {
			if err := errors.Join(w.apply(u), l.number(u)); err != nil {
				return err
			}
		}
		if w.seq != snap.Seq {
			return fmt.Errorf("what followed leads to %d of %d", w.seq, snap.Seq)
		}
		if snap.Since != nil {
			l.gone = slices.Delete(l.gone, i, i+1)
		}
		w.sub, w.err = sub, nil
		l.watchers = append(l.watchers, w)
		return nil
	})
}

// forgetAmbiguous drops the cursors of clients that got updates which this process could not store: the next process may use
// those numbers again.
func (l *life) forgetAmbiguous() error {
	view, err := session.Load(l.ctx, l.mem, l.id)
	if err != nil {
		return err
	}
	l.gone = slices.DeleteFunc(l.gone, func(w *watcher) bool { return w.seq > session.FirstSeq(view.LastSeq, 0) })
	return nil
}

// read drains the watchers; the slow ones only when all are meant.
func (l *life) read(all bool) error {
	var left []*watcher
	for _, w := range l.watchers {
		for all || !w.slow {
			var u *feed.Update
			if u, w.err = w.sub.TryNext(); u == nil {
				break
			}
			if err := w.apply(u); err != nil {
				return err
			}
			if err := l.number(u); err != nil {
				return err
			}
		}
		if w.err != nil {
			if stale, ok := errors.AsType[*feed.Stale](w.err); ok && stale.After != w.seq {
				return fmt.Errorf("stale after %d, and %d was the last", stale.After, w.seq)
			}
			l.gone = append(l.gone, w)
			continue
		}
		left = append(left, w)
	}
	l.watchers = left
	return nil
}

// number checks that no other update was ever published under this number. The notice that the store failed has a number that is
// in no log, so the next process cannot know of it.
func (l *life) number(u *feed.Update) error {
	if u.FirstSeq != 0 {
		return nil
	}
	what := fmt.Sprintf("%d %s %s %+v", u.Time, u.Turn, u.Event.Method(), u.Event)
	if _, ok := u.Event.(feed.SessionUpdate); ok { // has pointers
		what = u.Event.Method()
	}
	for _, told := range []map[uint64]string{l.numbers, l.unkept} {
		if before := told[u.Seq]; before != "" && before != what {
			return fmt.Errorf("%d was %s, and now %s", u.Seq, before, what)
		}
	}
	if n, ok := u.Event.(feed.Notice); ok && n.Kind == noticeStoreReadOnly {
		l.unkept[u.Seq] = what
	} else {
		l.numbers[u.Seq] = what
	}
	return nil
}

// compare holds the live session against the log, and what clients know against the session.
func (l *life) compare() error {
	return l.do(func(a *Agent) error {
		diff, err := ask(l.ctx, a, func(s *state) (string, error) {
			replayed, err := session.Load(l.ctx, l.mem, l.id)
			if err != nil || s.unsaved != nil {
				return "", err
			}
			return foldDiff(s.view, replayed), nil
		})
		if err != nil {
			return err
		}
		if diff != "" {
			return errors.New(diff)
		}
		snap, sub, err := a.Attach(l.ctx, 1)
		if err != nil {
			return err
		}
		defer sub.Close()
		history, _, err := a.History(l.ctx, Page{Limit: 1 << 20})
		if err != nil {
			return err
		}
		for _, w := range l.watchers {
			if !w.slow {
				if err := w.compare(history, snap, true); err != nil {
					return err
				}
			}
		}
		for _, w := range l.gone {
			if err := w.compare(history, snap, false); err != nil {
				return fmt.Errorf("a client that went with %v: %w", w.err, err)
			}
		}
		return nil
	})
}

func foldDiff(live, replayed *session.View) string {
	for _, t := range replayed.Queue() {
		replayed.Unload(t) // as the session does
	}
	plain := func(v *session.View) string {
		s := v.Session
		data, err := json.Marshal([]any{s, v.Turns, v.Repairs, v.Grants, v.LastSeq, v.Compaction(), v.Summaries(), v.Undoable()})
		if err != nil {
			return err.Error()
		}
		return string(data)
	}
	if a, b := plain(live), plain(replayed); a != b {
		return fmt.Sprintf("the session is\n%s\nand its log\n%s", a, b)
	}
	return ""
}

// pages reads the history in pages in both directions; they must join without a seam.
func pages(ctx context.Context, a *Agent, limit int) error {
	ids := func(list []Message) (ids []session.MessageID) {
		for _, m := range list {
			ids = append(ids, m.ID)
		}
		return ids
	}
	whole, more, err := a.History(ctx, Page{Limit: 1 << 20})
	if err != nil || more {
		return fmt.Errorf("the whole history: more %v, %w", more, err)
	}
	var up, down []Message
	for p := (Page{FromStart: true, Limit: limit}); ; p = (Page{After: up[len(up)-1].ID, Limit: limit}) {
		page, more, err := a.History(ctx, p)
		if err != nil {
			return err
		}
		if up = append(up, page...); !more {
			break
		}
	}
	for p := (Page{Limit: limit}); ; p = (Page{Before: down[0].ID, Limit: limit}) {
		page, more, err := a.History(ctx, p)
		if err != nil {
			return err
		}
		if down = slices.Concat(page, down); !more {
			break
		}
	}
	if !slices.Equal(ids(up), ids(whole)) || !slices.Equal(ids(down), ids(whole)) {
		return fmt.Errorf("history %v, upwards %v, downwards %v", ids(whole), ids(up), ids(down))
	}
	return nil
}

// finish heals the store, lets all turns end, and judges the life.
func (l *life) finish() error {
	l.store.heal()
	for range 200 { // each turn takes less than its limit of 60 minutes
		var st State
		if err := l.group.For(session.Operator).Do(l.ctx, l.id, func(a *Agent) (err error) {
			if err = a.Resume(l.ctx); err == nil {
				st, err = a.State(l.ctx)
			}
			return err
		}); err != nil {
			return fmt.Errorf("at the end: %w", err)
		}
		if st.Session.Status == session.Idle {
			break
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if err := l.read(false); err != nil {
			return err
		}
	}
	time.Sleep(2 * time.Minute) // what could not be written is written
	synctest.Wait()
	if err := l.read(false); err != nil {
		return err
	}
	if err := l.compare(); err != nil {
		return err
	}
	if err := l.read(true); err != nil {
		return err
	}
	view, err := session.Load(l.ctx, l.mem, l.id) // refuses a second end of anything
	if err != nil {
		return err
	}
	for i, t := range view.Turns {
		if t, err = view.Whole(l.ctx, l.mem, t); err != nil { // also of what a summary stands for
			return err
		}
		view.Turns[i] = t
		if t.End == nil {
			return fmt.Errorf("turn %s has no end", t.ID)
		}
		for _, m := range t.Messages {
			if m.Role == provider.Assistant && m.End == nil {
				return fmt.Errorf("message %s has no end", m.ID)
			}
			if results := t.Results(m.ID); results != nil {
				l.returns.given += len(results.Parts)
			}
		}
		if left := t.Unanswered(); len(left) > 0 {
			return fmt.Errorf("calls without a result: %+v", left)
		}
	}
	for _, t := range view.Turns {
		l.returns.steered += len(t.Took)
	}
	for call, times := range l.hosted.ran {
		l.returns.hosted++
		if times > 1 {
			return fmt.Errorf("call %s was run %d times", call, times)
		}
	}
	stamps := make(map[string]session.TurnID)
	for _, t := range view.Turns {
		if t.Prompt.Stamp == nil {
			continue
		}
		if first := stamps[t.Prompt.Stamp.ID]; first != "" {
			return fmt.Errorf("turns %s and %s are one prompt", first, t.ID)
		}
		stamps[t.Prompt.Stamp.ID] = t.ID
	}
	for stamp, r := range l.receipts {
		if stamps[stamp] != r.Turn {
			return fmt.Errorf("%s was acknowledged as turn %s, and is %q in the log", stamp, r.Turn, stamps[stamp])
		}
	}
	at := 0
	for _, id := range l.acked {
		if t := view.Turn(id); t != nil && t.Prompt.Steer {
			continue // it may go before others
		}
		i := slices.IndexFunc(view.Turns[at:], func(t *session.Turn) bool { return t.ID == id })
		if i < 0 {
			return fmt.Errorf("turn %s was acknowledged, and is not in its place in the log", id)
		}
		at += i + 1
	}
	for _, f := range l.forks {
		if err := l.judgeFork(f); err != nil {
			return err
		}
	}
	if view.Compaction() != nil {
		l.returns.kept++
	}
	if err := l.sequence(); err != nil {
		return err
	}
	if err := sums(l.ctx, l.mem, l.local.Ledger(), l.id, len(l.wounds) == 0 && !slices.ContainsFunc(l.acts, func(a act) bool { return a.kind == "crash" })); err != nil {
		return err
	}
	entries, err := l.mem.Entries(l.ctx, l.id, 0, 1<<20)
	if err != nil {
		return err
	}
	prompts := make(map[session.TurnID]string)
	for _, e := range entries {
		if p, ok := e.Body.(session.Prompt); ok {
			if p.Continues == nil {
				prompts[e.Turn] = p.Content[0].(provider.Text).Text
			}
		}
	}
	if err := l.heard(view); err != nil {
		return err
	}
	return l.requests(view, prompts)
}

// sums holds the usage of turns against their calls in the log, and that of the session against its turns and the ledger.
// If the log is not whole, because the store failed or the process was killed, the ledger may have a call that the log has not.
func sums(ctx context.Context, store session.Sessions, ledger session.Ledger, id session.ID, whole bool) error {
	entries, err := store.Entries(ctx, id, 0, 1<<20)
	if err != nil {
		return err
	}
	var all provider.Usage
	calls := make(map[session.TurnID]provider.Usage)
	for _, e := range entries {
		switch b := e.Body.(type) {
		case session.MessageEnd:
			calls[e.Turn] = calls[e.Turn].Add(b.Usage)
		case session.Retry:
			calls[e.Turn] = calls[e.Turn].Add(b.Usage)
		case session.Settled:
			calls[e.Turn] = calls[e.Turn].Add(b.Usage)
		case session.Compaction:
			if b.InTurn {
				calls[e.Turn] = calls[e.Turn].Add(b.Usage)
			} else {
				all = all.Add(b.Usage)
			}
		case session.TurnEnd:
			if !equal(b.Usage, calls[e.Turn]) {
				return fmt.Errorf("turn %s used %s, its calls %s", e.Turn, show(b.Usage), show(calls[e.Turn]))
			}
			all = all.Add(b.Usage)
		}
	}
	record, err := store.Get(ctx, id)
	if err != nil {
		return err
	}
	if !equal(record.Usage, all) {
		return fmt.Errorf("the session used %s, its turns %s", show(record.Usage), show(all))
	}
	used, err := ledger.Total(ctx, session.Ref{ID: id})
	if err != nil {
		return err
	}
	all.Context = nil
	if whole && !equal(used, all) || used.Input < all.Input || used.Output < all.Output {
		return fmt.Errorf("the ledger has %s, the log %s", show(used), show(all))
	}
	return nil
}

// sequence checks the numbers in the log: they rise.
func (l *life) sequence() error {
	entries, err := l.mem.Entries(l.ctx, l.id, 0, 1<<20)
	if err != nil {
		return err
	}
	var last uint64
	for i, e := range entries {
		if e.Seq == 0 {
			continue
		}
		if e.Seq <= last {
			return fmt.Errorf("entry %d %T has the number %d after %d", i+1, e.Body, e.Seq, last)
		}
		last = e.Seq
	}
	return nil
}
