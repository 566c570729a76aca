package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/jet"
)

// Restoring is how a copy is put back.
type Restoring struct {
	Conns jet.Conns
	Dir   string
	Until time.Time // zero: everything
	Store jet.Options
}

// Restored counts what was put back.
type Restored struct {
	Messages int `json:"messages"`
	Sessions int `json:"sessions"`
	Deleted  int `json:"deleted"` // sessions whose tombstone alone was put back
}

// Restore puts a copy back into servers that have no store with its prefix. It verifies the copy first, and reads the logs back at the end. After an error,
// remove the streams before another try.
func (r Restoring) Restore(ctx context.Context) (done Restored, err error) {
	report, err := Verify(ctx, r.Dir)
	if err == nil && len(report.Broken) > 0 {
		err = fmt.Errorf("%w: %s, and %d more logs", ErrDamaged, report.Broken[0], len(report.Broken)-1)
	}
	if err == nil && !r.Until.IsZero() && r.Until.Before(report.Since) {
		err = fmt.Errorf("the copy has no values of %s any more: it can be restored to points in time from %s on", r.Until.Format(time.RFC3339), report.Since.Format(time.RFC3339))
	}
	if err != nil {
		return done, err
	}
	c, err := open(r.Dir)
	if err != nil {
		return done, err
	}
	for _, stream := range c.names() {
		_, there, err := jet.LastSeq(ctx, r.Conns, stream)
		if err == nil && there {
			err = fmt.Errorf("stream %s is there already: a copy is put back into empty servers", stream)
		}
		if err != nil {
			return done, err
		}
	}
	r.Store.Prefix, r.Store.Shards = c.streams.Prefix, c.streams.Shards
	made, err := jet.Open(ctx, r.Conns, r.Store)
	if err != nil {
		return done, err
	}
	if err := made.Close(); err != nil {
		return done, err
	}
	deleted := make(map[session.ID]bool)
	for _, stream := range c.streams.Logs() {
		if err := r.log(ctx, c, stream, deleted, &done); err != nil {
			return done, fmt.Errorf("stream %s: %w", stream, err)
		}
	}
	done.Deleted = len(deleted)
	if err := r.state(ctx, c, deleted, &done); err != nil {
		return done, fmt.Errorf("stream %s: %w", c.streams.State(), err)
	}
	if err := r.made(ctx, c, &done); err != nil {
		return done, fmt.Errorf("stream %s: %w", c.streams.Made(), err)
	}
	if err := r.tables(ctx, c, &done); err != nil {
		return done, fmt.Errorf("stream %s: %w", c.streams.Tables(), err)
	}
	return done, nil
}

func (r Restoring) late(m jet.Message) bool { return !r.Until.IsZero() && m.Time.After(r.Until) }

// log puts back a stream with logs. Each message gets the sequence that it had. In the place of those that are missing are fillers,
// which are removed at the end. Tombstones are put back whenever they were made.
func (r Restoring) log(ctx context.Context, c contents, stream string, deleted map[session.ID]bool, done *Restored) error {
	var chain jet.Chain
	if _, _, err := each(r.Dir, stream, func(m jet.Message) error {
		l, err := chain.Next(ctx, m)
		if l.Deleted {
			deleted[l.Session] = true
		}
		if errors.Is(err, session.ErrDamaged) { // of a deleted session: see verify
			return nil
		}
		return err
	}); err != nil {
		return err
	}
	p, err := newPublisher(r.Conns, stream)
	if err != nil {
		return err
	}
	defer p.close()
	filler := jet.Filler(stream)
	sessions := make(map[session.ID]bool)
	last := uint64(0)
	_, _, err = each(r.Dir, stream, func(m jet.Message) error {
		l, err := jet.LinkedOf(m)
		if err != nil {
			return err
		}
		if !l.Deleted && (deleted[l.Session] || r.late(m)) {
			return nil
		}
		if !l.Deleted {
			sessions[l.Session] = true
		}
		for p.seq+1 < m.Seq {
			if err := p.put(ctx, jet.Message{Subject: filler}); err != nil {
				return err
			}
		}
		done.Messages++
		last = m.Seq
		return p.put(ctx, m)
	})
	if err != nil {
		return err
	}
	done.Sessions += len(sessions)
	if err := p.settle(ctx); err != nil {
		return err
	}
	if err := jet.Purge(ctx, r.Conns, stream, filler); err != nil {
		return err
	}
	return r.check(ctx, stream, last)
}

// replicaPause is how long check waits before it asks another server.
const replicaPause = 50 * time.Millisecond

// check reads a stream back, up to the last message, and checks the chains of its logs.
func (r Restoring) check(ctx context.Context, stream string, last uint64) error {
	var chain jet.Chain
	for next, idle := uint64(1), 0; next <= last; idle++ {
		list, err := jet.ReadStream(ctx, r.Conns, idle, stream, next, batchSize)
		if ended := context.Cause(ctx); ended != nil {
			return ended
		}
		if len(list) == 0 { // the replica is behind
			if idle == 100 {
				return errors.Join(fmt.Errorf("message %d was put back, and cannot be read", last), err)
			}
			select {
			case <-time.After(replicaPause):
			case <-ctx.Done():
			}
			continue
		}
		for _, m := range list {
			if _, err := chain.Next(ctx, m); err != nil {
				return fmt.Errorf("after it was put back: %w", err)
			}
			next = m.Seq + 1
		}
		idle = 0
	}
	return nil
}

