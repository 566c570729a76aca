package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
)

// deltaSize is the length of a delta's text, in bytes that JSON does not escape.
const deltaSize = 17

// A stream is the answer of a wire API with one or more thoughts, as the simulator sends it. It has fixed parts, and deltas, whose
// number can change.
type stream struct {
	header http.Header
	parts  []part
}

// part is either one delta or some fixed events. These may contain the whole text of earlier thoughts.
type part struct {
	text    [][]byte // the pieces around the text of thoughts
	thought []int    // the number of the thought between two pieces
	delta   bool     // it is a delta, of the next thought
}

// thoughtText marks the thoughts of the simulator. It occurs nowhere else in an answer.
func thoughtText(n int) string { return fmt.Sprintf("thoughtnumber%04d", n) }

var (
	thoughtPattern  = regexp.MustCompile(`thoughtnumber(\d{4})`)
	blankLine       = regexp.MustCompile(`\r?\n\r?\n`) // ends an event; Google's lines end with \r\n
	anyLine         = regexp.MustCompile(`\n`)
	sequencePattern = regexp.MustCompile(`("sequence_number":)\d+`)
)

// record lets the simulator answer a call with a number of thoughts, and splits the answer into parts.
func (c call) record(thoughts int) (*stream, error) {
	answer := sim.Answer{}
	for n := range thoughts {
		answer.Parts = append(answer.Parts, sim.Part{Kind: sim.Thinking, Text: thoughtText(n)})
	}
	answer.Parts = append(answer.Parts, sim.Part{Kind: sim.Text, Text: "Done."})
	server := sim.New(sim.Config{NoJournal: true})
	server.Script(answer)
	r := c.request.Clone(context.Background())
	r.Body = io.NopCloser(bytes.NewReader(c.body))
	w := httptest.NewRecorder()
	server.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		return nil, fmt.Errorf("the simulator answers %s with %d: %s", r.URL.Path, w.Code, w.Body)
	}
	s := &stream{header: w.Header()}
	s.header.Del("Content-Length")
	end := blankLine
	if strings.Contains(w.Header().Get("Content-Type"), "ndjson") {
		end = anyLine
	}
	seen := 0
	for body := w.Body.Bytes(); len(body) > 0; {
		event := body
		if m := end.FindIndex(body); m != nil {
			event = body[:m[1]]
		}
		body = body[len(event):]
		p := newPart(event)
		// The first event with a thought is its delta. Later events repeat the thought.
		if len(p.thought) == 1 && p.thought[0] == seen {
			p.delta = true
			seen++
		}
		s.parts = append(s.parts, p)
	}
	if seen != thoughts {
		return nil, fmt.Errorf("the simulator's answer has %d thoughts, not %d", seen, thoughts)
	}
	return s, nil
}

func newPart(event []byte) part {
	var p part
	at := 0
	for _, m := range thoughtPattern.FindAllSubmatchIndex(event, -1) {
		n, err := strconv.Atoi(string(event[m[2]:m[3]]))
		if err != nil {
			panic(err) // four digits
		}
		p.text, p.thought = append(p.text, event[at:m[0]]), append(p.thought, n)
		at = m[1]
	}
	p.text = append(p.text, event[at:])
	return p
}

// append adds the part with the texts of thoughts, and numbers the events if the API does.
func (p part) append(out []byte, texts func(thought int) []byte, sequence *int) []byte {
	from := len(out)
	for i, t := range p.text {
		out = append(out, t...)
		if i < len(p.thought) {
			out = append(out, texts(p.thought[i])...)
		}
	}
	if m := sequencePattern.FindSubmatchIndex(out[from:]); m != nil {
		rest := append([]byte(nil), out[from+m[1]:]...)
		out = strconv.AppendInt(out[:from+m[3]], int64(*sequence), 10)
		out = append(out, rest...)
		*sequence++
	}
	return out
}

// whole returns the stream with a total number of deltas, distributed over its thoughts.
func (s *stream) whole(deltas int) []byte {
	var out []byte
	var texts [][]byte
	sequence, sent := 0, 0
	for _, p := range s.parts {
		if !p.delta {
			out = p.append(out, func(n int) []byte { return texts[n] }, &sequence)
			continue
		}
		var text []byte
		for range s.share(len(texts), deltas) {
			sent++
			piece := fmt.Appendf(nil, "thought %09d", sent)
			text = append(text, piece...)
			out = p.append(out, func(int) []byte { return piece }, &sequence)
		}
		texts = append(texts, text)
	}
	return out
}

// share returns how many of the deltas belong to a thought.
func (s *stream) share(thought, deltas int) int {
	thoughts := 0
	for _, p := range s.parts {
		if p.delta {
			thoughts++
		}
	}
	share := deltas / thoughts
	if thought < deltas%thoughts {
		share++
	}
	return share
}

// call is a request that the simulator has answered.
type call struct {
	request *http.Request
	body    []byte
}
