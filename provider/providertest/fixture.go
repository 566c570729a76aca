package providertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/thinkd/thinkd/provider"
)

// Suite plays the fixtures of one adapter. A fixture is a txtar archive:
//
//	a note on what it shows
//	-- request --   JSON of ours: model (a row), control, system, messages, tools, repairs, max_tokens, temperature
//	-- headers --   what has to be among the headers sent, one a line (optional)
//	-- body --      the body that has to be sent, compared as JSON (optional)
//	-- stream --    the answer; or "-- answer --" for one JSON value
//	-- want --      the events, one a line, in the words of [Lines]
type Suite struct {
	Glob   string                                    // of the fixtures
	New    func(http.RoundTripper) provider.Provider // the adapter under test, at any address
	Type   string                                    // MIME type of its streams
	Split  func(stream []byte) [][]byte              // into events; the last one ends the reply
	Over   func(stream []byte) bool                  // nil, or whether a part of a stream says how the reply ended
	Frame  func(event []byte) []byte                 // nil, or the bytes of an event on the wire, where these are no text
	Noise  []byte                                    // an event that has to change nothing
	Update bool                                      // rewrite the want sections
}

// join is events as they are on the wire.
func (s *Suite) join(events [][]byte) []byte {
	if s.Frame == nil {
		return bytes.Join(events, nil)
	}
	var out []byte
	for _, ev := range events {
		out = append(out, s.Frame(ev)...)
	}
	return out
}

// wire is a stream of a fixture as it is on the wire.
func (s *Suite) wire(stream []byte) []byte {
	if s.Frame == nil {
		return stream
	}
	return s.join(s.Split(stream))
}

type fixture struct {
	archive *txtar.Archive
	path    string
	request *provider.Request
	whole   bool // the answer is one JSON value
}

func (f *fixture) section(name string) []byte {
	for _, file := range f.archive.Files {
		if file.Name == name {
			return file.Data
		}
	}
	return nil
}

// Run plays all fixtures.
func Run(t *testing.T, s Suite) {
	for _, path := range s.paths(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			f := load(t, path)
			synctest.Test(t, func(t *testing.T) { s.play(t, f) })
		})
	}
}

func (s Suite) paths(t testing.TB) []string {
	paths, err := filepath.Glob(s.Glob)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no fixtures at %s: %v", s.Glob, err)
	}
	return paths
}

func load(t testing.TB, path string) *fixture {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{archive: archive, path: path}
	f.whole = f.section("stream") == nil
	if f.request, err = ParseRequest(f.section("request")); err != nil {
		t.Fatalf("%s: request: %v", path, err)
	}
	return f
}

// ParseRequest reads the request section of a fixture.
func ParseRequest(data []byte) (*provider.Request, error) {
	var in struct {
		Model       provider.Model     `json:"model"`
		Control     provider.Control   `json:"control"`
		System      string             `json:"system"`
		Messages    []provider.Message `json:"messages"`
		Tools       []provider.Tool    `json:"tools"`
		Repairs     []provider.Repair  `json:"repairs"`
		MaxTokens   int                `json:"max_tokens"`
		Temperature *float64           `json:"temperature"`
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		return nil, err
	}
	in.Model.Known = in.Model.Thinking.Control != ""
	return &provider.Request{Model: in.Model, Decision: provider.Decision{Control: in.Control}, System: in.System, Messages: in.Messages,
		Tools: in.Tools, Repairs: in.Repairs, Options: provider.Options{MaxOutput: in.MaxTokens, Temperature: in.Temperature}}, nil
}

// wire is the other side of an adapter: it keeps what was sent and answers it.
type wire struct {
	contentType string
	answer      io.Reader
	sent        []byte
	header      http.Header
	closed      bool
}

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	var err error
	if w.sent, err = io.ReadAll(req.Body); err != nil {
		return nil, err
	}
	w.header = req.Header
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Content-Type": {w.contentType}, "Request-Id": {"req_fixture"}}, Body: w,
	}, nil
}

func (w *wire) Read(p []byte) (int, error) { return w.answer.Read(p) }
func (w *wire) Close() error               { w.closed = true; return nil }

