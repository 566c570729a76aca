package session

import (
	"bytes"
	"encoding/json"
	"errors"
)

// Stamp identifies a request, so that a repetition of the request is answered and not executed.
type Stamp struct {
	ID     string `json:"client_id"` // the client's choice
	Digest []byte `json:"digest"`    // of what was requested
}

// MaxStamps is the number of stamps that are remembered, always the newest: for the prompts of each session, and for the sessions of a
// store.
const MaxStamps = 1000

// ErrReused says that another request had the id of a stamp before.
var ErrReused = errors.New("client_id was used before for another request")

// Repeats returns nil if the request with s is the one with first, a stamp with the same id, and ErrReused if it is another.
func (s Stamp) Repeats(first Stamp) error {
	if !bytes.Equal(s.Digest, first.Digest) {
		return ErrReused
	}
	return nil
}

// Creation is the record of a stamped request that created a session: the session, and the answer to that request.
type Creation struct {
	Stamp
	Session ID              `json:"session_id"`
	Answer  json.RawMessage `json:"answer"`
}
