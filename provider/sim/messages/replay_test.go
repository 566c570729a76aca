package messages

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/simtest"
)

// talk is a conversation that keeps the prompts and the answers.
type talk struct {
	t       *testing.T
	s       *sim.Server
	h       []string
	model   string
	members obj // of each request
	said    arr
}

func newTalk(t *testing.T, model string) *talk {
	return &talk{t: t, s: sim.New(sim.Config{}), model: model,
		members: obj{"system": "Be exact.", "tools": arr{simtest.ReadTool}, "thinking": simtest.Thinking("adaptive", "display", "summarized")}}
}

func (c *talk) body() obj {
	return simtest.Merged(c.members, obj{"model": c.model, "messages": c.said})
}

// say asks and keeps the answer's content.
func (c *talk) say(content any) obj {
	c.t.Helper()
	c.said = append(c.said, simtest.Say("user", content))
	m := simtest.Stream(c.t, c.s, simtest.Header(c.h...), c.body())
	c.said = append(c.said, simtest.Say("assistant", m["content"]))
	return m
}

// asks sends the conversation with one more prompt and keeps nothing.
func (c *talk) asks() simtest.Reply {
	c.t.Helper()
	return simtest.Create(c.t, c.s, simtest.Header(c.h...), simtest.Merged(c.body(), obj{"messages": append(slices.Clone(c.said), simtest.Say("user", "go on"))}))
}

// edited is a copy whose conversation may be changed.
func (c *talk) edited(change func(c *talk)) *talk {
	c.t.Helper()
	b, err := json.Marshal(c.said)
	if err != nil {
		c.t.Fatal(err)
	}
	copied := *c
	copied.said = nil
	if err := json.Unmarshal(b, &copied.said); err != nil {
		c.t.Fatal(err)
	}
	copied.members = simtest.Merged(c.members, nil)
	change(&copied)
	return &copied
}

// blocks is the content of message i.
func (c *talk) blocks(i int) arr { return simtest.Get[arr](c.said, i, "content") }

func (c *talk) setBlocks(i int, blocks ...any) { c.said[i].(obj)["content"] = arr(blocks) }

// strip takes all thinking out of the messages that are named; none: of all.
func (c *talk) strip(messages ...int) {
	for i, m := range c.said {
		if len(messages) > 0 && !slices.Contains(messages, i) {
			continue
		}
		if blocks, ok := m.(obj)["content"].(arr); ok {
			m.(obj)["content"] = slices.DeleteFunc(slices.Clone(blocks), func(b any) bool {
				return strings.Contains(simtest.Get[string](b, "type"), "thinking")
			})
		}
	}
}

// four is a talk of four turns on one model; its thinking is at messages 1, 3, 5 and 7.
func four(t *testing.T, model string) *talk {
	c := newTalk(t, model)
	for i := range 4 {
		c.say(fmt.Sprintf("Question number %d about dates", i))
	}
	return c
}

const wrongSignature = "Invalid `signature` in `thinking` block"

