package proof

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/bolt"
)

// Received is what the clients of a session received, over all restarts of the daemon.
type Received struct {
	Id  string
	Seq uint64 // the highest number that was seen

	mu      sync.Mutex // for prompts and titles, which speak and the pulse write
	Prompts []*Said
	title   string // the last one that was acknowledged
	// titleAsked has had no answer: it may be there or not.
	titleAsked string

	Numbers map[uint64]string         // method by number
	Sealed  map[Place]Sealed          // blocks whose end was received
	growing map[Place]*growth         // blocks that were open at a kill
	Ends    map[string]string         // stop reason by turn
	Unended map[string]bool           // turns that were open at a kill
	owner   map[string]*Said          // by turn
	msgs    map[string]map[int]string // blocks of the history, to see that they never change
}

type Place struct {
	Message string
	Block   int
}

type Sealed struct {
	Turn, Text string
	Thinking   bool
	Signed     bool
}

// growth is an open block as it came.
type growth struct {
	turn   string
	kind   string // the method
	pieces []piece
	safe   string // what was sent more than a second before the kill
	judged bool   // safe counts
}

type piece struct {
	text string
	sent int64 // not later than this
}

// Said is a prompt.
type Said struct {
	Text  string
	Turn  string // empty: it was not acknowledged
	Order Recital
}

func NewReceived(id string) *Received {
	return &Received{Id: id, Numbers: map[uint64]string{}, Sealed: map[Place]Sealed{}, growing: map[Place]*growth{}, Ends: map[string]string{},
		Unended: map[string]bool{}, owner: map[string]*Said{}, msgs: map[string]map[int]string{}}
}

// speak prompts until the process is gone; now and then a second prompt waits behind the first.
func (s *Received) speak(p *Process, rng *rand.Rand, next func() Recital) {
	for {
		var turn string
		for range 1 + rng.IntN(4)/3 {
			order := next()
			prompt := &Said{Text: order.Prompt(), Order: order}
			s.mu.Lock()
			s.Prompts = append(s.Prompts, prompt)
			s.mu.Unlock()
			var receipt struct {
				Turn string `json:"turn_id"`
			}
			if err := p.Call("session/prompt", map[string]any{"session_id": s.Id, "text": prompt.Text}, &receipt); err != nil {
				return // the kill; whatever else it is, the prompts after it are missing
			}
			s.mu.Lock()
			prompt.Turn = receipt.Turn
			s.mu.Unlock()
			turn = receipt.Turn
		}
		if _, err := p.Find(Ended(turn)); err != nil {
			return
		}
	}
}

// settled reports whether all that the last kill left open has been looked at since.
func (s *Received) settled() bool { return len(s.growing) == 0 && len(s.Unended) == 0 }

func (s *Received) ask(title string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.titleAsked = title
}

func (s *Received) answered(title string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.title = title
}

// learn takes in what a process told before it was killed.
func (s *Received) learn(t *testing.T, updates []Update, killed time.Time, quick bool, sum *Tally) {
	growing := map[Place]*growth{}
	var last *growth // whose last piece has no update after it yet
	for _, u := range updates {
		if u.Session != s.Id {
			continue
		}
		s.number(t, u)
		if last != nil { // a merged piece bears the time of its first part; it was sent before what follows
			last.pieces[len(last.pieces)-1].sent = u.TS
			last = nil
		}
		at := Place{u.Message, u.Block}
		switch u.Method {
		case "turn_start":
			s.Unended[u.Turn] = true
		case "turn_end":
			if s.Ends[u.Turn] != "" {
				t.Errorf("turn %s ended twice", u.Turn)
			}
			s.Ends[u.Turn] = u.Stop
			delete(s.Unended, u.Turn)
		case "thinking_delta", "message_delta":
			g := growing[at]
			if g == nil {
				g = &growth{turn: u.Turn, kind: u.Method}
				growing[at] = g
			}
			g.pieces = append(g.pieces, piece{u.Delta, killed.UnixMilli()})
			last = g
		case "thinking_end", "text_end":
			if _, twice := s.Sealed[at]; twice {
				t.Errorf("block %v ended twice", at)
			}
			s.Sealed[at] = Sealed{u.Turn, u.Text, u.Method == "thinking_end", u.Signed}
			if g := growing[at]; g != nil && g.text() != u.Text {
				t.Errorf("block %v: its deltas do not add up to its end", at)
			}
			delete(growing, at)
		case "retry":
			t.Errorf("session %s: a call was made again: %s", s.Id, u.Raw)
		}
	}
	for at, g := range growing {
		if g.kind == "thinking_delta" {
			sum.thinking.Add(1)
		} else {
			sum.text.Add(1)
		}
		for _, p := range g.pieces {
			if p.sent < killed.UnixMilli()-1000 {
				g.safe += p.text
			}
		}
		g.judged = quick && g.safe != ""
		switch {
		case g.judged:
			sum.judged.Add(1)
		case g.safe != "":
			sum.slow.Add(1)
		}
		s.growing[at] = g
	}
}

