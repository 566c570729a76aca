package provider

import (
	"context"
	"errors"
	"time"
)

// Lister is a [Provider] that can list the models of its host. Members that the host does not state are zero in their rows, except
// Tools, which is false only if the host says so. A Thinking without Control says nothing about thinking.
// The error is an [*Error], [ErrNoList], or ctx's cause.
type Lister interface {
	Models(ctx context.Context) ([]Model, error)
}

// ErrNoList is the error for a host that has no list of models, or whose list says nothing about what they can do.
var ErrNoList = errors.New("the host does not list what its models can do")

// Tokens returns a number of tokens that a vendor or a table states, limited to plausible values: 0 to 2^40.
func Tokens(n int64) int { return int(min(max(n, 0), 1<<40)) }

// Today is the date for [Model.AsOf].
func Today() string { return time.Now().UTC().Format(time.DateOnly) }
