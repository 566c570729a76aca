package daemon

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/vendors"
)

// answering is a host of which each answer is made by answer, once the request was read.
type answering struct {
	answer func(*http.Request) (*http.Response, error)
}

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return nil, err
		}
		r.Body.Close()
	}
	answer, err := a.answer(r)
	if answer != nil {
		answer.Request = r
	}
	return answer, err
}

// answered is an answer with this body, whose end is end; nil: an orderly one.
func answered(status int, header http.Header, body []byte, end error) answering {
	return answering{func(*http.Request) (*http.Response, error) {
		h := header.Clone()
		h.Set("X-Request-Id", "req_1")
		return &http.Response{StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Header: h, ContentLength: -1,
			Body: io.NopCloser(io.MultiReader(bytes.NewReader(body), ending{end}))}, nil
	}}
}

type ending struct{ err error }

func (e ending) Read([]byte) (int, error) { return 0, cmp.Or(e.err, io.EOF) }

// caller is an adapter of a wire API with a host, and a request for it.
func caller(api vendors.API, to http.RoundTripper) (provider.Provider, *provider.Request, error) {
	dialect := ""
	p, err := api.New(exchange.Config{Provider: "p", Vendor: "v", BaseURL: "http://host.test" + api.Simulated(dialect), Key: provider.NewSecret("sk-sim"),
		Client: exchange.NewClient(to), Log: discard}, dialect, nil)
	model := proof.SimulatedModel[api.Name]
	if api.Name == "converse" { // Nova sends a mark in place of its thinking
		model = "openai.gpt-oss-120b-1:0"
	}
	return p, &provider.Request{Model: provider.Model{Provider: "p", ID: model}, Decision: provider.Decision{Control: provider.Control{Mode: provider.ModeOn}},
		Messages: []provider.Message{{Role: provider.User, Blocks: provider.Blocks{provider.Text{Text: "hello [[sim: pace=0 thinking=20]]"}}}}}, err
}

// callOnce is what an adapter makes of an answer: how many Stops and which error.
func callOnce(t *testing.T, api vendors.API, to http.RoundTripper) (text string, stops int, err error) {
	t.Helper()
	p, req, err := caller(api, to)
	if err != nil {
		t.Fatal(err)
	}
	for event, e := range p.Stream(t.Context(), req) {
		if err = e; e != nil {
			continue // a second error, or anything behind it, would be one too many
		}
		switch event := event.(type) {
		case provider.Delta:
			text += event.Text
		case provider.Stop:
			stops++
		}
	}
	return text, stops, err
}

// recorded is a whole answer of the simulator.
func recorded(t *testing.T, api vendors.API) (header http.Header, body []byte) {
	t.Helper()
	header, body, stops, err := played(t, api)
	if err != nil || stops != 1 || len(body) == 0 {
		t.Fatalf("%s: the whole answer of %d bytes: %d stops, %v", api.Name, len(body), stops, err)
	}
	return header, body
}

// played is an answer of the simulator as its bytes, by a script or as it likes, and what an adapter makes of it.
func played(t *testing.T, api vendors.API, script ...sim.Answer) (header http.Header, body []byte, stops int, err error) {
	t.Helper()
	s := sim.New(sim.Config{})
	s.Script(script...)
	l := s.Listen()
	defer l.Close()
	through := l.Transport()
	_, stops, err = callOnce(t, api, passing{func(r *http.Request) (*http.Response, error) {
		answer, err := through.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		defer answer.Body.Close()
		header = answer.Header.Clone()
		if body, err = io.ReadAll(answer.Body); err != nil {
			return nil, err
		}
		answer.Body = io.NopCloser(bytes.NewReader(body))
		return answer, nil
	}})
	return header, body, stops, err
}

// passing is a way to a host.
type passing struct {
	do func(*http.Request) (*http.Response, error)
}

func (p passing) RoundTrip(r *http.Request) (*http.Response, error) { return p.do(r) }

