package exchange

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/thinkd/thinkd/provider/refusal"
)

// Form is how an answer comes.
type Form int

const (
	Streamed Form = iota // piece by piece
	Whole                // as one JSON value
)

// Form waits for the first byte of a 2xx answer and says how it comes, given the MIME type of the API's streams. Where
// the answer is not labelled as a stream, its first bytes decide, behind any white space: some hosts label a stream as
// JSON, and some send blank lines while the model loads. alive is called for these, and its error ends the waiting. What
// is neither a stream nor JSON is an error that says what it is. The body is to be read from the reader.
func (c *Caller) Form(ctx context.Context, resp *http.Response, streams string, alive func() error) (Form, io.Reader, error) {
	return c.form(ctx, resp, &Framing{Type: streams}, alive)
}

// form is Form for streams of a framing; nil: of server-sent events.
func (c *Caller) form(ctx context.Context, resp *http.Response, framing *Framing, alive func() error) (Form, io.Reader, error) {
	streams := "text/event-stream"
	if framing != nil {
		streams = framing.Type
	}
	if e := encoded(resp); e != "" {
		return 0, nil, c.NoAnswer(resp, fmt.Sprintf("the answer is %s-encoded, which was not asked for", refusal.Clean(e, 40)))
	}
	body := bufio.NewReaderSize(resp.Body, 512) // longer reads go through it
	declared, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		declared = "" // judged by its first byte, as if there were none
	}
	first, err := body.Peek(1)
	switch {
	case err == io.EOF && declared == streams: // a stream that was cut at once
		return Streamed, body, nil
	case err == io.EOF:
		return 0, nil, c.NoAnswer(resp, "the answer is empty")
	case err != nil:
		return 0, nil, c.Broken(ctx, resp, err)
	case declared == streams && first[0] != '<':
		return Streamed, body, nil
	}
	for blanks := 0; err == nil && strings.IndexByte(" \t\r\n", first[0]) >= 0; blanks++ {
		if blanks == maxBlanks {
			return 0, nil, c.NoAnswer(resp, fmt.Sprintf("the answer is larger than %d KiB, all of it white space", maxBlanks>>10))
		}
		if _, err = body.Discard(1); err == nil {
			err = alive()
		}
		if err == nil {
			first, err = body.Peek(1)
		}
	}
	switch {
	case err == ErrLeft:
		return 0, nil, err
	case err == io.EOF:
		return 0, nil, c.Broken(ctx, resp, io.ErrUnexpectedEOF)
	case err != nil:
		return 0, nil, c.Broken(ctx, resp, err)
	case first[0] == '<':
		return 0, nil, c.NoAnswer(resp, "the answer is an HTML page: base_url does not lead to the API, or a proxy is in between")
	case first[0] == '{', first[0] == '[':
		return Whole, body, nil
	case framing != nil && framing.Read != nil && first[0] == framing.First:
		return Streamed, body, nil
	case streams == "text/event-stream" && eventStream(body):
		return Streamed, body, nil
	case declared == "application/json":
		return Whole, body, nil // its reader says what is wrong with it
	}
	return 0, nil, c.NoAnswer(resp, fmt.Sprintf("the answer is of type %q", refusal.Clean(declared, 100)))
}

// maxBlanks bounds the white space before an answer, in bytes.
const maxBlanks = 64 << 10

// eventStream recognises a stream that does not say that it is one.
func eventStream(body *bufio.Reader) bool {
	for _, start := range []string{"\uFEFF", ":", "id:", "data:", "event:", "retry:"} {
		if begin, err := body.Peek(len(start)); err == nil && string(begin) == start {
			return true
		}
	}
	return false
}
