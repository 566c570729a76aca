package messages

import (
	"context"
	"io"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
)

// maxWhole bounds an answer that comes whole, in bytes: several times what the longest output takes.
const maxWhole = 8 << 20

// whole reads an answer that is one JSON value.
func (r *reply) whole(ctx context.Context, body io.Reader) error {
	value, err := r.api.caller.Value(ctx, r.resp, body, maxWhole, r.Alive)
	if err != nil {
		return err
	}
	root := gjson.ParseBytes(value)
	switch {
	case root.Get("type").Str == "error" || hasError(root):
		return r.failed(value)
	case !root.Get("content").IsArray():
		return r.api.caller.NoAnswer(r.resp, "the answer is JSON, but no message")
	}
	if err := r.message(root); err != errStopped {
		return err
	}
	return r.finish()
}

// message takes in a whole message as if it had been streamed.
func (r *reply) message(root gjson.Result) error {
	r.wholly = true
	if err := r.Emit(provider.Notice{Kind: provider.NoticeNonStreaming, Text: "the answer came whole, not as a stream"}); err != nil {
		return err
	}
	if err := r.begin(root); err != nil {
		return err
	}
	for i, b := range root.Get("content").Array() {
		index := int64(i)
		if err := r.start(index, b); err != nil {
			return err
		}
		if r.blocks[index] == nil {
			continue // it had no type, and was counted
		}
		if err := r.end(index); err != nil {
			return err
		}
	}
	if err := r.edited(root.Get("context_management")); err != nil {
		return err
	}
	r.ending(root, gjson.Result{})
	return errStopped
}
