package jet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/lease"
)

// Mark says that a session has an open turn, or a queue that is to run.
type Mark struct {
	lease.Marker
	Ref session.Ref
	Seq uint64 // by which it is removed
}

// mark is the value of a mark. Its session is in the subject.
type mark struct {
	Owner ownerName  `json:"owner"`
	Node  lease.Node `json:"node"`
	Epoch uint64     `json:"epoch"`
}

// Mark marks a session as one whose log this node has open with an epoch, as [Store.Mine] has it. It replaces the mark before. It is durable on
// return.
func (s *Store) Mark(ctx context.Context, ref session.Ref, epoch uint64) (seq uint64, err error) {
	p, err := s.owner(ctx, ref.Owner)
	if err != nil {
		return 0, err
	}
	data, err := json.Marshal(mark{nameOf(ref.Owner), s.node, epoch})
	if err != nil {
		return 0, err
	}
	subject := fmt.Sprintf("%s.open.%s.%s", s.prefix, p, ref.ID)
	err = retry(ctx, func(try int) error {
		answer, at, full := s.driver.publish(ctx, try, subject, write{}, data)
		if seq = at; answer == lease.Stored {
			return nil
		}
		if full {
			return &finalError{fmt.Errorf("%w: the stream of marks has no space left", session.ErrReadOnly)}
		}
		return errors.New("no acknowledgement")
	})
	return seq, err
}

// Unmark removes a mark by its sequence, so a newer one stays. It makes one try: a mark too many costs one look.
func (s *Store) Unmark(ctx context.Context, seq uint64) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	ask := struct {
		Seq     uint64 `json:"seq"`
		NoErase bool   `json:"no_erase"`
	}{seq, true}
	err := s.driver.call(ctx, 0, "STREAM.MSG.DELETE."+s.open(), ask, &struct{}{})
	if failed := (*apiError)(nil); errors.As(err, &failed) { // it is gone already
		return nil
	}
	return err
}

// Marks lists the marks of all nodes, all that were stored before.
func (s *Store) Marks(ctx context.Context) (list []Mark, err error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	all := s.prefix + ".open.>"
	last, ok, err := s.driver.last(ctx, s.open(), all)
	if err != nil || !ok {
		return nil, err
	}
	var found []message
	if err := retry(ctx, func(try int) (err error) {
		found, err = s.driver.since(ctx, try, s.open(), all, 1, last.seq)
		return err
	}); err != nil {
		return nil, err
	}
	for _, m := range found {
		mark, err := parseMark(m)
		if err != nil {
			return nil, err
		}
		list = append(list, mark)
	}
	return list, nil
}

func parseMark(m message) (Mark, error) {
	var value mark
	if err := json.Unmarshal(m.data, &value); err != nil {
		return Mark{}, fmt.Errorf("%w: mark %s: %w", session.ErrDamaged, m.subject, err)
	}
	id := session.ID(m.subject[strings.LastIndexByte(m.subject, '.')+1:])
	return Mark{lease.Marker{Node: value.Node, Epoch: value.Epoch}, session.Ref{Owner: value.Owner.owner(), ID: id}, m.seq}, nil
}