func (g *growth) text() string {
	var b strings.Builder
	for _, p := range g.pieces {
		b.WriteString(p.text)
	}
	return b.String()
}

// number checks that the numbers of a session grow without a gap within a life and never come again.
func (s *Received) number(t *testing.T, u Update) {
	first := u.Seq
	if u.FirstSeq != 0 {
		first = u.FirstSeq
	}
	if first != s.Seq+1 {
		t.Errorf("session %s: %s has the number %d after %d", s.Id, u.Method, first, s.Seq)
	}
	s.Seq = u.Seq
	s.Numbers[u.Seq] = u.Method
}

// check compares a history with what was received.
func (s *Received) check(t *testing.T, messages []SpokenMessage) {
	s.checkPrompts(t, messages)
	blocks := map[Place]bool{}
	for _, m := range messages {
		prompt := s.owner[m.Turn]
		if m.Role != "assistant" || prompt == nil {
			continue
		}
		if m.Open {
			t.Errorf("message %s is open after a kill", m.ID)
		}
		before := -1
		for _, b := range m.Content {
			at := Place{m.ID, b.Block}
			blocks[at] = true
			if b.Block <= before {
				t.Errorf("message %s: block %d after %d", m.ID, b.Block, before)
			}
			before = b.Block
			s.checkBlock(t, at, b.Type == "thinking", b.Signed, b.Text, prompt.Order.Block(b.Block), m.Incomplete)
		}
	}
	for at, b := range s.Sealed {
		if !blocks[at] {
			t.Errorf("block %v of turn %s was published as finished and is not in the history", at, b.Turn)
		}
	}
	for at, g := range s.growing {
		if g.judged && !blocks[at] {
			t.Errorf("block %v of turn %s has nothing of %d bytes that are older than a second", at, g.turn, len(g.safe))
		}
	}
	clear(s.growing)
}

func (s *Received) checkBlock(t *testing.T, at Place, thinking, signed bool, text, whole, incomplete string) {
	if !strings.HasPrefix(whole, text) {
		t.Errorf("block %v is not a beginning of what was said: %q", at, tail(text))
	}
	if incomplete == "" && text != whole {
		t.Errorf("block %v is not whole, and its message is: %d of %d bytes", at, len(text), len(whole))
	}
	if thinking && signed && text != whole {
		t.Errorf("block %v is signed and not whole: %d of %d bytes", at, len(text), len(whole))
	}
	if b, ok := s.Sealed[at]; ok && (b.Text != text || b.Thinking != thinking || b.Signed != signed) {
		t.Errorf("block %v was published with %d bytes, thinking %v, signed %v; the history has %d, %v, %v",
			at, len(b.Text), b.Thinking, b.Signed, len(text), thinking, signed)
	}
	if g := s.growing[at]; g != nil && g.judged && !strings.HasPrefix(text, g.safe) {
		t.Errorf("block %v has %d bytes; %d were published more than a second before the kill", at, len(text), len(g.safe))
	}
	if s.msgs[at.Message] == nil {
		s.msgs[at.Message] = map[int]string{}
	}
	if old, ok := s.msgs[at.Message][at.Block]; ok && old != text {
		t.Errorf("block %v has changed since the last look", at)
	}
	s.msgs[at.Message][at.Block] = text
}

