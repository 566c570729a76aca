package session

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session/tool"
)

// View is what a session's log amounts to. Apply is the only code that changes it. A View belongs to one goroutine.
type View struct {
	Session Session
	Turns   []*Turn // in the order in which they started, then those that wait, in that of their prompts
	Repairs []Repair
	LeftOut []LeftOut
	LastSeq uint64 // the highest Seq of any entry

	Grants []tool.Grant // in force, the oldest first; never written, so that it can be shared

	compactions []compacted // in order; of those in the session's own log the newest alone
	slimmed     slimmed

	turns   map[TurnID]*Turn
	running TurnID // empty: none
	span    int    // index in Session.Shared of the log that is read; behind the last: its own
	at      uint64 // position in it

	stamps  map[string]*Turn // by id, of the prompts in stamped
	stamped []*Turn          // in order of their prompts; at most MaxStamps
}

// Turn is a prompt and what came of it.
type Turn struct {
	ID       TurnID
	Prompt   Prompt
	Messages []*Message     // the user's and the model's, in order
	Usage    provider.Usage // of its calls that are over, those that failed after they had begun to answer too
	Start    *TurnStart     // nil: it is queued, or was taken out of the queue
	End      *TurnEnd       // nil: it is queued or runs
	Into     TurnID         // the turn that took its prompt in, which has its message now; empty: none did
	Took     []TurnID       // turns whose prompts this one took in

	// Released says that a summary stands for the turn, and what it holds is in the log alone: see View.Whole. Ids, roles,
	// the model, the level in force and the stop reason are there.
	Released bool

	said, began, ended place // of its prompt, Start and End
	cut                bool  // in a fork: it goes on in the log that is shared
}

// Queued reports whether the turn waits for its start.
func (t *Turn) Queued() bool { return t.Start == nil && t.End == nil && t.Into == "" }

// Running reports whether the turn has started and not ended.
func (t *Turn) Running() bool { return t.Start != nil && t.End == nil }

// Message is one message of a turn. A message of the model is open until its MessageEnd.
type Message struct {
	ID    MessageID
	Turn  TurnID
	Role  provider.Role
	Parts []Part
	End   *MessageEnd // nil: a prompt, results of tools, or still open

	Begun   []int     // numbers of the calls in it that were begun
	Answers MessageID // the reply whose calls it has the results of; empty: it has none

	place place // of the last entry that has to do with it
	next  int   // greater than the number of each part
	calls int   // parts that are tool calls
}

// Part is a block with its number.
type Part struct {
	Number int
	Block  provider.Block
}

// NewView begins the fold with a session's record, of which only what is fixed at the start counts; the rest follows
// from the entries.
func NewView(s Session) *View {
	s.Status, s.Queued = Idle, 0
	s.Usage = provider.Usage{}
	return &View{Session: s, turns: make(map[TurnID]*Turn)}
}

// Turn finds a turn, nil if there is none.
func (v *View) Turn(id TurnID) *Turn { return v.turns[id] }

// Stamped is the turn whose prompt bore a stamp of this id, nil if none of the newest MaxStamps did.
func (v *View) Stamped(id string) *Turn { return v.stamps[id] }

// stamp remembers a turn by its prompt's stamp. An id that was forgotten may have come again.
func (v *View) stamp(t *Turn) {
	if len(v.stamped) == MaxStamps {
		oldest := v.stamped[0]
		if id := oldest.Prompt.Stamp.ID; v.stamps[id] == oldest {
			delete(v.stamps, id)
		}
		v.stamped[0] = nil
		v.stamped = v.stamped[1:]
	}
	if v.stamps == nil {
		v.stamps = make(map[string]*Turn)
	}
	v.stamps[t.Prompt.Stamp.ID] = t
	v.stamped = append(v.stamped, t)
}

// Queue lists the turns that wait: first those that were to steer a turn which had no call left to take them in.
func (v *View) Queue() []*Turn {
	var queue []*Turn
	steering := 0
	for _, t := range v.Turns {
		switch {
		case !t.Queued():
		case t.Prompt.Steer:
			queue = slices.Insert(queue, steering, t)
			steering++
		default:
			queue = append(queue, t)
		}
	}
	return queue
}

// Running is the turn that runs, nil if none does.
func (v *View) Running() *Turn {
	if v.running == "" {
		return nil
	}
	return v.turns[v.running]
}

// Apply takes in one entry. An entry that does not fit what came before is an error and changes nothing.
func (v *View) Apply(e Entry) error {
	if e.Body == nil {
		return fmt.Errorf("entry of turn %q has no body", e.Turn)
	}
	if err := v.apply(e); err != nil {
		return fmt.Errorf("entry %s of turn %q: %w", e.Body.kind(), e.Turn, err)
	}
	v.at++
	v.LastSeq = max(v.LastSeq, e.Seq)
	v.running = v.Session.project(e, v.running)
	return nil
}

