package gemini

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
)

// maxWhole bounds an answer that comes whole, in bytes: several times what the longest output takes, and room for the
// images that a model's tools may have made.
const maxWhole = 32 << 20

// whole reads an answer that is one JSON value: a response, or the list of chunks that a stream without alt=sse is.
func (r *reply) whole(ctx context.Context, body io.Reader) error {
	data, err := r.readAll(ctx, body)
	if err != nil {
		return err
	}
	var value json.RawMessage
	switch err := json.NewDecoder(bytes.NewReader(data)).Decode(&value); {
	case errors.Is(err, io.ErrUnexpectedEOF), err == io.EOF:
		return r.api.caller.Broken(ctx, r.resp, io.ErrUnexpectedEOF)
	case err != nil:
		return r.api.caller.NoAnswer(r.resp, "the answer is not JSON: "+err.Error())
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
			if !r.emit(provider.Notice{Kind: provider.NoticeNonStreaming, Text: "the answer came whole, not as a stream"}) {
				return errLeft
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

// readAll reads the body in pieces, so that one without end costs no more than the limit, and tells that it comes.
func (r *reply) readAll(ctx context.Context, body io.Reader) ([]byte, error) {
	var pieces [][]byte
	piece := make([]byte, 0, 64<<10)
	for {
		n, err := body.Read(piece[len(piece):cap(piece)])
		piece = piece[:len(piece)+n]
		switch {
		case err == io.EOF:
			return bytes.Join(append(pieces, piece), nil), nil
		case err != nil:
			return nil, r.api.caller.Broken(ctx, r.resp, err)
		case len(piece) == cap(piece):
			pieces, piece = append(pieces, piece), make([]byte, 0, cap(piece))
		}
		if len(pieces)*cap(piece) > maxWhole {
			return nil, r.api.caller.NoAnswer(r.resp, fmt.Sprintf("the answer is larger than %d MiB", maxWhole>>20))
		}
		if err := r.alive(); err != nil {
			return nil, err
		}
	}
}
