package exchange

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
)

// without is pieces without their hashes.
func without(list []provider.Piece) (bare []provider.Piece) {
	for _, p := range list {
		p.Hash = 0
		bare = append(bare, p)
	}
	return bare
}

func TestOutline(t *testing.T) {
	anthropic := Prompt{Tools: "tools", System: "system", List: "messages"}
	first := anthropic.outline([]byte(`{"model":"m","system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],
		"tools":[{"name":"look"}],"messages":[{"role":"user","content":[{"type":"text","text":"é\n","cache_control":{"type":"ephemeral"}}]}]}`)).Pieces
	want := []provider.Piece{
		{Part: provider.PartTools, Text: 4 + 4},
		{Part: provider.PartSystem, Text: 4 + 4 + 4 + 9},
		{Part: provider.PartTurns, Role: provider.User, Text: 4 + 4 + 7 + 4 + 4 + 4 + 2},
	}
	if diff := cmp.Diff(want, without(first)); diff != "" {
		t.Errorf("pieces (-want +got):\n%s", diff)
	}
	next := anthropic.outline([]byte(`{"system":[{"type":"text","text":"Be brief."}],"tools":[{"name":"look"}],"messages":[
		{"role":"user","content":[{"type":"text","text":"é\n"}]},
		{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"abcd"},{"type":"redacted_thinking","data":"efgh"}]},
		{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]}]}`)).Pieces
	for i := range first {
		if first[i].Hash != next[i].Hash {
			t.Errorf("piece %d is another one since the mark moved", i)
		}
	}
	if answer := next[3]; answer.Role != provider.Assistant || answer.Sealed != len(`"Hm."`)+len(`"abcd"`)+len(`"efgh"`) {
		t.Errorf("sealed thinking: %+v", answer)
	}
	if image := next[4]; image.Media != 1 {
		t.Errorf("an image: %+v", image)
	}
	changed := anthropic.outline([]byte(`{"system":[{"type":"text","text":"Be brief!"}],"tools":[{"name":"look"}]}`)).Pieces
	if changed[1].Hash == first[1].Hash || changed[0].Hash != first[0].Hash {
		t.Error("the hash of a piece does not say whether it is the same")
	}
}

// Lists of other APIs begin with the system prompt, and have items without a role.
func TestOutlineOfLists(t *testing.T) {
	roles := func(list []provider.Piece) (words []string) {
		for _, p := range list {
			words = append(words, string(p.Part)+" "+string(p.Role))
		}
		return words
	}
	chat := Prompt{Tools: "tools", List: "messages"}.outline([]byte(`{"messages":[{"role":"system","content":"s"},{"role":"user","content":"u"},
		{"role":"assistant","content":"a"},{"role":"tool","content":"r"},{"role":"system","content":"later"}]}`)).Pieces
	if diff := cmp.Diff([]string{"system ", "turns user", "turns assistant", "turns user", "turns user"}, roles(chat)); diff != "" {
		t.Errorf("chat (-want +got):\n%s", diff)
	}
	items := Prompt{Tools: "tools", System: "instructions", List: "input"}.outline([]byte(`{"instructions":"s","input":[{"role":"user","content":"u"},
		{"type":"reasoning","encrypted_content":"abc","summary":[{"type":"summary_text","text":"Hm."}]},{"type":"function_call","arguments":"{}"},
		{"type":"function_call_output","output":"r"},{"type":"message","role":"assistant","content":[]}]}`)).Pieces
	if diff := cmp.Diff([]string{"system ", "turns user", "turns assistant", "turns assistant", "turns user", "turns assistant"}, roles(items)); diff != "" {
		t.Errorf("responses (-want +got):\n%s", diff)
	}
	if items[2].Sealed == 0 {
		t.Errorf("encrypted reasoning: %+v", items[2])
	}
	if none := chat[:0]; len(Prompt{List: "messages"}.outline([]byte(`{}`)).Pieces) != len(none) {
		t.Error("an empty request has pieces")
	}
}

// readByLookup reads a value as meter does, except that it looks each member up. It is slow, and short enough to be seen right.
func (m *meter) readByLookup(key, kind string, v gjson.Result) {
	switch {
	case v.IsObject():
		kind := v.Get("type").Str
		if kind == "thinking" && !v.Get("signature").Exists() {
			kind = "text"
		}
		m.write("{")
		v.ForEach(func(name, member gjson.Result) bool {
			if !slices.Contains(marks, name.Str) {
				m.write(name.Raw)
				m.piece.Text += len(name.Str)
				m.readByLookup(name.Str, kind, member)
			}
			return true
		})
		m.write("}")
	case v.IsArray():
		m.write("[")
		v.ForEach(func(_, element gjson.Result) bool {
			if !element.Get("cachePoint").Exists() {
				m.readByLookup(key, kind, element)
			}
			return true
		})
		m.write("]")
	default:
		m.read(key, kind, v)
	}
}

// Hashes are compared with those in logs, which older builds wrote: any value is read as by its definition.
func TestOutlineReadsAsDefined(t *testing.T) {
	names := rapid.SampledFrom([]string{"type", "role", "content", "text", "thinking", "signature", "data", "cache_control", "cachePoint", "prompt_cache_breakpoint", "images", "source", "ä\n", ""})
	words := rapid.SampledFrom([]string{"", "thinking", "text", "base64", "redacted_thinking", "summary_text", "reasoning.text", "data:image/png;base64,AA", "ä\n\"", "user"})
	var values func(depth int) *rapid.Generator[any]
	values = func(depth int) *rapid.Generator[any] {
		return rapid.Custom(func(t *rapid.T) any {
			kind := rapid.IntRange(0, 6).Draw(t, "kind")
			switch {
			case depth > 0 && kind < 3:
				return rapid.MapOfN(names, values(depth-1), 0, 6).Draw(t, "object")
			case depth > 0 && kind < 5:
				return rapid.SliceOfN(values(depth-1), 0, 4).Draw(t, "list")
			case kind == 6:
				return rapid.SampledFrom([]any{nil, true, 1.5}).Draw(t, "other")
			}
			return words.Draw(t, "word")
		})
	}
	testgo.Check(t, func(t *rapid.T) {
		data, err := json.Marshal(values(4).Draw(t, "value"))
		if err != nil {
			t.Fatal(err)
		}
		var got, want meter
		got.read("", "", gjson.ParseBytes(data))
		want.readByLookup("", "", gjson.ParseBytes(data))
		if got.piece != want.piece || string(got.hashed) != string(want.hashed) {
			t.Errorf("%s\nread:    %+v %s\ndefined: %+v %s", data, got.piece, got.hashed, want.piece, want.hashed)
		}
	})
}
