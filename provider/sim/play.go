package sim

import (
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// Player writes the body of an answer. It keeps the pace, counts deltas and bytes, and breaks off where the answer says
// so. All its waiting ends with ctx, the life of the client's request.
//
// A face calls Next before each delta, Send for its bytes, Push after them, and End after the last delta, before the events
// that close the answer. An error of any of them ends the answer; the face returns it.
type Player struct {
	Answer Answer // what is played
	Deltas int    // so many deltas were due so far

	ctx   context.Context
	w     io.Writer
	flush func() error
	gap   time.Duration // between deltas; 0: none
	next  time.Time     // when the next delta is due
	left  int           // bytes until a cut; negative: no such cut
	noise func() []byte // between the deltas of FaultNoise; nil: none
}

// errBroken says that the answer's fault is due; errCut that the connection is to break now.
var (
	errBroken = errors.New("the answer breaks off")
	errCut    = errors.New("the connection breaks")
)

func (ex *Exchange) player(a Answer) *Player {
	p := &Player{ctx: ex.Request.Context(), w: ex.w, flush: http.NewResponseController(ex.w).Flush, Answer: a, left: -1}
	if a.Bytes > 0 {
		p.left = a.Bytes
	}
	pace := a.Pace
	if pace == 0 {
		pace = ex.server.config.Pace
	}
	if pace > 0 {
		p.gap = time.Duration(float64(time.Second) / pace)
		p.next = time.Now()
	}
	return p
}

// Send sends b, or as much of it as comes before the cut.
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

// Next waits until the next delta is due, shown or not. It returns errBroken if a fault takes the place of the delta.
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

// Flush sends at once what was written.
func (p *Player) Flush() error { return p.flush() }

// Push sends at once what was written, if the answer keeps a pace.
func (p *Player) Push() error {
	if p.gap == 0 {
		return nil
	}
	return p.flush()
}

// End comes after the last delta: a fault that has not come by then comes now.
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

// wait sends what there is and sleeps.
func (p *Player) wait(d time.Duration) error {
	if err := p.flush(); err != nil {
		return err
	}
	return p.sleep(d)
}

// sleep sends nothing, not even a header.
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

// silence sends what there is and then nothing, until the client goes.
func (p *Player) silence() {
	if p.flush() == nil {
		<-p.ctx.Done()
	}
}

// repeat sends b over and over, one each gap or each second, until the client goes.
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

// cutOff breaks the connection after what was sent so far. It does not return; net/http knows this panic and only it
// makes a broken connection of an open answer. [net/http: ErrAbortHandler]
func (p *Player) cutOff() {
	p.flush() // a failure here is the break that was asked for
	panic(http.ErrAbortHandler)
}

// noAnswer plays the faults that are no answer of any API, and reports whether it was one.
func (ex *Exchange) noAnswer(a Answer, p *Player) bool {
	h := ex.w.Header()
	switch a.Fault {
	case FaultHTML:
		h.Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(ex.w, "<!DOCTYPE html>\n<html><head><title>Just a moment…</title></head>\n<body><h1>Checking your browser</h1></body></html>\n")
	case FaultEmpty:
		ex.w.WriteHeader(http.StatusOK)
	case FaultRedirect:
		h.Set("Location", "http://elsewhere.invalid"+ex.Request.URL.Path)
		ex.w.WriteHeader(http.StatusTemporaryRedirect)
	case FaultBomb:
		h.Set("Content-Type", "text/event-stream; charset=utf-8")
		h.Set("Content-Encoding", "gzip")
		bomb(ex.w, p.ctx)
	case FaultStall:
		if a.After != nil {
			return false
		}
		<-p.ctx.Done() // not even a header
	default:
		return false
	}
	return true
}

// bomb writes 4 GiB of comments, a thousandth of that when compressed, as long as somebody reads.
func bomb(w io.Writer, ctx context.Context) {
	z := gzip.NewWriter(w)
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = ':'
	}
	block[len(block)-1] = '\n'
	for range 4 << 10 {
		if _, err := z.Write(block); err != nil || ctx.Err() != nil {
			return
		}
	}
	z.Close() // nobody is left to hear of an error
}

// zipped makes ex answer compressed; the function it returns ends the compression.
func (ex *Exchange) zipped(p *Player) (end func()) {
	ex.w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(ex.w)
	flush := p.flush
	p.w = z
	p.flush = func() error { return errors.Join(z.Flush(), flush()) }
	return func() { z.Close() } // nobody is left to hear of an error
}

// stream sends an answer as a stream.
func (ex *Exchange) stream(d *Dialect, p *Player, st Stream) {
	if d.NoCache {
		ex.Header().Set("Cache-Control", "no-cache")
	}
	mislabelled := p.Answer.Fault == FaultMislabelled
	if mislabelled {
		ex.Header().Set("Content-Type", "application/json")
	} else {
		ex.Header().Set("Content-Type", d.StreamType)
	}
	ex.w.WriteHeader(http.StatusOK)
	if mislabelled && p.Send([]byte("\n\r\n")) != nil {
		return // the client is gone
	}
	run := st.Run
	switch p.Answer.Fault {
	case FaultNoise:
		p.noise = st.Noise
	case FaultComments:
		run = func() error { return p.repeat([]byte(st.Comment)) }
	case FaultPings:
		run = func() error { return p.repeat([]byte(st.Ping)) }
	}
	switch err := run(); {
	case err == nil, !errors.Is(err, errBroken) && !errors.Is(err, errCut):
		// The answer is out, or the client is gone.
	case errors.Is(err, errCut) || p.Answer.Fault == FaultCut:
		p.cutOff()
	case p.Answer.Fault == FaultStall:
		p.silence()
	case p.Answer.Fault.Refuses():
		e := ex.face.Faults[p.Answer.Fault]
		st.Fail(&e, p.Answer.Fault)
	}
}

// AppendEvent adds a server-sent event to b.
func AppendEvent(b []byte, name string, v any) []byte {
	b = append(b, "event: "...)
	b = append(b, name...)
	b = append(b, "\ndata: "...)
	b = append(b, JSON(v)...)
	return append(b, "\n\n"...)
}

// whole sends an answer that is one JSON value, or as much of it as its fault lets through. It takes as long as the
// stream of the answer would. An answer without end never comes.
func (ex *Exchange) whole(d *Dialect, p *Player, reply Reply) {
	if reply.Endless || p.Answer.Fault == FaultPings || p.Answer.Fault == FaultComments {
		<-p.ctx.Done()
		return
	}
	if p.gap > 0 && p.sleep(p.gap*time.Duration(reply.Deltas)) != nil {
		return
	}
	body := JSON(reply.Whole())
	ex.Header().Set("Content-Type", cmp.Or(d.WholeType, "application/json"))
	if !p.Answer.Fault.Breaks() {
		p.Send(body) // a client that has gone needs no answer
		return
	}
	if p.left < 0 {
		body = body[:len(body)/2]
	}
	err := p.Send(body)
	switch {
	case p.Answer.Fault == FaultStall:
		p.silence()
	case errors.Is(err, errCut), p.Answer.Fault == FaultCut:
		p.cutOff()
	}
}