// TestEdits is what may be done to a conversation before it is sent again, and what not.
func TestEdits(t *testing.T) {
	for _, c := range []struct {
		name   string
		model  string // default claude-opus-5-5
		change func(c *talk)
		says   string // of the refusal; empty: accepted
	}{
		{name: "nothing", change: func(*talk) {}},
		{name: "nothing, unbound", model: "claude-opus-5", change: func(*talk) {}},
		{name: "all thinking left out", change: func(c *talk) { c.strip() }},
		{name: "a leading run left out", change: func(c *talk) { c.strip(1, 3) }},
		{name: "a trailing run left out", change: func(c *talk) { c.strip(5, 7) }},
		{name: "a hole", change: func(c *talk) { c.strip(3) }, says: "messages.5.content.0: Invalid `signature` in `thinking` block: the block is bound to a different conversation"},
		{name: "a hole, unbound", model: "claude-opus-5", change: func(c *talk) { c.strip(3) }},
		{name: "another system prompt", change: func(c *talk) { c.members["system"] = "Be exact. Today is Monday." }, says: "drop_block"},
		{name: "another system prompt, unbound", model: "claude-opus-5", change: func(c *talk) { c.members["system"] = "Be kind." }},
		{name: "the same system prompt in blocks", change: func(c *talk) {
			c.members["system"] = arr{simtest.Merged(simtest.Text("Be exact."), obj{"cache_control": obj{"type": "ephemeral"}})}
		}},
		{name: "no tools", change: func(c *talk) { delete(c.members, "tools") }, says: "drop_block"},
		{name: "another description of a tool", change: func(c *talk) {
			c.members["tools"] = arr{simtest.Merged(simtest.ReadTool, obj{"description": "reads a file"})}
		}, says: "drop_block"},
		{name: "one tool more", change: func(c *talk) {
			c.members["tools"] = arr{simtest.ReadTool, simtest.Merged(simtest.ReadTool, obj{"name": "write"})}
		}, says: "drop_block"},
		{name: "one deferred tool more", change: func(c *talk) {
			c.members["tools"] = arr{simtest.ReadTool, simtest.Merged(simtest.ReadTool, obj{"name": "write", "defer_loading": true})}
		}},
		{name: "a cache mark on a tool", change: func(c *talk) {
			c.members["tools"] = arr{simtest.Merged(simtest.ReadTool, obj{"cache_control": obj{"type": "ephemeral"}})}
		}},
		{name: "a cache mark on a prompt", change: func(c *talk) {
			c.setBlocks(2, simtest.Merged(simtest.Text("Question number 1 about dates"), obj{"cache_control": obj{"type": "ephemeral"}}))
		}},
		{name: "another effort", change: func(c *talk) { c.members["output_config"] = effort("low") }},
		{name: "another max_tokens", change: func(c *talk) { c.members["max_tokens"] = 1000 }},
		{name: "another display", change: func(c *talk) { c.members["thinking"] = simtest.Thinking("adaptive", "display", "omitted") }},
		{name: "a tool choice", change: func(c *talk) { c.members["tool_choice"] = obj{"type": "none"} }},
		{name: "metadata", change: func(c *talk) { c.members["metadata"] = obj{"user_id": "u"} }},
		{name: "an edited prompt", change: func(c *talk) { c.said[2] = simtest.Say("user", "Question number 1 about days") }, says: "messages.3.content.0"},
		{name: "an edited answer", change: func(c *talk) { c.blocks(1)[1].(obj)["text"] = "No." }, says: "messages.3.content.0"},
		{name: "a message less", change: func(c *talk) { c.said = slices.Delete(c.said, 0, 2) }, says: "messages.1.content.0"},
		{name: "a message cut off the end", change: func(c *talk) { c.said = c.said[:6] }},
		{name: "no signature", change: func(c *talk) { delete(c.blocks(1)[0].(obj), "signature") }, says: "messages.1.content.0: " + wrongSignature},
		{name: "an empty signature", change: func(c *talk) { c.blocks(1)[0].(obj)["signature"] = "" }, says: "messages.1.content.0: " + wrongSignature},
		{name: "a damaged signature", change: func(c *talk) {
			b := c.blocks(3)[0].(obj)
			b["signature"] = strings.Replace(b["signature"].(string), "A", "B", 1)
		}, says: "messages.3.content.0: " + wrongSignature},
		{name: "a damaged signature, unbound", model: "claude-opus-4-8", change: func(c *talk) {
			b := c.blocks(3)[0].(obj)
			b["signature"] = b["signature"].(string) + "AAAA"
		}, says: "messages.3.content.0: " + wrongSignature},
		{name: "another's signature", change: func(c *talk) { c.blocks(1)[0].(obj)["signature"] = "RXFjQ0NwTUJDQkFZQWlwQQ==" }, says: wrongSignature},
		{name: "edited thinking", change: func(c *talk) { c.blocks(1)[0].(obj)["thinking"] = "Hm." }, says: "messages.1.content.0: " + wrongSignature},
		{name: "edited thinking, unbound", model: "claude-sonnet-5", change: func(c *talk) { c.blocks(1)[0].(obj)["thinking"] = "" }, says: wrongSignature},
		{name: "edited thinking at the end", change: func(c *talk) { c.blocks(7)[0].(obj)["thinking"] = "Hm." }, says: "messages.7.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified"},
		{name: "thinking in another place", change: func(c *talk) {
			a, b := c.blocks(1), c.blocks(3)
			a[0], b[0] = b[0], a[0]
		}, says: wrongSignature},
		{name: "thinking at the end", change: func(c *talk) { c.setBlocks(7, c.blocks(7)[0]) }, says: "The final block in an assistant message cannot be `thinking`"},
	} {
		t.Run(c.name, func(t *testing.T) {
			model := c.model
			if model == "" {
				model = "claude-opus-5-5"
			}
			got := four(t, model).edited(c.change).asks()
			if c.says == "" && got.Status != 200 {
				t.Errorf("refused: %s", got.Body)
			}
			if c.says != "" && (got.Status != 400 || got.ErrorType() != "invalid_request_error" || !strings.Contains(got.ErrorText(), c.says)) {
				t.Errorf("%d %s\nwant …%s…", got.Status, got.Body, c.says)
			}
		})
	}
}

