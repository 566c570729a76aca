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

// player writes the body of an answer: it keeps the pace, counts deltas and bytes, and breaks off where the answer
// says so. All its waiting ends with ctx, the life of the client's request.
type player struct {
	ctx    context.Context
	w      io.Writer
	flush  func() error
	answer Answer
	gap    time.Duration // between deltas; 0: none
	next   time.Time     // when the next delta is due
	deltas int
	left   int           // bytes until a cut; negative: no such cut
	noise  func() []byte // between the deltas of FaultNoise; nil: none
}

// errBroken says that the answer's fault is due; errCut that the connection is to break now.
var (
	errBroken = errors.New("the answer breaks off")
	errCut    = errors.New("the connection breaks")
)

func (ex *exchange) player(a Answer) *player {
	p := &player{ctx: ex.r.Context(), w: ex.w, flush: http.NewResponseController(ex.w).Flush, answer: a, left: -1}
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

// write sends b, or as much of it as comes before the cut.
func (p *player) write(b []byte) error {
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

// delta is due when its time has come: it returns then, or with errBroken in place of the delta.
func (p *player) delta() error {
	if err := p.breakPoint(p.deltas); err != nil {
		return err
	}
	p.deltas++
	err := p.ctx.Err()
	if p.gap > 0 {
		p.next = p.next.Add(p.gap)
		err = p.wait(time.Until(p.next))
	}
	if err != nil || p.noise == nil || p.deltas%3 > 0 {
		return err
	}
	return p.write(p.noise())
}

// pushed sends at once what was written, if the answer keeps a pace.
func (p *player) pushed() error {
	if p.gap == 0 {
		return nil
	}
	return p.flush()
}

// end comes after the last delta: a fault that has not come by then comes now.
func (p *player) end() error {
	if p.answer.After == nil {
		return p.breakPoint(0)
	}
	return p.breakPoint(max(p.deltas, *p.answer.After))
}

func (p *player) breakPoint(deltas int) error {
	if p.answer.Fault.breaks() && p.left < 0 && deltas >= pick(p.answer.After, 0) {
		return errBroken
	}
	return nil
}

// wait sends what there is and sleeps.
func (p *player) wait(d time.Duration) error {
	if err := p.flush(); err != nil {
		return err
	}
	return p.sleep(d)
}

// sleep sends nothing, not even a header.
func (p *player) sleep(d time.Duration) error {
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
func (p *player) silence() {
	if p.flush() == nil {
		<-p.ctx.Done()
	}
}

// repeat sends b over and over, one each gap or each second, until the client goes.
func (p *player) repeat(b []byte) error {
	gap := p.gap
	if gap == 0 {
		gap = time.Second
	}
	for {
		if err := p.write(b); err != nil {
			return err
		}
		if err := p.wait(gap); err != nil {
			return err
		}
	}
}

// cutOff breaks the connection after what was sent so far. It does not return; net/http knows this panic and only it
// makes a broken connection of an open answer. [net/http: ErrAbortHandler]
func (p *player) cutOff() {
	p.flush() // a failure here is the break that was asked for
	panic(http.ErrAbortHandler)
}

// noAnswer plays the faults that are no answer of any API, and reports whether it was one.
func (ex *exchange) noAnswer(a Answer, p *player) bool {
	h := ex.w.Header()
	switch a.Fault {
	case FaultHTML:
		h.Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(ex.w, "<!DOCTYPE html>\n<html><head><title>Just a moment…</title></head>\n<body><h1>Checking your browser</h1></body></html>\n")
	case FaultEmpty:
		ex.w.WriteHeader(http.StatusOK)
	case FaultRedirect:
		h.Set("Location", "http://elsewhere.invalid"+ex.r.URL.Path)
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
func (ex *exchange) zipped(p *player) (end func()) {
	ex.w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(ex.w)
	flush := p.flush
	p.w = z
	p.flush = func() error { return errors.Join(z.Flush(), flush()) }
	return func() { z.Close() } // nobody is left to hear of an error
}

// stream sends an answer as a stream.
func (ex *exchange) stream(d *Dialect, p *player, st Stream) {
	if d.NoCache {
		ex.header().Set("Cache-Control", "no-cache")
	}
	mislabelled := p.answer.Fault == FaultMislabelled
	if mislabelled {
		ex.header().Set("Content-Type", "application/json")
	} else {
		ex.header().Set("Content-Type", d.StreamType)
	}
	ex.w.WriteHeader(http.StatusOK)
	if mislabelled && p.write([]byte("\n\r\n")) != nil {
		return // the client is gone
	}
	run := st.Run
	switch p.answer.Fault {
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
	case errors.Is(err, errCut) || p.answer.Fault == FaultCut:
		p.cutOff()
	case p.answer.Fault == FaultStall:
		p.silence()
	case p.answer.Fault.refuses():
		e := ex.face.Faults[p.answer.Fault]
		st.Fail(&e, p.answer.Fault)
	}
}

// appendEvent adds a server-sent event to b.
func appendEvent(b []byte, name string, v any) []byte {
	b = append(b, "event: "...)
	b = append(b, name...)
	b = append(b, "\ndata: "...)
	b = append(b, mustJSON(v)...)
	return append(b, "\n\n"...)
}

// whole sends an answer that is one JSON value, or as much of it as its fault lets through. It takes as long as the
// stream of the answer would. An answer without end never comes.
func (ex *exchange) whole(d *Dialect, p *player, reply Reply) {
	if reply.Endless || p.answer.Fault == FaultPings || p.answer.Fault == FaultComments {
		<-p.ctx.Done()
		return
	}
	if p.gap > 0 && p.sleep(p.gap*time.Duration(reply.Deltas)) != nil {
		return
	}
	body := mustJSON(reply.Whole())
	ex.header().Set("Content-Type", cmp.Or(d.WholeType, "application/json"))
	if !p.answer.Fault.breaks() {
		p.write(body) // a client that has gone needs no answer
		return
	}
	if p.left < 0 {
		body = body[:len(body)/2]
	}
	err := p.write(body)
	switch {
	case p.answer.Fault == FaultStall:
		p.silence()
	case errors.Is(err, errCut), p.answer.Fault == FaultCut:
		p.cutOff()
	}
}
