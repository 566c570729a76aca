package provider

import (
	"context"
	"fmt"
	"time"
)

// KeepAlive is how long a server keeps a model in memory after a call, where the server loads models for calls: a duration such as
// 30m or 1h30m, or forever. 0s unloads the model after each call. Empty: as the server does.
type KeepAlive string

// KeepForever keeps the model until something unloads it.
const KeepForever KeepAlive = "forever"

// maxKeepAlive bounds a duration. A longer time is "forever".
const maxKeepAlive = 30 * 24 * time.Hour

// ParseKeepAlive reads a word of a client; the empty word stays empty.
func ParseKeepAlive(word string) (KeepAlive, error) {
	if word == "" || KeepAlive(word) == KeepForever {
		return KeepAlive(word), nil
	}
	d, err := time.ParseDuration(word)
	if err != nil || d < 0 || d > maxKeepAlive || d%time.Second != 0 {
		return "", fmt.Errorf("%q is neither a duration of whole seconds up to 720h, such as 30m, nor %s", word, KeepForever)
	}
	return KeepAlive(word), nil
}

// Seconds returns the time in seconds: -1 for forever, and 0 for what [ParseKeepAlive] refuses or returns for the empty word.
func (k KeepAlive) Seconds() int {
	if k == KeepForever {
		return -1
	}
	d, err := time.ParseDuration(string(k))
	if err != nil {
		return 0
	}
	return int(d / time.Second)
}

// Unloader is a [Provider] whose server loads models for calls and keeps them. Unload frees the memory of a model at once. Calls of the
// model that run are not cut: the server waits for them. It is no error if the model is not loaded, or if m is served in a way that
// keeps nothing.
type Unloader interface {
	Unload(ctx context.Context, m Model) error
}
