package messages_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/provider/testgo"
)

// source answers with a body that a test writes as it goes; like a real one, it ends when the request's context does.
type source struct{ body *io.PipeReader }

func (s *source) RoundTrip(req *http.Request) (*http.Response, error) {
	context.AfterFunc(req.Context(), func() { s.body.CloseWithError(req.Context().Err()) })
	return &http.Response{StatusCode: 200, Request: req, Body: s.body, Header: http.Header{"Content-Type": {"text/event-stream"}}}, nil
}

func simple() *provider.Request { return &provider.Request{Model: effort, Messages: said()} }

func text(s string) string {
	return `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + s + `"}}` + "\n\n"
}

// Comments, pings and bytes of an incomplete event are reported, at most once a second. Check counts the seconds.
func TestAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		testgo.Go(t, func() { // ends when all is written
			for range 30 {
				io.WriteString(w, ": keep-alive\n\n")
				time.Sleep(300 * time.Millisecond)
			}
			for range 10 {
				io.WriteString(w, "event: ping\ndata: {\"type\":\"ping\"}\n\n")
				time.Sleep(5 * time.Second)
			}
			for _, b := range []byte(text("a")) {
				w.Write([]byte{b})
				time.Sleep(2 * time.Second)
			}
			io.WriteString(w, done)
			w.Close()
		})
		reply := providertest.Check(t, newAPI(&source{r}).Stream(t.Context(), simple()))
		if reply.Err != nil {
			t.Fatal(reply.Err)
		}
		// 1 for the headers, 7 or 8 in the 9 s of comments, 10 for the pings, one for each byte but the last.
		if want := 8 + 10 + len(text("a")); reply.Alives < want-2 || reply.Alives > want+1 {
			t.Errorf("%d times alive, want about %d", reply.Alives, want)
		}
	})
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stalled := errors.New("stalled")
		ctx, cancel := context.WithCancelCause(t.Context())
		r, w := io.Pipe()
		testgo.Go(t, func() { // ends with the cancel
			io.WriteString(w, text("a"))
			time.Sleep(time.Minute)
			cancel(stalled)
		})
		reply := providertest.Check(t, newAPI(&source{r}).Stream(ctx, simple()))
		if reply.Err != stalled {
			t.Errorf("error %v, want the context's cause", reply.Err)
		}
		if len(reply.Blocks) != 0 {
			t.Errorf("a block was sealed by the cancel: %+v", reply.Blocks)
		}
	})
}

func TestBroken(t *testing.T) {
	reset := errors.New("connection reset")
	r, w := io.Pipe()
	testgo.Go(t, func() { // ends when the reset was read
		io.WriteString(w, text("a"))
		w.CloseWithError(reset)
	})
	reply := providertest.Check(t, newAPI(&source{r}).Stream(t.Context(), simple()))
	e, ok := errors.AsType[*provider.Error](reply.Err)
	if !ok || e.Kind != provider.KindTransport || !errors.Is(e, reset) {
		t.Errorf("error %v", reply.Err)
	}
}

func start(index int, block string) string {
	return fmt.Sprintf("data: {\"type\":\"content_block_start\",\"index\":%d,\"content_block\":%s}\n\n", index, block)
}

func delta(index int, d string) string {
	return fmt.Sprintf("data: {\"type\":\"content_block_delta\",\"index\":%d,\"delta\":%s}\n\n", index, d)
}

func stop(index int) string {
	return fmt.Sprintf("data: {\"type\":\"content_block_stop\",\"index\":%d}\n\n", index)
}

