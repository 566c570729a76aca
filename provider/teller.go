package provider

import (
	"errors"
	"iter"
	"time"
)

// Teller hands the events of one exchange to the loop over them. It is for adapters, and for one goroutine.
type Teller struct {
	yield func(Event, error) bool
	last  time.Time // of the last event
}

// ErrLeft says that the loop was left: nothing more may be told.
var ErrLeft = errors.New("the loop was left")

// Exchange makes a sequence of a run, which tells its events and returns nil behind its Stop, or the error that it
// ends with.
func Exchange(run func(*Teller) error) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if err := run(&Teller{yield: yield}); err != nil && err != ErrLeft {
			yield(nil, err)
		}
	}
}

// Emit tells an event. The error is ErrLeft.
func (t *Teller) Emit(ev Event) error {
	t.last = time.Now()
	if !t.yield(ev, nil) {
		return ErrLeft
	}
	return nil
}

// Alive tells that something came, at most once a second. The error is ErrLeft.
func (t *Teller) Alive() error {
	if time.Since(t.last) >= time.Second {
		return t.Emit(Alive{})
	}
	return nil
}
