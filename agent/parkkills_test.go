package agent

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

var (
	parkTurns = flag.Int("parkturns", 50, "how many turns TestParkKills has")
	parkKills = flag.Int("parkkills", 7, "how many kills TestParkKills makes")
	parkSeed  = flag.Uint64("parkseed", 0, "the seed of TestParkKills; 0: any")
)

// limited is a vendor that takes calls for some minutes now and then, and refuses them else.
type limited struct {
	mu       sync.Mutex
	rng      *rand.Rand
	changes  time.Time // of open, at the next one
	since    time.Time // of open, at the last one
	open     bool
	refused  map[string]bool // tasks whose last call was refused
	manual   map[string]bool // tasks that a client has continued since
	finals   map[string]int  // accepted last calls
	runs     map[string]int  // of tools, by task
	probes   int             // calls that were made by time and refused, long after the vendor closed
	now, max int             // of these, in parallel
}

// look opens and closes the vendor by the time of day.
func (l *limited) look() {
	for now := time.Now(); !now.Before(l.changes); {
		l.open, l.since = !l.open, l.changes
		l.changes = l.changes.Add(time.Duration(5+l.rng.IntN(60)) * time.Minute)
	}
}

// task is which prompt a request is about.
func task(req *provider.Request) string { return req.Messages[0].Blocks[0].(provider.Text).Text }

func (l *limited) judge(req *provider.Request, _ script) script {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.look()
	name, last := task(req), req.Messages[len(req.Messages)-1]
	if !l.open {
		probe := l.refused[name] && !l.manual[name] && time.Since(l.since) > 2*time.Minute
		if probe {
			l.probes++
			l.now++
			l.max = max(l.max, l.now)
		}
		l.refused[name], l.manual[name] = true, false
		after := time.Duration(10+l.rng.IntN(50)) * time.Minute
		return func(ctx context.Context, yield func(provider.Event, error) bool) {
			select {
			case <-time.After(3 * time.Second):
			case <-ctx.Done():
			}
			if probe {
				l.mu.Lock()
				l.now--
				l.mu.Unlock()
			}
			yield(nil, quota(after))
		}
	}
	l.refused[name], l.manual[name] = false, false
	for _, b := range last.Blocks {
		if _, ok := b.(provider.ToolResult); ok {
			l.finals[name]++
			return events(append([]any{time.Second}, append(say("Done."), ended)...)...)
		}
	}
	if _, ok := last.Blocks[0].(provider.Text); ok && len(req.Messages) > 1 { // continued after its results
		l.finals[name]++
		return events(append([]any{time.Second}, append(say("Done."), ended)...)...)
	}
	return calls(name+".", fmt.Sprintf(`{"at":%q}`, name))
}

// TestParkKills has many turns wait for a vendor and for people, on a fake clock, and kills the process again and again. No parked
// turn is lost, none runs without a reason, no tool runs twice, and one turn at once asks whether the vendor takes calls again.
func TestParkKills(t *testing.T) {
	seed := *parkSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-parkseed %d", seed)
	synctest.Test(t, func(t *testing.T) {
		p := newParkLife(t, seed)
		defer p.b.close()
		for k := range *parkKills {
			for range *parkTurns * 2 / *parkKills {
				p.prompt()
			}
			p.act(0.3)
			time.Sleep(time.Duration(p.rng.IntN(int(40 * time.Minute))))
			p.act(0.3)
			time.Sleep(time.Duration(p.rng.IntN(int(10 * time.Second))))
			p.kill(k)
		}
		for len(p.ids) < *parkTurns {
			p.prompt()
		}
		for range 300 {
			if p.act(1); p.unfinished() == 0 {
				break
			}
			time.Sleep(20 * time.Minute)
		}
		p.judge()
	})
}

// parkLife is a bench with the sessions of TestParkKills.
type parkLife struct {
	*testing.T
	b     *bench
	rng   *rand.Rand
	api   *limited
	store *wounded
	ids   []session.ID

	continued map[session.ID]int // turns that a kill interrupted, and that the test continued
	parked    int                // turns that were parked at a kill, of all kills
	lost      int                // of these: not parked after it
	answered  int                // questions
	resumed   int                // by the test
}

func newParkLife(t *testing.T, seed uint64) *parkLife {
	p := &parkLife{T: t, rng: rand.New(rand.NewPCG(seed, 1)), continued: make(map[session.ID]int)}
	p.api = &limited{rng: rand.New(rand.NewPCG(seed, 2)), changes: time.Now(), open: true, refused: make(map[string]bool),
		manual: make(map[string]bool), finals: make(map[string]int), runs: make(map[string]int)}
	h := &shell{inspect: commands}
	h.run = func(_ context.Context, call provider.ToolCall, _ func(string)) provider.ToolResult {
		p.api.mu.Lock()
		defer p.api.mu.Unlock()
		p.api.runs[call.ID]++
		return said("done")
	}
	b := newBench(t)
	b.fake.judge = p.api.judge
	b.cfg.Hosts = func(session.Owner, session.Session) []toolhost.Host { return []toolhost.Host{h} }
	b.cfg.Rules = tool.Policy{Effects: map[tool.Effect]tool.Rule{tool.Run: tool.Allow}}
	b.cfg.Limits.Park, b.cfg.Limits.ConfirmPark = 1000*time.Hour, true
	p.b, p.store = b, &wounded{Sessions: b.store}
	b.over(p.store)
	return p
}

