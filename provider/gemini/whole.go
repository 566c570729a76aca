package gemini

import (
	"bytes"
	"context"
	"encoding/json"
	"io"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
)

// maxWhole bounds an answer that comes whole, in bytes: several times what the longest output takes, and room for the
// images that a model's tools may have made.
const maxWhole = 32 << 20

// whole reads an answer that is one JSON value: a response, or the list of chunks that a stream without alt=sse is.
func (r *reply) whole(ctx context.Context, body io.Reader) error {
	value, err := r.api.caller.Value(ctx, r.resp, body, maxWhole, r.Alive)
	if err != nil {
		return err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, value); err != nil {
		return r.api.caller.NoAnswer(r.resp, "the answer is not JSON: "+err.Error())
	}
	root := gjson.ParseBytes(compact.Bytes())
	chunks := []gjson.Result{root}
	if root.IsArray() {
		chunks = root.Array()
	}
	for i, c := range chunks {
		if !c.Get("candidates").Exists() && !c.Get("error").Exists() && !c.Get("promptFeedback").Exists() && !c.Get("usageMetadata").Exists() {
			return r.api.caller.NoAnswer(r.resp, "the answer is JSON, but no response of generateContent")
		}
		if i == 0 && !c.Get("error").Exists() && !r.wholly {
			if err := r.Emit(provider.Notice{Kind: provider.NoticeNonStreaming, Text: "the answer came whole, not as a stream"}); err != nil {
				return err
			}
		}
		r.wholly = true
		if err := r.chunk([]byte(c.Raw)); err != nil {
			return err
		}
	}
	if !r.end.over() {
		return r.api.caller.Broken(ctx, r.resp, io.ErrUnexpectedEOF)
	}
	return nil
}
