package ollama_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/providertest"
)

type says struct {
	texts []string
	asked int
}

func (s *says) RoundTrip(req *http.Request) (*http.Response, error) {
	text, err := json.Marshal(s.texts[s.asked])
	s.asked++
	body := fmt.Sprintf("{\"message\":{\"content\":%s},\"done\":false}\n{\"message\":{},\"done\":true,\"done_reason\":\"stop\"}\n", text)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/x-ndjson"}},
		Body: io.NopCloser(strings.NewReader(body)), Request: req}, err
}

// An answer about thinking tags is shown as it is, and a wrong match does not outlive the next answer.
func TestAnswersAboutTags(t *testing.T) {
	plain := "The capital of France is Paris."
	for texts, want := range map[[3]string][3]string{
		{"It ends with </think>, says the page.", plain, plain}: {"It ends with </think>, says the page.", plain, plain},
		{"```\nx\n</think>\n```\nso", plain, plain}:             {"```\nx\n</think>\n```\nso", plain, plain},
		{"a</thinking>b", plain, plain}:                         {"a</thinking>b", plain, plain},
		{"a</think>b", plain, plain}:                            {"ab", "[" + plain + "]" + plain, plain},
	} {
		host := &says{texts: texts[:]}
		api := suite().New(host)
		for i := range texts {
			reply := providertest.Check(t, api.Stream(t.Context(), &provider.Request{Model: provider.Model{ID: "llama4"},
				Decision: provider.Decision{Control: provider.Control{Mode: provider.ModeOff}},
				Messages: []provider.Message{providertest.User("ask")}}))
			got := ""
			for _, block := range reply.Blocks {
				switch block := block.(type) {
				case provider.Text:
					got += block.Text
				case provider.Thinking:
					got += "[" + block.Text + "]"
				}
			}
			if got != want[i] {
				t.Errorf("answer %d of %q: got %q, want %q", i, texts, got, want[i])
			}
		}
	}
}
