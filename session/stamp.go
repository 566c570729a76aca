package session

import (
	"bytes"
	"encoding/json"
	"errors"
)

// Stamp marks a request, so that the same one again is answered and not done again.
type Stamp struct {
	ID     string `json:"client_id"` // the client's choice
	Digest []byte `json:"digest"`    // of what was requested
}

// MaxStamps is how many are remembered, the newest: of the prompts of a session, and of the sessions of a store.
const MaxStamps = 1000

// ErrReused refuses a stamp whose id another request had before.
var ErrReused = errors.New("client_id was used before for another request")

// Repeats says whether the request that bears s is the one that bore first, which has the same id: ErrReused if not.
func (s Stamp) Repeats(first Stamp) error {
	if !bytes.Equal(s.Digest, first.Digest) {
		return ErrReused
	}
	return nil
}

// Made is a session that a stamped request made, with what that request was answered.
type Made struct {
	Stamp
	Session ID              `json:"session_id"`
	Answer  json.RawMessage `json:"answer"`
}
