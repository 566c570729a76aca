package share

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/session"
)

// inTable keeps the shares of each session in a row, by the id of the session. So two nodes that share one session cannot both be right about who else
// has it, and those that share different sessions do not meet.
type inTable struct {
	durable.Table
	version *uint64         // of the rows that Shares has; nil before the first
	opened  map[place]Share // what there was at first
}

// row is a text of the table.
type row struct {
	Version int      `json:"version"`
	Shares  []stored `json:"shares"` // in order
}

// OpenTable returns the shares that several nodes have. A change at one node takes effect at the others within a second. A guest may have some more
// shared sessions than the limit, if several nodes add one at once.
func OpenTable(table durable.Table) (*Shares, error) {
	rows, _ := table.Rows()
	for id, text := range rows {
		if _, err := readRow(text, session.ID(id)); err != nil {
			return nil, fmt.Errorf("%s: %w", table.Name(), err)
		}
	}
	kept := &inTable{Table: table}
	s := &Shares{kept: kept}
	kept.opened = s.snapshot()
	return s, nil
}

// readRow reads the shares of a session.
func readRow(text []byte, id session.ID) (list []Share, err error) {
	if text == nil {
		return nil, nil
	}
	var read row
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, fmt.Errorf("the shares of session %s are damaged: %w", id, err)
	}
	if read.Version != version {
		return nil, fmt.Errorf("the shares of session %s have version %d, and this build knows version %d", id, read.Version, version)
	}
	for _, r := range read.Shares {
		one := r.share()
		if !one.sound() || r.Session != id {
			return nil, fmt.Errorf("session %s is shared in a way that nobody could set", id)
		}
		list = append(list, one)
	}
	return list, nil
}

// newest shares nothing of a row that it cannot read: Open has read all, so a newer build has written it.
func (t *inTable) newest(s *Shares) {
	if t.version != nil && *t.version == t.Version() {
		return
	}
	rows, version := t.Rows()
	all := make(map[place]Share)
	for id, text := range rows {
		list, err := readRow(text, session.ID(id))
		if err != nil {
			continue
		}
		for _, one := range list {
			all[place{one.Guest, one.Ref.ID}] = one
		}
	}
	t.version = &version
	s.all, s.of = all, guestsOf(slices.SortedFunc(maps.Values(all), compare))
}

// change takes nil for all sessions. What others have shared up to now counts then.
func (t *inTable) change(s *Shares, of []session.ID, to func(map[place]Share) error) error {
	if of == nil {
		if err := t.Refresh(context.Background()); err != nil { // which bounds its time
			return fmt.Errorf("%s: %w: %w", t.Name(), ErrNotKept, err)
		}
		rows, _ := t.Rows()
		for id, text := range rows {
			next, err := changed(text, session.ID(id), nil, to)
			if err != nil || !bytes.Equal(next, text) {
				of = append(of, session.ID(id))
			}
		}
	}
	for _, id := range of {
		if err := t.changeRow(s, id, to); err != nil {
			return err
		}
	}
	return nil
}

// changeRow changes the shares of one session.
func (t *inTable) changeRow(s *Shares, id session.ID, to func(map[place]Share) error) error {
	s.mu.Lock()
	t.newest(s)
	others := maps.Clone(s.all)
	s.mu.Unlock()
	maps.DeleteFunc(others, func(at place, _ Share) bool { return at.id == id })
	var refused error
	err := t.Change(context.Background(), string(id), func(old []byte) (text []byte, err error) { // which bounds its time
		text, refused = changed(old, id, others, to)
		return text, refused
	})
	if err != nil && !errors.Is(err, refused) {
		return fmt.Errorf("%s: %w: %w", t.Name(), ErrNotKept, err)
	}
	return refused
}

func with(others map[place]Share, list []Share) map[place]Share {
	all := make(map[place]Share, len(others)+len(list))
	maps.Copy(all, others)
	for _, one := range list {
		all[place{one.Guest, one.Ref.ID}] = one
	}
	return all
}

// changed makes the new text of a row; nil: the session is not shared any more.
func changed(old []byte, id session.ID, others map[place]Share, to func(map[place]Share) error) ([]byte, error) {
	list, err := readRow(old, id)
	if err != nil {
		return nil, err
	}
	next := with(others, list)
	if err := to(next); err != nil {
		return nil, err
	}
	write := row{Version: version}
	for _, one := range slices.SortedFunc(maps.Values(next), compare) {
		if one.Ref.ID != id {
			continue
		}
		if len(list) > 0 && one.Ref != list[0].Ref { // two owners have a session with this id
			return nil, ErrFull
		}
		write.Shares = append(write.Shares, one.stored())
	}
	if write.Shares == nil {
		return nil, nil
	}
	return json.Marshal(write)
}

// Watch calls f with each share before and after each change since Open, by any node, until ctx ends. A share that is not there has no access. It returns at once if
// the shares are those of one daemon: who changes them there knows it.
func (s *Shares) Watch(ctx context.Context, f func(before, after Share)) {
	table, ok := s.kept.(*inTable)
	if !ok {
		return
	}
	last := table.opened
	for {
		changed := table.Changed()
		next := s.snapshot()
		for at, one := range last {
			if after := next[at]; after != one {
				f(one, after)
			}
		}
		for at, one := range next {
			if _, there := last[at]; !there {
				f(Share{}, one)
			}
		}
		last = next
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// snapshot is all shares. The map must not be changed.
func (s *Shares) snapshot() map[place]Share {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept.newest(s)
	return s.all
}

// Watched reports whether Watch reports changes.
func (s *Shares) Watched() bool {
	_, ok := s.kept.(*inTable)
	return ok
}
