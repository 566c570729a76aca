package jet

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/thinkd/thinkd/session"
)

// Chain checks that each message of a log has the digest of the one before. It takes the messages of one stream, in order. It is not safe for concurrent
// use.
type Chain struct {
	// Before reads a message that is not remembered; nil: all are. ok is false if the message is not there any more.
	Before func(ctx context.Context, seq uint64) (m Message, ok bool, err error)
	// Most is how many logs are remembered; 0: all.
	Most int

	Unchecked int // messages whose predecessor is not there any more

	logs map[[16]byte]lastLink
}

// lastLink is the last message of a log.
type lastLink struct {
	seq    uint64
	digest digest
}

// Linked is what a message says about its log.
type Linked struct {
	Owner   string // the ids of the tenant and the user
	Session session.ID
	Deleted bool // a tombstone: nothing follows
	Epoch   uint64
	Pos     uint64
}

// LinkedOf reads a message of a stream with logs. The error is ErrDamaged if it is not one of a log.
func LinkedOf(m Message) (Linked, error) {
	_, l, err := foundOf(m)
	return l, err
}

func foundOf(m Message) (f found, l Linked, err error) {
	tokens := strings.Split(m.Subject, ".")
	if err := json.Unmarshal([]byte(m.Head), &f.head); err != nil || len(tokens) != 6 {
		return f, l, fmt.Errorf("%w: message %d, of %s, has the head %q", session.ErrDamaged, m.Seq, m.Subject, m.Head)
	}
	f.seq, f.body = m.Seq, m.Data
	return f, Linked{tokens[3] + "." + tokens[4], f.Session, f.Deleted, f.Epoch, f.Pos}, nil
}

// Next takes a message. The error is ErrDamaged if it does not follow the one before.
func (c *Chain) Next(ctx context.Context, m Message) (l Linked, err error) {
	f, l, err := foundOf(m)
	if err != nil {
		return l, err
	}
	if c.logs == nil {
		c.logs = make(map[[16]byte]lastLink)
	}
	key := [16]byte(sha256Of(m.Subject))
	err = c.follows(ctx, c.logs[key], f, m)
	if delete(c.logs, key); !f.Deleted {
		for other := range c.logs { // any one goes
			if c.Most == 0 || len(c.logs) < c.Most {
				break
			}
			delete(c.logs, other)
		}
		c.logs[key] = lastLink{f.seq, f.digest()}
	}
	return l, err
}

func sha256Of(s string) []byte {
	sum := sha256.Sum256([]byte(s))
	return sum[:16]
}

func (c *Chain) follows(ctx context.Context, before lastLink, f found, m Message) error {
	broken := func(why string) error {
		return fmt.Errorf("%w: message %d, of session %s, %s", session.ErrDamaged, m.Seq, f.Session, why)
	}
	if f.Back == 0 {
		if f.Prev != beginning(f.Session) || before.seq != 0 {
			return broken("begins a log that is there already, or not as it must")
		}
		return nil
	}
	if before.seq == 0 && c.Before != nil {
		found, ok, err := c.Before(ctx, f.Back)
		if err != nil {
			return err
		}
		if !ok {
			c.Unchecked++
			return nil
		}
		if before, err = linkOf(found, m.Subject); err != nil {
			return broken(err.Error())
		}
	}
	switch {
	case f.Deleted && before.seq != f.Back: // what was before it may be gone already
		c.Unchecked++
	case before.seq == 0:
		return broken(fmt.Sprintf("follows message %d, which is missing", f.Back))
	case before.seq != f.Back:
		return broken(fmt.Sprintf("follows message %d, and the last is %d", f.Back, before.seq))
	case before.digest != f.Prev:
		return broken(fmt.Sprintf("follows another message %d than the one that is there", f.Back))
	}
	return nil
}

func linkOf(m Message, subject string) (lastLink, error) {
	var f found
	if err := json.Unmarshal([]byte(m.Head), &f.head); err != nil || m.Subject != subject {
		return lastLink{}, fmt.Errorf("follows message %d, which is of %s", m.Seq, m.Subject)
	}
	f.body = m.Data
	return lastLink{m.Seq, f.digest()}, nil
}