// Streams that the protocol does not foresee, and what the blocks come to.
func TestTolerance(t *testing.T) {
	const (
		thinking = `{"type":"thinking","thinking":"","signature":""}`
		plain    = `{"type":"text","text":""}`
		think    = `{"type":"thinking_delta","thinking":"t"}`
		signed   = `{"type":"signature_delta","signature":"s"}`
		say      = `{"type":"text_delta","text":"a"}`
		call     = `{"type":"tool_use","id":"c1","name":"n","input":{}}`
	)
	tests := []struct {
		name, stream string
		want         []string // of each block: kind, text, signed
	}{
		{"delta before start", delta(0, say) + start(0, plain) + delta(0, say) + stop(0), []string{"text aa"}},
		{"no start at all", delta(3, think) + delta(3, signed) + stop(3), []string{"thinking t signed"}},
		{"signature before anything", delta(0, signed) + start(0, plain) + delta(0, say) + stop(0), []string{"text a"}},
		{"a start for each piece", start(0, plain) + delta(0, say) + start(0, plain) + delta(0, say) + stop(0), []string{"text aa"}},
		{"no stop before another kind", start(0, thinking) + delta(0, think) + start(0, plain) + delta(0, say) + stop(0), []string{"thinking t", "text a"}},
		{"no stop before another call", start(0, call) + delta(0, `{"type":"input_json_delta","partial_json":"{}"}`) + start(0, strings.Replace(call, "c1", "c2", 1)) + stop(0),
			[]string{"tool_call c1 {}", "tool_call c2 {}"}},
		{"no stop at all", start(0, thinking) + delta(0, think) + delta(0, signed) + start(1, plain) + delta(1, say), []string{"thinking t signed", "text a"}},
		{"two stops", start(0, plain) + delta(0, say) + stop(0) + stop(0), []string{"text a"}},
		{"delta after stop", start(0, plain) + delta(0, say) + stop(0) + delta(0, say), []string{"text a"}},
		{"index used again", start(0, plain) + delta(0, say) + stop(0) + start(0, plain) + delta(0, say) + stop(0), []string{"text a", "text a"}},
		{"stop without start", stop(7) + start(0, plain) + delta(0, say) + stop(0), []string{"text a"}},
		{"interleaved", start(0, thinking) + start(1, plain) + delta(1, say) + delta(0, think) + delta(1, say) + stop(1) + delta(0, signed) + stop(0),
			[]string{"text aa", "thinking t signed"}},
		{"huge index", start(1<<62, plain) + delta(1<<62, say) + stop(1<<62), []string{"text a"}},
		{"negative index", start(-1, plain) + delta(-1, say) + stop(-1), []string{"text a"}},
		{"foreign deltas", start(0, plain) + delta(0, think) + delta(0, signed) + delta(0, `{"type":"input_json_delta","partial_json":"{"}`) + delta(0, say) + delta(0, `"x"`) + delta(0, `null`) + stop(0), []string{"text a"}},
		{"wrong types", start(0, plain) + delta(0, `{"type":"text_delta","text":7}`) + delta(0, `{"type":"text_delta"}`) + delta(0, say) + stop(0), []string{"text a"}},
		{"start without a block", "data: {\"type\":\"content_block_start\",\"index\":0}\n\n" + delta(0, say) + stop(0), []string{"text a"}},
		{"empty blocks", start(0, thinking) + stop(0) + start(1, plain) + stop(1), nil},
		{"text in the start", start(0, `{"type":"text","text":"a"}`) + stop(0), []string{"text a"}},
		{"input in the start", start(0, `{"type":"tool_use","id":"c1","name":"n","input":{"a":1}}`) + stop(0), []string{`tool_call c1 {"a":1}`}},
		{"input is no JSON", start(0, call) + delta(0, `{"type":"input_json_delta","partial_json":"{\"a\":"}`) + stop(0), []string{`tool_call c1 invalid {"a":`}},
		{"input is no object", start(0, call) + delta(0, `{"type":"input_json_delta","partial_json":"[1]"}`) + stop(0), []string{`tool_call c1 invalid [1]`}},
		{"characters in pieces", start(0, plain) + delta(0, `{"type":"text_delta","text":"\ud83d"}`) + delta(0, `{"type":"text_delta","text":"\ude00"}`) +
			delta(0, "{\"type\":\"text_delta\",\"text\":\"x\xe2\x82\"}") + delta(0, "{\"type\":\"text_delta\",\"text\":\"\xac\"}") + delta(0, `{"type":"text_delta","text":"\\uD83D"}`) + stop(0),
			[]string{`text 😀x€\uD83D`}},
		{"a character that never ends", start(0, plain) + delta(0, "{\"type\":\"text_delta\",\"text\":\"x\xe2\x82\"}") + stop(0), []string{"text x\uFFFD"}},
		{"end mark of another API", start(0, plain) + delta(0, say) + stop(0) + "data: [DONE]\n\n", []string{"text a"}},
		{"bare event", `{"type":"content_block_delta","index":0,"delta":` + say + "}\n", []string{"text a"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			reply := providertest.Check(t, newAPI(&providertest.Host{Body: ":\n" + test.stream + done}).Stream(t.Context(), simple()))
			if reply.Err != nil {
				t.Fatal(reply.Err)
			}
			var got []string
			for _, b := range reply.Blocks {
				got = append(got, describe(b))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func describe(b provider.Block) string {
	switch b := b.(type) {
	case provider.Text:
		return "text " + b.Text
	case provider.Thinking:
		if b.Signed {
			return "thinking " + b.Text + " signed"
		}
		return "thinking " + b.Text
	case provider.ToolCall:
		if b.Invalid != "" {
			return "tool_call " + b.ID + " invalid " + b.Invalid
		}
		return "tool_call " + b.ID + " " + string(b.Input)
	}
	return string(provider.KindOf(b))
}

// The last event counts though its blank line did not come; one that is cut does not.
func TestEndWithoutBlankLine(t *testing.T) {
	stream := text("a")
	for cut, whole := range map[string]bool{strings.TrimSpace(done): true, strings.TrimSpace(done) + "\n": true, done[:len(done)-4]: false} {
		reply := providertest.Check(t, newAPI(&providertest.Host{Body: stream + cut}).Stream(t.Context(), simple()))
		if (reply.Stop != nil) != whole {
			t.Errorf("%q: stop %v, error %v", cut, reply.Stop, reply.Err)
		}
	}
}

func TestErrorsInAnswers(t *testing.T) {
	tests := []struct {
		name, contentType, body string
		kind                    provider.Kind
		status                  int
		has                     string
	}{
		{"error with 200", "application/json", `{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}`, provider.KindRateLimit, 429, "slow"},
		{"error of another shape", "application/json", `{"error":"no"}`, provider.KindTransport, 500, "no"},
		{"bare error in a stream", "text/event-stream", text("a") + `{"type":"error","error":{"type":"billing_error","message":"pay"}}`, provider.KindQuota, 402, "pay"},
		{"bare error over lines", "text/event-stream", "{\n \"error\": {\n  \"type\": \"authentication_error\",\n  \"message\": \"bad sk-fixture\"\n }\n}\n", provider.KindAuth, 401, "bad [secret]"},
		{"unnamed error event", "text/event-stream", "data: {\"error\":{\"message\":\"oops\"}}\n\n", provider.KindTransport, 500, "oops"},
		{"JSON, no message", "application/json", `{"hello":1}`, provider.KindBadRequest, 200, "no message"},
		{"list", "application/json", `[]`, provider.KindBadRequest, 200, "no message"},
		{"broken JSON", "application/json", `{"a":}`, provider.KindBadRequest, 200, "not JSON"},
		{"cut JSON", "application/json", `{"type":"message","content":[`, provider.KindTransport, 200, "anthropic: the provider ended the answer early (request req_1)"},
		{"white space", "application/json", "  \n ", provider.KindTransport, 200, "anthropic: the provider ended the answer early (request req_1)"},
		{"event that is no JSON", "text/event-stream", "data: hello\n\n", provider.KindBadRequest, 200, "not JSON"},
		{"HTML", "text/html", "<html>", provider.KindBadRequest, 200, "HTML"},
		{"empty stream", "text/event-stream", "", provider.KindTransport, 200, "anthropic: the provider ended the answer early (request req_1)"},
		{"empty", "application/json", "", provider.KindBadRequest, 200, "empty"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			reply := providertest.Check(t, newAPI(typed{test.contentType, strings.NewReader(test.body)}).Stream(t.Context(), simple()))
			e, ok := errors.AsType[*provider.Error](reply.Err)
			if !ok {
				t.Fatalf("error %v, stop %v", reply.Err, reply.Stop)
			}
			if e.Kind != test.kind || e.Status != test.status || !strings.Contains(e.Error(), test.has) || e.RequestID != "req_1" || e.Provider != "anthropic" {
				t.Errorf("error %v of kind %s and status %d, want %s, %d and %q", e, e.Kind, e.Status, test.kind, test.status, test.has)
			}
		})
	}
}

// typed answers with a body of a type.
type typed struct {
	contentType string
	body        io.Reader
}

func (a typed) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Request: req, Body: io.NopCloser(a.body),
		Header: http.Header{"Content-Type": {a.contentType}, "Request-Id": {"req_1"}}}, nil
}

// repeated is unit for ever.
type repeated struct {
	unit string
	read int
}

func (r *repeated) Read(p []byte) (int, error) {
	for n := range p {
		p[n] = r.unit[r.read%len(r.unit)]
		r.read++
	}
	return len(p), nil
}

func TestEndlessAnswers(t *testing.T) {
	for name, body := range map[string]io.Reader{
		"JSON":        io.MultiReader(strings.NewReader(`{"a":"`), &repeated{unit: "x"}),
		"white space": &repeated{unit: " "},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			reply := providertest.Check(t, newAPI(typed{"application/json", body}).Stream(t.Context(), simple()))
			runtime.ReadMemStats(&after)
			e, ok := errors.AsType[*provider.Error](reply.Err)
			if !ok || e.Kind != provider.KindBadRequest || !strings.Contains(e.Message, "larger than") {
				t.Errorf("error %v", reply.Err)
			}
			if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 32<<20 {
				t.Errorf("%d MiB more memory", grown>>20)
			}
		})
	}
}

