package agent

import (
	"crypto/rand"
	"log/slog"
	"runtime/debug"
)

// internalError is a fault of ours. Clients and models see nothing but its reference into the log.
type internalError struct{ ref string }

func (e *internalError) Error() string { return "internal error " + e.ref }

func newInternalError() *internalError { return &internalError{rand.Text()[:12]} }

// panicked logs a panic, with what panicked and the stack, and is the error to go on with. Only the deferred function that
// recovered calls it: the stack is that of the panic then.
func panicked(log *slog.Logger, what string, p any) *internalError {
	err := newInternalError()
	log.Error("panic in "+what, "ref", err.ref, "panic", p, "stack", string(debug.Stack()))
	return err
}
