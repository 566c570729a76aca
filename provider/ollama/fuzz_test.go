package ollama_test

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/providertest"
)

// answers is a server that says the same to all.
type answers struct {
	kind string
	body []byte
}

func (a answers) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Request: req, Header: http.Header{"Content-Type": {a.kind}},
		Body: io.NopCloser(bytes.NewReader(a.body))}, nil
}

// FuzzReply reads any bytes as an answer: whatever comes of it keeps the contract.
func FuzzReply(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		f.Fatalf("no fixtures: %v", err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range txtar.Parse(data).Files {
			if file.Name == "stream" || file.Name == "answer" {
				f.Add(file.Data, file.Name == "answer")
			}
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, whole bool) {
		kind := "application/x-ndjson"
		if whole {
			kind = "application/json"
		}
		req := &provider.Request{Model: provider.Model{ID: "qwen3.5:9b"},
			Decision: provider.Decision{Control: provider.Control{Mode: provider.ModeOff}},
			Messages: []provider.Message{{Role: provider.User, Blocks: provider.Blocks{provider.Text{Text: "Hi"}}}}}
		if _, err := providertest.Collect(open(answers{kind, body}).Stream(t.Context(), req)); err != nil {
			t.Error(err)
		}
	})
}
