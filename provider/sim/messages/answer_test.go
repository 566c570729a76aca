package messages

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/simtest"
)

func TestDisplays(t *testing.T) {
	s := sim.New(sim.Config{})
	h := simtest.Header("anthropic-beta", betaUpdates+","+betaTokenCount)
	ask := func(model, display string) (obj, []simtest.Event) {
		p := simtest.Thinking("adaptive")
		if display != "" {
			p["display"] = display
		}
		r := simtest.Create(t, s, h, obj{"model": model, "stream": true, "thinking": p, "tools": arr{simtest.ReadTool},
			"messages": arr{simtest.Say("user", "[[sim: tool=read thinking=300]] read the file")}})
		all := simtest.Events(t, strings.NewReader(r.Body))
		return simtest.Folded(t, all), all
	}
	sum := func(all []simtest.Event) (n float64, nulls int) {
		for _, e := range all {
			if d := simtest.Get[obj](e.Data, "delta"); d["type"] == "thinking_delta" {
				if v, there := d["estimated_tokens"]; there && v == nil {
					nulls++
				}
				n += simtest.Get[float64](d, "estimated_tokens")
			}
		}
		return n, nulls
	}

	full, all := ask("claude-opus-5-5", "summarized")
	if n, nulls := sum(all); n != 0 || nulls == 0 {
		t.Errorf("summarized: estimate %v, %d times null", n, nulls)
	}
	shown, _ := simtest.Answered(full)
	if !strings.Contains(shown, "I will ask read") || len(strings.Fields(shown)) < 280 {
		t.Errorf("summarized: %q", shown)
	}
	omitted, all := ask("claude-opus-5-5", "omitted")
	if thought, _ := simtest.Answered(omitted); thought != "" || simtest.Get[string](omitted, "content", 0, "signature") == "" {
		t.Errorf("omitted: %v", omitted)
	}
	if n, _ := sum(all); n < 400 || n > 2000 {
		t.Errorf("omitted: estimate %v", n)
	}
	updates, _ := ask("claude-opus-5-5", "updates")
	if thought, _ := simtest.Answered(updates); !strings.HasPrefix(thought, "I will ask read") {
		t.Errorf("updates: %q", thought)
	}
	for model, want := range map[string]bool{"claude-opus-5": false, "claude-opus-4-6": true} {
		m, _ := ask(model, "")
		if thought, _ := simtest.Answered(m); (thought != "") != want {
			t.Errorf("%s shows by itself: %q", model, thought)
		}
	}
	for _, m := range []obj{omitted, updates} {
		if simtest.Get[float64](m, "usage", "output_tokens") != simtest.Get[float64](full, "usage", "output_tokens") {
			t.Errorf("display changed the bill: %v, %v", m["usage"], full["usage"])
		}
	}
}

// TestDepth: more effort, more thinking, never less than some; off is off.
func TestDepth(t *testing.T) {
	s := sim.New(sim.Config{})
	thought := func(body obj) float64 {
		return simtest.Get[float64](simtest.Stream(t, s, simtest.Header(), body), "usage", "output_tokens_details", "thinking_tokens")
	}
	last := 0.0
	for _, e := range effortsAll {
		n := thought(obj{"output_config": effort(e)})
		if n <= last {
			t.Errorf("effort %s: %v tokens after %v", e, n, last)
		}
		last = n
	}
	last = 0
	for _, budget := range []int{1024, 2048, 4096} {
		n := thought(obj{"model": "claude-budget", "thinking": simtest.Thinking("enabled", "budget_tokens", budget)})
		if n <= last || n > float64(budget) {
			t.Errorf("budget %d: %v tokens after %v", budget, n, last)
		}
		last = n
	}
	if n := thought(obj{"model": "claude", "thinking": simtest.Thinking("disabled")}); n != 0 {
		t.Errorf("off, and %v tokens", n)
	}
	turn := simtest.Merged(simtest.Say("system", arr{}), obj{"output_config": effort("max")})
	low := obj{"output_config": effort("low"), "messages": arr{simtest.Say("user", "a"), simtest.Say("assistant", "b"), simtest.Say("user", "c")}}
	up := simtest.Merged(low, obj{"messages": arr{simtest.Say("user", "a"), simtest.Say("assistant", "b"), turn, simtest.Say("user", "c")}})
	r := simtest.Create(t, s, simtest.Header("anthropic-beta", betaTurnEffort), up)
	if a, b := simtest.Get[float64](r.JSON(), "usage", "output_tokens_details", "thinking_tokens"), thought(low); a < 4*b {
		t.Errorf("max from this turn on: %v tokens, low: %v", a, b)
	}
}

