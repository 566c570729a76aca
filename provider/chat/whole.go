package chat

import (
	"context"
	"io"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
)

// maxWhole bounds an answer that comes whole, in bytes: several times what the longest output takes.
const maxWhole = 8 << 20

// whole reads an answer that is one JSON value: a completion, an error, or a list of chunks.
func (r *reply) whole(ctx context.Context, body io.Reader) error {
	value, err := r.api.caller.Value(ctx, r.resp, body, maxWhole, r.Alive)
	if err != nil {
		return err
	}
	root := gjson.ParseBytes(value)
	list := []gjson.Result{root}
	if root.IsArray() { // Google's compatible endpoint puts its errors into a list
		list = root.Array()
	}
	answered := false
	for _, v := range list {
		if r.failing(v) {
			return r.failed(v)
		}
		answered = answered || v.Get("choices.0").IsObject()
	}
	if !answered {
		return r.api.caller.NoAnswer(r.resp, "the answer is JSON, but no completion")
	}
	r.wholly = true
	if err := r.Emit(provider.Notice{Kind: provider.NoticeNonStreaming, Text: "the answer came whole, not as a stream"}); err != nil {
		return err
	}
	for _, v := range list {
		words := "message"
		if v.Get("choices.0.delta").IsObject() && !v.Get("choices.0.message").IsObject() {
			words, r.wholly = "delta", false
		}
		if err := r.chunk(v, words); err != nil {
			return err
		}
	}
	return r.finish()
}
