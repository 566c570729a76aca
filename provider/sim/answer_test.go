package sim

import (
	"encoding/json"
	"strings"
	"testing"
)

func answered(m obj) (thought, said string) {
	for _, b := range get[arr](m, "content") {
		thought += get[string](b, "thinking")
		said += get[string](b, "text")
	}
	return thought, said
}

func TestDisplays(t *testing.T) {
	s := New(Config{})
	h := header("anthropic-beta", betaUpdates+","+betaTokenCount)
	ask := func(model, display string) (obj, []event) {
		p := thinking("adaptive")
		if display != "" {
			p["display"] = display
		}
		r := create(t, s, h, obj{"model": model, "stream": true, "thinking": p, "tools": arr{readTool},
			"messages": arr{say("user", "[[sim: tool=read thinking=300]] read the file")}})
		all := events(t, strings.NewReader(r.body))
		return folded(t, all), all
	}
	sum := func(all []event) (n float64, nulls int) {
		for _, e := range all {
			if d := get[obj](e.data, "delta"); d["type"] == "thinking_delta" {
				if v, there := d["estimated_tokens"]; there && v == nil {
					nulls++
				}
				n += get[float64](d, "estimated_tokens")
			}
		}
		return n, nulls
	}

	full, all := ask("claude-opus-5-5", "summarized")
	if n, nulls := sum(all); n != 0 || nulls == 0 {
		t.Errorf("summarized: estimate %v, %d times null", n, nulls)
	}
	shown, _ := answered(full)
	if !strings.Contains(shown, "I will ask read") || len(strings.Fields(shown)) < 280 {
		t.Errorf("summarized: %q", shown)
	}
	omitted, all := ask("claude-opus-5-5", "omitted")
	if thought, _ := answered(omitted); thought != "" || get[string](omitted, "content", 0, "signature") == "" {
		t.Errorf("omitted: %v", omitted)
	}
	if n, _ := sum(all); n < 400 || n > 2000 {
		t.Errorf("omitted: estimate %v", n)
	}
	updates, _ := ask("claude-opus-5-5", "updates")
	if thought, _ := answered(updates); !strings.HasPrefix(thought, "I will ask read") {
		t.Errorf("updates: %q", thought)
	}
	for model, want := range map[string]bool{"claude-opus-5": false, "claude-opus-4-6": true} {
		m, _ := ask(model, "")
		if thought, _ := answered(m); (thought != "") != want {
			t.Errorf("%s shows by itself: %q", model, thought)
		}
	}
	for _, m := range []obj{omitted, updates} {
		if get[float64](m, "usage", "output_tokens") != get[float64](full, "usage", "output_tokens") {
			t.Errorf("display changed the bill: %v, %v", m["usage"], full["usage"])
		}
	}
}

// TestDepth: more effort, more thinking, never less than some; off is off.
func TestDepth(t *testing.T) {
	s := New(Config{})
	thought := func(body obj) float64 {
		return get[float64](stream(t, s, header(), body), "usage", "output_tokens_details", "thinking_tokens")
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
		n := thought(obj{"model": "claude-budget", "thinking": thinking("enabled", "budget_tokens", budget)})
		if n <= last || n > float64(budget) {
			t.Errorf("budget %d: %v tokens after %v", budget, n, last)
		}
		last = n
	}
	if n := thought(obj{"model": "claude", "thinking": thinking("disabled")}); n != 0 {
		t.Errorf("off, and %v tokens", n)
	}
	turn := merged(say("system", arr{}), obj{"output_config": effort("max")})
	low := obj{"output_config": effort("low"), "messages": arr{say("user", "a"), say("assistant", "b"), say("user", "c")}}
	up := merged(low, obj{"messages": arr{say("user", "a"), say("assistant", "b"), turn, say("user", "c")}})
	r := create(t, s, header("anthropic-beta", betaTurnEffort), up)
	if a, b := get[float64](r.json(), "usage", "output_tokens_details", "thinking_tokens"), thought(low); a < 4*b {
		t.Errorf("max from this turn on: %v tokens, low: %v", a, b)
	}
}

