package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider/sim"
)

var (
	killsWanted = flag.Int("kills", 200, "how many kills TestKills makes")
	killsSeed   = flag.Uint64("killseed", 0, "the seed of TestKills; 0: any")
)

// killLanes is over how many data directories the kills are spread: each sees its daemon again and again.
const killLanes = 4

// TestKills kills the daemon at random moments under load, starts it again on the same data directory, and compares
// what it has with what its clients were told: the prompts that were acknowledged, the blocks whose end was told, the
// ends of turns, the numbers of notifications, and the last second of what was being written.
func TestKills(t *testing.T) {
	t.Parallel()
	seed := *killsSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-killseed %d", seed)
	vendor, env := simulator(t, sim.Config{})
	vendor.ScriptFunc(recite)

	var sum tally
	t.Cleanup(func() { sum.report(t) })
	for n := range killLanes {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			l := &lane{t: t, rng: rand.New(rand.NewPCG(seed, uint64(n))), name: fmt.Sprint(n), data: t.TempDir(), env: env, sum: &sum}
			for range max(*killsWanted/killLanes, 1) {
				l.live()
				if t.Failed() {
					t.Fatalf("after %d lives; -killseed %d", l.lives, seed)
				}
			}
			l.last()
		})
	}
}

// tally counts where the kills fell: a test whose kills all fall between turns shows nothing.
type tally struct {
	kills, starting, thinking, text, judged, slow atomic.Int64
}

func (s *tally) report(t *testing.T) {
	t.Logf("%d kills: %d while starting; blocks open: %d of thinking, %d of text; %d of them older than a second; %d not judged, since commits took too long",
		s.kills.Load(), s.starting.Load(), s.thinking.Load(), s.text.Load(), s.judged.Load(), s.slow.Load())
	if t.Failed() || s.kills.Load() < 100 {
		return
	}
	for what, n := range map[string]int64{"starting": s.starting.Load(), "in thinking": s.thinking.Load(), "in text": s.text.Load(), "in old blocks": s.judged.Load() + s.slow.Load()} {
		if n == 0 {
			t.Errorf("no kill fell %s", what)
		}
	}
}

// recital is the order in a prompt: an answer of which each word is known beforehand, so that a text that is cut,
// doubled or out of order shows.
type recital struct {
	Tag                     string
	Thinking, Blocks, Words int
	Pace                    float64
}

func (r recital) prompt() string {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err) // strings and numbers
	}
	return string(b)
}

// block is the text of a block of the answer.
func (r recital) block(n int) string {
	words := r.Thinking
	if n == r.Blocks {
		words = r.Words
	}
	start := fmt.Sprintf("%s.%d.", r.Tag, n)
	var b []byte
	for i := range words {
		b = append(strconv.AppendInt(append(b, start...), int64(i), 10), ' ')
	}
	return string(b)
}

// recite answers with the recital that the last prompt asks for. It is the simulator's ScriptFunc.
func recite(req sim.Request) *sim.Answer {
	var body struct {
		Messages []struct {
			Content []struct{ Text string }
		}
	}
	if json.Unmarshal(req.Body, &body) != nil || len(body.Messages) == 0 {
		return nil
	}
	r, ok := readRecital(body.Messages[len(body.Messages)-1].Content[0].Text)
	if !ok {
		return nil
	}
	a := &sim.Answer{Pace: r.Pace}
	for n := range r.Blocks {
		a.Parts = append(a.Parts, sim.Part{Kind: sim.Thinking, Text: r.block(n)})
	}
	a.Parts = append(a.Parts, sim.Part{Kind: sim.Text, Text: r.block(r.Blocks)})
	return a
}

func readRecital(prompt string) (r recital, ok bool) {
	return r, json.Unmarshal([]byte(prompt), &r) == nil && r.Tag != ""
}

// lane is a data directory, the daemons that live on it one after the other, and what their clients know.
type lane struct {
	t     *testing.T
	rng   *rand.Rand
	name  string
	data  string
	env   []string
	sum   *tally
	lives int
	tags  int

	sessions []*told
}

// live is one life of the daemon: it is started, checked, put under load and killed.
func (l *lane) live() {
	l.lives++
	defer l.sum.kills.Add(1)
	h := open(l.t, l.data, l.env)
	if l.lives > 1 && l.rng.IntN(8) == 0 { // killed while it starts, or while it closes what the last kill left open
		moment(time.Duration(l.rng.IntN(60)) * time.Millisecond)
		l.sum.starting.Add(1)
		h.kill()
		return
	}
	h.ready()
	p := h.client(l.env)
	if !l.check(p, func(s *told) bool { return !s.settled() || l.rng.IntN(4) == 0 }) {
		return
	}
	if len(l.sessions) < atWork || len(l.active()[0].prompts) > 20 {
		l.sessions = append(l.sessions, newTold(p.newSession("model_id", "anthropic/claude-opus-5-5", "thinking_level", "medium")))
	}
	var load sync.WaitGroup
	stopped := make(chan struct{})
	for _, s := range l.active() {
		rng := rand.New(rand.NewPCG(l.rng.Uint64(), 0))
		load.Go(func() { s.speak(p, rng, l.recitals(s, rng)) }) // ends with the process
	}
	pulse := &pulse{session: l.active()[0]}
	load.Go(func() { pulse.beat(p, stopped) })

	moment(l.lifetime())
	killed := time.Now()
	p.kill()
	close(stopped)
	load.Wait()
	quick := pulse.quick(killed)
	for _, s := range l.sessions {
		s.learn(l.t, p.seen(), killed, quick, l.sum)
	}
	p.forget()
}