// TestWhenItThinks: manual mode thinks at the start of a turn, between_tools between tools, interleaving at both.
func TestWhenItThinks(t *testing.T) {
	signed := func(model string, p obj) arr {
		m := simtest.Stream(t, sim.New(sim.Config{}), simtest.Header(), obj{"model": model, "thinking": p, "tools": arr{simtest.ReadTool}, "messages": arr{simtest.Say("user", "[[sim: tool=read rounds=2]] read it")}})
		blocks := simtest.Get[arr](m, "content")
		return arr{simtest.Say("user", "[[sim: tool=read rounds=2]] read it"), simtest.Say("assistant", blocks),
			simtest.Say("user", arr{simtest.Merged(simtest.Result, obj{"tool_use_id": simtest.Get[string](blocks, len(blocks)-1, "id")})})}
	}
	manual, between := simtest.Thinking("enabled", "budget_tokens", 2000), simtest.Thinking("between_tools")
	for _, c := range []struct {
		name, model, beta string
		p                 obj
		first, later      string
	}{
		{"manual", "claude-budget", "", manual, "thinking text tool_use", "text tool_use"},
		{"interleaved", "claude-budget", betaInterleaved, manual, "thinking text tool_use", "thinking text tool_use"},
		{"between tools", "claude-between-tools", "", between, "tool_use", "thinking thinking tool_use"},
		{"adaptive", "claude", "", simtest.Thinking("adaptive"), "thinking text tool_use", "thinking text tool_use"},
		{"narrating", "claude-always", "", simtest.Thinking("adaptive"), "thinking thinking tool_use", "thinking thinking tool_use"},
		{"off", "claude", "", simtest.Thinking("disabled"), "text tool_use", "text tool_use"},
	} {
		messages := signed(c.model, c.p)
		if got := simtest.KindsOf(simtest.Get[arr](messages, 1, "content")); got != c.first {
			t.Errorf("%s: %s, want %s", c.name, got, c.first)
		}
		r := simtest.Create(t, sim.New(sim.Config{}), simtest.Header("anthropic-beta", c.beta), obj{"model": c.model, "thinking": c.p, "tools": arr{simtest.ReadTool}, "messages": messages})
		if got := simtest.KindsOf(simtest.Get[arr](r.JSON(), "content")); got != c.later {
			t.Errorf("%s, after a tool: %d %s, want %s", c.name, r.Status, got, c.later)
		}
	}
}

func TestForcedCall(t *testing.T) {
	s := sim.New(sim.Config{})
	deep := obj{"name": "deep", "input_schema": obj{"type": "object", "required": arr{"a", "b", "c", "d"}, "properties": obj{
		"a": obj{"enum": arr{"x", "y"}}, "b": obj{"type": "array", "items": obj{"type": "boolean"}},
		"c": obj{"type": "object", "properties": obj{"n": obj{"type": "number"}, "o": obj{"type": "string"}}, "required": arr{"n"}}, "d": obj{"const": 7}}}}
	m := simtest.Stream(t, s, simtest.Header(), obj{"model": "claude", "tools": arr{simtest.ReadTool, deep}, "tool_choice": obj{"type": "tool", "name": "deep"}})
	call := simtest.Get[obj](m, "content", len(simtest.Get[arr](m, "content"))-1)
	got, err := json.Marshal(call["input"])
	if err != nil || string(got) != `{"a":"x","b":[true],"c":{"n":1},"d":7}` || call["name"] != "deep" || m["stop_reason"] != "tool_use" {
		t.Errorf("%v %v", call, m["stop_reason"])
	}
}

