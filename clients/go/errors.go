package thinkd

import (
	"encoding/json"
	"errors"
	"fmt"
)

var (
	// ErrLost says that the connection was lost before the response. The request may have taken effect.
	ErrLost = errors.New("the connection was lost before the response")

	// ErrClosed says that the client was closed.
	ErrClosed = errors.New("the client was closed")

	// ErrRefused is what a [Line] returns if the daemon will not accept this client again, such as after its token was replaced.
	ErrRefused = errors.New("the daemon refuses this client")
)

// An RPCError is an error that the daemon returned. Kind is stable: compare it, not the message.
type RPCError struct {
	Code    int
	Kind    string
	Message string
	Data    json.RawMessage
}

func (e *RPCError) Error() string { return fmt.Sprintf("%s (%d %s)", e.Message, e.Code, e.Kind) }

// UnmarshalJSON reads a JSON-RPC error.
func (e *RPCError) UnmarshalJSON(text []byte) error {
	var wire struct {
		Code    int
		Message string
		Data    json.RawMessage
	}
	if err := json.Unmarshal(text, &wire); err != nil {
		return err
	}
	*e = RPCError{Code: wire.Code, Message: wire.Message, Data: wire.Data}
	var data struct{ Kind string }
	if json.Unmarshal(wire.Data, &data) == nil { // data without a kind is the caller's to read
		e.Kind = data.Kind
	}
	return nil
}
