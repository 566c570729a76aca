package responses_test

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/providertest"
)

// FuzzStream: whatever a host sends, the contract holds.
func FuzzStream(f *testing.F) {
	paths, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(paths) == 0 {
		f.Fatalf("no fixtures: %v", err)
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			if file.Name == "stream" || file.Name == "answer" {
				f.Add(file.Data, filepath.Base(filepath.Dir(path)) == "copilot")
			}
		}
	}
	f.Fuzz(func(t *testing.T, answer []byte, copilot bool) {
		dialect := "openai"
		if copilot {
			dialect = "copilot"
		}
		api := newAPI(dialect, &answerer{status: 200, body: string(answer)})
		providertest.Check(t, api.Stream(t.Context(), &provider.Request{}))
	})
}