// replay lets the adapter read an answer to the fixture's request.
func (s *Suite) replay(t *testing.T, f *fixture, answer io.Reader) (Reply, *wire) {
	t.Helper()
	w := &wire{contentType: s.Type, answer: answer}
	if f.whole {
		w.contentType = "application/json"
	}
	reply := Check(t, s.New(w).Stream(t.Context(), f.request))
	if !w.closed {
		t.Error("the answer's body was not closed")
	}
	return reply, w
}

func (s *Suite) play(t *testing.T, f *fixture) {
	text := f.section("stream")
	answer := s.wire(text)
	if f.whole {
		answer = f.section("answer")
	}
	full, w := s.replay(t, f, bytes.NewReader(answer))
	checkSent(t, f, w)
	lines := Lines(full)
	if s.Update {
		f.rewrite(t, lines)
	} else if diff := cmp.Diff(string(f.section("want")), lines); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	same := func(how string, answer io.Reader) {
		t.Helper()
		reply, _ := s.replay(t, f, answer)
		if diff := cmp.Diff(lines, Lines(reply)); diff != "" {
			t.Errorf("%s it differs (-whole +now):\n%s", how, diff)
		}
	}
	same("byte by byte", iotest.OneByteReader(bytes.NewReader(answer)))
	s.leave(t, f, answer, len(full.Events))
	if f.whole {
		for n := 1; n < len(answer); n += 1 + len(answer)/50 {
			cut, _ := s.replay(t, f, bytes.NewReader(answer[:n]))
			checkCut(t, fmt.Sprintf("after %d bytes", n), full, cut)
		}
		return
	}
	events := s.Split(text)
	var noisy [][]byte
	for n, ev := range events {
		cut, _ := s.replay(t, f, bytes.NewReader(s.join(events[:n])))
		where, part := fmt.Sprintf("after %d of %d events", n, len(events)), bytes.Join(events[:n], nil)
		if s.Over != nil && s.Over(part) && full.Stop != nil {
			checkOver(t, where, full, cut)
		} else {
			checkCut(t, where, full, cut)
		}
		noisy = append(noisy, s.Noise, ev)
	}
	same("with every event decoded in full", bytes.NewReader(s.wire(Unlike(text))))
	same("with unknown events", bytes.NewReader(s.join(noisy)))
	s.disorder(t, f, events)
}

// checkSent compares the request with what the fixture says of it.
func checkSent(t *testing.T, f *fixture, w *wire) {
	t.Helper()
	for line := range strings.Lines(string(f.section("headers"))) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if got := strings.Join(w.header.Values(name), "; "); got != value {
			t.Errorf("header %s: %q, want %q", name, got, value)
		}
	}
	if want := f.section("body"); want != nil {
		if diff := DiffJSON(want, w.sent); diff != "" {
			t.Errorf("body (-want +sent):\n%s", diff)
		}
	}
}

// DiffJSON compares two JSON values.
func DiffJSON(want, got []byte) string {
	var w, g any
	if err := json.Unmarshal(want, &w); err != nil {
		return fmt.Sprintf("want is not JSON: %v", err)
	}
	if err := json.Unmarshal(got, &g); err != nil {
		return fmt.Sprintf("got is not JSON: %v", err)
	}
	return cmp.Diff(w, g)
}

// checkCut: a reply that breaks off is a failure of the transport, and what was sealed by then is what the whole reply
// seals.
func checkCut(t *testing.T, where string, full, cut Reply) {
	t.Helper()
	e, ok := errors.AsType[*provider.Error](cut.Err)
	switch {
	case !ok:
		t.Errorf("cut %s: Stop %v, error %v; want a *provider.Error", where, cut.Stop, cut.Err)
	case e.Kind != provider.KindTransport || !errors.Is(e, io.ErrUnexpectedEOF):
		t.Errorf("cut %s: %v of kind %s, want an unexpected EOF of kind transport", where, e, e.Kind)
	case strings.Contains(e.Error(), "EOF") || strings.Contains(e.Error(), "status 200"):
		t.Errorf("cut %s: %q does not say that the answer ended early", where, e)
	}
	if len(cut.Blocks) > len(full.Blocks) {
		t.Fatalf("cut %s: %d blocks, whole %d", where, len(cut.Blocks), len(full.Blocks))
	}
	if diff := cmp.Diff(full.Blocks[:len(cut.Blocks)], cut.Blocks, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("cut %s: sealed blocks differ (-whole +cut):\n%s", where, diff)
	}
}

