package sim

import (
	"errors"

	"github.com/thinkd/thinkd/provider/sim/strict"
)

// Error is a refusal in the words of an API. [Dialect].Spell gives it the API's form. A face sets the members that its API
// has.
type Error struct {
	Status int
	Kind   string
	Code   string
	Param  string
	Text   string
}

func (e *Error) Error() string { return e.Text }

// BodyError means that the body of a request ended too early.
type BodyError struct{ err error }

func (e *BodyError) Error() string { return "The request body could not be read: " + e.err.Error() }

// MarkerError means that a marker breaks the grammar, or requests something that the API cannot express.
type MarkerError struct{ err error }

func (e *MarkerError) Error() string { return e.err.Error() }

// Dialect is the form of refusals and the headers that a face uses for one request.
type Dialect struct {
	Limit    int64 // bytes of a request's body
	TooLarge Error // the refusal of a larger body; the zero value: that of FaultTooLarge

	// Spell returns the status and the body that are sent for an error, and the word that the journal records. It may add
	// details for a scripted fault; without one, f is empty.
	Spell func(e *Error, f Fault) (status int, word string, body any)
	// Wrong is the refusal of a request that breaks a rule of all faces: a member that package strict refuses, a body that
	// cannot be read, a wrong marker. Broken is the refusal after a fault of the server. The server sets their Text.
	Wrong, Broken Error
	// Reword returns the refusal for an error that the API words in another way. Wrong or Broken is used if it returns nil
	// or is nil.
	Reword func(err error) *Error

	RetryAfter bool   // FaultRateLimit sets the header Retry-After
	NoCache    bool   // streams set Cache-Control
	StreamType string // Content-Type
	WholeType  string // Content-Type; empty: application/json
}

// Generation is a request for an answer. It has passed the checks of its face.
type Generation struct {
	Ask     *Ask
	Account string
	Stream  bool                      // the client asked for a stream
	Takes   func(marked Answer) error // refuses a marker that the API cannot express; nil: refuses none
	Reply   func(a Answer) Reply      // makes the answer; called once, after all checks
}

// Reply is an answer that is ready to be sent.
type Reply struct {
	Deltas  int        // of the answer as a stream; a whole answer takes the same time
	Endless bool       // one of its parts is endless
	Whole   func() any // the answer as one JSON value
	Stream  func(p *Player) Stream
}

// Stream is an answer that is sent piece by piece.
type Stream struct {
	Run     func() error            // sends the answer; it stops at an error of the player and returns it
	Fail    func(e *Error, f Fault) // sends an error in mid-stream; nothing follows
	Comment string                  // repeated for FaultComments
	Ping    string                  // repeated for FaultPings
	Noise   func() []byte           // for FaultNoise, bytes that a client has to ignore; nil: the API has none
}

// error returns err in the words of the API.
func (d *Dialect) error(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if d.Reword != nil {
		if e := d.Reword(err); e != nil {
			return e
		}
	}
	_, member := errors.AsType[*strict.Error](err)
	_, body := errors.AsType[*BodyError](err)
	_, marker := errors.AsType[*MarkerError](err)
	e := d.Broken
	if member || body || marker {
		e = d.Wrong
	}
	e.Text = err.Error()
	return &e
}
