package chat

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

// maxWhole bounds an answer that comes whole, in bytes: several times what the longest output takes.
const maxWhole = 8 << 20

// whole reads an answer that is one JSON value: a completion, an error, or a list of chunks.
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
	root := gjson.Parse(valid(string(value)))
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
	if err := r.tell(provider.Notice{Kind: provider.NoticeNonStreaming, Text: "the answer came whole, not as a stream"}); err != nil {
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