// state puts back the newest value of each subject, in the order in which they were stored.
func (r Restoring) state(ctx context.Context, c contents, deleted map[session.ID]bool, done *Restored) error {
	forgotten := make(map[string]uint64)
	newest := make(map[string]jet.Message)
	if _, _, err := each(r.Dir, c.streams.State(), func(m jet.Message) error {
		if _, _, is, err := c.streams.FormatOf(m); is || err != nil { // the new store has its own
			return err
		}
		v, ok := jet.ValueOf(m.Subject)
		if ok && v.Forgets() {
			forgotten[v.Owner] = m.Seq
		}
		if ok && v.Account() != "" { // the account of a deleted session has what it used, and nothing else; its tombstone may be gone
			empty, err := jet.DeletedAccount(m.Data)
			if empty {
				newest[m.Subject] = m
			}
			if empty || err != nil || deleted[v.Account()] {
				return err
			}
		}
		if !r.late(m) && !(ok && deleted[v.Marks()]) {
			newest[m.Subject] = m
		}
		return nil
	}); err != nil {
		return err
	}
	var list []jet.Message
	for _, m := range newest {
		if v, ok := jet.ValueOf(m.Subject); !ok || m.Seq >= forgotten[v.Owner] {
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b jet.Message) int { return int(int64(a.Seq) - int64(b.Seq)) })
	return r.putAll(ctx, c.streams.State(), list, done)
}

func (r Restoring) made(ctx context.Context, c contents, done *Restored) error {
	var list []jet.Message
	if _, _, err := each(r.Dir, c.streams.Made(), func(m jet.Message) error {
		if !r.late(m) {
			list = append(list, m)
		}
		return nil
	}); err != nil {
		return err
	}
	return r.putAll(ctx, c.streams.Made(), list, done)
}

// tables puts back the newest text of each row. A row that was removed later stays removed: it may be a token that was revoked.
func (r Restoring) tables(ctx context.Context, c contents, done *Restored) error {
	newest := make(map[string]jet.Message)
	if _, _, err := each(r.Dir, c.streams.Tables(), func(m jet.Message) error {
		switch {
		case len(m.Data) == 0:
			delete(newest, m.Subject)
		case !r.late(m):
			newest[m.Subject] = m
		}
		return nil
	}); err != nil {
		return err
	}
	list := slices.SortedFunc(maps.Values(newest), func(a, b jet.Message) int { return cmp.Compare(a.Seq, b.Seq) })
	return r.putAll(ctx, c.streams.Tables(), list, done)
}

func (r Restoring) putAll(ctx context.Context, stream string, list []jet.Message, done *Restored) error {
	p, err := newPublisher(r.Conns, stream)
	if err != nil {
		return err
	}
	defer p.close()
	last, _, err := jet.LastSeq(ctx, r.Conns, stream)
	if err != nil {
		return err
	}
	p.seq, p.acked = last, last
	for _, m := range list {
		if err := p.put(ctx, m); err != nil {
			return err
		}
	}
	done.Messages += len(list)
	return p.settle(ctx)
}

// publisher publishes to one stream, many messages at once, and in order: a connection delivers in order, and a leader stores in order. Each acknowledgement
// must have the sequence that is expected.
type publisher struct {
	conn   *nats.Conn
	sub    *nats.Subscription
	stream string
	seq    uint64 // of the last message that was published
	acked  uint64
}

// window is how many messages may be without an acknowledgement.
const window = 64

// ackTime is how long one may be missing.
const ackTime = 30 * time.Second

func newPublisher(conns jet.Conns, stream string) (*publisher, error) {
	for _, conn := range conns {
		if conn.IsConnected() {
			sub, err := conn.SubscribeSync(conn.NewRespInbox())
			return &publisher{conn: conn, sub: sub, stream: stream}, err
		}
	}
	return nil, errors.New("no connection to a store server")
}

func (p *publisher) close() {
	if err := p.sub.Unsubscribe(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		panic(err) // nobody else ends the subscription
	}
}

func (p *publisher) put(ctx context.Context, m jet.Message) error {
	for p.seq-p.acked >= window {
		if err := p.take(ctx); err != nil {
			return err
		}
	}
	out := nats.NewMsg(m.Subject)
	out.Reply, out.Data = p.sub.Subject, m.Data
	m.SetHeader(out.Header)
	if err := p.conn.PublishMsg(out); err != nil {
		return err
	}
	p.seq++
	return nil
}

// settle waits for all acknowledgements.
func (p *publisher) settle(ctx context.Context) error {
	for p.acked < p.seq {
		if err := p.take(ctx); err != nil {
			return err
		}
	}
	return nil
}

// take waits for the next acknowledgement.
func (p *publisher) take(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, ackTime)
	defer cancel()
	answer, err := p.sub.NextMsgWithContext(ctx)
	if err != nil {
		return fmt.Errorf("message %d: %w", p.acked+1, err)
	}
	seq, err := jet.Acknowledged(answer)
	if err == nil && seq != p.acked+1 {
		err = fmt.Errorf("it got the sequence %d: somebody else writes to the stream", seq)
	}
	if err != nil {
		return fmt.Errorf("message %d: %w", p.acked+1, err)
	}
	p.acked++
	return nil
}