// TestPutBack: what was left out when a block was written may not come back before it.
func TestPutBack(t *testing.T) {
	c := four(t, "claude-opus-5-5")
	first := c.blocks(1)[0]
	stripped := c.edited(func(c *talk) { c.strip(1) })
	stripped.say("and now?")
	if got := stripped.asks(); got.Status != 200 {
		t.Fatalf("refused after a leading run was left out: %s", got.Body)
	}
	back := stripped.edited(func(c *talk) { c.setBlocks(1, append(arr{first}, c.blocks(1)...)...) })
	if got := back.asks(); got.Status != 400 || !strings.Contains(got.ErrorText(), "messages.9.content.0") {
		t.Errorf("put back: %d %s", got.Status, got.Body)
	}
}

// TestOmittedText: nobody looks at the text of thinking that was not shown.
func TestOmittedText(t *testing.T) {
	c := newTalk(t, "claude-opus-5-5")
	c.members["thinking"] = simtest.Thinking("adaptive", "display", "omitted")
	m := c.say("Which date is later?")
	if shown := simtest.Get[string](m, "content", 0, "thinking"); shown != "" {
		t.Errorf("omitted, and shown: %q", shown)
	}
	c.say("Why?")
	for i := 1; i < 4; i += 2 {
		c.blocks(i)[0].(obj)["thinking"] = "I made this up."
	}
	if got := c.asks(); got.Status != 200 {
		t.Errorf("%s", got.Body)
	}
}

