package provider

import "context"

// Lister is a [Provider] that can tell which models its host has, as rows with the source [FromLive]. The error is an
// [*Error], or ctx's cause.
type Lister interface {
	Models(ctx context.Context) ([]Model, error)
}
