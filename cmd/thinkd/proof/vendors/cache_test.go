package vendors

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
)

// changes of the level, by turn; the first is what a session begins with.
var changes = map[int]string{1: "high", 4: "low", 7: "medium", 9: "high", 12: "low", 15: "high", 18: "medium"}

const cachedTurns = 20

// cachedTurn is what a turn told of the prompt cache.
type cachedTurn struct {
	Cached int    // tokens
	Cache  string // of turn_start
	Lost   int    // notices
}

// TestCacheOverChangesOfLevel has two conversations with the same 20 prompts, and a kill of the daemon in the middle: one stays at
// its level, one changes the level six times. The simulator keeps a cache by the vendors' rules. If the vendor accepts a change
// inside the conversation, the changes cost nothing, and earlier messages are sent unchanged, byte for byte. Otherwise each change
// costs the cache, and a notice says so. A model of each vendor stands for those that accept changes: TestLevelsOnTheWire and TestWires of
// package daemon have the others.
func TestCacheOverChangesOfLevel(t *testing.T) {
	for _, tt := range []struct {
		model   string
		inPlace bool
	}{
		{"anthropic/claude-opus-5-5", true},
		{"openai/gpt-6.1-sol", true},
		{"anthropic/claude-sonnet-4-5-20250929", false},
		{"openai/gpt-5.6-sol", false},
	} {
		t.Run(strings.ReplaceAll(tt.model, "/", " "), func(t *testing.T) {
			t.Parallel()
			vendor, env := proof.Simulator(t, sim.Config{})
			base := strings.TrimPrefix(env[1], "ANTHROPIC_BASE_URL=")
			env = append(env, "OPENAI_API_KEY=sk-of-the-test", "OPENAI_BASE_URL="+base+"/v1")
			vendor.ScriptFunc(func(sim.Request) *sim.Answer {
				return &sim.Answer{Parts: []sim.Part{{Kind: sim.Thinking, Text: strings.Repeat("Compare both dates. ", 20)},
					{Kind: sim.Text, Text: strings.Repeat("The second. ", 10)}}}
			})
			data := t.TempDir()
			p := proof.Start(t, data, env)
			system := func(who string) string { return strings.Repeat("Session "+who+" is about dates. ", 300) }
			steady := p.NewSession("model_id", tt.model, "thinking_level", changes[1], "system_prompt", system("A"))
			varied := p.NewSession("model_id", tt.model, "thinking_level", changes[1], "system_prompt", system("B"))
			var want, got []cachedTurn
			for n := 1; n <= cachedTurns; n++ {
				if n == cachedTurns/2 {
					p.Kill()
					p = proof.Start(t, data, env)
					for _, id := range []string{steady, varied} {
						p.Must("session/attach", map[string]any{"session_id": id}, nil)
					}
				}
				if level := changes[n]; level != "" && n > 1 {
					checkExplained(p, varied, level, tt.inPlace)
					p.Must("thinking/set", map[string]any{"session_id": varied, "level": level}, nil)
				}
				text := fmt.Sprintf("Question %02d: which date is later?", n)
				want = append(want, playCached(p, steady, text))
				got = append(got, playCached(p, varied, text))
			}
			p.End()
			if r := vendor.Refusals(); len(r) > 0 {
				t.Errorf("refused: %+v", r)
			}
			for i, turn := range want {
				if i > 0 && (turn.Cached == 0 || turn.Cache != "kept" || turn.Lost > 0) {
					t.Errorf("turn %d without a change: %+v", i+1, turn)
				}
			}
			if tt.inPlace {
				for i, turn := range got {
					if more := turn.Cached - want[i].Cached; more < 0 || more > 25*len(changes) { // a change is some tokens itself
						t.Errorf("turn %d: %+v, without changes %+v", i+1, turn, want[i])
					}
					if turn.Cached = want[i].Cached; turn != want[i] {
						t.Errorf("turn %d: %+v, without changes %+v", i+1, turn, want[i])
					}
				}
				checkPrefixes(t, vendor.Requests(), "Session B")
				return
			}
			for i, turn := range got {
				changed := i > 0 && changes[i+1] != ""
				lost := cachedTurn{Cached: turn.Cached, Cache: "lost", Lost: 1}
				if more := turn.Cached - want[i].Cached; !changed && max(more, -more) <= 2 { // signatures differ in length
					turn.Cached = want[i].Cached
				}
				switch {
				case changed && (turn != lost || turn.Cached >= want[i].Cached):
					t.Errorf("turn %d with a change: %+v, without it %+v", i+1, turn, want[i])
				case !changed && turn != want[i]:
					t.Errorf("turn %d after a change: %+v, without it %+v", i+1, turn, want[i])
				}
			}
		})
	}
}

