package jet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/lease"
)

// ErrUnknown says that an append may be in the log or not, because no answer came, and somebody else has claimed the session since. The log
// has the truth.
var ErrUnknown = errors.New("it is not known whether this was stored")

// ElsewhereError says that another node owns a session, and is present.
type ElsewhereError struct{ Node lease.Node }

func (e *ElsewhereError) Error() string {
	return fmt.Sprintf("node %x has the session", uint64(e.Node))
}

// Peers says what a node knows of the others. Its methods are safe for concurrent use.
type Peers interface {
	// Present reports whether a node may have a log open. Only a node that is in contact with a majority of the servers, and has heard nothing of
	// the other for long enough, may say no.
	Present(node lease.Node) bool

	// NotMine asks a node whether it has neither a log of a session open that has this epoch, nor a claim of the session on the way.
	NotMine(ctx context.Context, node lease.Node, ref session.Ref, epoch uint64) bool

	// Taken notifies the node that had a session before that this one has claimed it, with an epoch. It does not wait, and may be lost: the node must not
	// rely on it.
	Taken(node lease.Node, ref session.Ref, epoch uint64)
}

// Times are the limits of appends and claims. They are given so that tests can be faster than the cluster.
type Times struct {
	GiveUp time.Duration // after which an append without a result ends
	Later  time.Duration // between two reads that are not to be answered by the same outdated leader
	Fought time.Duration // until a session is claimed back that another node took soon after it was claimed; it doubles each time; 0: none
}

// DefaultTimes has those of the cluster.
var DefaultTimes = Times{GiveUp: 30 * time.Second, Later: 10 * time.Second, Fought: 2 * time.Second}

// driver carries out the steps of package lease.
type driver struct {
	reader
	node   lease.Node
	peers  Peers // nil: every other node is gone
	times  Times
	fights *fights
	losses *losses
	in     names // of the store
}

// tries is what an append or a claim has in common: a try has a number, and there is an end.
type tries struct {
	n     int
	reads int
	since time.Time
	full  bool // the stream has no space
}

// over reports whether to give up.
func (t *tries) over(ctx context.Context, times Times) bool {
	return ctx.Err() != nil || time.Since(t.since) > times.GiveUp
}

// publish makes one try.
func (d driver) publishHead(ctx context.Context, t *tries, p place, h head, body []byte) (lease.Answer, uint64, error) {
	text, err := h.encode()
	if err != nil {
		return 0, 0, err
	}
	w := write{after: &h.Back, head: text}
	if h.Deleted {
		w.ttl = TombstoneTime
	}
	answer, seq, full := d.publish(ctx, t.n, p.subject, w, body)
	t.n, t.full = t.n+1, full
	return answer, seq, nil
}

// TombstoneTime is how long the servers keep the tombstones of sessions and of rows. It is longer than a stamp can be sent again: a session that was
// deleted must not come back by its stamp.
const TombstoneTime = stampTime + 24*time.Hour

// look makes one try to read the newest message. Except for the first, it waits before.
func (d driver) look(ctx context.Context, t *tries, p place) (f found, there bool, err error) {
	if t.reads++; t.reads > 1 {
		if err := pause(ctx, t.reads-2); err != nil {
			return f, false, err
		}
	}
	m, there, err := d.ask(ctx, t.n, p.stream, get{Last: p.subject})
	t.n++
	if err != nil || !there {
		return f, false, err
	}
	f, err = p.parse(m)
	return f, true, err
}

