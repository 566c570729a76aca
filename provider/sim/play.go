package sim

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// Player writes the body of an answer. It waits between deltas to keep the answer's pace, counts deltas and bytes, and
// breaks off at the point that the [Answer] names. It stops waiting when the client disconnects.
//
// A face calls Next before each delta, Send for its bytes, Push after them, and End after the last delta, before the events
// that close the answer. If one of them returns an error, the face stops and returns that error from [Stream].Run.
type Player struct {
	Answer Answer // the answer that is sent
	Deltas int    // the number of deltas that were due so far

	ctx   context.Context // of the client's request
	w     io.Writer
	flush func() error
	gap   time.Duration // between deltas; 0: none
	next  time.Time     // when the next delta is due
	left  int           // bytes until FaultCut breaks the connection; negative: the answer has no such limit
	noise func() []byte // what FaultNoise sends between deltas; nil: nothing
}

// errBroken means that the answer's fault comes now. errCut means that the connection has to break now.
var (
	errBroken = errors.New("the answer breaks off")
	errCut    = errors.New("the connection breaks")
)

// Send writes b, or the part of b before the byte at which the connection breaks.
func (p *Player) Send(b []byte) error {
	if p.left < 0 {
		_, err := p.w.Write(b)
		return err
	}
	n := min(len(b), p.left)
	p.left -= n
	if _, err := p.w.Write(b[:n]); err != nil {
		return err
	}
	if p.left == 0 {
		return errCut
	}
	return nil
}

// Next waits until it is time for the next delta, whether the client sees that delta or not. It returns an error if a
// fault replaces the delta or the client has disconnected.
func (p *Player) Next() error {
	if err := p.breakPoint(p.Deltas); err != nil {
		return err
	}
	p.Deltas++
	err := p.ctx.Err()
	if p.gap > 0 {
		p.next = p.next.Add(p.gap)
		err = p.wait(time.Until(p.next))
	}
	if err != nil || p.noise == nil || p.Deltas%3 > 0 {
		return err
	}
	return p.Send(p.noise())
}

// Flush sends what was written so far.
func (p *Player) Flush() error { return p.flush() }

// Push does what Flush does if the answer has a pace. Without a pace, net/http flushes when its buffer is full.
func (p *Player) Push() error {
	if p.gap == 0 {
		return nil
	}
	return p.flush()
}

// End returns an error if the answer's fault has not come before the last delta: then it comes now.
func (p *Player) End() error {
	if p.Answer.After == nil {
		return p.breakPoint(0)
	}
	return p.breakPoint(max(p.Deltas, *p.Answer.After))
}

func (p *Player) breakPoint(deltas int) error {
	if p.Answer.Fault.Breaks() && p.left < 0 && deltas >= Default(p.Answer.After, 0) {
		return errBroken
	}
	return nil
}

// wait flushes and sleeps.
func (p *Player) wait(d time.Duration) error {
	if err := p.flush(); err != nil {
		return err
	}
	return p.sleep(d)
}

// sleep sends nothing, not even the header. It returns an error if the client disconnects.
func (p *Player) sleep(d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
}

// silence flushes and then sends nothing until the client disconnects.
func (p *Player) silence() {
	if p.flush() == nil {
		<-p.ctx.Done()
	}
}

// repeat sends b once in each gap, or once a second without a pace, until the client disconnects.
func (p *Player) repeat(b []byte) error {
	gap := p.gap
	if gap == 0 {
		gap = time.Second
	}
	for {
		if err := p.Send(b); err != nil {
			return err
		}
		if err := p.wait(gap); err != nil {
			return err
		}
	}
}

// cutOff flushes and breaks the connection. It does not return: it panics with the one value that makes net/http break the
// connection of an unfinished answer. [net/http: ErrAbortHandler]
func (p *Player) cutOff() {
	p.flush() // if this fails, the connection is broken already
	panic(http.ErrAbortHandler)
}
