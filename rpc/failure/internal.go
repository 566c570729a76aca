package failure

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/thinkd/thinkd/rpc/conn"
)

// panicError is a panic that ended one thing and nothing else.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// Guard runs f. A panic in it becomes a *panicError.
func Guard[T any](f func() (T, error)) (value T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{p, debug.Stack()}
		}
	}()
	return f()
}

// Internal puts into the log what a client must not see, a panic with its stack, and is what the client gets: a
// reference into the log. where names the thing that failed.
func Internal(log *slog.Logger, where string, err error) *conn.Error {
	ref := rand.Text()
	log = log.With("ref", ref)
	if p, ok := errors.AsType[*panicError](err); ok {
		log.Error("panic in "+where, "err", p.value, "stack", string(p.stack))
	} else {
		log.Error(where+" failed", "err", err)
	}
	return &conn.Error{Code: conn.CodeInternal, Message: "internal error", Data: map[string]any{"ref": ref}}
}
