package providertest_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/registry"
)

// request is the part of a recorded request that names the model.
type request struct {
	Request *struct {
		Path string          `json:"path"`
		Body json.RawMessage `json:"body"`
	} `json:"request"`
}

var modelInPath = regexp.MustCompile(`/models?/([^/?]+?)(?::[a-zA-Z]+|/invoke[a-z-]*)?(?:\?.*)?$`)

// model is the id that the request asked for; empty: the request was not recorded.
func (r request) model() string {
	if r.Request == nil {
		return ""
	}
	var body struct {
		Model string `json:"model"`
	}
	if json.Unmarshal(r.Request.Body, &body) == nil && body.Model != "" {
		return body.Model
	}
	if m := modelInPath.FindStringSubmatch(r.Request.Path); m != nil {
		return strings.ReplaceAll(strings.TrimSuffix(m[1], ":rawPredict"), "%3A", ":")
	}
	return ""
}

// trulyOther are the recordings that another model did answer, by what was asked and what answered.
var trulyOther = map[string]string{
	"google/gemini-2.0-flash-exp:free answered by x-ai/grok-4":          "the request names grok-4 as the model to fall back to",
	"Qwen3-1.7B-Q4_K_M answered by /REDACTED_PATH/Qwen3-8B-Q4_K_M.gguf": "the server had loaded another file, and ignored the name",
}

// TestServedNames replays all recordings and fixtures, and compares the model that was asked for with the one that each answer names.
func TestServedNames(t *testing.T) {
	dir := os.Getenv("THINKD_RECORDINGS")
	if dir == "" {
		t.Skip("needs: recordings, in the folder that THINKD_RECORDINGS names")
	}
	catalog := hosts(t)
	counts, wrong, late := map[string]int{}, 0, 0
	for _, c := range readCases(t, dir) {
		if notApplicable(c) != "" || !slices.Contains(catalog.Providers(), c.Dialect) {
			counts["not applicable"]++
			continue
		}
		asked := cmp.Or(readRequest(t, c.ID, dir).model(), c.Expected.Model)
		names, first := answeredBy(t, c)
		if len(names) == 0 {
			counts["refused or broken before an answer"]++
			continue
		}
		if !first {
			late++
			t.Errorf("%s: a block came before the name of its model", c.ID)
		}
		for _, name := range names {
			pair := asked + " answered by " + name
			switch other := catalog.Served(catalog.Model(c.Dialect, asked), name).Other; {
			case other && trulyOther[pair] != "":
				counts["reported as another model, which it was"]++
			case other:
				wrong++
				t.Errorf("%s: %s/%s is a false alarm", c.ID, c.Dialect, pair)
			case name == "":
				counts["answer names no model"]++
			case name == asked:
				counts["same name"]++
			default:
				counts["same model by another name"]++
			}
		}
	}
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		fmt.Printf("served model, recordings: %4d %s\n", counts[what], what)
	}
	fmt.Printf("served model, recordings: %d false alarms, %d named after the first block\n", wrong, late)
}

// hosts is a catalog with a provider for each host of the recordings. Hosts without a vendor of their own resell models.
func hosts(t *testing.T) *registry.Catalog {
	t.Helper()
	var list []registry.Provider
	for _, v := range registry.Vendors() {
		list = append(list, registry.Provider{ID: v.ID, Vendor: v.ID})
	}
	for id, vendor := range map[string]string{"google": "gemini", "vertex": "", "bedrock": "anthropic", "mirascope-router": "", "databricks": "",
		"huggingface": "", "perplexity": "", "self-hosted": "", "doubleword": ""} {
		if !slices.ContainsFunc(list, func(p registry.Provider) bool { return p.ID == id }) { // else it has become a vendor of the catalog
			list = append(list, registry.Provider{ID: id, Vendor: vendor})
		}
	}
	catalog, err := registry.New(list)
	if err != nil {
		t.Fatal(err)
	}
	return catalog
}

func readRequest(t *testing.T, id, dir string) (r request) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "cases", "*", id+".json"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("%s: %v, %v", id, paths, err)
	}
	data, err := os.ReadFile(paths[0])
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// answeredBy is the names in a recorded answer, in their order, and whether the first came before any block.
func answeredBy(t *testing.T, c recording) (names []string, first bool) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", c.Response.ContentType)
		w.WriteHeader(c.Response.Status)
		if _, err := w.Write([]byte(c.Response.Body)); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	ask := provider.Message{Role: provider.User, Blocks: provider.Blocks{provider.Text{Text: "ask"}}}
	req := &provider.Request{Model: provider.Model{ID: "asked"}, Messages: []provider.Message{ask}}
	return namesIn(providertest.Check(t, readers[c.API].open(c, server.URL).Stream(t.Context(), req)))
}

func namesIn(reply providertest.Reply) (names []string, first bool) {
	first = true
	for _, ev := range reply.Events {
		switch ev := ev.(type) {
		case provider.Served:
			names = append(names, ev.Model)
		case provider.Begin:
			first = first && len(names) > 0
		}
	}
	return names, first
}

// madeUp are the names in answers of fixtures that are another model's than the one that the fixture asks for.
var madeUp = map[string]bool{
	"models/gemini-5-neon answered by gemini-3.8-flash": true,
	"gpt-oss:120b-cloud answered by qwen3.5:9b":         true,
	"deepseek-r1:8b answered by qwen3.5:9b":             true,
}

// TestServedFixtures compares the names in the fixtures of the adapters: what was asked for with the `served` line of the answer.
// A third of the answers name the model "m", whatever was asked for.
func TestServedFixtures(t *testing.T) {
	paths, err := filepath.Glob("../*/testdata/*.txtar")
	more, err2 := filepath.Glob("../*/testdata/*/*.txtar")
	if paths = append(paths, more...); err != nil || err2 != nil || len(paths) < 100 {
		t.Fatalf("%d fixtures, %v, %v", len(paths), err, err2)
	}
	served := regexp.MustCompile(`(?m)^served ("(?:[^"\\]|\\.)*") by`)
	catalog := hosts(t)
	compared, invented, alarms := 0, 0, 0
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var asked struct {
			Model provider.Model `json:"model"`
		}
		var want string
		for _, f := range archive.Files {
			switch f.Name {
			case "request":
				if err := json.Unmarshal(f.Data, &asked); err != nil {
					t.Fatalf("%s: %v", path, err)
				}
			case "want":
				want = string(f.Data)
			}
		}
		if m := served.FindStringSubmatch(want); m != nil {
			compared++
			asked.Model.Dialect = filepath.Base(filepath.Dir(path))
			name := strings.Trim(m[1], `"`)
			other, pair := catalog.Served(asked.Model, name).Other, asked.Model.ID+" answered by "+name
			switch {
			case other && (name == "m" || madeUp[pair]):
				invented++
			case other:
				alarms++
				t.Errorf("%s: %s is a false alarm", path, pair)
			}
		}
	}
	fmt.Printf("served model, fixtures: %d compared, %d false alarms, %d made-up names reported\n", compared, alarms, invented)
}
