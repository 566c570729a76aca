package fault

import (
	"crypto/rand"
	"log/slog"
	"runtime/debug"
)

// Error is a fault of the program. Ref is in the log, next to the reason.
type Error struct{ Ref string }

func (e *Error) Error() string { return "internal error " + e.Ref }

// New is an error with a new reference. The caller logs the reason with it.
func New() *Error { return &Error{rand.Text()[:12]} }

// Panicked logs a panic with what panicked and the stack, and returns the error to continue with. Only the deferred function that
// recovered may call it, because the stack is that of the panic only there.
func Panicked(log *slog.Logger, what string, p any) *Error {
	err := New()
	log.Error("panic in "+what, "ref", err.Ref, "panic", p, "stack", string(debug.Stack()))
	return err
}
