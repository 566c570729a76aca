package exchange

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Value reads an answer that is one JSON value and no stream, of at most so many bytes. alive is called for each piece
// that comes, and its error ends the reading. Characters that are none are replaced.
func (c *Caller) Value(ctx context.Context, resp *http.Response, body io.Reader, most int, alive func() error) (json.RawMessage, error) {
	data, err := c.all(ctx, resp, body, most, alive)
	if err != nil {
		return nil, err
	}
	var value json.RawMessage
	switch err := json.NewDecoder(bytes.NewReader(data)).Decode(&value); {
	case errors.Is(err, io.ErrUnexpectedEOF), err == io.EOF:
		return nil, c.Broken(ctx, resp, io.ErrUnexpectedEOF)
	case err != nil:
		return nil, c.NoAnswer(resp, "the answer is not JSON: "+err.Error())
	}
	return bytes.ToValidUTF8(value, []byte("\uFFFD")), nil
}

// all reads a body in pieces, so that one without end costs no more than the limit.
func (c *Caller) all(ctx context.Context, resp *http.Response, body io.Reader, most int, alive func() error) ([]byte, error) {
	var pieces [][]byte
	piece := make([]byte, 0, 64<<10)
	for {
		n, err := body.Read(piece[len(piece):cap(piece)])
		piece = piece[:len(piece)+n]
		switch {
		case err == io.EOF:
			return bytes.Join(append(pieces, piece), nil), nil
		case err != nil:
			return nil, c.Broken(ctx, resp, err)
		case len(piece) == cap(piece):
			pieces, piece = append(pieces, piece), make([]byte, 0, cap(piece))
		}
		if len(pieces)*cap(piece) > most {
			return nil, c.NoAnswer(resp, fmt.Sprintf("the answer is larger than %d MiB", most>>20))
		}
		if err := alive(); err != nil {
			return nil, err
		}
	}
}
