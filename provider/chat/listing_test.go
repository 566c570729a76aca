package chat_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/chat"
	"github.com/thinkd/thinkd/provider/exchange"
)

// rowText is what a row says, in short.
func rowText(m provider.Model) string {
	c := m.Thinking
	text := fmt.Sprintf("%s: %s %v %s %s; %d %d %v tools=%v %s/%s", m.ID, c.Control, c.Levels, c.Default, c.Off, m.Window, m.MaxOutput, m.Input, m.Tools, m.API, m.Dialect)
	if c.BudgetMax > 0 {
		text += fmt.Sprintf(" budget %d..%d", c.BudgetMin, c.BudgetMax)
	}
	if m.Premium != nil {
		text += fmt.Sprintf(" premium %g", *m.Premium)
	}
	if m.Price != nil {
		text += fmt.Sprintf(" price %.4g", m.Price.Rates)
	}
	return text
}

func listedBy(t *testing.T, dialect string, bodies map[string]string) ([]provider.Model, error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := bodies[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			body = `{"error":"not found"}`
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, body)
	}))
	defer server.Close()
	d, err := chat.Named(dialect)
	if err != nil {
		t.Fatal(err)
	}
	return chat.New(exchange.Config{Provider: "p", BaseURL: server.URL + "/v1", Key: provider.NewSecret("sk")}, d).Models(t.Context())
}

