package chat_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider/chat"
)

// The hosts that are promised.
func TestDialects(t *testing.T) {
	ids, err := chat.Dialects()
	if err != nil {
		t.Fatal(err)
	}
	want := "openai deepseek dashscope openrouter kimi zai minimax xai groq mistral copilot gemini ollama-v1 vllm sglang llamacpp lmstudio generic litellm cloud cloud-mistral"
	if got := strings.Join(ids, " "); got != want {
		t.Errorf("dialects %s, want %s", got, want)
	}
	date := regexp.MustCompile(`^20\d\d-\d\d-\d\d$`)
	for _, id := range ids {
		if d := named(t, id); d.ID != id || !date.MatchString(d.AsOf) || d.Source == "" {
			t.Errorf("%s: id %q, as of %q, source %q", id, d.ID, d.AsOf, d.Source)
		}
		for _, o := range named(t, id).Models {
			if !date.MatchString(o.VerifiedOn) {
				t.Errorf("%s: models: %s: verified on %q", id, o.Prefix, o.VerifiedOn)
			}
		}
	}
	if _, err := chat.Named("nobody"); err == nil || !strings.Contains(err.Error(), "deepseek") {
		t.Errorf("an unknown dialect: %v, want the list of the known", err)
	}
}

const record = `{"id":"example","chat_path":"/chat/completions","auth":"bearer",
 "request":{"effort":{"path":"reasoning_effort","map":{"minimal":"low","max":"max"}},
   "on":{"thinking":{"type":"enabled"}},"off":{"thinking":{"type":"disabled"}},"off_omits":["reasoning_effort"],
   "budget":null,"exclusive":[],"drop_when_thinking":["temperature","presence_penalty","frequency_penalty"],
   "tool_choice_when_thinking":["auto","none"],"max_tokens_field":"max_tokens","force_stream":false,"include_usage":true},
 "response":{"text_fields":["reasoning_content","reasoning"],"details_field":null,"opaque_field":null,"content_array":false,"inline_tags":null,
   "usage_paths":["usage","choices.0.usage"],"reasoning_tokens":["completion_tokens_details.reasoning_tokens"],
   "reasoning_excluded_from_completion":false,"eof_without_done":"error","error_paths":["error"]},
 "echo":{"field":"reasoning_content","scope":"all_call_turns","empty":"send_empty_string","foreign":"empty_string","strip_fields":["reasoning","reasoning_details"]},
 "message":{"empty_content_no_calls":"empty_string","empty_content_with_calls":"empty_string","system_role":"system","tool_id":"any","string_content_only":true},
 "listing":{"path":"/models","parser":"ids_only"}}`

// A record of a configuration is read with the same care as the table.
func TestParseDialect(t *testing.T) {
	if _, err := chat.ParseDialect([]byte(record)); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, old, new, says string }{
		{"unknown member", `"chat_path"`, `"chat_way"`, "chat_way"},
		{"unknown member inside", `"scope"`, `"range"`, "range"},
		{"no id", `"id":"example"`, `"id":""`, "id"},
		{"path", `"/chat/completions"`, `"chat/completions"`, "chat_path"},
		{"auth", `"auth":"bearer"`, `"auth":"basic"`, "auth"},
		{"scope", `"all_call_turns"`, `"sometimes"`, "echo.scope"},
		{"never", `"scope":"all_call_turns"`, `"scope":"never"`, "the scope is never"},
		{"empty", `"send_empty_string"`, `"nothing"`, "echo.empty"},
		{"array without details", `"send_empty_string"`, `"send_empty_array"`, "details_field"},
		{"stripped field", `["reasoning","reasoning_details"]`, `["reasoning_content"]`, "strip_fields"},
		{"level", `"minimal":"low"`, `"tiny":"low"`, "tiny"},
		{"off as a level", `"minimal":"low"`, `"off":"none"`, "off"},
		{"sampling", `"drop_when_thinking":["temperature"`, `"drop_when_thinking":["heat"`, "heat"},
		{"tool choice", `["auto","none"]`, `["none"]`, "auto"},
		{"exclusive of one", `"exclusive":[]`, `"exclusive":[["a"]]`, "exclusive"},
		{"details without a way to grow", `"details_field":null`, `"details_field":"d"`, "details_merge"},
		{"inline echo", `"strip_fields":`, `"inline":true,"strip_fields":`, "inline"},
		{"tags", `"inline_tags":null`, `"inline_tags":{"open":"<t>","close":"</t>","start_mode":"later"}`, "start_mode"},
		{"half a tag", `"inline_tags":null`, `"inline_tags":{"open":"<t>","start_mode":"closed"}`, "empty"},
		{"end", `"eof_without_done":"error"`, `"eof_without_done":"fine"`, "eof_without_done"},
		{"role", `"system_role":"system"`, `"system_role":"boss"`, "system_role"},
		{"ids", `"tool_id":"any"`, `"tool_id":"short"`, "tool_id"},
		{"parser", `"ids_only"`, `"guess"`, "listing.parser"},
		{"no way to stream tools", `"force_stream":false`, `"force_stream":true,"no_stream_tools":true`, "force_stream"},
		{"overlay twice", `"listing"`, `"models":[{"prefix":"a"},{"prefix":"a"}],"listing"`, "prefix"},
		{"overlay never off with a form", `"listing"`, `"models":[{"prefix":"a","never_off":true,"off":{}}],"listing"`, "never off"},
		{"something follows", `"ids_only"}}`, `"ids_only"}} {}`, "follows"},
	}
	for _, test := range tests {
		changed := strings.Replace(record, test.old, test.new, 1)
		if changed == record {
			t.Fatalf("%s: nothing was changed", test.name)
		}
		if _, err := chat.ParseDialect([]byte(changed)); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: error %v, want one with %q", test.name, err, test.says)
		}
	}
}

// The table in the file has no member that the record lacks, and no dialect twice.
func TestTable(t *testing.T) {
	data, err := os.ReadFile("dialects.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, raw := range list {
		d, err := chat.ParseDialect(raw)
		if err != nil {
			t.Error(err)
			continue
		}
		if seen[d.ID] {
			t.Errorf("%s is there twice", d.ID)
		}
		seen[d.ID] = true
	}
}