// TestRuns: in the latest message blocks of thinking keep their order and their neighbours.
func TestRuns(t *testing.T) {
	c := newTalk(t, "claude-opus-5")
	c.s.Script(sim.Answer{Parts: []sim.Part{{Kind: sim.Thinking, Text: "one"}, {Kind: sim.Redacted, Text: "two"}, {Kind: sim.Thinking, Text: "three"},
		{Kind: sim.Text, Text: "A word."}, {Kind: sim.Thinking, Text: "four"}, {Kind: sim.Call, Name: "read"}}})
	c.said = arr{simtest.Say("user", "read it")}
	b := simtest.Get[arr](simtest.Stream(t, c.s, simtest.Header(), c.body()), "content")
	if kinds := simtest.KindsOf(b); kinds != "thinking redacted_thinking thinking text thinking tool_use" {
		t.Fatal(kinds)
	}
	answer := func(blocks ...any) simtest.Reply {
		results := arr{simtest.Merged(simtest.Result, obj{"tool_use_id": simtest.Get[string](b, 5, "id")})}
		return simtest.Create(t, c.s, simtest.Header(), simtest.Merged(c.body(), obj{"messages": arr{c.said[0], simtest.Say("assistant", blocks), simtest.Say("user", results)}}))
	}
	for _, good := range []arr{
		b,
		{b[3], b[4], b[5]}, // a leading run less
		{b[0], b[1], b[2], b[3], b[5]},
		{b[3], b[5]},
		{b[0], b[1], b[3], b[4], b[5]}, // not to be told from an answer that broke off
	} {
		if got := answer(good...); got.Status != 200 {
			t.Errorf("%s: %s", simtest.KindsOf(good), got.Body)
		}
	}
	for _, bad := range []arr{
		{b[1], b[0], b[2], b[3], b[4], b[5]},
		{b[0], b[2], b[3], b[4], b[5]},
		{b[1], b[2], b[3], b[4], b[5]},
		{b[4], b[3], b[0], b[1], b[2], b[5]},
		{b[0], b[3], b[1], b[2], b[4], b[5]},
		{b[0], b[0], b[1], b[2], b[3], b[4], b[5]},
	} {
		if got := answer(bad...); got.Status != 400 || !strings.Contains(got.ErrorText(), "latest assistant message cannot be modified") {
			t.Errorf("%s: %d %s", simtest.KindsOf(bad), got.Status, got.Body)
		}
	}
	damaged := simtest.Merged(b[1].(obj), obj{"data": "AAAA"})
	if got := answer(b[0], damaged, b[2], b[3], b[4], b[5]); !strings.Contains(got.ErrorText(), "messages.1.content.1: Invalid `data` in `redacted_thinking` block") {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	swapped := simtest.Merged(b[1].(obj), obj{"data": simtest.Get[string](b, 0, "signature")})
	if got := answer(b[0], swapped, b[2], b[3], b[4], b[5]); !strings.Contains(got.ErrorText(), "Invalid `data`") {
		t.Errorf("a signature passed for data: %s", got.Body)
	}
}

// TestValueEqual: re-encoded JSON of equal value is equal.
func TestValueEqual(t *testing.T) {
	c := newTalk(t, "claude-opus-5-5")
	c.s.Script(sim.Answer{Parts: []sim.Part{{Kind: sim.Thinking, Text: "I need the file."},
		{Kind: sim.Call, ID: "toolu_x", Name: "read", Input: json.RawMessage(`{"path":"<a>&\u00e9", "lines": 10, "list":[1.0, 2.50, 1e3, null], "cache_control":"part of the input"}`)}}})
	c.say("read it")
	c.say(arr{obj{"type": "tool_result", "tool_use_id": "toolu_x", "content": "package a"}})
	same := func(input string, more obj) simtest.Reply {
		return c.edited(func(c *talk) {
			b := c.blocks(1)[1].(obj)
			b["input"] = json.RawMessage(input)
			delete(b, "caller")
			for k, v := range more {
				b[k] = v
			}
			c.setBlocks(2, obj{"type": "tool_result", "tool_use_id": "toolu_x", "content": arr{simtest.Merged(simtest.Text("package a"), obj{"cache_control": obj{"type": "ephemeral"}})}})
		}).asks()
	}
	if got := same(`{"cache_control":"part of the input","list":[1,2.5,1000,null],"lines":1e1,"path":"\u003ca\u003e&é"}`, obj{"cache_control": obj{"type": "ephemeral"}}); got.Status != 200 {
		t.Errorf("equal by value, and refused: %s", got.Body)
	}
	if got := same(`{"list":[1,2.5,1000,null],"lines":10,"path":"<a>&é"}`, nil); got.Status != 400 {
		t.Error("a member of the input is missing, and nobody noticed")
	}
	if got := same(`{"cache_control":"part of the input","list":[1,2.5,1000,null],"lines":11,"path":"<a>&é"}`, nil); got.Status != 400 {
		t.Error("a number is another, and nobody noticed")
	}
}

// TestReaders: blocks that a model cannot read are left out without an error, and are reported if the beta header asks for that.
func TestReaders(t *testing.T) {
	const binding = "model_binding_mismatch"
	for _, c := range []struct {
		from, to string
		read     bool
	}{
		{"claude-opus-5-5", "claude-opus-5-5", true}, {"claude-opus-5-5", "claude-always", true}, {"claude", "claude-opus-5", true},
		{"claude-opus-5", "claude-opus-5-5", true}, {"claude-sonnet-4-5", "claude-opus-5-5", true}, {"claude-sonnet-5-5", "claude-opus-5-5", true},
		{"claude-haiku-5-5", "claude-opus-5-5", true}, {"claude-fable-5", "claude-opus-5-5", false}, {"claude-mythos-5-1", "claude-opus-5-5", false},
		{"claude-fable-5-1", "claude-mythos-5-1", true}, {"claude-opus-5-5", "claude-fable-5-1", true}, {"claude-opus-4-8", "claude-fable-5-1", true},
		{"claude-sonnet-5-5", "claude-fable-5-1", false}, {"claude-fable-5-2", "claude-fable-5-1", false},
		{"claude-sonnet-5", "claude-sonnet-5-5", true}, {"claude-haiku-5-5", "claude-sonnet-5-5", true}, {"claude-opus-4-8", "claude-sonnet-5-5", true},
		{"claude-opus-5", "claude-sonnet-5-5", false}, {"claude-opus-5-5", "claude-sonnet-5-5", false}, {"claude-fable-5", "claude-between-tools", false},
		{"claude-fable-5-2", "claude-mythos-5-2", true}, {"claude-opus-5-5", "claude-fable-5-2", false},
		{"claude-fable-5-1", "claude-opus-5", false}, {"claude-sonnet-5-5", "claude-opus-5", false}, {"claude-opus-5", "claude-opus-4-6", true},
		{"claude-sonnet-4-5", "claude-haiku-5-5", true},
	} {
		talk := newTalk(t, c.from)
		m, _ := modelBy(c.from)
		if m.takes("enabled") {
			talk.members["thinking"] = simtest.Thinking("enabled", "budget_tokens", 1024)
		}
		talk.say("Which date is later?")
		talk.model = c.to
		talk.members["thinking"] = simtest.Thinking("adaptive")
		if m, _ := modelBy(c.to); !m.takes("adaptive") {
			delete(talk.members, "thinking")
		}
		silent := talk.asks()
		talk.h = []string{"anthropic-beta", betaBinding}
		told := talk.asks()
		if silent.Status != 200 || told.Status != 200 {
			t.Errorf("%s to %s: %s %s", c.from, c.to, silent.Body, told.Body)
			continue
		}
		var want arr
		if !c.read {
			want = arr{obj{"type": "thinking_dropped", "path": "messages.1.content.0", "reason": binding}}
		}
		if diff := cmp.Diff(want, simtest.Get[arr](told.JSON(), "input_transformations")); diff != "" {
			t.Errorf("%s to %s (-want +got):\n%s", c.from, c.to, diff)
		}
		if silent.JSON()["input_transformations"] != nil {
			t.Errorf("%s to %s: told without the beta", c.from, c.to)
		}
	}
}

// TestOwners: blocks of Sonnet 5.5 and Haiku 5.5 belong to an account and an end user.
func TestOwners(t *testing.T) {
	for _, c := range []struct {
		model  string
		change []string
		reason string
	}{
		{"claude-sonnet-5-5", nil, ""},
		{"claude-sonnet-5-5", []string{"x-api-key", "key-2"}, "organization_binding_mismatch"},
		{"claude-haiku-5-5", []string{"x-api-key", "key-2"}, "organization_binding_mismatch"},
		{"claude-haiku-5-5", []string{"anthropic-user-profile-id", "bob"}, "end_user_binding_mismatch"},
		{"claude-opus-5-5", []string{"x-api-key", "key-2"}, ""},
	} {
		talk := four(t, c.model)
		talk.h = append([]string{"anthropic-beta", betaBinding}, c.change...)
		got := talk.asks()
		list := simtest.Get[arr](got.JSON(), "input_transformations")
		if got.Status != 200 || (c.reason == "") != (len(list) == 0) || c.reason != "" && (len(list) != 4 || simtest.Get[string](list, 3, "reason") != c.reason) {
			t.Errorf("%s %v: %d %v", c.model, c.change, got.Status, list)
		}
		// What comes after is written on what is left, and fits there.
		talk.said = append(talk.said, simtest.Say("user", "go on"), simtest.Say("assistant", simtest.Get[arr](got.JSON(), "content")))
		if got := talk.asks(); got.Status != 200 {
			t.Errorf("%s %v: the next turn: %s", c.model, c.change, got.Body)
		}
	}
}

// TestDropBlock: on request the block that does not fit and all later ones are left out, and the answer says so.
func TestDropBlock(t *testing.T) {
	c := four(t, "claude-opus-5-5")
	c.said[2] = simtest.Say("user", "something else")
	if got := c.asks(); got.Status != 400 {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	c.h = []string{"anthropic-beta", betaBinding}
	c.members["thinking"] = simtest.Thinking("adaptive", "block_binding", obj{"prefix_mismatch_behavior": "error"})
	if got := c.asks(); got.Status != 400 {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	c.members["thinking"] = simtest.Thinking("adaptive", "block_binding", obj{"prefix_mismatch_behavior": "drop_block"})
	var want arr
	for _, i := range []int{3, 5, 7} {
		want = append(want, obj{"type": "thinking_dropped", "path": fmt.Sprintf("messages.%d.content.0", i), "reason": "prefix_binding_mismatch"})
	}
	if diff := cmp.Diff(want, simtest.Get[arr](c.asks().JSON(), "input_transformations")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	m := c.say("go on")
	if diff := cmp.Diff(want, simtest.Get[arr](m, "input_transformations")); diff != "" {
		t.Errorf("in the stream (-want +got):\n%s", diff)
	}
	// Without thinking the conversation goes on without any such choice.
	c.h, c.members["thinking"] = nil, simtest.Thinking("adaptive")
	c.strip()
	c.say("still there?")
	if got := c.asks(); got.Status != 200 {
		t.Errorf("%s", got.Body)
	}
}

// TestLongTalk is twenty turns over four models with tools, every answer given back verbatim: nothing is refused. A
// server that was started anew accepts it all.
func TestLongTalk(t *testing.T) {
	c := newTalk(t, "")
	c.h = []string{"anthropic-beta", betaBinding + "," + betaInterleaved}
	shown := []string{"summarized", "omitted", "summarized"}
	for i := range 20 {
		c.model = []string{"claude-opus-5-5", "claude-sonnet-5-5", "claude-opus-5", "claude-sonnet-4-5", "claude-fable-5-1"}[i/4]
		c.members["thinking"] = simtest.Thinking("adaptive", "display", shown[i%3])
		c.members["output_config"] = effort(effortsAll[i%5])
		if c.model == "claude-sonnet-4-5" {
			c.members["thinking"] = simtest.Thinking("enabled", "budget_tokens", 1024*(1+i%3))
			delete(c.members, "output_config")
		}
		switch i % 4 {
		case 1:
			m := c.say("[[sim: tool=read rounds=2 redacted]] Look into the file")
			for range 2 {
				blocks := simtest.Get[arr](m, "content")
				if m["stop_reason"] != "tool_use" {
					t.Fatalf("turn %d: %v", i, m)
				}
				m = c.say(arr{simtest.Merged(simtest.Result, obj{"tool_use_id": simtest.Get[string](blocks, len(blocks)-1, "id")})})
			}
			if m["stop_reason"] != "end_turn" {
				t.Fatalf("turn %d after the tools: %v", i, m["stop_reason"])
			}
		case 2:
			c.s = sim.New(sim.Config{})
			fallthrough
		default:
			c.say(fmt.Sprintf("Question %d: which of the dates is later?", i))
		}
		if r := c.s.Refusals(); len(r) > 0 {
			t.Fatalf("turn %d: %v", i, r)
		}
	}
	if got := (&talk{t: t, s: sim.New(sim.Config{Secret: []byte("another")}), model: c.model, said: c.said, members: c.members}).asks(); got.Status != 400 {
		t.Error("signatures of another secret were accepted")
	}
}

// TestSignatures looks like a vendor's: base64, and different for each block.
func TestSignatures(t *testing.T) {
	c := four(t, "claude-opus-5-5")
	seen := map[string]bool{}
	for i := 1; i < 8; i += 2 {
		s := simtest.Get[string](c.blocks(i), 0, "signature")
		if _, err := base64.StdEncoding.DecodeString(s); err != nil || seen[s] || len(s) < 200 {
			t.Errorf("signature %q: %v", s, err)
		}
		seen[s] = true
	}
}
