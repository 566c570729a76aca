package sim

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/thinkd/thinkd/provider/sim/strict"
)

// Face is one wire API: what the server serves of it, and how. A face is a package of its own below this one. It
// registers itself when it is imported, as image formats and database drivers do. Package faces imports all of them.
type Face struct {
	Name  string
	Claim func(r *http.Request) Claim // whether a request is meant for this face
	Serve func(ex *Exchange)          // answers a request that the face has claimed
	Help  func() string               // the lines of [Help] about this face's models

	// Faults is how scripted refusals read in the API's words: an entry for each fault that is one.
	Faults map[Fault]Error

	// Listed are the models of this face in the list of a host whose list another face serves; nil: none.
	Listed func(host string) []map[string]any
}

// Claim says how surely a request is meant for a face. The face with the highest claim serves it; two faces never make
// the same claim to one request.
type Claim int

const (
	NoClaim   Claim = iota
	LastClaim       // nobody else knows the path
	PathClaim       // the path begins as this API's paths do
	OwnClaim        // exactly this path is the API's, or only its clients send such headers
)

// registered are the faces of this process, sorted by name.
var registered struct {
	sync.RWMutex
	faces []Face
}

// Register adds a face to all servers of this process. It is called by init functions. It panics if the name is taken
// or if the face has no words for one of the faults.
func Register(f Face) {
	for _, fault := range faults {
		if _, known := f.Faults[fault]; known != fault.Refuses() {
			panic(fmt.Sprintf("sim: face %s and the fault %s: words for it: %t, needed: %t", f.Name, fault, known, fault.Refuses()))
		}
	}
	registered.Lock()
	defer registered.Unlock()
	at, twice := slices.BinarySearchFunc(registered.faces, f.Name, func(f Face, name string) int { return cmp.Compare(f.Name, name) })
	if twice {
		panic("sim: face " + f.Name + " is registered twice")
	}
	registered.faces = slices.Insert(registered.faces, at, f)
}

// faces are the registered faces, sorted by name.
func faces() []Face {
	registered.RLock()
	defer registered.RUnlock()
	return slices.Clone(registered.faces)
}

// faceFor is the face that a request is meant for; an error names the import that is missing.
func faceFor(r *http.Request) (Face, error) {
	var best Face
	claim := NoClaim
	names := []string{}
	for _, f := range faces() {
		names = append(names, f.Name)
		if c := f.Claim(r); c > claim {
			best, claim = f, c
		}
	}
	if claim == NoClaim {
		return Face{}, fmt.Errorf("sim: no face of this program serves %s %s (it has: %s). Import github.com/thinkd/thinkd/provider/sim/faces",
			r.Method, r.URL.Path, cmp.Or(strings.Join(names, ", "), "none"))
	}
	return best, nil
}

// Error is a refusal in the words of an API, before it has the API's form. A face fills the members that its API has.
type Error struct {
	Status int
	Kind   string
	Code   string
	Param  string
	Text   string
}

func (e *Error) Error() string { return e.Text }

// BodyError is a body that ended before its time.
type BodyError struct{ err error }

func (e *BodyError) Error() string { return "The request body could not be read: " + e.err.Error() }

// MarkerError is a marker that breaks the grammar, or asks for what the API has no form for.
type MarkerError struct{ err error }

func (e *MarkerError) Error() string { return e.err.Error() }

// Dialect is how a face speaks to one client: the form of refusals and the types of bodies.
type Dialect struct {
	Limit    int64 // bytes of a request's body
	TooLarge Error // the refusal of a larger body; the zero value: as FaultTooLarge reads

	// Spell is an error as it is sent, with the word that the journal has for it. A scripted fault may add details.
	Spell func(e *Error, f Fault) (status int, word string, body any)
	// Wrong is the refusal of a request that breaks a rule which all faces share: a member that the strict reader
	// Refuses, a body that cannot be read, a wrong marker. Broken is that of a fault of the server. Their texts are set.
	Wrong, Broken Error
	// Reword is for an API that spells such an error in another way; nil from it, or a nil Reword: as Wrong and Broken.
	Reword func(err error) *Error

	RetryAfter bool   // FaultRateLimit sets the header Retry-After
	NoCache    bool   // streams set Cache-Control
	StreamType string // Content-Type
	WholeType  string // Content-Type; empty: application/json
}

// Generation is a request for an answer that has passed the checks of its face.
type Generation struct {
	Ask     *Ask
	Account string
	Stream  bool                      // the client asked for a stream
	Takes   func(marked Answer) error // refuses what the API has no form for; nil: nothing
	Reply   func(a Answer) Reply      // makes the answer; it is called once, after all checks
}

// Reply is an answer that is ready to be sent.
type Reply struct {
	Deltas  int        // of the answer as a stream: a whole answer takes as long
	Endless bool       // it has a part without end
	Whole   func() any // the answer as one JSON value
	Stream  func(p *Player) Stream
}

// Stream is an answer on its way, piece by piece.
type Stream struct {
	Run     func() error            // sends it; an error of the player ends it
	Fail    func(e *Error, f Fault) // tells of an error in mid-stream, as the last word
	Comment string                  // what is repeated for FaultComments
	Ping    string                  // and for FaultPings
	Noise   func() []byte           // what a client has to ignore, for FaultNoise; nil: the API has no form for it
}

// error is err in the words of the API.
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
