package models

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The table of models shows what a prompt counts as on a plan of premium requests.
func TestModelsPremium(t *testing.T) {
	var out strings.Builder
	if err := Table(&out, json.RawMessage(`{"models":[{"id":"half","provider":"copilot","premium_multiplier":0.33},{"id":"free","provider":"copilot","premium_multiplier":0},
		{"id":"both","provider":"copilot","premium_multiplier":10,"price":{"input":2,"output":6}},{"id":"none","provider":"copilot"},{"id":"paid","provider":"xai","price":{"input":2,"output":6}}]}`)); err != nil {
		t.Fatal(err)
	}
	for model, want := range map[string]string{"copilot/half": " ?\n  0.33x premium\n", "copilot/free": " ?\n  0x premium\n", "copilot/both": " 2/6\n  10x premium\n", "copilot/none": " ?\n", "xai/paid": " 2/6\n"} {
		_, after, ok := strings.Cut(out.String(), "\n"+model+" ")
		line, rest, _ := strings.Cut(after, "\n")
		if !ok || !strings.HasPrefix(line[strings.LastIndex(line, " "):]+"\n"+rest, want) {
			t.Errorf("%s is not followed by %q:\n%s", model, want, out.String())
		}
	}
}

const some = `{"models":[
	{"id":"gone","provider":"a","thinking_levels":["off","low"],"default_thinking_level":"off","price":{"input":0.95526,"output":1.91052},"facts":{"price":{"state":"table"}},"available":false,"why":"no key: set A_API_KEY in the environment of the daemon or store one with thinkd auth set a","lifecycle":{"state":"retired","retires":"2026-01-01","replaced_by":"new"}},
	{"id":"claude","provider":"sim","thinking_levels":["off"],"default_thinking_level":"off","context_window":1000000,"price":{"input":0,"output":0},"available":true},
	{"id":"here","provider":"b","thinking_levels":["off","minimal","low","medium","high","xhigh","max"],"default_thinking_level":"medium","context_window":200000,"price":{"input":4,"output":20},"available":true,"facts":{"levels":{"state":"family","source":"models named h*"},"default":{"state":"family"},"price":{"state":"table"},"limits":{"state":"learned"}},"lifecycle":{"state":"active","retires":"2026-11-30"}},
	{"id":"a-model-of-a-host-with-a-long-name","provider":"c","thinking_levels":[],"available":true}
],"default_model":"b/here"}`

// Available models come first and simulators last, and no line has more than 80 characters.
func TestTable(t *testing.T) {
	var out strings.Builder
	if err := Table(&out, json.RawMessage(some)); err != nil {
		t.Fatal(err)
	}
	want := `MODEL                          THINKING LEVELS (*: DEFAULT)   WINDOW  USD IN/OUT

Available:
b/here                         off minimal low medium* high    200k!       4/20~
                               xhigh max?
  the default of new sessions; levels are a guess: models named h*; retires
  2026-11-30
c/a-model-of-a-host-with-a-long-name
                               ?                                   ?           ?

Not available, no key: set A_API_KEY in the environment of the daemon or store
one with thinkd auth set a:
a/gone                         off* low                            ?   0.96/1.9~
  retired 2026-01-01; replaced by new

Simulated:
sim/claude                     off*                               1M         0/0
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	for line := range strings.Lines(out.String()) {
		if len(line) > 81 {
			t.Errorf("%d characters: %s", len(line), line)
		}
	}
}

// A list without available models says what makes them available.
func TestMissing(t *testing.T) {
	for answer, want := range map[string]string{
		some:            "",
		`{"models":[]}`: "",
		`{"models":[{"id":"x","why":"no key: set A"},{"id":"y","why":"no key: set A"},{"id":"z"}]}`: "\nNone is available: no key: set A; for an unknown reason.\n",
	} {
		var out strings.Builder
		if err := Missing(&out, json.RawMessage(answer)); err != nil || out.String() != want {
			t.Errorf("%s: %q, %v, want %q", answer, out.String(), err, want)
		}
	}
}

func TestAvailable(t *testing.T) {
	left, err := Available(json.RawMessage(some))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Models  []struct{ ID string }
		Default string `json:"default_model"`
	}
	if err := json.Unmarshal(left, &got); err != nil || len(got.Models) != 3 || got.Models[0].ID != "claude" || got.Default != "b/here" {
		t.Errorf("%s, %v", left, err)
	}
	if left, err = Available(json.RawMessage(`{"models":[]}`)); err != nil || string(left) != `{"models":[]}` {
		t.Errorf("%s, %v", left, err)
	}
}