func tail(text string) string { return text[max(0, len(text)-80):] }

// checkPrompts wants the acknowledged prompts, each once and in order. One without an answer may be there or not.
func (s *Received) checkPrompts(t *testing.T, messages []SpokenMessage) {
	var known []*Said
	next := 0
	var users []SpokenMessage
	for _, m := range messages {
		if m.Role == "user" {
			users = append(users, m)
		}
	}
	for _, p := range s.Prompts {
		switch {
		case next < len(users) && users[next].Content[0].Text == p.Text && (p.Turn == "" || p.Turn == users[next].Turn):
			p.Turn = users[next].Turn
			s.owner[p.Turn] = p
			known = append(known, p)
			next++
		case p.Turn != "":
			t.Errorf("session %s: prompt %s of turn %s was acknowledged and is not in the history", s.Id, p.Order.Tag, p.Turn)
		}
	}
	if next < len(users) {
		t.Errorf("session %s: the history has %d prompts too many, the first %q", s.Id, len(users)-next, users[next].Content[0].Text)
	}
	s.Prompts = known
}

// CheckLog reads the log itself: each turn has one prompt, one start and one end, blocks are sealed once, and each
// entry has the number under which it was published.
func (s *Received) CheckLog(t *testing.T, data string) {
	store, err := bolt.Open(data, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	count := map[string]int{}
	var seq uint64
	for after := uint64(0); ; {
		entries, err := store.For(session.Operator).Entries(t.Context(), session.ID(s.Id), after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) == 0 {
			break
		}
		after += uint64(len(entries))
		for _, e := range entries {
			if e.Seq != 0 && e.Seq <= seq {
				t.Errorf("session %s: an entry has the number %d after %d", s.Id, e.Seq, seq)
			}
			seq = max(seq, e.Seq)
			method, what := entryKind(e)
			count[what]++
			if seen, ok := s.Numbers[e.Seq]; ok && seen != method && method != whatever {
				t.Errorf("session %s: number %d was published as %s and is stored as %s", s.Id, e.Seq, seen, method)
			}
		}
	}
	for what, n := range count {
		if n != 1 && what != "" {
			t.Errorf("session %s: the log has %d of %s", s.Id, n, what)
		}
	}
	for turn := range s.owner {
		if count["start of "+turn] == 1 && count["end of "+turn] != 1 {
			t.Errorf("session %s: turn %s started and has %d ends", s.Id, turn, count["end of "+turn])
		}
	}
	for turn := range s.Ends {
		if count["end of "+turn] != 1 {
			t.Errorf("session %s: turn %s was published as ended and has %d ends", s.Id, turn, count["end of "+turn])
		}
	}
}

// entryKind is the notification that tells an entry, and what there may be one of.
func entryKind(e session.Entry) (method, what string) {
	switch body := e.Body.(type) {
	case session.Prompt:
		return "prompt", "prompt of " + string(e.Turn)
	case session.TurnStart:
		return "turn_start", "start of " + string(e.Turn)
	case session.Sealed:
		if provider.KindOf(body.Block) == provider.KindThinking {
			method = "thinking_end"
		} else {
			method = "text_end"
		}
		return method, fmt.Sprintf("block %d of %s", body.Number, body.Message)
	case session.MessageEnd:
		return "message_end", "end of " + string(body.Message)
	case session.TurnEnd:
		return "turn_end", "end of " + string(e.Turn)
	case session.Setting:
		if reflect.DeepEqual(body, session.Setting{}) {
			return whatever, ""
		}
		return "session_update", ""
	}
	return "", ""
}

// whatever stands for any update under the number of an entry that only stores the number: the first of a process.
const whatever = "whatever"
