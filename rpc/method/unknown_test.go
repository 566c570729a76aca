package method

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/session"
)

type sampleParams struct {
	Session  ID[session.ID]             `json:"session_id"`
	Model    string                     `json:"model_id,omitempty"`
	Level    string                     `json:"thinking_level,omitempty"`
	Text     string                     `json:"text,omitempty"`
	Options  *sampleOptions             `json:"options,omitempty"`
	Tools    []sampleTool               `json:"tools,omitempty"`
	Rules    map[string]sampleTool      `json:"rules,omitempty"`
	Metadata map[string]json.RawMessage `json:"metadata,omitempty"`
	Blocks   sampleBlocks               `json:"content,omitempty"`
	Either   sampleEither               `json:"either,omitempty"`
}

type sampleOptions struct {
	Cache       string  `json:"cache,omitempty"`
	Temperature float64 `json:"temperature,omitempty"`
}

type sampleTool struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"input_schema,omitempty"`
}

type sampleBlocks struct{}

func (sampleBlocks) JSONSchema() *jsonschema.Schema { return ListOf(OneOf("Text", "Media")) }

type sampleEither struct{}

func (sampleEither) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{Constant("all"), ListOf(&jsonschema.Schema{AnyOf: []*jsonschema.Schema{Constant("one"), Ref("SampleTool")}})}}
}

func sampleKnown() Known {
	s := NewSchemas(nil, nil)
	s.Add("Text", Object(Required("type", Constant("text")), Required("text", Kind("string"))))
	s.Add("Media", Object(Required("type", Constant("media")), Required("data", Kind("string"))))
	s.Of(reflect.TypeFor[sampleTool]())
	return KnownOf(reflect.TypeFor[sampleParams](), s)
}

func TestIgnored(t *testing.T) {
	known := sampleKnown()
	for params, want := range map[string]Ignored{
		``:   {},
		`{}`: {},
		`[]`: {},
		`{"session_id":"S","text":"x","metadata":{"any":{"thing":1}},"tools":[{"name":"a","input_schema":{"x":{}}}]}`: {},
		`{"effort":"high","text":"x"}`:              {[]string{"effort"}, map[string]string{"effort": "thinking_level"}},
		`{"sessionId":"S"}`:                         {[]string{"sessionId"}, map[string]string{"sessionId": "session_id"}},
		`{"session":"S"}`:                           {[]string{"session"}, map[string]string{"session": "session_id"}},
		`{"model":"m"}`:                             {[]string{"model"}, map[string]string{"model": "model_id"}},
		`{"thinking_levl":"high"}`:                  {[]string{"thinking_levl"}, map[string]string{"thinking_levl": "thinking_level"}},
		`{"txet":"x"}`:                              {[]string{"txet"}, map[string]string{"txet": "text"}},
		`{"unheard_of":1}`:                          {[]string{"unheard_of"}, nil},
		`{"unheard_of":null}`:                       {},
		`{"temperature":1}`:                         {[]string{"temperature"}, map[string]string{"temperature": "options.temperature"}},
		`{"options":{"temprature":1,"cache":"1h"}}`: {[]string{"options.temprature"}, map[string]string{"options.temprature": "options.temperature"}},
		`{"options":"no object"}`:                   {},
		`{"tools":[{"name":"a"},{"name":"b","parameters":{}}]}`: {[]string{"tools[1].parameters"}, map[string]string{"tools[1].parameters": "tools[1].input_schema"}},
		`{"rules":{"a":{"nam":"x"}}}`:                           {[]string{"rules.a.nam"}, map[string]string{"rules.a.nam": "rules.a.name"}},
		`{"content":[{"type":"text","text":"x","txt":1},{"dat":"","type":"media","data":""},{"type":"odd","zzz":1},7]}`: {[]string{"content[0].txt", "content[1].dat"},
			map[string]string{"content[0].txt": "content[0].text", "content[1].dat": "content[1].data"}},
		`{"either":"all"}`:                           {},
		`{"either":["one",{"name":"x","zzzzzz":1}]}`: {[]string{"either[1].zzzzzz"}, nil},
	} {
		if diff := cmp.Diff(want, known.Ignored([]byte(params))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", params, diff)
		}
	}
}

// The list is bounded, whatever a client sends: in its length, and in that of each path.
func TestIgnoredIsBounded(t *testing.T) {
	known := sampleKnown()
	var members, tools []string
	for i := range 10_000 {
		members = append(members, fmt.Sprintf(`"%sx%d":{"a":1}`, strings.Repeat("é", 1000), i))
		tools = append(tools, `{"desc":1,"name":"`+strings.Repeat("x", 10)+`"}`)
	}
	for name, params := range map[string]string{
		"members": "{" + strings.Join(members, ",") + "}", "elements": `{"tools":[` + strings.Join(tools, ",") + "]}",
		"union": `{"either":[` + strings.Join(tools, ",") + "]}",
	} {
		got := known.Ignored([]byte(params))
		if len(got.Members) != MaxIgnored || len(got.JSON()) > 10_000 {
			t.Errorf("%s: %d members, %d bytes", name, len(got.Members), len(got.JSON()))
		}
	}
}

func TestRefusal(t *testing.T) {
	known := sampleKnown()
	if e := (Ignored{}).Refusal(); e != nil {
		t.Error(e)
	}
	e := known.Ignored([]byte(`{"effort":"high","more":1}`)).Refusal()
	if e.Code != conn.CodeInvalidParams || e.Message != "effort: this method has no such member; did you mean thinking_level?" {
		t.Errorf("%d %s", e.Code, e.Message)
	}
	if diff := cmp.Diff(map[string]any{"field": "effort", "candidates": []string{"thinking_level"}}, e.Data); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	missing := conn.InvalidParams("session_id", "is missing")
	e = known.Ignored([]byte(`{"session":"S"}`)).AddTo(missing)
	if e.Data["did_you_mean"] == nil || e.Data["field"] != "session_id" || missing.Data["ignored"] != nil {
		t.Errorf("%v, %v", e, missing)
	}
	other := &conn.Error{Code: conn.CodeNotFound}
	if known.Ignored([]byte(`{"x":1}`)).AddTo(other) != other {
		t.Error("another error has changed")
	}
}

func TestSimilar(t *testing.T) {
	for name, want := range map[string]string{"sessionID": "session_id", "after": "after_seq", "lastSeq": "after_seq", "limt": "limit", "lmit": "limit",
		"max": "", "x": "", "seq_after": "after_seq", "thread_id": "session_id"} {
		if got := similar(name, []string{"after_seq", "limit", "session_id"}); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	// Each word in the table of other names is written as fold writes it.
	for word := range alike {
		if fold(word) != word {
			t.Errorf("%q is never found", word)
		}
	}
}

func FuzzIgnored(f *testing.F) {
	for _, s := range []string{`{"a":1}`, `{"content":[{"type":"text"}],"either":[["one"]]}`, `{"options":{"cache":{"x":[]}},"rules":{"a":[]}}`} {
		f.Add(s)
	}
	known := sampleKnown()
	f.Fuzz(func(t *testing.T, params string) {
		if !json.Valid([]byte(params)) {
			return
		}
		params = strings.TrimSpace(params)
		got := known.Ignored([]byte(params))
		if len(got.Members) > MaxIgnored || slices.ContainsFunc(got.Members, func(m string) bool { return len(m) > maxIgnoredPath+len("…") }) {
			t.Errorf("%q", got.Members)
		}
	})
}