// TestListings reads lists in the forms that the hosts' documentation shows.
func TestListings(t *testing.T) {
	for _, tt := range []struct {
		name, dialect string
		bodies        map[string]string
		want          []string
	}{
		{"openrouter", "openrouter", map[string]string{"/v1/models": `{"data":[
			{"id":"x-ai/grok-4.5","name":"Grok","context_length":256000,"top_provider":{"context_length":200000,"max_completion_tokens":64000},"architecture":{"input_modalities":["text","image","file","smell"]},
			 "pricing":{"prompt":"0.000002","completion":"0.00001","input_cache_read":"0.0000002"},"supported_parameters":["tools","reasoning"],
			 "reasoning":{"mandatory":true,"default_enabled":true,"default_effort":"high","supported_efforts":["high","medium","low"],"supports_max_tokens":false}},
			{"id":"all","reasoning":{"mandatory":false,"default_enabled":false,"supported_efforts":null}},
			{"id":"none-among-them","reasoning":{"mandatory":false,"default_effort":"medium","supported_efforts":["xhigh","medium","none"]}},
			{"id":"tokens","reasoning":{"mandatory":false,"supported_efforts":[],"supports_max_tokens":true}},
			{"id":"always","reasoning":{"mandatory":true,"supported_efforts":[]}},
			{"id":"toggle","reasoning":{"mandatory":false,"supported_efforts":[]}},
			{"id":"plain","supported_parameters":["temperature"],"pricing":{"prompt":"-1","completion":"-1"}},
			{"id":"silent"},{"name":"nobody"}]}`}, []string{
			"x-ai/grok-4.5: effort [low medium high] high ; 200000 64000 [text image pdf] tools=true / price {2 10 0.2 0 0}",
			"all: effort [minimal low medium high xhigh max] off full; 0 0 [] tools=true /",
			"none-among-them: effort [medium xhigh] medium full; 0 0 [] tools=true /",
			"tokens: budget []  full; 0 0 [] tools=true /",
			"always: always []  ; 0 0 [] tools=true /",
			"toggle: toggle [] on full; 0 0 [] tools=true /",
			"plain: none []  ; 0 0 [] tools=false /",
			"silent:  []  ; 0 0 [] tools=true /",
		}},
		{"kimi", "kimi", map[string]string{"/v1/models": `{"data":[{"id":"kimi-k9","context_length":262144,"supports_reasoning":true,"supports_image_in":true,"supports_video_in":true,"display_name":"K9"},
			{"id":"moonshot-v1","supports_reasoning":false,"supports_image_in":false},{"id":"bare"}]}`}, []string{
			"kimi-k9:  []  ; 262144 0 [text image video] tools=true /",
			"moonshot-v1: none []  ; 0 0 [text] tools=true /",
			"bare:  []  ; 0 0 [] tools=true /",
		}},
		{"copilot", "copilot", map[string]string{"/v1/models": `{"data":[
			{"id":"claude-opus-4.8","name":"Claude Opus 4.8","model_picker_enabled":true,"policy":{"state":"enabled"},"supported_endpoints":["/v1/messages","/chat/completions"],"billing":{"is_premium":true,"multiplier":3},
			 "capabilities":{"type":"chat","limits":{"max_context_window_tokens":200000,"max_prompt_tokens":168000,"max_output_tokens":32000},
			 "supports":{"tool_calls":true,"vision":true,"adaptive_thinking":true,"reasoning_effort":["low","medium","high","xhigh","max"]}}},
			{"id":"gpt-5.5","billing":{"multiplier":0},"supported_endpoints":["/responses","ws:/responses"],"capabilities":{"type":"chat","supports":{"tool_calls":true,"reasoning_effort":["none","low","medium"]}}},
			{"id":"claude-sonnet-4.5","capabilities":{"type":"chat","supports":{"min_thinking_budget":1024,"max_thinking_budget":32000}}},
			{"id":"claude-haiku-9","supported_endpoints":["/v1/messages"],"billing":{"multiplier":0.33},"capabilities":{"type":"chat","supports":{"tool_calls":true}}},
			{"id":"mai-code-9","billing":{"multiplier":-1},"capabilities":{"type":"chat","supports":{"tool_calls":true}}},
			{"id":"claude-of-chat","supported_endpoints":["/chat/completions"],"billing":{"multiplier":"many"},"capabilities":{"type":"chat","supports":{"tool_calls":true}}},
			{"id":"unspoken","supported_endpoints":["/v9/else"],"capabilities":{"type":"chat"}},
			{"id":"silent","capabilities":{"type":"chat","supports":{"tool_calls":true}}},
			{"id":"embeds","capabilities":{"type":"embeddings"}},
			{"id":"hidden","model_picker_enabled":false,"capabilities":{"type":"chat"}},
			{"id":"forbidden","policy":{"state":"disabled"},"capabilities":{"type":"chat"}}]}`}, []string{
			"claude-opus-4.8: effort [low medium high xhigh max]  untold; 168000 32000 [text image] tools=true messages/copilot premium 3",
			"gpt-5.5: effort [low medium]  full; 0 0 [text] tools=true responses/copilot premium 0",
			"claude-sonnet-4.5: budget []  untold; 0 0 [text] tools=false messages/copilot budget 1024..32000",
			"claude-haiku-9:  []  ; 0 0 [text] tools=true messages/copilot premium 0.33",
			"mai-code-9:  []  ; 0 0 [text] tools=true responses/copilot",
			"claude-of-chat:  []  ; 0 0 [text] tools=true chat/copilot",
			"silent:  []  ; 0 0 [text] tools=true chat/copilot",
		}},
		{"lmstudio", "lmstudio", map[string]string{"/api/v1/models": `{"models":[
			{"type":"llm","key":"qwen/qwen3.6-27b","max_context_length":262144,"loaded_instances":[{"id":"i","config":{"context_length":4096}}],"capabilities":{"vision":true,"trained_for_tool_use":true}},
			{"type":"llm","key":"gpt-oss","max_context_length":131072,"loaded_instances":[],"capabilities":{"trained_for_tool_use":false,"reasoning":{"allowed_options":["low","medium","high"],"default":"low"}}},
			{"type":"llm","key":"toggled","capabilities":{"reasoning":{"allowed_options":["off","on"],"default":"on"}}},
			{"type":"llm","key":"always","capabilities":{"reasoning":{"allowed_options":["on"]}}},
			{"type":"llm","key":"never","capabilities":{"reasoning":false}},
			{"type":"embedding","key":"nomic"}]}`}, []string{
			"qwen/qwen3.6-27b:  []  ; 4096 0 [text image] tools=true /",
			"gpt-oss: effort [low medium high] low ; 131072 0 [text] tools=false /",
			"toggled: toggle [] on full; 0 0 [text] tools=false /",
			"always: always []  ; 0 0 [text] tools=false /",
			"never: none []  ; 0 0 [text] tools=false /",
		}},
		{"lmstudio, last generation", "lmstudio", map[string]string{"/api/v0/models": `{"data":[
			{"id":"a","type":"vlm","max_context_length":32768,"loaded_context_length":8192,"capabilities":["tool_use"]},{"id":"b","type":"llm","max_context_length":32768},{"id":"c","type":"embeddings"}]}`}, []string{
			"a:  []  ; 8192 0 [text image] tools=true /",
			"b:  []  ; 32768 0 [text] tools=true /",
		}},
		{"llama.cpp", "llamacpp", map[string]string{"/v1/models": `{"data":[{"id":"/models/qwen3.gguf","meta":{"n_ctx_train":40960}}]}`,
			"/props": `{"default_generation_settings":{"n_ctx":8192},"chat_template":"{% if enable_thinking %}","chat_template_caps":{"supports_tools":false},"modalities":{"vision":true}}`},
			[]string{"/models/qwen3.gguf: toggle [] on full; 8192 0 [text image] tools=false /"}},
		{"llama.cpp with levels", "llamacpp", map[string]string{"/v1/models": `{"data":[{"id":"a"}]}`, "/props": `{"chat_template":"reasoning_effort enable_thinking"}`},
			[]string{"a: effort [low medium high]  full; 0 0 [text] tools=true /"}},
		{"llama.cpp that always thinks", "llamacpp", map[string]string{"/v1/models": `{"data":[{"id":"a"}]}`, "/props": `{"chat_template":"<think>"}`},
			[]string{"a: always []  ; 0 0 [text] tools=true /"}},
		{"llama.cpp that does not think", "llamacpp", map[string]string{"/v1/models": `{"data":[{"id":"a"}]}`, "/props": `{"chat_template":"{{ messages }}"}`},
			[]string{"a: none []  ; 0 0 [text] tools=true /"}},
		{"llama.cpp with several", "llamacpp", map[string]string{"/v1/models": `{"data":[{"id":"a","meta":{"n_ctx_train":40960}},{"id":"b"}]}`},
			[]string{"a:  []  ; 40960 0 [text] tools=true /", "b:  []  ; 0 0 [text] tools=true /"}},
		{"vllm", "vllm", map[string]string{"/v1/models": `{"data":[{"id":"Qwen/Qwen3.6-27B","max_model_len":131072}]}`}, []string{"Qwen/Qwen3.6-27B:  []  ; 131072 0 [] tools=true /"}},
	} {
		list, err := listedBy(t, tt.dialect, tt.bodies)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		var got []string
		for _, m := range list {
			got = append(got, rowText(m))
			if m.Provider != "p" || m.Source != provider.FromRefreshed || m.AsOf != provider.Today() {
				t.Errorf("%s: %s/%s from %s of %s", tt.name, m.Provider, m.ID, m.Source, m.AsOf)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// A response that is no list is an error, and a host whose list has only names says so.
func TestListingsBroken(t *testing.T) {
	for dialect, paths := range map[string][]string{"openrouter": {"/v1/models"}, "kimi": {"/v1/models"}, "copilot": {"/v1/models"},
		"lmstudio": {"/api/v1/models", "/api/v0/models"}, "llamacpp": {"/v1/models", "/props"}, "vllm": {"/v1/models"}} {
		for body, want := range map[string]string{`<html>`: "HTML", `{"data":`: "not JSON", `{"object":"list"}`: "no list of models", `[]`: "no list of models"} {
			bodies := map[string]string{}
			for _, path := range paths {
				bodies[path] = body
			}
			if list, err := listedBy(t, dialect, bodies); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %s: %v, %v", dialect, body, list, err)
			}
		}
	}
	if _, err := listedBy(t, "llamacpp", map[string]string{"/v1/models": `{"data":[{"id":"a"}]}`, "/props": "<html>"}); err == nil || !strings.Contains(err.Error(), "what is loaded") {
		t.Errorf("llama.cpp without its properties: %v", err)
	}
	names, err := chat.Dialects()
	if err != nil {
		t.Fatal(err)
	}
	for _, dialect := range names {
		_, err := listedBy(t, dialect, nil)
		tells := slices.Contains([]string{"openrouter", "kimi", "copilot", "lmstudio", "llamacpp", "vllm", "sglang",
			"openai", "deepseek", "dashscope", "zai", "minimax", "xai", "groq", "mistral"}, dialect)
		if errors.Is(err, provider.ErrNoList) == tells {
			t.Errorf("%s: %v", dialect, err)
		}
	}
}