func TestLimits(t *testing.T) {
	s := sim.New(sim.Config{})
	shown := simtest.Thinking("adaptive", "display", "summarized")
	whole := simtest.Stream(t, s, simtest.Header(), obj{"thinking": shown})
	total, thought := simtest.Get[float64](whole, "usage", "output_tokens"), simtest.Get[float64](whole, "usage", "output_tokens_details", "thinking_tokens")
	for _, c := range []struct {
		max    float64
		kinds  string
		signed bool
	}{
		{total, "thinking text", true},
		{total - 1, "thinking text", true},
		{thought + 20, "thinking text", true},
		{thought, "thinking", true},
		{thought - 1, "thinking", false},
		{40, "thinking", false},
		{1, "", false},
		{0, "", false},
	} {
		m := simtest.Stream(t, s, simtest.Header(), obj{"thinking": shown, "max_tokens": c.max})
		used, stop := simtest.Get[float64](m, "usage", "output_tokens"), "max_tokens"
		if c.max == total {
			stop = "end_turn"
		}
		if simtest.KindsOf(simtest.Get[arr](m, "content")) != c.kinds || used > c.max || m["stop_reason"] != stop || (simtest.Get[string](m, "content", 0, "signature") != "") != c.signed {
			t.Errorf("max_tokens %v: %s, %v tokens, %v, signature %q", c.max, simtest.KindsOf(simtest.Get[arr](m, "content")), used, m["stop_reason"], simtest.Get[string](m, "content", 0, "signature"))
		}
	}
	near := obj{"model": "claude-haiku-4-5", "messages": arr{simtest.Say("user", strings.Repeat("word", 199_950))}, "max_tokens": 8000}
	if m := simtest.Stream(t, s, simtest.Header(), near); m["stop_reason"] != "model_context_window_exceeded" {
		t.Errorf("%v", m["stop_reason"])
	}
}

func TestStopSequence(t *testing.T) {
	s := sim.New(sim.Config{})
	_, said := simtest.Answered(simtest.Stream(t, s, simtest.Header(), nil))
	m := simtest.Stream(t, s, simtest.Header(), obj{"stop_sequences": arr{"nowhere", "You asked"}})
	_, got := simtest.Answered(m)
	if want, _, _ := strings.Cut(said, "You asked"); got != want || m["stop_reason"] != "stop_sequence" || m["stop_sequence"] != "You asked" {
		t.Errorf("%q, %v %v; want %q", got, m["stop_reason"], m["stop_sequence"], want)
	}
}

// TestPause: a paused answer is gone on with by sending it back, although it ends with the assistant.
func TestPause(t *testing.T) {
	s := sim.New(sim.Config{})
	prompt := simtest.Say("user", "[[sim: stop=pause_turn]] search")
	m := simtest.Stream(t, s, simtest.Header(), obj{"messages": arr{prompt}})
	blocks := simtest.Get[arr](m, "content")
	last := simtest.Get[obj](blocks, len(blocks)-1)
	if m["stop_reason"] != "pause_turn" || last["type"] != "server_tool_use" || simtest.Get[string](last, "input", "query") == "" {
		t.Fatalf("%v %v", m["stop_reason"], last)
	}
	s.Script(sim.Answer{})
	if got := simtest.Create(t, s, simtest.Header(), obj{"messages": arr{prompt, simtest.Say("assistant", blocks)}}); got.Status != 200 {
		t.Errorf("%s", got.Body)
	}
}

// TestThinkingIsInput: thinking of earlier turns is input on models that keep it, and none on the others.
func TestThinkingIsInput(t *testing.T) {
	for model, kept := range map[string]bool{"claude": true, "claude-opus-4-5": true, "claude-budget": false} {
		c := newTalk(t, model)
		if model != "claude" {
			c.members["thinking"] = simtest.Thinking("enabled", "budget_tokens", 4096)
		}
		c.say("Which date is later?")
		count := func(c *talk) float64 {
			c.said = append(c.said, simtest.Say("user", "Why?"))
			return simtest.Get[float64](simtest.Send(t, c.s, "POST", "/v1/messages/count_tokens", simtest.Header(), c.body()).JSON(), "input_tokens")
		}
		with, without := count(c.edited(func(*talk) {})), count(c.edited(func(c *talk) { c.strip() }))
		if (with > without+50) != kept {
			t.Errorf("%s: %v tokens with thinking, %v without", model, with, without)
		}
	}
}