// What goes wrong at a vendor is one error with its kind, over each wire API, and never a success. With -v the table is
// printed.
func TestProviderFaults(t *testing.T) {
	page := http.Header{"Content-Type": {"text/html"}}
	asJSON := http.Header{"Content-Type": {"application/json"}}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write(bytes.Repeat([]byte{'x'}, 1<<20)); err != nil || z.Close() != nil {
		t.Fatal("gzip")
	}
	broken := errors.New("connection reset by peer")
	type fault struct {
		name   string
		answer func(stream http.Header) answering
		kinds  []provider.Kind // any of these
	}
	var faults []fault
	for _, f := range []struct {
		status int
		kind   provider.Kind
	}{
		{400, provider.KindBadRequest}, {401, provider.KindAuth}, {403, provider.KindAuth}, {404, provider.KindBadRequest},
		{408, provider.KindTransport}, {409, provider.KindTransport}, {413, provider.KindTooLong}, {429, provider.KindRateLimit},
		{500, provider.KindTransport}, {502, provider.KindTransport}, {503, provider.KindOverloaded}, {504, provider.KindTransport},
		{529, provider.KindOverloaded},
	} {
		faults = append(faults, fault{fmt.Sprint("status ", f.status), func(http.Header) answering {
			return answered(f.status, asJSON, []byte(`{"error":{"message":"no"}}`), nil)
		}, []provider.Kind{f.kind}})
	}
	body := func(name string, text []byte, header http.Header, end error, kinds ...provider.Kind) {
		faults = append(faults, fault{name, func(stream http.Header) answering {
			if header != nil {
				stream = header
			}
			return answered(200, stream, text, end)
		}, kinds})
	}
	either := []provider.Kind{provider.KindBadRequest, provider.KindTransport}
	body("200, a page", []byte("<html>log in</html>"), page, nil, either...)
	body("200, an error as JSON", []byte(`{"error":{"message":"no"}}`), asJSON, nil, append(either, provider.KindOverloaded)...)
	body("200, nothing", nil, nil, nil, either...)
	body("200, nothing, reset", nil, nil, broken, provider.KindTransport)
	body("200, noise", []byte("\x00\xff\xfe{]\n\n"), nil, nil, either...)
	zip := http.Header{"Content-Type": {"text/event-stream"}, "Content-Encoding": {"gzip"}}
	body("200, gzip", zipped.Bytes(), zip, nil, either...)
	faults = append(faults, fault{"no connection", func(http.Header) answering {
		return answering{func(*http.Request) (*http.Response, error) { return nil, broken }}
	}, []provider.Kind{provider.KindTransport}})

	for _, api := range vendors.APIs {
		t.Run(api.Name, func(t *testing.T) {
			t.Parallel()
			stream, whole := recorded(t, api)
			for _, f := range faults {
				_, stops, err := callOnce(t, api, f.answer(stream))
				e, ok := errors.AsType[*provider.Error](err)
				if !ok || stops > 0 {
					t.Errorf("%-24s %d stops, error %v of type %T", f.name, stops, err, err)
					continue
				}
				verdict := "ok  "
				if !strings.Contains(fmt.Sprint(f.kinds), string(e.Kind)) {
					verdict = "FAIL"
					t.Errorf("%s: %s, want one of %v: %v", f.name, e.Kind, f.kinds, e)
				}
				t.Logf("%s %-10s %-24s %-12s status %d", verdict, api.Name, f.name, e.Kind, e.Status)
			}
			cuts(t, api, stream, whole)
		})
	}
}

var cutStride = flag.Int("cutstride", 193, "bytes between the places where TestProviderFaults cuts an answer; 1: each of them")

// cuts ends an answer at places of its length, and at each of its last bytes: it is an error, or it was whole, which it
// is from its finish reason on.
func cuts(t *testing.T, api vendors.API, stream http.Header, whole []byte) {
	const tail = 200
	text, _, _ := callOnce(t, api, answered(200, stream, whole, nil))
	failed, complete := 0, 0
	for n := 0; n < len(whole); n++ {
		if n%*cutStride != 0 && n < len(whole)-tail {
			continue
		}
		for _, end := range []error{nil, errors.New("connection reset by peer")} {
			got, stops, err := callOnce(t, api, answered(200, stream, whole[:n], end))
			e, ok := errors.AsType[*provider.Error](err)
			switch {
			case err == nil && stops == 1 && got == text:
				complete++
			case ok && stops == 0 && (e.Kind == provider.KindTransport || n < 32): // of so little no stream is made out
				failed++
			default:
				t.Fatalf("cut at %d of %d, %v: %d stops, %d bytes of text, %v", n, len(whole), end, stops, len(got), err)
			}
		}
	}
	if failed == 0 || complete > 3*tail {
		t.Errorf("%d cuts are errors, %d are not", failed, complete)
	}
	t.Logf("ok   %-10s %d cuts: %d errors, %d after the end", api.Name, failed+complete, failed, complete)
}
