package provider

import (
	"context"
	"errors"
	"time"
)

// Lister is a [Provider] that can tell which models its host has. In their rows members that the host does not tell are
// zero, but Tools, which is false only where the host says so; a Thinking without Control says nothing about thinking.
// The error is an [*Error], [ErrNoList], or ctx's cause.
type Lister interface {
	Models(ctx context.Context) ([]Model, error)
}

// ErrNoList is the error of a host that has no list of models, or one that says nothing about what they can do.
var ErrNoList = errors.New("the host does not tell what its models can do")

// Tokens is a number of tokens that a vendor or a table states, without what cannot be meant: it is not negative and at most 2^40.
func Tokens(n int64) int { return int(min(max(n, 0), 1<<40)) }

// Today is the date for [Model.AsOf].
func Today() string { return time.Now().UTC().Format(time.DateOnly) }
