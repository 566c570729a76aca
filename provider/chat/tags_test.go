package chat_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/providertest"
)

// says is a host whose answers are these texts, one after the other, in pieces of three bytes.
type says struct {
	texts []string
	asked int
}

func (s *says) RoundTrip(req *http.Request) (*http.Response, error) {
	text := s.texts[s.asked]
	s.asked++
	var b strings.Builder
	for len(text) > 0 {
		n := min(3, len(text))
		piece, err := json.Marshal(text[:n])
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\n", piece)
		text = text[n:]
	}
	b.WriteString("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(strings.NewReader(b.String())), Request: req}, nil
}

// An answer about thinking tags is shown as it is, and so are all later answers of its model.
func TestAnswersAboutTags(t *testing.T) {
	plain := "The capital of France is Paris."
	about := []string{
		"The block ends with `</think>` here.",
		"Like so:\n\n```\n<think>\nhm\n</think>\n```\n\nThat is all.",
		"A parser looks for </think> in the text, or for </thinking>.",
		"```xml\nno opening tag\n</think>\n```\nDone.",
	}
	for _, dialect := range []string{"lmstudio", "vllm", "sglang", "llamacpp", "generic"} {
		for _, model := range []string{"qwen3-8b", "some-model"} {
			for _, text := range about {
				host := &says{texts: []string{text, plain}}
				api := newAPI(t, dialect, host)
				for _, want := range host.texts {
					if got := spoken(t, api, model); got != want {
						t.Errorf("%s, %s: got %q, want the text %q", dialect, model, got, want)
					}
				}
			}
			// A tag that is taken for real, and was not: the next answer has all of its text, the one after it nothing else.
			host := &says{texts: []string{"a</think>b", plain, plain}}
			api := newAPI(t, dialect, host)
			spoken(t, api, model)
			if got := spoken(t, api, model); !strings.HasSuffix(got, plain) {
				t.Errorf("%s, %s: after a wrong match %q, want the text %q", dialect, model, got, plain)
			}
			if got := spoken(t, api, model); got != plain {
				t.Errorf("%s, %s: the second answer after a wrong match is %q, want %q", dialect, model, got, plain)
			}
		}
	}
}

// spoken is an answer's text, with its thinking in brackets.
func spoken(t *testing.T, api provider.Provider, model string) string {
	t.Helper()
	reply := providertest.Check(t, api.Stream(t.Context(), &provider.Request{Model: provider.Model{ID: model},
		Messages: []provider.Message{providertest.User("ask")}}))
	if reply.Err != nil {
		t.Fatal(reply.Err)
	}
	var b strings.Builder
	for _, block := range reply.Blocks {
		switch block := block.(type) {
		case provider.Text:
			b.WriteString(block.Text)
		case provider.Thinking:
			b.WriteString("[" + block.Text + "]")
		}
	}
	return b.String()
}

// A finish reason by which Gemini says that its answer failed is an error also where another API passes it on.
func TestFailedAnswers(t *testing.T) {
	for _, word := range []string{"malformed_function_call", "function_call_filter: MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "error"} {
		host := &providertest.Host{Body: "data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"Hm.\"},\"finish_reason\":\"" + word + "\"}]}\n\ndata: [DONE]\n\n"}
		reply := providertest.Check(t, newAPI(t, "generic", host).Stream(t.Context(), &provider.Request{Model: provider.Model{ID: "m"}}))
		if e, ok := errors.AsType[*provider.Error](reply.Err); !ok || e.Kind != provider.KindTransport || !e.Passing() || e.Code != word {
			t.Errorf("%s: %+v, %v; want an error that passes", word, reply.Stop, reply.Err)
		}
	}
}
