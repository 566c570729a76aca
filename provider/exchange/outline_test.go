package exchange

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
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
