package exchange

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"time"

	"github.com/thinkd/thinkd/provider"
)

// Teller hands the events of one exchange to the loop over them. It is for adapters, and for one goroutine.
type Teller struct {
	yield func(provider.Event, error) bool
	req   *provider.Request
	begun bool      // a block has begun
	told  bool      // an event was told since the answer was last read from
	last  time.Time // of the last event before that
}

// ErrLeft says that the loop was left: nothing more may be told.
var ErrLeft = errors.New("the loop was left")

// Exchange makes a sequence of a run, which tells its events and returns nil behind its Stop, or the error that it
// ends with. The run's context ends with it. What means that req is too long without saying so becomes an error that
// says so.
func Exchange(ctx context.Context, req *provider.Request, run func(context.Context, *Teller) error) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if err := run(ctx, &Teller{yield: yield, req: req}); err != nil && err != ErrLeft {
			yield(nil, overflow(req, err))
		}
	}
}

// Answered tells that an answer of 2xx came, and the notices on its request. Then it is as [Caller.Form]; what is read
// from the reader keeps t's time. An error may be ErrLeft.
func (c *Caller) Answered(ctx context.Context, t *Teller, resp *http.Response, notices []provider.Notice, streams string) (Form, io.Reader, error) {
	if err := t.Alive(); err != nil {
		return 0, nil, err
	}
	for _, n := range notices {
		if err := t.Emit(n); err != nil {
			return 0, nil, err
		}
	}
	resp.Body = t.timed(resp.Body)
	return c.Form(ctx, resp, streams, t.Alive)
}

// Emit tells an event. The error is ErrLeft, or that of a Stop which means that the window was full: return it.
func (t *Teller) Emit(ev provider.Event) error {
	t.told = true
	switch ev := ev.(type) {
	case provider.Begin:
		t.begun = true
	case provider.Stop:
		if t.begun {
			break
		}
		if err := silent(t.req, ev); err != nil {
			return err
		}
	}
	if !t.yield(ev, nil) {
		return ErrLeft
	}
	return nil
}

// Alive tells that something came, at most once a second. The error is ErrLeft.
func (t *Teller) Alive() error {
	if !t.told && time.Since(t.last) >= time.Second {
		return t.Emit(provider.Alive{})
	}
	return nil
}

// timed is r, before each read of which t looks at the clock: what was told since the one before was told by then, and
// reading is what takes its time. So a read that brings a hundred events costs one look.
func (t *Teller) timed(r io.ReadCloser) io.ReadCloser { return &timed{r, t} }

type timed struct {
	io.ReadCloser
	t *Teller
}

func (r *timed) Read(p []byte) (int, error) {
	if r.t.told {
		r.t.told, r.t.last = false, time.Now()
	}
	return r.ReadCloser.Read(p)
}
