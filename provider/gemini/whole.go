package gemini

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/tidwall/gjson"
)

// Value takes in an answer that is one JSON value: a response, or the list of chunks that a stream without alt=sse is. The
// end of the body is the end of the request's answer.
func (r *reply) Value(value gjson.Result) error {
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(value.Raw)); err != nil {
		return r.NoAnswer("the answer is not JSON: " + err.Error())
	}
	root := gjson.ParseBytes(compact.Bytes())
	chunks := []gjson.Result{root}
	if root.IsArray() {
		chunks = root.Array()
	}
	for i, c := range chunks {
		if !c.Get("candidates").Exists() && !c.Get("error").Exists() && !c.Get("promptFeedback").Exists() && !c.Get("usageMetadata").Exists() {
			return r.NoAnswer("the answer is JSON, but no response of generateContent")
		}
		if i == 0 && !c.Get("error").Exists() && !r.Whole {
			if err := r.NotStreamed(); err != nil {
				return err
			}
		}
		r.Whole = true
		if err := r.chunk([]byte(c.Raw)); err != nil {
			return err
		}
	}
	if !r.end.over() {
		return io.ErrUnexpectedEOF
	}
	return nil
}