// TestWhenItThinks: manual mode thinks at the start of a turn, between_tools between tools, interleaving at both.
func TestWhenItThinks(t *testing.T) {
	signed := func(model string, p obj) arr {
		m := stream(t, New(Config{}), header(), obj{"model": model, "thinking": p, "tools": arr{readTool}, "messages": arr{say("user", "[[sim: tool=read rounds=2]] read it")}})
		blocks := get[arr](m, "content")
		return arr{say("user", "[[sim: tool=read rounds=2]] read it"), say("assistant", blocks),
			say("user", arr{merged(result, obj{"tool_use_id": get[string](blocks, len(blocks)-1, "id")})})}
	}
	manual, between := thinking("enabled", "budget_tokens", 2000), thinking("between_tools")
	for _, c := range []struct {
		name, model, beta string
		p                 obj
		first, later      string
	}{
		{"manual", "claude-budget", "", manual, "thinking text tool_use", "text tool_use"},
		{"interleaved", "claude-budget", betaInterleaved, manual, "thinking text tool_use", "thinking text tool_use"},
		{"between tools", "claude-between-tools", "", between, "tool_use", "thinking thinking tool_use"},
		{"adaptive", "claude", "", thinking("adaptive"), "thinking text tool_use", "thinking text tool_use"},
		{"narrating", "claude-always", "", thinking("adaptive"), "thinking thinking tool_use", "thinking thinking tool_use"},
		{"off", "claude", "", thinking("disabled"), "text tool_use", "text tool_use"},
	} {
		messages := signed(c.model, c.p)
		if got := kindsOf(get[arr](messages, 1, "content")); got != c.first {
			t.Errorf("%s: %s, want %s", c.name, got, c.first)
		}
		r := create(t, New(Config{}), header("anthropic-beta", c.beta), obj{"model": c.model, "thinking": c.p, "tools": arr{readTool}, "messages": messages})
		if got := kindsOf(get[arr](r.json(), "content")); got != c.later {
			t.Errorf("%s, after a tool: %d %s, want %s", c.name, r.status, got, c.later)
		}
	}
}

func TestForcedCall(t *testing.T) {
	s := New(Config{})
	deep := obj{"name": "deep", "input_schema": obj{"type": "object", "required": arr{"a", "b", "c", "d"}, "properties": obj{
		"a": obj{"enum": arr{"x", "y"}}, "b": obj{"type": "array", "items": obj{"type": "boolean"}},
		"c": obj{"type": "object", "properties": obj{"n": obj{"type": "number"}, "o": obj{"type": "string"}}, "required": arr{"n"}}, "d": obj{"const": 7}}}}
	m := stream(t, s, header(), obj{"model": "claude", "tools": arr{readTool, deep}, "tool_choice": obj{"type": "tool", "name": "deep"}})
	call := get[obj](m, "content", len(get[arr](m, "content"))-1)
	got, err := json.Marshal(call["input"])
	if err != nil || string(got) != `{"a":"x","b":[true],"c":{"n":1},"d":7}` || call["name"] != "deep" || m["stop_reason"] != "tool_use" {
		t.Errorf("%v %v", call, m["stop_reason"])
	}
}

func TestLimits(t *testing.T) {
	s := New(Config{})
	shown := thinking("adaptive", "display", "summarized")
	whole := stream(t, s, header(), obj{"thinking": shown})
	total, thought := get[float64](whole, "usage", "output_tokens"), get[float64](whole, "usage", "output_tokens_details", "thinking_tokens")
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
		m := stream(t, s, header(), obj{"thinking": shown, "max_tokens": c.max})
		used, stop := get[float64](m, "usage", "output_tokens"), "max_tokens"
		if c.max == total {
			stop = "end_turn"
		}
		if kindsOf(get[arr](m, "content")) != c.kinds || used > c.max || m["stop_reason"] != stop || (get[string](m, "content", 0, "signature") != "") != c.signed {
			t.Errorf("max_tokens %v: %s, %v tokens, %v, signature %q", c.max, kindsOf(get[arr](m, "content")), used, m["stop_reason"], get[string](m, "content", 0, "signature"))
		}
	}
	near := obj{"model": "claude-haiku-4-5", "messages": arr{say("user", strings.Repeat("word", 199_950))}, "max_tokens": 8000}
	if m := stream(t, s, header(), near); m["stop_reason"] != "model_context_window_exceeded" {
		t.Errorf("%v", m["stop_reason"])
	}
}

func TestStopSequence(t *testing.T) {
	s := New(Config{})
	_, said := answered(stream(t, s, header(), nil))
	m := stream(t, s, header(), obj{"stop_sequences": arr{"nowhere", "You asked"}})
	_, got := answered(m)
	if want, _, _ := strings.Cut(said, "You asked"); got != want || m["stop_reason"] != "stop_sequence" || m["stop_sequence"] != "You asked" {
		t.Errorf("%q, %v %v; want %q", got, m["stop_reason"], m["stop_sequence"], want)
	}
}

// TestPause: a paused answer is gone on with by sending it back, although it ends with the assistant.
func TestPause(t *testing.T) {
	s := New(Config{})
	prompt := say("user", "[[sim: stop=pause_turn]] search")
	m := stream(t, s, header(), obj{"messages": arr{prompt}})
	blocks := get[arr](m, "content")
	last := get[obj](blocks, len(blocks)-1)
	if m["stop_reason"] != "pause_turn" || last["type"] != "server_tool_use" || get[string](last, "input", "query") == "" {
		t.Fatalf("%v %v", m["stop_reason"], last)
	}
	s.Script(Answer{})
	if got := create(t, s, header(), obj{"messages": arr{prompt, say("assistant", blocks)}}); got.status != 200 {
		t.Errorf("%s", got.body)
	}
}