// atWork is how many sessions are prompted at once. When the oldest of them is long enough, a new one takes its place.
const atWork = 3

func (l *lane) active() []*told { return l.sessions[max(0, len(l.sessions)-atWork):] }

// lifetime draws when the kill comes: mostly soon, when prompts are stored and blocks sealed; now and then late enough
// for a block to be older than what may be lost of it.
func (l *lane) lifetime() time.Duration {
	switch l.rng.IntN(10) {
	case 0:
		return 1200*time.Millisecond + time.Duration(l.rng.IntN(600))*time.Millisecond
	case 1, 2:
		return time.Duration(100+l.rng.IntN(300)) * time.Millisecond
	}
	return time.Duration(l.rng.IntN(100_000)) * time.Microsecond
}

// moment lets time pass: a kill at a random moment waits for nothing else.
func moment(d time.Duration) { <-time.After(d) }

// recitals makes the prompts of a session: short ones, long ones, and some that come as fast as they can. After a few
// it makes long ones alone, so that a long life finds the session at work and does not make it huge.
func (l *lane) recitals(s *told, rng *rand.Rand) func() recital {
	life := l.lives
	n := 0
	return func() recital {
		n++
		r := recital{Tag: fmt.Sprintf("%s-%s-%d-%d", l.name, s.id[20:], life, n), Blocks: 1 + rng.IntN(2), Pace: 300}
		kind := rng.IntN(16)
		if n > 4 {
			kind = 1 + rng.IntN(6)
		}
		switch kind {
		case 0:
			r.Thinking, r.Words, r.Pace = 10, 1500, -1
		case 1, 2, 3, 4:
			r.Thinking, r.Words, r.Pace = 2000, 100, 100
		case 5, 6:
			r.Thinking, r.Words, r.Pace = 10, 2000, 100
		default:
			r.Thinking, r.Words = 10+rng.IntN(60), 10+rng.IntN(60)
		}
		return r
	}
}

// last ends the lane in order and reads the whole log.
func (l *lane) last() {
	p := start(l.t, l.data, l.env)
	if !l.check(p, func(*told) bool { return true }) {
		return
	}
	for _, s := range l.sessions {
		// What was queued over the kills still runs, after a word.
		p.must("session/queue", map[string]any{"session_id": s.id, "resume": true}, nil)
		p.must("session/cancel", map[string]any{"session_id": s.id}, nil)
	}
	p.end()
	for _, s := range l.sessions {
		s.learn(l.t, p.seen(), time.Now(), false, l.sum)
		s.checkLog(l.t, l.data)
	}
}

// check compares what the daemon has with what its clients know: of the sessions at work, and of the others those that
// are due.
func (l *lane) check(p *process, due func(*told) bool) bool {
	for i, s := range l.sessions {
		if i < len(l.sessions)-atWork && !due(s) {
			continue
		}
		var at struct {
			Seq  uint64          `json:"seq"`
			Open json.RawMessage `json:"open"`
		}
		p.must("session/attach", map[string]any{"session_id": s.id}, &at)
		if at.Seq < s.seq {
			l.t.Errorf("session %s is at %d after a kill, and %d was told before", s.id, at.Seq, s.seq)
		}
		s.seq = at.Seq
		if at.Open != nil {
			l.t.Errorf("session %s has an open turn after a kill: %s", s.id, at.Open)
		}
		var state struct{ Session struct{ Title string } }
		p.must("session/state", map[string]any{"session_id": s.id}, &state)
		if got := state.Session.Title; s.title != "" && got != s.title && got != s.titleAsked {
			l.t.Errorf("session %s has the title %q; %q was acknowledged, and %q asked for", s.id, got, s.title, s.titleAsked)
		} else if s.title != "" {
			s.title = got
		}
		messages, err := p.history(s.id)
		if err != nil {
			l.t.Errorf("history of %s: %v", s.id, err)
			return false
		}
		s.check(l.t, messages)
		for turn := range s.unended {
			var end struct {
				Stop string `json:"stop_reason"`
			}
			p.must("turn/wait", map[string]any{"session_id": s.id, "turn_id": turn}, &end)
			s.ends[turn] = end.Stop
			delete(s.unended, turn)
			if end.Stop != "interrupted" && end.Stop != "end_turn" {
				l.t.Errorf("turn %s ended with %s", turn, end.Stop)
			}
		}
	}
	return !l.t.Failed()
}

// pulse changes a title over and over: what is acknowledged must stay, and how long it takes tells how the disk does.
type pulse struct {
	session *told

	mu    sync.Mutex
	beats []struct{ from, to time.Time }
}

func (b *pulse) beat(p *process, stop chan struct{}) {
	for n := 0; ; n++ {
		title := fmt.Sprintf("title %s", time.Now().Format(time.RFC3339Nano))
		b.session.ask(title)
		from := time.Now()
		if err := p.call("session/update", map[string]any{"session_id": b.session.id, "title": title}, nil); err != nil {
			return // the kill; anything else shows as a title that is missing
		}
		b.mu.Lock()
		b.beats = append(b.beats, struct{ from, to time.Time }{from, time.Now()})
		b.mu.Unlock()
		b.session.answered(title)
		select {
		case <-stop:
			return
		case <-p.gone:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// quick reports whether the disk was as quick before the kill as the promise of a second supposes: a commit in less
// than 250 ms. What was asked for last and had no answer counts as well, by the answer before it.
func (b *pulse) quick(killed time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	end := time.Time{}
	for _, beat := range b.beats {
		if beat.to.Sub(beat.from) > 250*time.Millisecond && killed.Sub(beat.to) < 2*time.Second {
			return false
		}
		end = beat.to
	}
	return killed.Sub(end) < 250*time.Millisecond
}
