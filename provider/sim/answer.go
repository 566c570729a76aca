package sim

import (
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Answer answers a request that has passed the checks of its face. It returns when the answer is sent, has broken off, or
// the client has disconnected.
func (ex *Exchange) Answer(d *Dialect, g Generation) {
	steps, prompt, err := markers(g.Ask.Prompt)
	marked, rounds, step := stepAt(steps, g.Ask.Rounds)
	if err == nil && g.Takes != nil {
		err = g.Takes(marked)
	}
	if err != nil {
		ex.Refuse(d, &MarkerError{err})
		return
	}
	a := ex.server.scripts.next(*ex.entry, marked, g.Account, fmt.Sprint(step, " ", g.Ask.Prompt))
	g.Ask.Prompt, g.Ask.Rounds = prompt, rounds
	for name, values := range a.Head {
		ex.Header()[http.CanonicalHeaderKey(name)] = values
	}
	p := ex.player(a)
	if ex.noAnswer(a, p) || ex.scripted(d, a, g.Stream) {
		return
	}
	if a.Fault == FaultGzip {
		defer ex.zipped(p)()
	}
	reply := g.Reply(a)
	if g.Stream && a.Fault != FaultWhole {
		ex.stream(d, p, reply.Stream(p))
	} else {
		ex.whole(d, p, reply)
	}
}

// scripted sends a scripted error that replaces the whole answer, and reports whether there was one.
func (ex *Exchange) scripted(d *Dialect, a Answer, streams bool) bool {
	fault := a.Fault
	switch {
	case fault.Refuses() && (a.After == nil || !streams):
	case fault == FaultJSON:
		fault = FaultServer
	default:
		return false
	}
	if fault == FaultRateLimit && d.RetryAfter && ex.Header().Get("Retry-After") == "" {
		ex.Header().Set("Retry-After", "1")
	}
	e := ex.faults[fault]
	status, _, body := d.Spell(&e, fault)
	if a.Fault == FaultJSON {
		status = http.StatusOK
	}
	ex.SendJSON(status, body)
	return true
}

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

// noAnswer plays the faults that no API defines, and reports whether a.Fault is one of them.
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
		<-p.ctx.Done() // before the header
	default:
		return false
	}
	return true
}

// bomb writes 4 GiB of comments, which compress to about 4 MiB. It stops when the client disconnects.
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
	z.Close() // an error means that the client has disconnected
}

// zipped compresses the answer. The caller calls end after the answer.
func (ex *Exchange) zipped(p *Player) (end func()) {
	ex.w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(ex.w)
	flush := p.flush
	p.w = z
	p.flush = func() error { return errors.Join(z.Flush(), flush()) }
	return func() { z.Close() } // an error means that the client has disconnected
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
		return // the client has disconnected
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
		// The answer is complete, or the client has disconnected.
	case errors.Is(err, errCut) || p.Answer.Fault == FaultCut:
		p.cutOff()
	case p.Answer.Fault == FaultStall:
		p.silence()
	case p.Answer.Fault.Refuses():
		e := ex.faults[p.Answer.Fault]
		st.Fail(&e, p.Answer.Fault)
	}
}

// whole sends the answer as one JSON value, or the part of it that its fault allows. It takes as long as the stream of the
// answer would take. An endless answer waits until the client disconnects.
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
		p.Send(body) // an error means that the client has disconnected
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
