package responses

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
	if nested := root.Get("response"); nested.Get("output").IsArray() {
		root = nested
	}
	switch {
	case hasError(root), root.Get("type").Str == "error":
		return r.failed(root)
	case !root.Get("output").IsArray():
		return r.api.caller.NoAnswer(r.resp, "the answer is JSON, but no response")
	}
	if err := r.response(root); err != errStopped {
		return err
	}
	return nil
}

// response takes in a whole response as if it had been streamed.
func (r *reply) response(root gjson.Result) error {
	if hasError(root) {
		return r.failed(root)
	}
	if len(r.items) == 0 {
		r.wholly = true
		if err := r.Emit(provider.Notice{Kind: provider.NoticeNonStreaming, Text: "the answer came whole, not as a stream"}); err != nil {
			return err
		}
	}
	return r.terminal("completed", root)
}
