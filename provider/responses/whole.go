package responses

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
)

// maxWhole bounds an answer that comes whole, in bytes: several times what the longest output takes.
const maxWhole = 8 << 20

// whole reads an answer that is one JSON value.
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
	root := gjson.Parse(strings.ToValidUTF8(string(value), "\uFFFD"))
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
		if !r.emit(provider.Notice{Kind: provider.NoticeNonStreaming, Text: "the answer came whole, not as a stream"}) {
			return errLeft
		}
	}
	return r.terminal("completed", root)
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
