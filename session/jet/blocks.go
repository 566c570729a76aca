package jet

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/lease"
)

// blocks is a value of kindBlocks, and that of all owners: what each node may spend.
type blocks struct {
	Nodes map[lease.Node]session.Block `json:"nodes,omitempty"`
}

func readBlocks(m message) (b blocks, err error) {
	if len(m.data) > 0 {
		err = json.Unmarshal(m.data, &b)
	}
	if err != nil {
		err = fmt.Errorf("%w: blocks %s: %w", session.ErrDamaged, m.subject, err)
	}
	return b, err
}

// allBlocks is the name of the value of all owners.
const allBlocks = "blocks"

// ChangeBlock replaces the block of this node in the quota of an owner or, with nil, in the limits for all sessions. change gets the blocks of the other
// nodes, and returns that of this node; the zero Block removes it. It may run several times: when another node was faster, and after an answer that was
// lost. What it reads of the owner's ledger has everything that these blocks do not cover any more.
func (s *Store) ChangeBlock(ctx context.Context, owner *session.Owner, change func(others []session.Block) (session.Block, error)) error {
	if owner == nil {
		return s.changeBlock(ctx, s.all(allBlocks), nil, change)
	}
	p, err := s.owner(ctx, *owner)
	if err != nil {
		return err
	}
	return s.changeBlock(ctx, s.value(p, kindBlocks, "all"), &p, change)
}

// ChangeStored is [Store.ChangeBlock] for the bytes that an owner may store. What change learns from [Store.Changes] has the part of the ledger.
func (s *Store) ChangeStored(ctx context.Context, owner session.Owner, change func(others []session.Block) (session.Block, error)) error {
	p, err := s.owner(ctx, owner)
	if err != nil {
		return err
	}
	return s.changeBlock(ctx, s.value(p, kindBlocks, "stored"), &p, change)
}

// changeBlock changes a value of blocks. of is whose it is; nil: of all owners.
func (s *Store) changeBlock(ctx context.Context, subject string, of *person, change func(others []session.Block) (session.Block, error)) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	_, err := s.driver.cas(ctx, s.state(), subject, func(old message, _ bool) ([]byte, error) {
		b, err := readBlocks(old)
		if err != nil {
			return nil, err
		}
		if of != nil { // what a node uses leaves its block when the ledger has it
			s.values.atLeast(*of, old.seq)
		}
		_, there := b.Nodes[s.node]
		delete(b.Nodes, s.node)
		others := make([]session.Block, 0, len(b.Nodes))
		for _, block := range b.Nodes {
			others = append(others, block)
		}
		next, err := change(others)
		none := next == session.Block{Day: next.Day}
		if err != nil || none && !there {
			return nil, err
		}
		if !none { // also if it is the same: only a write shows that what was read is the newest
			if b.Nodes == nil {
				b.Nodes = make(map[lease.Node]session.Block)
			}
			b.Nodes[s.node] = next
		}
		return json.Marshal(b)
	})
	return err
}

// DropBlocks removes the blocks of nodes that are gone. gone is asked about each node that has a block. A node whose sessions still have marks keeps its
// blocks, because the ledger may lack what its calls used; kept says that there is one. The marks are read after gone was asked, and the blocks before: a
// node that comes back meanwhile changes its block, and keeps it.
func (s *Store) DropBlocks(ctx context.Context, gone func(lease.Node) bool) (kept bool, err error) {
	if err := s.ready(ctx); err != nil {
		return false, err
	}
	subjects := []string{s.all(allBlocks)}
	err = ledger{s}.every(ctx, kindBlocks, func(m message) error {
		b, err := readBlocks(m)
		if len(b.of(gone)) > 0 {
			subjects = append(subjects, m.subject)
		}
		return err
	})
	for _, subject := range subjects {
		if err != nil {
			break
		}
		_, err = s.driver.cas(ctx, s.state(), subject, func(old message, _ bool) ([]byte, error) {
			b, err := readBlocks(old)
			list := b.of(gone)
			if err != nil || len(list) == 0 {
				return nil, err
			}
			marks, err := s.Marks(ctx)
			if err != nil {
				return nil, err
			}
			before := len(b.Nodes)
			for _, n := range list {
				if slices.ContainsFunc(marks, func(m Mark) bool { return m.Node == n }) {
					kept = true
				} else {
					delete(b.Nodes, n)
				}
			}
			if len(b.Nodes) == before {
				return nil, nil
			}
			return json.Marshal(b)
		})
	}
	return kept, err
}

// of lists the nodes with a block of which something is true.
func (b blocks) of(is func(lease.Node) bool) (list []lease.Node) {
	for n := range b.Nodes {
		if is(n) {
			list = append(list, n)
		}
	}
	return list
}

// Changes has a number for each session of an owner, which is another one after each change of its log. Deleted sessions have one too. Other nodes see
// what this node has appended before.
func (s *Store) Changes(ctx context.Context, owner session.Owner) (map[session.ID]uint64, error) {
	list := make(map[session.ID]uint64)
	err := ledger{s}.each(ctx, owner, func(m message) error {
		if kind, key := kindOf(m.subject); kind == kindSession {
			list[session.ID(key)] = m.seq
		}
		return nil
	})
	return list, err
}

// SettleHolds ends the reservations of calls that no log has and that nodes had made which are gone. They count as they were reserved.
func (s *Store) SettleHolds(ctx context.Context, gone func(lease.Node) bool) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	var left []session.Hold
	l := ledger{s}
	err := l.every(ctx, kindHold, func(m message) error {
		h, err := readHold(m)
		if err == nil && !h.Settled && h.Node != 0 && gone(h.Node) {
			left = append(left, h.hold())
		}
		return err
	})
	for _, h := range left {
		if err != nil {
			break
		}
		used := h.Usage
		used.Estimated = true
		err = l.Settle(ctx, h.Ref, h.ID, used, nil)
	}
	return err
}

// Flush has the ledger have everything that this node has appended to the sessions of an owner.
func (s *Store) Flush(ctx context.Context, owner session.Owner) error {
	p, ok, err := s.find(ctx, owner)
	if err != nil || !ok {
		return err
	}
	return s.accounts.flush(ctx, p)
}