// wait is for ReadLater.
func (d driver) wait(ctx context.Context) {
	timer := time.NewTimer(d.times.Later)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// store appends one message to a log, whatever the answers are. The message is in the log if the error is nil. The error is ErrFenced or ErrNotFound
// if it is not in the log and never will be, because somebody else claimed or deleted the session.
func (d driver) store(ctx context.Context, l *lease.Log, p place, h head, body []byte) (found, error) {
	w := l.Write(newID())
	if h.Run {
		w = l.Release(newID())
	}
	h.ID, h.Epoch, h.Node, h.Back = w.Message.ID, w.Message.Epoch, w.Message.Node, w.After
	t := tries{since: time.Now()}
	var newest found
	for step := lease.Publish; ; {
		switch step {
		case lease.Publish:
			answer, seq, err := d.publishHead(ctx, &t, p, h, body)
			if err != nil {
				return found{}, err
			}
			step = w.Answer(answer, seq)
		case lease.ReadLater:
			d.wait(ctx)
			step = lease.Read
		case lease.Read:
			f, there, err := d.look(ctx, &t, p)
			if errors.Is(err, session.ErrDamaged) {
				return found{}, err
			}
			if err != nil {
				break
			}
			newest = f
			head := lease.Head{}
			if there {
				head = f.lease(f.seq)
			}
			step = w.Last(head)
		case lease.Done:
			l.Settled(w)
			return found{h, w.Message.Seq, body}, nil
		default:
			return found{}, d.failed(step, newest, t, p.ref)
		}
		if step < lease.Done && step != lease.Elsewhere && t.over(ctx, d.times) {
			return found{}, d.gaveUp(ctx, p.ref)
		}
	}
}

// failed is the error of a result.
func (d driver) failed(step lease.Step, newest found, t tries, ref session.Ref) error {
	switch {
	case step == lease.Lost:
		d.losses.add(ref)
		return fmt.Errorf("session %s: %w: %w", ref, session.ErrLost, session.ErrReadOnly)
	case step == lease.Rejected && t.full:
		return fmt.Errorf("session %s: %w: %w", ref, session.ErrReadOnly, errFull)
	case step == lease.Rejected:
		return fmt.Errorf("session %s: the store servers refuse the message for its size", ref)
	case newest.Deleted, step == lease.Absent:
		return notFound(ref)
	case step == lease.Fenced:
		return fmt.Errorf("session %s: %w", ref, session.ErrFenced)
	}
	return fmt.Errorf("session %s: %w", ref, ErrUnknown)
}

func (d driver) gaveUp(ctx context.Context, ref session.Ref) error {
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("session %s: %w: %w", ref, ErrUnknown, err)
	}
	return fmt.Errorf("session %s: %w: %w: %w in %v", ref, ErrUnknown, session.ErrReadOnly, session.ErrNoAnswer, d.times.GiveUp)
}

// claimed is what a claim has found and made.
type claimed struct {
	log  lease.Log
	hold bool  // the queue waits for a person
	own  found // the claim
	body body  // of the claim: the record
}

