package proof

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider/testgo"
)

// Lane is a data directory, the daemons that live on it one after the other, and what their clients know.
type Lane struct {
	T     *testing.T
	Rng   *rand.Rand
	Name  string
	Data  string
	Env   []string
	Sum   *Tally
	Lives int

	Sessions []*Received
}

// Live is one life of the daemon: it is started, checked, put under load and killed.
func (l *Lane) Live() {
	l.Lives++
	defer l.Sum.kills.Add(1)
	h := Open(l.T, l.Data, l.Env)
	if l.Lives > 1 && l.Rng.IntN(8) == 0 { // killed while it starts, or while it closes what the last kill left open
		Moment(time.Duration(l.Rng.IntN(60)) * time.Millisecond)
		l.Sum.starting.Add(1)
		h.Kill()
		return
	}
	h.Ready()
	p := h.Client(l.Env)
	if !l.Check(p, func(s *Received) bool { return !s.settled() || l.Rng.IntN(4) == 0 }) {
		return
	}
	if len(l.Sessions) < atWork || len(l.active()[0].Prompts) > 20 {
		l.Sessions = append(l.Sessions, NewReceived(p.NewSession("model_id", "anthropic/claude-opus-5-5", "thinking_level", "medium")))
	}
	var load sync.WaitGroup
	stopped := make(chan struct{})
	for _, s := range l.active() {
		rng := rand.New(rand.NewPCG(l.Rng.Uint64(), 0))
		load.Go(testgo.Guard(l.T, func() { s.speak(p, rng, l.recitals(s, rng)) })) // ends with the process
	}
	pulse := &pulse{session: l.active()[0]}
	load.Go(testgo.Guard(l.T, func() { pulse.beat(p, stopped) }))

	Moment(l.lifetime())
	killed := time.Now()
	p.Kill()
	close(stopped)
	load.Wait()
	quick := pulse.quick(killed)
	for _, s := range l.Sessions {
		s.learn(l.T, p.Seen(), killed, quick, l.Sum)
	}
	p.Forget()
}

// atWork is how many sessions are prompted at once. When the oldest of them is long enough, a new one takes its place.
const atWork = 3

func (l *Lane) active() []*Received { return l.Sessions[max(0, len(l.Sessions)-atWork):] }

// lifetime draws when the kill comes: mostly soon, when prompts are stored and blocks sealed; now and then late enough
// for a block to be older than what may be lost of it.
func (l *Lane) lifetime() time.Duration {
	switch l.Rng.IntN(10) {
	case 0:
		return 1200*time.Millisecond + time.Duration(l.Rng.IntN(600))*time.Millisecond
	case 1, 2:
		return time.Duration(100+l.Rng.IntN(300)) * time.Millisecond
	}
	return time.Duration(l.Rng.IntN(100_000)) * time.Microsecond
}

// recitals makes the prompts of a session: short ones, long ones, and some that come as fast as they can. After a few
// it makes long ones alone, so that a long life finds the session at work and does not make it huge.
func (l *Lane) recitals(s *Received, rng *rand.Rand) func() Recital {
	life := l.Lives
	n := 0
	return func() Recital {
		n++
		r := Recital{Tag: fmt.Sprintf("%s-%s-%d-%d", l.Name, s.Id[20:], life, n), Blocks: 1 + rng.IntN(2), Pace: 300}
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

// Last ends the lane in order and reads the whole log.
func (l *Lane) Last() {
	p := Start(l.T, l.Data, l.Env)
	if !l.Check(p, func(*Received) bool { return true }) {
		return
	}
	for _, s := range l.Sessions {
		// What was queued over the kills still runs, after a word.
		p.Must("session/queue", map[string]any{"session_id": s.Id, "resume": true}, nil)
		p.Must("session/cancel", map[string]any{"session_id": s.Id}, nil)
	}
	p.End()
	for _, s := range l.Sessions {
		s.learn(l.T, p.Seen(), time.Now(), false, l.Sum)
		s.CheckLog(l.T, l.Data)
	}
}

// Check compares what the daemon has with what its clients know: of the sessions at work, and of the others those that
// are due.
func (l *Lane) Check(p *Process, due func(*Received) bool) bool {
	for i, s := range l.Sessions {
		if i < len(l.Sessions)-atWork && !due(s) {
			continue
		}
		var at struct {
			Seq  uint64          `json:"seq"`
			Open json.RawMessage `json:"open"`
		}
		p.Must("session/attach", map[string]any{"session_id": s.Id}, &at)
		if at.Seq < s.Seq {
			l.T.Errorf("session %s is at %d after a kill, and %d was published before", s.Id, at.Seq, s.Seq)
		}
		s.Seq = at.Seq
		if at.Open != nil {
			l.T.Errorf("session %s has an open turn after a kill: %s", s.Id, at.Open)
		}
		var state struct{ Session struct{ Title string } }
		p.Must("session/state", map[string]any{"session_id": s.Id}, &state)
		if got := state.Session.Title; s.title != "" && got != s.title && got != s.titleAsked {
			l.T.Errorf("session %s has the title %q; %q was acknowledged, and %q asked for", s.Id, got, s.title, s.titleAsked)
		} else if s.title != "" {
			s.title = got
		}
		messages, err := p.History(s.Id)
		if err != nil {
			l.T.Errorf("history of %s: %v", s.Id, err)
			return false
		}
		s.check(l.T, messages)
		for turn := range s.Unended {
			var end struct {
				Stop string `json:"stop_reason"`
			}
			p.Must("turn/wait", map[string]any{"session_id": s.Id, "turn_id": turn}, &end)
			s.Ends[turn] = end.Stop
			delete(s.Unended, turn)
			if end.Stop != "interrupted" && end.Stop != "end_turn" {
				l.T.Errorf("turn %s ended with %s", turn, end.Stop)
			}
		}
	}
	return !l.T.Failed()
}

// pulse changes a title over and over: what is acknowledged must stay, and how long it takes tells how the disk does.
type pulse struct {
	session *Received

	mu    sync.Mutex
	beats []struct{ from, to time.Time }
}

func (b *pulse) beat(p *Process, stop chan struct{}) {
	for n := 0; ; n++ {
		title := fmt.Sprintf("title %s", time.Now().Format(time.RFC3339Nano))
		b.session.ask(title)
		from := time.Now()
		if err := p.Call("session/update", map[string]any{"session_id": b.session.Id, "title": title}, nil); err != nil {
			return // the kill; anything else shows as a title that is missing
		}
		b.mu.Lock()
		b.beats = append(b.beats, struct{ from, to time.Time }{from, time.Now()})
		b.mu.Unlock()
		b.session.answered(title)
		select {
		case <-stop:
			return
		case <-p.Gone:
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