func (v *View) apply(e Entry) error {
	switch b := e.Body.(type) {
	case Prompt:
		return v.prompted(e.Turn, b)
	case Setting:
		if len(b.Revoke) > 0 { // Session.Apply has the rest
			v.Grants = Without(v.Grants, b.Revoke)
		}
		return nil
	case Repair:
		v.Repairs = append(v.Repairs, b)
		return nil
	case LeftOut:
		v.LeftOut = append(v.LeftOut, b)
		return nil
	case Compaction:
		if t := v.turns[e.Turn]; b.InTurn && t != nil {
			t.Usage = t.Usage.Add(b.Usage)
		}
		return v.compact(b)
	}
	t := v.turns[e.Turn]
	if t == nil {
		return fmt.Errorf("no such turn")
	}
	switch b := e.Body.(type) {
	case Steered:
		return v.steered(t, b)
	case ToolStart:
		return v.toolStarted(t, b)
	case ToolEnd:
		return v.toolEnded(t, b)
	case Verdict:
		if g, ok := b.granted(); ok {
			v.Grants = g.AddTo(v.Grants)
		}
	case TurnStart:
		if !t.Queued() {
			return fmt.Errorf("the turn has started or ended already")
		}
		v.advance(t)
		t.Start, t.began, t.Messages[0].place = &b, v.now(), v.now()
	case Sealed:
		m := t.open(b.Message)
		if m.has(b.Number) {
			return fmt.Errorf("block %d is sealed already", b.Number)
		}
		m.add(Part{b.Number, b.Block})
		m.place = v.now()
	case Retry:
		t.Usage = t.Usage.Add(b.Usage)
		m := t.open(b.Message)
		m.place = v.now()
		m.remove(b.Discarded)
	case MessageEnd:
		t.Usage = t.Usage.Add(b.Usage)
		m := t.open(b.Message)
		m.End, m.place = &b, v.now()
	case TurnEnd:
		if t.End != nil {
			return fmt.Errorf("the turn has ended already")
		}
		t.End, t.ended = &b, v.now()
		for _, id := range t.Took {
			v.turns[id].End = &b
		}
	default:
		return fmt.Errorf("body %T has no case", e.Body)
	}
	return nil
}

func (v *View) prompted(id TurnID, p Prompt) error {
	if v.turns[id] != nil {
		return fmt.Errorf("the turn has a prompt already")
	}
	said := &Message{ID: p.Message, Turn: id, Role: provider.User, place: v.now()}
	for i, b := range p.Content {
		said.add(Part{i, b})
	}
	t := &Turn{ID: id, Prompt: p, Messages: []*Message{said}, said: v.now()}
	v.Turns = append(v.Turns, t)
	v.turns[id] = t
	if p.Stamp != nil {
		v.stamp(t)
	}
	return nil
}

func (v *View) steered(t *Turn, s Steered) error {
	into := v.turns[s.Into]
	if !t.Queued() || into == nil || !into.Running() {
		return fmt.Errorf("the turn does not wait, or turn %q does not run", s.Into)
	}
	t.Into = s.Into
	into.Took = append(into.Took, t.ID)
	for _, m := range t.Messages {
		m.place = v.now()
	}
	into.Messages, t.Messages = append(into.Messages, t.Messages...), nil
	return nil
}

func (v *View) toolStarted(t *Turn, s ToolStart) error {
	m := t.Message(s.Message)
	if m == nil || !m.has(s.Block) || slices.Contains(m.Begun, s.Block) {
		return fmt.Errorf("message %s has no call %d, or it was begun before", s.Message, s.Block)
	}
	m.Begun, m.place = append(m.Begun, s.Block), v.now()
	return nil
}

func (v *View) toolEnded(t *Turn, e ToolEnd) error {
	reply := t.Message(e.Reply)
	if reply == nil || e.Number < 0 || e.Number >= reply.calls {
		return fmt.Errorf("message %s has no call %d", e.Reply, e.Number)
	}
	if m := t.Results(e.Reply); m != nil && m.has(e.Number) {
		return fmt.Errorf("call %d of message %s has its result already", e.Number, e.Reply)
	}
	t.result(e).place = v.now()
	return nil
}

// advance puts a turn that starts in front of those that wait: a prompt that was to steer goes first, and the order of the
// turns is that in which models see them.
func (v *View) advance(t *Turn) {
	from := len(v.Turns) - 1
	for v.Turns[from] != t {
		from--
	}
	to := from
	for i := from - 1; i >= 0 && v.Turns[i].Start == nil; i-- {
		if v.Turns[i].Queued() {
			to = i
		}
	}
	copy(v.Turns[to+1:from+1], v.Turns[to:from])
	v.Turns[to] = t
}

// open is the model's message of that id, made if it is new.
func (t *Turn) open(id MessageID) *Message {
	if m := t.Message(id); m != nil {
		return m
	}
	m := &Message{ID: id, Turn: t.ID, Role: provider.Assistant}
	t.Messages = append(t.Messages, m)
	return m
}