// prompt begins one more turn, if there is none too many. A person is asked about half of the calls.
func (p *parkLife) prompt() {
	if len(p.ids) == *parkTurns {
		return
	}
	rules := tool.Policy{Effects: map[tool.Effect]tool.Rule{tool.Run: []tool.Rule{tool.Ask, tool.Allow}[len(p.ids)%2]}}
	s, err := p.b.group.For(session.Operator).Create(p.Context(), session.Session{Settings: session.Settings{Model: session.ModelRef{Provider: "sim", ID: "claude"}},
		Tools: []tool.Tool{{Tool: provider.Tool{Name: "look", Schema: []byte(`{"type":"object"}`)}, Host: tool.Builtin, Source: "files", Effect: tool.Run}}, Rules: rules})
	if err != nil {
		p.Fatal(err)
	}
	p.ids = append(p.ids, s.ID)
	p.b.prompted(s.ID, text(fmt.Sprint("task ", len(p.ids)-1)))
}

// act has clients do what is to be done in a share of the sessions: answer, resume, or continue after a kill.
func (p *parkLife) act(share float64) {
	synctest.Wait()
	for i, id := range p.ids {
		if p.rng.Float64() > share {
			continue
		}
		snap, sub, err := p.b.agent(id).Attach(p.Context(), 10)
		if err != nil {
			p.Fatal(err)
		}
		sub.Close()
		p.api.mu.Lock()
		p.api.manual[fmt.Sprint("task ", i)] = snap.Turn == nil || snap.Turn.Parked != nil && (snap.Turn.Parked.Resumes == session.ResumesOnRequest)
		p.api.mu.Unlock()
		switch {
		case snap.Turn == nil:
			if _, err := p.b.agent(id).Continue(p.Context(), nil, false); err == nil {
				p.continued[id]++
			} else if !errors.Is(err, ErrFinished) {
				p.Fatal(err)
			}
		case snap.Turn.Parked == nil || snap.Turn.Parked.Resumes == session.ResumesAlone:
		case len(snap.Turn.Confirms) > 0:
			p.b.rule(id, snap.Turn.Confirms[0].ID, Ruling{Action: session.AllowOnce})
			p.answered++
		default:
			if _, err := p.b.agent(id).ResumeTurn(p.Context(), snap.Turn.ID, Resumption{}); err != nil {
				p.Fatal(err)
			}
			p.resumed++
		}
	}
}

// kill ends the process without a word, and starts the next one. What was parked before is parked after it.
func (p *parkLife) kill(k int) {
	before := p.statuses()
	p.store.kill()
	p.b.group.Close()
	p.store.heal()
	p.b.cfg.Limits.Idle = time.Duration(1+k%20) * time.Minute
	p.b.start()
	for id, s := range p.statuses() {
		if before[id] != session.Parked {
			continue
		}
		if p.parked++; s != session.Parked {
			p.lost++
			p.Errorf("session %s was parked, and is %s after a kill", id, s)
		}
	}
}

func (p *parkLife) statuses() map[session.ID]session.Status {
	list := make(map[session.ID]session.Status)
	for _, id := range p.ids {
		s, err := p.store.Get(p.Context(), id)
		if err != nil {
			p.Fatal(err)
		}
		list[id] = s.Status
	}
	return list
}

// unfinished counts the sessions without an answer.
func (p *parkLife) unfinished() (n int) {
	synctest.Wait()
	for _, id := range p.ids {
		if h := p.b.history(id); len(h) == 0 || h[len(h)-1].Stop == nil || h[len(h)-1].Stop.StopReason != session.StopEndTurn {
			n++
		}
	}
	return n
}

func (p *parkLife) judge() {
	lost := p.lost + p.unfinished()
	twice, repeated := 0, 0
	for i, id := range p.ids {
		if n := p.api.finals[fmt.Sprint("task ", i)]; n > 1+p.continued[id] {
			twice++
			p.Errorf("task %d: %d last calls, and it was continued %d times", i, n, p.continued[id])
		}
	}
	for id, n := range p.api.runs {
		if n > 1 {
			repeated++
			p.Errorf("call %s ran %d times", id, n)
		}
	}
	interrupted := 0
	for _, n := range p.continued {
		interrupted += n
	}
	p.Logf("%d turns, %d kills, %d parked at a kill: %d lost, %d run twice, %d tools repeated; %d probes, at most %d at once; %d questions answered, %d resumed and %d continued by a client",
		len(p.ids), *parkKills, p.parked, lost, twice, repeated, p.api.probes, p.api.max, p.answered, p.resumed, interrupted)
	if lost > 0 || p.api.max > 1 {
		p.Errorf("%d lost, %d probes in parallel", lost, p.api.max)
	}
	if p.parked == 0 || p.answered == 0 {
		p.Error("the kills met no parked turn")
	}
	if p.api.probes == 0 && *parkKills >= 100 { // a few kills may leave every turn to its client
		p.Error("no parked turn resumed by itself")
	}
}