// TestThinkingIsInput: thinking of earlier turns is input on models that keep it, and none on the others.
func TestThinkingIsInput(t *testing.T) {
	for model, kept := range map[string]bool{"claude": true, "claude-opus-4-5": true, "claude-budget": false} {
		c := newTalk(t, model)
		if model != "claude" {
			c.members["thinking"] = thinking("enabled", "budget_tokens", 4096)
		}
		c.say("Which date is later?")
		count := func(c *talk) float64 {
			c.said = append(c.said, say("user", "Why?"))
			return get[float64](send(t, c.s, "POST", "/v1/messages/count_tokens", header(), c.body()).json(), "input_tokens")
		}
		with, without := count(c.edited(func(*talk) {})), count(c.edited(func(c *talk) { c.strip() }))
		if (with > without+50) != kept {
			t.Errorf("%s: %v tokens with thinking, %v without", model, with, without)
		}
	}
}

func TestModels(t *testing.T) {
	s := New(Config{})
	list := func(query string) ([]string, obj) {
		t.Helper()
		r := send(t, s, "GET", "/v1/models"+query, header(), nil)
		if r.status != 200 {
			t.Fatalf("%s: %s", query, r.body)
		}
		var ids []string
		for _, m := range get[arr](r.json(), "data") {
			ids = append(ids, get[string](m, "id"))
		}
		return ids, r.json()
	}
	all, page := list("?limit=1000")
	if len(all) != len(messagesModels) || page["has_more"] != false || page["last_id"] != "claude-between-tools" {
		t.Errorf("%v %v", all, page["has_more"])
	}
	var walked []string
	for after := ""; ; {
		ids, page := list("?limit=4" + after)
		walked = append(walked, ids...)
		if page["has_more"] != true {
			break
		}
		after = "&after_id=" + get[string](page, "last_id")
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
		one := send(t, s, "GET", "/v1/models/"+id, header(), nil).json()
		off := get[bool](one, "capabilities", "thinking", "types", "disabled", "supported")
		row, _ := messagesModelBy(id)
		if row.lifecycle == "retired" {
			continue
		}
		if got := create(t, s, header(), obj{"model": id, "thinking": thinking("disabled")}); (got.status == 200) != off {
			t.Errorf("%s can be off: %v in the listing, %d in practice", id, off, got.status)
		}
	}
	if r := send(t, s, "GET", "/v1/models/claude-next", header(), nil); r.status != 404 || r.errorType() != "not_found_error" {
		t.Errorf("%d %s", r.status, r.body)
	}
	for _, bad := range []string{"?limit=0", "?limit=x", "?after_id=claude-next"} {
		if r := send(t, s, "GET", "/v1/models"+bad, header(), nil); r.status != 400 {
			t.Errorf("%s: %d", bad, r.status)
		}
	}
}

func TestJournal(t *testing.T) {
	s := New(Config{})
	create(t, s, header(), nil)
	create(t, s, header(), obj{"model": "claude-next"})
	s.Script(Answer{Fault: FaultOverloaded})
	create(t, s, header(), nil)
	got := s.Requests()
	if len(got) != 3 || got[0].Status != 200 || got[1].Status != 404 || got[2].Status != 529 || got[0].Path != "/v1/messages" ||
		got[0].Header.Get("x-api-key") != "key-1" || !strings.Contains(string(got[1].Body), "claude-next") {
		t.Errorf("%v", got)
	}
	if r := s.Refusals(); len(r) != 1 || r[0].Type != "not_found_error" {
		t.Errorf("%v", r)
	}
	s = New(Config{NoJournal: true})
	create(t, s, header(), obj{"model": "claude-next"})
	if len(s.Requests())+len(s.Refusals()) != 0 {
		t.Error("kept, though nothing was to be kept")
	}
	var j journal
	for range journalBytes>>20 + 100 {
		j.body(j.add(newRequest(t)), make([]byte, 1<<20))
	}
	if j.bytes > journalBytes || len(j.requests) < 60 {
		t.Errorf("%d bytes in %d requests", j.bytes, len(j.requests))
	}
}

// TestRounds: as many rounds of as many calls as asked for, no two alike, and then the answer.
func TestRounds(t *testing.T) {
	prompt := say("user", "[[sim: tool=read rounds=3 calls=2 text=5]] read both of them")
	messages, seen := arr{prompt}, map[string]bool{}
	for round := 1; ; round++ {
		m := stream(t, New(Config{}), header(), obj{"model": "claude", "tools": arr{readTool}, "messages": messages})
		blocks := get[arr](m, "content")
		var results arr
		for _, b := range blocks {
			if call := b.(obj); call["type"] == "tool_use" {
				input, err := json.Marshal(call["input"])
				if err != nil {
					t.Fatal(err)
				}
				seen[string(input)] = true
				results = append(results, merged(result, obj{"tool_use_id": call["id"]}))
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
		messages = append(messages, say("assistant", blocks), say("user", results))
	}
}