func TestModels(t *testing.T) {
	s := sim.New(sim.Config{})
	list := func(query string) ([]string, obj) {
		t.Helper()
		r := simtest.Send(t, s, "GET", "/v1/models"+query, simtest.Header(), nil)
		if r.Status != 200 {
			t.Fatalf("%s: %s", query, r.Body)
		}
		var ids []string
		for _, m := range simtest.Get[arr](r.JSON(), "data") {
			ids = append(ids, simtest.Get[string](m, "id"))
		}
		return ids, r.JSON()
	}
	all, page := list("?limit=1000")
	if len(all) != len(models) || page["has_more"] != false || page["last_id"] != "claude-between-tools" {
		t.Errorf("%v %v", all, page["has_more"])
	}
	var walked []string
	for after := ""; ; {
		ids, page := list("?limit=4" + after)
		walked = append(walked, ids...)
		if page["has_more"] != true {
			break
		}
		after = "&after_id=" + simtest.Get[string](page, "last_id")
	}
	if strings.Join(walked, " ") != strings.Join(all, " ") {
		t.Errorf("in pages: %v", walked)
	}
	if ids, page := list("?limit=3&before_id=" + all[5]); strings.Join(ids, " ") != strings.Join(all[2:5], " ") || page["has_more"] != true {
		t.Errorf("before: %v", ids)
	}
	if ids, _ := list("?limit=100&lifecycle[]=active&lifecycle[]=deprecated"); strings.Contains(strings.Join(ids, " "), "3-7") || len(ids) < 20 {
		t.Errorf("served: %v", ids)
	}
	for _, id := range all {
		one := simtest.Send(t, s, "GET", "/v1/models/"+id, simtest.Header(), nil).JSON()
		off := simtest.Get[bool](one, "capabilities", "thinking", "types", "disabled", "supported")
		row, _ := modelBy(id)
		if row.lifecycle == "retired" {
			continue
		}
		if got := simtest.Create(t, s, simtest.Header(), obj{"model": id, "thinking": simtest.Thinking("disabled")}); (got.Status == 200) != off {
			t.Errorf("%s can be off: %v in the listing, %d in practice", id, off, got.Status)
		}
	}
	if r := simtest.Send(t, s, "GET", "/v1/models/claude-next", simtest.Header(), nil); r.Status != 404 || r.ErrorType() != "not_found_error" {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	for _, bad := range []string{"?limit=0", "?limit=x", "?after_id=claude-next"} {
		if r := simtest.Send(t, s, "GET", "/v1/models"+bad, simtest.Header(), nil); r.Status != 400 {
			t.Errorf("%s: %d", bad, r.Status)
		}
	}
}

// TestRounds: as many rounds of as many calls as asked for, no two alike, and then the answer.
func TestRounds(t *testing.T) {
	prompt := simtest.Say("user", "[[sim: tool=read rounds=3 calls=2 text=5]] read both of them")
	messages, seen := arr{prompt}, map[string]bool{}
	for round := 1; ; round++ {
		m := simtest.Stream(t, sim.New(sim.Config{}), simtest.Header(), obj{"model": "claude", "tools": arr{simtest.ReadTool}, "messages": messages})
		blocks := simtest.Get[arr](m, "content")
		var results arr
		for _, b := range blocks {
			if call := b.(obj); call["type"] == "tool_use" {
				input, err := json.Marshal(call["input"])
				if err != nil {
					t.Fatal(err)
				}
				seen[string(input)] = true
				results = append(results, simtest.Merged(simtest.Result, obj{"tool_use_id": call["id"]}))
			}
		}
		if round == 4 {
			if len(results) > 0 || m["stop_reason"] != "end_turn" || len(seen) != 6 {
				t.Errorf("%d calls after three rounds, %v; %d were different", len(results), m["stop_reason"], len(seen))
			}
			return
		}
		if len(results) != 2 {
			t.Fatalf("%d calls in round %d", len(results), round)
		}
		messages = append(messages, simtest.Say("assistant", blocks), simtest.Say("user", results))
	}
}