// playCached prompts, and collects what the updates say of the cache.
func playCached(p *proof.Process, session, text string) cachedTurn {
	p.T.Helper()
	end := p.Turn(session, text)
	if end.Stop != "end_turn" {
		p.T.Fatalf("%q ends with %s: %v", text, end.Stop, end.Error)
	}
	var told cachedTurn
	for _, u := range p.Seen() {
		switch {
		case u.Turn != end.Turn:
		case u.Method == "turn_start":
			told.Cache = gjson.GetBytes(u.Raw, "cache").Str
		case u.Method == "message_end":
			told.Cached = int(gjson.GetBytes(u.Raw, "usage.cached_tokens").Int())
		case u.Kind == "cache_lost":
			told.Lost++
		}
	}
	return told
}

func checkExplained(p *proof.Process, session, level string, inPlace bool) {
	p.T.Helper()
	var told struct {
		Cache string
		Why   string `json:"cache_why"`
	}
	p.Must("thinking/explain", map[string]any{"session_id": session, "level": level}, &told)
	want := "lost"
	if inPlace {
		want = "kept"
	}
	if told.Cache != want || (told.Why == "") != inPlace {
		p.T.Errorf("explained for %s: %+v, want %s", level, told, want)
	}
}

// checkPrefixes wants each request of a session to begin as the one before it: what is said once stays as it is. Cache
// marks move on; they are no part of what is said.
func checkPrefixes(t *testing.T, requests []sim.Request, whose string) {
	t.Helper()
	var before []string
	var top string
	seen := 0
	for _, r := range requests {
		body := gjson.ParseBytes(r.Body)
		if !strings.Contains(body.Get("system.0.text").Str+body.Get("instructions").Str, whose) {
			continue
		}
		list := body.Get("messages")
		if !list.Exists() {
			list = body.Get("input")
		}
		var said []string
		for _, m := range list.Array() {
			said = append(said, unmarked(t, m.Raw))
		}
		onTop := body.Get("output_config.effort").Str + body.Get("reasoning.effort").Str
		if seen++; seen == 1 {
			top = onTop
		}
		if len(said) < len(before) || !slices.Equal(before, said[:len(before)]) {
			t.Errorf("request %d does not begin as the one before it:\n%s", seen, cmp.Diff(before, said))
		}
		if onTop != top {
			t.Errorf("request %d has the effort %q on top, the first %q", seen, onTop, top)
		}
		before = said
	}
	if seen != cachedTurns {
		t.Errorf("%d requests", seen)
	}
	efforts := 0
	for _, m := range before {
		if gjson.Get(m, "output_config.effort").Exists() || gjson.Get(m, "type").Str == "configuration_update" {
			efforts++
		}
	}
	if efforts != len(changes)-1 {
		t.Errorf("the last request has %d changes of effort", efforts)
	}
}

// unmarked is a message without its cache marks.
func unmarked(t *testing.T, raw string) string {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(raw), &v); err != nil {
		t.Fatal(err)
	}
	if content, ok := v["content"].([]any); ok {
		for _, b := range content {
			if m, ok := b.(map[string]any); ok {
				delete(m, "cache_control")
			}
		}
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