// checkOver: a reply that breaks off after its finish reason is complete, though counts may be missing.
func checkOver(t *testing.T, where string, full, cut Reply) {
	t.Helper()
	if cut.Stop == nil || cut.Stop.Reason != full.Stop.Reason || cut.Stop.Raw != full.Stop.Raw {
		t.Errorf("cut %s, behind the finish reason: Stop %v, error %v; want %v", where, cut.Stop, cut.Err, full.Stop)
	}
	if diff := cmp.Diff(full.Blocks, cut.Blocks, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("cut %s: blocks differ (-whole +cut):\n%s", where, diff)
	}
}

// leave ends the loop after each event in turn. An adapter that goes on is stopped by the runtime with a panic; one
// that goes away without closing the answer is found here.
func (s *Suite) leave(t *testing.T, f *fixture, answer []byte, events int) {
	t.Helper()
	for n := range events {
		w := &wire{contentType: s.Type, answer: bytes.NewReader(answer)}
		if f.whole {
			w.contentType = "application/json"
		}
		seen := 0
		for range s.New(w).Stream(t.Context(), f.request) {
			if seen++; seen > n {
				break
			}
		}
		if !w.closed {
			t.Errorf("the loop was left after %d events and the answer's body is open", n+1)
		}
	}
}

// Unlike puts white space into every second event, where it means nothing: so none is like the one before.
func Unlike(stream []byte) []byte {
	var out []byte
	fresh, odd := true, false
	for line := range bytes.Lines(stream) {
		data := bytes.TrimPrefix(bytes.TrimPrefix(line, []byte("data:")), []byte(" "))
		if fresh && bytes.HasPrefix(data, []byte("{")) {
			if odd = !odd; odd {
				begin := len(line) - len(data) + 1
				line = slices.Concat(line[:begin], []byte(" "), line[begin:])
			}
			fresh = len(data) == len(line) // the next line is another value
		}
		if len(bytes.TrimSpace(line)) == 0 || bytes.HasPrefix(line, []byte("event:")) {
			fresh = true
		}
		out = append(out, line...)
	}
	return out
}

// shuffles is for long forms of the tests: see docs/CONTRIBUTING.md.
var shuffles = flag.Int("shuffles", 50, "how many times the tests of an adapter shuffle the events of each fixture")

// disorder doubles, drops and shuffles events. The result may be anything, but it must keep the contract.
func (s *Suite) disorder(t *testing.T, f *fixture, events [][]byte) {
	t.Helper()
	var twice [][]byte
	for _, ev := range events {
		twice = append(twice, ev, ev)
	}
	s.replay(t, f, bytes.NewReader(s.join(twice)))
	rnd := rand.New(rand.NewPCG(1, uint64(len(events))))
	for range *shuffles {
		mixed := slices.Clone(events)
		for range 1 + rnd.IntN(4) {
			i, j := rnd.IntN(len(mixed)), rnd.IntN(len(mixed))
			switch rnd.IntN(3) {
			case 0:
				mixed[i], mixed[j] = mixed[j], mixed[i]
			case 1:
				mixed = slices.Insert(mixed, i, mixed[j])
			case 2:
				mixed = append(slices.Delete(mixed, i, i+1), events[len(events)-1])
			}
		}
		s.replay(t, f, bytes.NewReader(s.join(mixed)))
	}
}

// rewrite puts what came into the file.
func (f *fixture) rewrite(t *testing.T, lines string) {
	t.Helper()
	f.archive.Files = slices.DeleteFunc(f.archive.Files, func(file txtar.File) bool { return file.Name == "want" })
	f.archive.Files = append(f.archive.Files, txtar.File{Name: "want", Data: []byte(lines)})
	if err := os.WriteFile(f.path, txtar.Format(f.archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// SplitBlankLines splits a stream after each blank line.
func SplitBlankLines(stream []byte) [][]byte {
	events := bytes.SplitAfter(stream, []byte("\n\n"))
	return slices.DeleteFunc(events, func(ev []byte) bool { return len(bytes.TrimSpace(ev)) == 0 })
}
