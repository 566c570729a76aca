package agent

import (
	"context"
	"slices"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// Page selects messages of the history: those before or after one, or the newest.
type Page struct {
	Before, After session.MessageID
	FromStart     bool // without a cursor: the oldest, not the newest
	Limit         int
}

// History is a page of messages in order, and whether there are more in its direction. ErrNoMessage for a cursor that
// is none of this session's, or a Before that is not behind After.
func (a *Agent) History(ctx context.Context, p Page) (page []Message, more bool, err error) {
	type result struct {
		page []Message
		more bool
	}
	r, err := ask(ctx, a, func(s *state) (r result, err error) {
		r.page, r.more, err = s.page(p)
		return r, err
	})
	return r.page, r.more, err
}

// place is where a message stands.
type place struct {
	turn    int // index in the view
	message int // index in the turn
}

func (s *state) page(p Page) (page []Message, more bool, err error) {
	first, end := place{}, place{turn: len(s.view.Turns)}
	if p.After != "" {
		if first, err = s.find(p.After, first); err != nil {
			return nil, false, err
		}
		first.message++
	}
	if p.Before != "" {
		if end, err = s.find(p.Before, first); err != nil {
			return nil, false, err
		}
	}
	if p.After != "" || p.FromStart {
		return s.oldest(first, end, p.Limit)
	}
	return s.newest(first, end, p.Limit, func(*session.Turn) bool { return true })
}

// find is the place of a message that is not before from.
func (s *state) find(id session.MessageID, from place) (place, error) {
	for i := from.turn; i < len(s.view.Turns); i++ {
		t := s.view.Turns[i]
		for j, m := range t.Messages {
			if m.ID == id && (i > from.turn || j >= from.message) {
				return place{i, j}, nil
			}
		}
		if s.run != nil && s.run.Turn == t && s.run.reply.id == id {
			return place{i, len(t.Messages)}, nil // nothing of it is in the view yet
		}
	}
	return place{}, ErrNoMessage
}

// oldest copies at most limit messages from first on to before end, and tells whether there are more.
func (s *state) oldest(first, end place, limit int) ([]Message, bool, error) {
	page := []Message{}
	for i := first.turn; i <= end.turn && i < len(s.view.Turns) && len(page) <= limit; i++ {
		part, err := s.part(i, first, end)
		if err != nil {
			return nil, false, err
		}
		page = append(page, part...)
	}
	if len(page) > limit {
		return page[:limit], true, nil
	}
	return page, false, nil
}

// newest copies the last messages from first on to before end, at most limit, of turns that are wanted, and tells
// whether there are more.
func (s *state) newest(first, end place, limit int, wanted func(*session.Turn) bool) ([]Message, bool, error) {
	var turns [][]Message
	count := 0
	for i := min(end.turn, len(s.view.Turns)-1); i >= first.turn && count <= limit; i-- {
		if wanted(s.view.Turns[i]) {
			part, err := s.part(i, first, end)
			if err != nil {
				return nil, false, err
			}
			turns = append(turns, part)
			count += len(part)
		}
	}
	slices.Reverse(turns)
	page := slices.Concat(turns...)
	if len(page) > limit {
		return page[len(page)-limit:], true, nil
	}
	return page, false, nil
}

// part copies those messages of a turn that stand from first on to before end.
func (s *state) part(turn int, first, end place) ([]Message, error) {
	t, err := s.view.Whole(s.ctx, s.cfg.Store, s.view.Turns[turn])
	if err != nil {
		return nil, err
	}
	list := s.messages(t)
	if turn == end.turn {
		list = list[:min(end.message, len(list))]
	}
	if turn == first.turn {
		list = list[min(first.message, len(list)):]
	}
	return list, nil
}

// messages copies a turn's messages; those of the running turn have their open blocks.
func (s *state) messages(t *session.Turn) []Message {
	list := make([]Message, 0, len(t.Messages)+1)
	found := false
	for _, m := range t.Messages {
		out := Message{Message: *m, Refused: s.view.Refused(m.ID), Start: t.Start, Stop: t.End}
		out.Parts = slices.Clone(m.Parts)
		if s.run != nil && s.run.reply.id == m.ID {
			out.Open, found = s.run.reply.blocks(), true
		}
		list = append(list, out)
	}
	if s.run != nil && s.run.Turn == t && s.run.reply.id != "" && !found {
		m := session.Message{ID: s.run.reply.id, Turn: t.ID, Role: provider.Assistant}
		list = append(list, Message{Message: m, Start: t.Start, Open: s.run.reply.blocks()})
	}
	return list
}

// blocks is what is being written.
func (m *reply) blocks() []Open {
	var list []Open
	for _, b := range m.seen() {
		list = append(list, Open{b.number, b.soFar()})
	}
	return list
}
