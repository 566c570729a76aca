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

// Fresh returns the record of a new session with an empty log: it is idle and has used nothing, whatever s says. A [Store] keeps
// this one in Create. A record without an id is an error.
func (s Session) Fresh() (Session, error) {
	if s.ID == "" {
		return s, fmt.Errorf("session without an id")
	}
	s.Read = nil
	return s.unused(), nil
}

func (s Session) unused() Session {
	s.Status, s.Queued, s.Usage, s.Ended, s.Warm, s.Reserved = Idle, 0, provider.Usage{}, 0, nil, nil
	return s
}

// MaxReaders is the largest number of principals with a mark in a session. If there are more, the mark of the one that has read least is
// removed.
const MaxReaders = 100

// MarkRead notes that a principal has read the session up to the end of so many turns. It reports whether that is news: a mark never
// moves back. The map is a new one, because records are copied by value and share theirs.
func (s *Session) MarkRead(principal string, ended int) bool {
	if ended <= s.Read[principal] {
		return false
	}
	read := maps.Clone(s.Read)
	if read == nil {
		read = make(map[string]int)
	}
	read[principal] = ended
	if len(read) > MaxReaders {
		others := slices.DeleteFunc(slices.Sorted(maps.Keys(read)), func(name string) bool { return name == principal })
		delete(read, slices.MinFunc(others, func(a, b string) int { return cmp.Compare(read[a], read[b]) }))
	}
	s.Read = read
	return true
}

// Unread reports whether a turn has ended since a principal read the session last.
func (s Session) Unread(principal string) bool { return s.Ended > s.Read[principal] }

// Changing returns the record without the members that never change: System, Tools, Rules, Shared and Instructions. These may take megabytes, so a
// [Store] does not keep them with what it writes with each Append, and List leaves them out.
func (s Session) Changing() Session {
	s.System, s.Tools, s.Rules, s.Shared, s.Instructions = "", nil, tool.Policy{}, nil, Instructions{}
	return s
}

// WarmUntil returns the time until which the vendor of the session's model keeps the conversation in its cache, in Unix milliseconds. It may have
// passed. 0: it keeps nothing, or that is not known.
func (s *Session) WarmUntil() int64 {
	if s.Warm == nil || s.Warm.Model != s.Model {
		return 0
	}
	return s.Warm.Until
}

// Apply brings the record up to date with an entry, except for what depends on the turn that runs: see [Session.Project].
func (s *Session) Apply(e Entry) {
	if _, ok := e.Body.(Reserved); !ok { // it says nothing
		s.Updated = max(s.Updated, e.Time)
	}
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
	case MessageEnd:
		switch s.Warm = nil; {
		case b.WarmUntil == 0:
		case b.Served != nil:
			s.Warm = &Warm{b.WarmUntil, b.Served.Requested}
		case s.Reserved != nil: // the answer does not name its model
			s.Warm = &Warm{b.WarmUntil, s.Reserved.Model}
		}
	case Repair, LeftOut, Uncompaction:
		s.Warm = nil
	case Compaction:
		if b.Upto != "" {
			s.Warm = nil
		}
		if !b.InTurn { // else the turn's end has it
			s.Usage = s.Usage.Add(b.Usage)
		}
	case Setting:
		if b.Model != nil {
			s.Model = *b.Model
		}
		if b.Level != nil {
			s.Warm = nil // it may be kept: the session knows when it is loaded. A replay begins with the last level, so it cannot compare
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
		if b.OnOther != nil {
			s.OnOther = *b.OnOther
		}
		if b.Fallbacks != nil {
			s.Fallbacks = b.Fallbacks
		}
		if b.Options != nil {
			if s.Options, s.Cache = b.Options, ""; b.Options.IsZero() {
				s.Options = nil
			}
		}
		if b.AskAbove != nil {
			s.AskAbove = b.AskAbove
		}
		if b.Title != nil {
			s.Title = *b.Title
		}
		if b.Archived != nil {
			s.Archived = *b.Archived
		}
		if b.OnTop != nil {
			s.OnTop = *b.OnTop
		}
		s.Metadata = merge(s.Metadata, b.Metadata)
		s.Pinned = pins(s.Pinned, b.Pin, b.Unpin)
	}
}

// Project applies e to the record, which a [Store] rewrites in the commit of the entry. It returns the turn that runs after e,
// empty if none does; running is the one that ran before. Apply alone cannot know whether a turn that ends had started: if it
// was only queued, another one goes on.
func (s *Session) Project(e Entry, running TurnID) TurnID {
	parked := s.Status == Parked
	s.Apply(e)
	switch b := e.Body.(type) {
	case Reserved:
		s.Reserved = &b
	case MessageEnd, Retry, Settled, Compaction:
		s.Reserved = nil
	case TurnParked:
		parked, s.Reserved = true, nil
	case TurnResumed:
		parked = false
	case Prompt:
		if !b.Replaces {
			s.Queued++
		}
	case Steered:
		s.Queued--
	case TurnStart:
		s.Queued--
		running = e.Turn
	case TurnEnd:
		if e.Turn == running {
			running, s.Reserved = "", nil
			s.Ended++
		} else {
			s.Queued--
		}
	}
	switch {
	case running != "" && parked:
		s.Status = Parked
	case running != "":
		s.Status = Running
	case s.Queued > 0:
		s.Status = Held // nothing runs, and still they wait: for a word
	default:
		s.Status = Idle
	}
	return running
}

// pins returns a new list, for the same reason as merge. It is sorted, which for ids is the order of time: a record that a log is applied to
// again has the same list.
func pins(have, pin, unpin []MessageID) []MessageID {
	if len(pin)+len(unpin) == 0 {
		return have
	}
	var list []MessageID
	for _, id := range slices.Concat(have, pin) {
		if !slices.Contains(unpin, id) && !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return list
}

// account is whom a reservation is charged to.
func (r Reserved) account() Account {
	a := Account{Model: r.Model, Level: r.Level, Purpose: r.Purpose}
	if r.Payer != nil {
		a.Payer = r.Payer.Name
	}
	return a
}

// Line returns the line of the ledger for a call that had a reservation.
func (r Reserved) Line(ref Ref, used provider.Usage) Line {
	used.Context = nil
	return Line{Day: r.Day, Ref: ref, Account: r.account(), Calls: 1, Usage: used}
}

// Charge returns what an entry adds to the ledger; ok is false if it adds nothing. A [Store] calls it before [Session.Project].
func (s *Session) Charge(owner Owner, e Entry) (c Charge, ok bool) {
	ref := Ref{owner, s.ID}
	if r, reserves := e.Body.(Reserved); reserves {
		return Charge{Line: Line{Day: r.Day, Ref: ref}, Budgets: r.Budgets}, r.Budgets != nil
	}
	used, ends := callUsage(e.Body)
	if !ends || s.Reserved == nil || used.Unused() {
		return Charge{}, false
	}
	line := s.Reserved.Line(ref, used)
	if end, ok := e.Body.(MessageEnd); ok && end.Missed != nil {
		line.Missed = Missed{end.Missed.Cause: {1, end.Missed.Tokens, end.Missed.Cost}}
	}
	return Charge{Line: line}, true
}

// callUsage is what a call used that an entry ends; ends is false if the entry ends none.
func callUsage(body Body) (used provider.Usage, ends bool) {
	switch b := body.(type) {
	case MessageEnd:
		return b.Usage, true
	case Retry:
		return b.Usage, true
	case Settled:
		return b.Usage, true
	case Compaction:
		return b.Usage, true
	}
	return provider.Usage{}, false
}

// merge returns a new map, since records are copied by value and share theirs.
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
