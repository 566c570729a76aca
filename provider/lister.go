package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/tidwall/gjson"
)

// Lister is a [Provider] that can tell which models its host has. In their rows members that the host does not tell are
// zero, but Tools, which is false only where the host says so; a Thinking without Control says nothing about thinking.
// The error is an [*Error], [ErrTellsNothing], or ctx's cause.
type Lister interface {
	Models(ctx context.Context) ([]Model, error)
}

// ErrTellsNothing is the error of a host that has no list, or one of another kind.
var ErrTellsNothing = errors.New("the host does not tell what its models can do")

// maxList bounds what a list or a description may take, in bytes: some have a template or a licence in them. The largest
// known, the whole of models.dev, has 3 MiB.
const maxList = 8 << 20

// JSON reads an answer that is one JSON value, and closes it.
func (c *Caller) JSON(ctx context.Context, resp *http.Response) (gjson.Result, error) {
	defer resp.Body.Close()
	_, body, err := c.Form(ctx, resp, "application/json", func() error { return nil })
	if err != nil {
		return gjson.Result{}, err
	}
	data, err := io.ReadAll(io.LimitReader(body, maxList+1))
	switch {
	case err == nil && len(data) > maxList:
		return gjson.Result{}, c.NoAnswer(resp, fmt.Sprintf("the answer is larger than %d MiB", maxList>>20))
	case err != nil:
		return gjson.Result{}, c.Broken(ctx, resp, err)
	case !gjson.ValidBytes(data):
		return gjson.Result{}, c.NoAnswer(resp, fmt.Sprintf("an answer of %d bytes is not JSON", len(data)))
	}
	return gjson.ParseBytes(data), nil
}

// List asks an address for a list, which is the member of that name.
func (c *Caller) List(ctx context.Context, address string, header http.Header, member string) (gjson.Result, error) {
	header.Set("Accept", "application/json")
	resp, err := c.Get(ctx, address, header)
	if err != nil {
		return gjson.Result{}, err
	}
	answer, err := c.JSON(ctx, resp)
	if err == nil && !answer.Get(member).IsArray() {
		err = c.NoAnswer(resp, "the answer is JSON, but no list of models")
	}
	return answer, err
}

// Count is a number of tokens that somebody told: never negative, never more than can be meant.
func Count(v gjson.Result) int { return int(min(max(v.Int(), 0), 1<<40)) }

// Today is the date for [Model.AsOf].
func Today() string { return time.Now().UTC().Format(time.DateOnly) }