// claim makes this node the owner of a log.
func (d driver) claim(ctx context.Context, p place) (made claimed, err error) {
	c := lease.NewClaim(d.node, newID())
	t := tries{since: time.Now()}
	var newest found
	var data []byte
	var before lease.Node // that the session is taken from
	for step := lease.Read; ; {
		switch step {
		case lease.Read:
			f, there, err := d.look(ctx, &t, p)
			if errors.Is(err, session.ErrDamaged) {
				return made, err
			}
			if err != nil {
				break
			}
			newest = f
			head := lease.Head{}
			if there && (f.exists() || f.Deleted) {
				head = f.lease(f.seq)
			}
			step = c.Last(head, d.present(f.Node) || d.fights.waits(p.ref))
		case lease.ReadLater:
			d.wait(ctx)
			step = lease.Read
		case lease.Elsewhere:
			if d.peers == nil || !d.peers.NotMine(ctx, newest.Node, p.ref, newest.Epoch) {
				return made, &ElsewhereError{newest.Node}
			}
			step = c.NotMine(newest.Epoch)
			t.reads = 0 // the next read is not a repetition, so it need not wait
		case lease.Publish:
			if made, data, err = d.follow(ctx, p, newest); err != nil {
				return made, err
			}
			if d.losses.has(p.ref) {
				if step, err = d.compare(ctx, &c, p); err != nil {
					return made, err
				}
				if step != lease.Done {
					break
				}
				d.losses.remove(p.ref) // it was restored
			}
			before = newest.Node
			w := c.Publish()
			made.own.Epoch, made.own.Node, made.own.ID = w.Message.Epoch, w.Message.Node, w.Message.ID
			answer, seq, err := d.publishHead(ctx, &t, p, made.own.head, data)
			if err != nil {
				return made, err
			}
			step = c.Answer(answer, seq)
		case lease.Compare:
			if step, err = d.compare(ctx, &c, p); err != nil {
				return made, err
			}
		case lease.Done:
			made.log, made.hold = c.Log(), c.Hold()
			made.own.seq, made.own.body = made.log.Tail, data
			if newest.ID == made.own.ID { // an earlier try was stored, without an answer
				made.own = newest
				if made.body, err = decodeBody(newest.body); err != nil {
					return made, damaged(p, "message %d: %v", newest.seq, err)
				}
			}
			if before != 0 && before != d.node && d.peers != nil {
				d.peers.Taken(before, p.ref, made.log.Epoch)
			}
			return made, d.appended(ctx, p, made.own, &made.body)
		default:
			return made, d.failed(step, newest, t, p.ref)
		}
		if step < lease.Done && step != lease.Elsewhere && t.over(ctx, d.times) {
			return made, d.gaveUp(ctx, p.ref)
		}
	}
}

// compare carries out lease.Compare. The message of the copy may be newer than the claim, if another node has claimed the session since: it
// must be in the log all the same. A leader that is outdated does not have it, so a difference is looked at again later.
func (d driver) compare(ctx context.Context, c *lease.Claim, p place) (lease.Step, error) {
	for again := false; ; again = true {
		there, store := d.copied(ctx, copySubject(d.in.prefix), p.subject)
		if there.Seq == 0 {
			return c.Copied(lease.Head{}, lease.Head{}), nil
		}
		var here lease.Head
		m, ok, err := d.read(ctx, p.stream, get{Seq: there.Seq})
		if err != nil {
			return 0, err
		}
		if ok && m.subject == p.subject {
			f, err := p.parse(m)
			if err != nil {
				return 0, err
			}
			here = f.lease(f.seq)
		}
		step := c.Copied(there, here)
		if step == lease.Done {
			return step, nil
		}
		if now, ok, err := d.storeID(ctx); err != nil || !ok || now != store { // it is a copy of the store before a restore
			return lease.Done, err
		}
		if again {
			return step, nil
		}
		if d.wait(ctx); ctx.Err() != nil {
			return 0, d.gaveUp(ctx, p.ref)
		}
	}
}

// storeID is the id that the store has now; ok is false if it has no format.
func (d driver) storeID(ctx context.Context) (id string, ok bool, err error) {
	m, ok, err := d.last(ctx, d.in.state(), d.in.all("format"))
	if err != nil || !ok {
		return "", false, err
	}
	f, err := formatOf(m.data)
	return f.ID, true, err
}

func (d driver) present(node lease.Node) bool {
	return node != 0 && node != d.node && d.peers != nil && d.peers.Present(node)
}

// follow makes the message of a claim: the record stays as it is.
func (d driver) follow(ctx context.Context, p place, newest found) (made claimed, data []byte, err error) {
	base, err := d.base(ctx, p, newest)
	if err != nil {
		return made, nil, err
	}
	before, err := d.whole(ctx, p, base)
	if err != nil {
		return made, nil, err
	}
	made.own.head = next(base, newest)
	if made.body.record = before.record; base.First == 0 { // it has what never changes, too
		if made.body.record, err = changing(before.record); err != nil {
			return made, nil, damaged(p, "the record: %v", err)
		}
	}
	data, err = made.body.encode()
	return made, data, err
}