// FuzzReply adds what no fixture has to the seeds: members of the wrong kind, blocks and letters that are none.
func FuzzReply(f *testing.F) {
	providertest.Fuzz(f, suite(),
		start(0, `{"type":"thinking","thinking":"","signature":""}`)+delta(0, `{"type":"thinking_delta","thinking":"t","estimated_tokens":3}`)+delta(0, `{"type":"signature_delta","signature":"s"}`)+stop(0)+done,
		start(0, `{"type":"novelty","a":"x"}`)+delta(0, `{"type":"d","a":"y","citation":{},"partial_json":"{}"}`)+done,
		start(0, `{"type":"tool_use","id":"c","name":"n","input":{"a":1}}`)+stop(0)+"data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"refusal\",\"stop_details\":{\"category\":\"bio\"}},\"usage\":{\"output_tokens\":-1}}\n\n"+done,
		`{"type":"message","content":[{"type":"text","text":"a"}],"usage":{"input_tokens":1e30}}`,
		"data: {\"type\":\"message_start\",\"message\":{\"input_transformations\":[{\"type\":\"thinking_dropped\"}]}}\n\n"+done,
		start(0, "{\"type\":\"tool_use\",\"id\":\"\xff\",\"name\":\"n\",\"input\":{\"\xda\":1}}")+stop(0)+done,
	)
}

func BenchmarkStream(b *testing.B) {
	body := start(0, `{"type":"text","text":""}`) + strings.Repeat(text("some words "), 1000) + stop(0) + done
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range newAPI(typed{"text/event-stream", strings.NewReader(body)}).Stream(b.Context(), simple()) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