// Message finds a message, nil if there is none.
func (t *Turn) Message(id MessageID) *Message {
	for _, m := range slices.Backward(t.Messages) {
		if m.ID == id {
			return m
		}
	}
	return nil
}

// A model may write thousands of calls in one reply, and each is looked up: has and add do not walk all parts where these come
// in order.

// has reports whether a block is sealed, or a call has its result.
func (m *Message) has(number int) bool {
	if number >= m.next {
		return false
	}
	if m.Answers != "" {
		_, found := m.find(number)
		return found
	}
	return slices.ContainsFunc(m.Parts, func(p Part) bool { return p.Number == number })
}

// find is the index of a result, or where it belongs: results are in the order of their numbers.
func (m *Message) find(number int) (at int, found bool) {
	return slices.BinarySearchFunc(m.Parts, number, func(p Part, n int) int { return cmp.Compare(p.Number, n) })
}

func (m *Message) add(p Part) { m.insert(len(m.Parts), p) }

func (m *Message) insert(at int, p Part) {
	m.Parts = slices.Insert(m.Parts, at, p)
	m.next = max(m.next, p.Number+1)
	if _, call := p.Block.(provider.ToolCall); call {
		m.calls++
	}
}

// remove takes parts out.
func (m *Message) remove(numbers []int) {
	m.Parts = slices.DeleteFunc(m.Parts, func(p Part) bool { return slices.Contains(numbers, p.Number) })
	m.calls = len(m.Calls())
}

// project applies e to the record and keeps track of the turn that runs, empty if none does, and of how many wait. Apply
// alone cannot know whether a turn that ends had started: if it was only queued, another one goes on.
func (s *Session) project(e Entry, running TurnID) TurnID {
	s.Apply(e)
	switch e.Body.(type) {
	case Prompt:
		s.Queued++
	case Steered:
		s.Queued--
	case TurnStart:
		s.Queued--
		running = e.Turn
	case TurnEnd:
		if e.Turn == running {
			running = ""
		} else {
			s.Queued--
		}
	}
	switch {
	case running != "":
		s.Status = Running
	case s.Queued > 0:
		s.Status = Held // nothing runs, and still they wait: for a word
	default:
		s.Status = Idle
	}
	return running
}

// Apply brings the record up to date with an entry: the projection that a Store rewrites in the commit of the entry.
func (s *Session) Apply(e Entry) {
	s.Updated = max(s.Updated, e.Time)
	switch b := e.Body.(type) {
	case Prompt:
		if s.Title == "" {
			s.Title = title(b.Content)
		}
	case TurnStart:
		s.Status = Running
	case TurnEnd:
		s.Status = Idle
		s.Usage = s.Usage.Add(b.Usage)
	case Compaction:
		if !b.InTurn { // else the turn's end has it
			s.Usage = s.Usage.Add(b.Usage)
		}
	case Setting:
		if b.Model != nil {
			s.Model = *b.Model
		}
		if b.Level != nil {
			s.Level = *b.Level
		}
		if b.Fallback != nil {
			s.Fallback = *b.Fallback
		}
		if b.Display != nil {
			s.Display = *b.Display
		}
		if b.Mode != nil {
			s.Mode = *b.Mode
		}
		if b.Title != nil {
			s.Title = *b.Title
		}
		s.Metadata = merge(s.Metadata, b.Metadata)
	}
}

// Without is a list of grants without those of some ids.
func Without(list []tool.Grant, ids []string) []tool.Grant {
	return slices.DeleteFunc(slices.Clone(list), func(g tool.Grant) bool { return slices.Contains(ids, g.ID) })
}

// merge is a new map: records are copied by value and shared.
func merge(have, change map[string]json.RawMessage) map[string]json.RawMessage {
	if len(change) == 0 {
		return have
	}
	merged := make(map[string]json.RawMessage, len(have)+len(change))
	maps.Copy(merged, have)
	for name, value := range change {
		if string(value) == "null" {
			delete(merged, name)
		} else {
			merged[name] = value
		}
	}
	if len(merged) == 0 {
		return nil // as it comes back from the store
	}
	return merged
}

// MetadataSize is in bytes, of names and values.
func MetadataSize(m map[string]json.RawMessage) (size int) {
	for name, value := range m {
		size += len(name) + len(value)
	}
	return size
}

// titleLength is in characters.
const titleLength = 80

// title is the first line of a prompt.
func title(content provider.Blocks) string {
	for _, b := range content {
		text, ok := b.(provider.Text)
		if !ok {
			continue
		}
		line, _, _ := strings.Cut(strings.TrimSpace(text.Text), "\n")
		line = strings.TrimSpace(line)
		if utf8.RuneCountInString(line) > titleLength {
			line = strings.TrimSpace(string([]rune(line)[:titleLength]))
		}
		if line != "" {
			return line
		}
	}
	return ""
}
