package chat

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/simtest"
	"github.com/thinkd/thinkd/provider/testgo"
)

// function is a tool call on the wire; called is an assistant's turn with one.
func function(id string, more ...any) obj {
	c := obj{"id": id, "type": "function", "function": obj{"name": "read", "arguments": `{"path":"a"}`}}
	for i := 0; i < len(more); i += 2 {
		c[more[i].(string)] = more[i+1]
	}
	return c
}

func called(members ...any) obj {
	m := obj{"role": "assistant", "content": "x", "tool_calls": arr{function("abcdefghi")}}
	for i := 0; i < len(members); i += 2 {
		if m[members[i].(string)] = members[i+1]; members[i+1] == nil {
			delete(m, members[i].(string))
		}
	}
	return m
}

func loop(assistant obj) arr {
	return arr{simtest.Say("user", "read it"), assistant, obj{"role": "tool", "tool_call_id": "abcdefghi", "content": "package a"}}
}

var tool = obj{"type": "function", "function": obj{"name": "read", "parameters": obj{"type": "object", "properties": obj{"path": obj{"type": "string"}}, "required": arr{"path"}}}}

// rule is one rule of a host: a request that keeps it and one that breaks it.
type rule struct {
	host, name    string
	keeps, breaks obj
	wrong         http.Header
	status        int // 0: 400
	says          string
}

var rules = []rule{
	{host: "openai", name: "key", keeps: obj{"model": "gpt"}, breaks: obj{"model": "gpt"}, wrong: http.Header{}, status: 401, says: "Authentication"},
	{host: "openai", name: "model", keeps: obj{"model": "gpt-5.5"}, breaks: obj{"model": "gpt-9"}, status: 404, says: "gpt-9"},
	{host: "openai", name: "effort", keeps: obj{"model": "gpt-5.5", "reasoning_effort": "xhigh"}, breaks: obj{"model": "gpt-5", "reasoning_effort": "xhigh"}, says: "Unsupported value"},
	{host: "openai", name: "off where it can be", keeps: obj{"model": "gpt-5.5", "reasoning_effort": "none"}, breaks: obj{"model": "gpt-5", "reasoning_effort": "none"}, says: "Unsupported value"},
	{host: "openai", name: "limit", keeps: obj{"model": "gpt-5.5", "max_completion_tokens": 100}, breaks: obj{"model": "gpt-5.5", "max_tokens": 100}, says: "max_completion_tokens"},
	{host: "openai", name: "temperature while thinking", keeps: obj{"model": "gpt-5.5", "reasoning_effort": "none", "temperature": 0.5}, breaks: obj{"model": "gpt-5.5", "temperature": 0.5}, says: "temperature"},
	{host: "openai", name: "unknown member", keeps: obj{"model": "gpt", "store": false}, breaks: obj{"model": "gpt", "enable_thinking": true}, says: "enable_thinking"},
	{host: "openai", name: "stream options", keeps: obj{"model": "gpt", "stream": true, "stream_options": obj{"include_usage": true}}, breaks: obj{"model": "gpt", "stream_options": obj{"include_usage": true}}, says: "stream_options"},
	{host: "openai", name: "developer", keeps: obj{"model": "gpt", "messages": arr{simtest.Say("developer", "x"), simtest.Say("user", "y")}}, breaks: obj{"model": "gpt", "messages": arr{simtest.Say("boss", "x"), simtest.Say("user", "y")}}, says: "role"},
	{host: "openai", name: "answered calls", keeps: obj{"model": "gpt", "messages": loop(called())}, breaks: obj{"model": "gpt", "messages": arr{simtest.Say("user", "x"), called(), simtest.Say("user", "y")}}, says: "must be followed by tool messages"},
	{host: "openai", name: "calls of results", keeps: obj{"model": "gpt"}, breaks: obj{"model": "gpt", "messages": arr{simtest.Say("user", "x"), obj{"role": "tool", "tool_call_id": "c", "content": "y"}}}, says: "must be a response"},
	{host: "openai", name: "prefill", keeps: obj{"model": "gpt"}, breaks: obj{"model": "gpt", "messages": arr{simtest.Say("user", "x"), simtest.Say("assistant", "y")}}, says: "prefill"},
	{host: "openai", name: "members of other hosts", keeps: obj{"model": "gpt"}, breaks: obj{"model": "gpt", "messages": arr{simtest.Say("user", "x"), obj{"role": "assistant", "content": "y", "reasoning_content": "z"}, simtest.Say("user", "x")}}, says: "reasoning_content"},
	{host: "deepseek", name: "thinking of calls", keeps: obj{"model": "deepseek", "messages": loop(called("reasoning_content", ""))}, breaks: obj{"model": "deepseek", "messages": loop(called())}, says: "must be passed back"},
	{host: "deepseek", name: "not where it is off", keeps: obj{"model": "deepseek", "thinking": obj{"type": "disabled"}, "messages": loop(called())},
		breaks: obj{"model": "deepseek", "thinking": obj{"type": "enabled"}, "messages": loop(called())}, says: "must be passed back"},
	{host: "deepseek", name: "forced tools", keeps: obj{"model": "deepseek", "tools": arr{tool}, "tool_choice": "auto"}, breaks: obj{"model": "deepseek", "tools": arr{tool}, "tool_choice": "required"}, says: "tool_choice"},
	{host: "deepseek", name: "type", keeps: obj{"model": "deepseek", "reasoning_effort": "off"}, breaks: obj{"model": "deepseek", "thinking": obj{"type": "adaptive"}}, says: "adaptive"},
	{host: "dashscope", name: "never off", keeps: obj{"model": "qwen3.7-max", "enable_thinking": false}, breaks: obj{"model": "qwq-plus", "enable_thinking": false}, says: "enable_thinking"},
	{host: "dashscope", name: "budget", keeps: obj{"model": "qwen-plus", "enable_thinking": true, "thinking_budget": 81920}, breaks: obj{"model": "qwen3-32b", "thinking_budget": 81920, "stream": true}, says: "thinking_budget"},
	{host: "dashscope", name: "streamed", keeps: obj{"model": "qwen3-32b", "stream": true}, breaks: obj{"model": "qwen3-32b"}, says: "non-streaming"},
	{host: "dashscope", name: "boolean", keeps: obj{"model": "qwen", "enable_thinking": true}, breaks: obj{"model": "qwen", "enable_thinking": "true"}, says: "boolean"},
	{host: "openrouter", name: "effort or budget", keeps: obj{"model": "anthropic/sim", "reasoning": obj{"effort": "high", "enabled": true}}, breaks: obj{"model": "anthropic/sim", "reasoning": obj{"effort": "high", "max_tokens": 2000}}, says: "Only one"},
	{host: "openrouter", name: "mandatory", keeps: obj{"model": "anthropic/sim", "reasoning": obj{"enabled": false}}, breaks: obj{"model": "google/sim", "reasoning": obj{"enabled": false}}, says: "mandatory"},
	{host: "openrouter", name: "details in a loop", keeps: obj{"model": "anthropic/sim", "messages": loop(called())}, breaks: obj{"model": "google/sim", "messages": loop(called())}, says: "details"},
	{host: "openrouter", name: "no turn begins in the content of results", keeps: obj{"model": "google/sim", "messages": append(loop(called()), simtest.Say("assistant", "OK."), simtest.Say("user", "z"))},
		breaks: obj{"model": "google/sim", "messages": append(loop(called()), simtest.Say("user", "z"))}, says: "details"},
	{host: "openrouter", name: "unsigned text", keeps: obj{"model": "anthropic/sim", "messages": loop(called("reasoning_details", arr{}))},
		breaks: obj{"model": "anthropic/sim", "messages": loop(called("reasoning_details", arr{obj{"type": "reasoning.text", "text": "x", "format": "anthropic-claude-v1"}}))}, says: "Invalid `signature`"},
	{host: "openrouter", name: "false ciphertext", keeps: obj{"model": "openai/sim", "messages": loop(called("reasoning_details", arr{obj{"type": "reasoning.summary", "summary": "x"}}))},
		breaks: obj{"model": "openai/sim", "messages": loop(called("reasoning_details", arr{obj{"type": "reasoning.encrypted", "data": "x", "id": "rs_1"}}))}, says: "rs_1"},
	{host: "kimi", name: "thinking of calls", keeps: obj{"model": "kimi", "messages": loop(called("reasoning_content", "T"))}, breaks: obj{"model": "kimi", "messages": loop(called())}, says: "at index 1"},
	{host: "kimi", name: "empty text", keeps: obj{"model": "kimi", "messages": loop(called("reasoning_content", "T", "content", nil))}, breaks: obj{"model": "kimi", "messages": loop(called("reasoning_content", "T", "content", ""))}, says: "text content is empty"},
	{host: "kimi", name: "one control", keeps: obj{"model": "kimi-toggle", "thinking": obj{"type": "disabled"}}, breaks: obj{"model": "kimi-toggle", "thinking": obj{"type": "enabled"}, "reasoning_effort": "low"}, says: "cannot specify both"},
	{host: "kimi", name: "keep", keeps: obj{"model": "kimi-k2.6", "thinking": obj{"type": "enabled", "keep": "all"}}, breaks: obj{"model": "kimi-k2.5", "thinking": obj{"type": "enabled", "keep": "all"}}, says: "keep"},
	{host: "kimi", name: "never off", keeps: obj{"model": "kimi-k2.6", "thinking": obj{"type": "disabled"}}, breaks: obj{"model": "kimi-k2.7-code", "thinking": obj{"type": "disabled"}}, says: "disabling"},
	{host: "kimi", name: "none", keeps: obj{"model": "kimi", "reasoning_effort": "ultra"}, breaks: obj{"model": "kimi", "reasoning_effort": "none"}, says: "none"},
	{host: "kimi", name: "sampling", keeps: obj{"model": "kimi"}, breaks: obj{"model": "kimi", "temperature": 0.3}, says: "temperature"},
	{host: "kimi", name: "an object", keeps: obj{"model": "kimi-k2.5", "thinking": obj{"type": "enabled"}}, breaks: obj{"model": "kimi-k2.5", "thinking": true}, says: "object"},
	{host: "zai", name: "never off", keeps: obj{"model": "glm", "thinking": obj{"type": "disabled"}}, breaks: obj{"model": "glm-never-off", "thinking": obj{"type": "disabled"}}, says: "low, high or max"},
	{host: "zai", name: "limit", keeps: obj{"model": "glm-5.3", "max_tokens": 131072}, breaks: obj{"model": "glm-5.3", "max_tokens": 131073}, says: "limit"},
	{host: "minimax", name: "adaptive", keeps: obj{"model": "minimax", "thinking": obj{"type": "disabled"}}, breaks: obj{"model": "MiniMax-M3.1-Flash", "thinking": obj{"type": "disabled"}}, status: 200, says: "2013"},
	{host: "minimax", name: "tool choice", keeps: obj{"model": "minimax", "tools": arr{tool}}, breaks: obj{"model": "minimax", "tools": arr{tool}, "tool_choice": "auto"}, status: 200, says: "tool_choice"},
	{host: "xai", name: "no parameter", keeps: obj{"model": "grok", "reasoning_effort": "none"}, breaks: obj{"model": "grok-4.20-0309-reasoning", "reasoning_effort": "low"}, says: "reasoningEffort"},
	{host: "xai", name: "never off", keeps: obj{"model": "grok-4.5", "reasoning_effort": "low"}, breaks: obj{"model": "grok-4.5", "reasoning_effort": "none"}, says: "none"},
	{host: "xai", name: "stop", keeps: obj{"model": "grok"}, breaks: obj{"model": "grok", "stop": arr{"x"}}, says: "stop"},
	{host: "groq", name: "one place", keeps: obj{"model": "qwen/sim", "reasoning_format": "parsed"}, breaks: obj{"model": "qwen/sim", "reasoning_format": "parsed", "include_reasoning": true}, says: "both"},
	{host: "groq", name: "gpt-oss", keeps: obj{"model": "openai/gpt-oss-120b", "include_reasoning": true}, breaks: obj{"model": "openai/gpt-oss-120b", "reasoning_format": "parsed"}, says: "reasoning_format"},
	{host: "groq", name: "raw with tools", keeps: obj{"model": "qwen/sim", "reasoning_format": "raw"}, breaks: obj{"model": "qwen/sim", "reasoning_format": "raw", "tools": arr{tool}}, says: "raw"},
	{host: "groq", name: "no thinking", keeps: obj{"model": "llama-3.3-70b-versatile"}, breaks: obj{"model": "llama-3.3-70b-versatile", "reasoning_effort": "low"}, says: "not supported"},
	{host: "groq", name: "members", keeps: obj{"model": "qwen/sim", "messages": loop(called("reasoning", "x"))}, breaks: obj{"model": "qwen/sim", "messages": loop(called("reasoning_content", "x"))}, says: "reasoning_content"},
	{host: "mistral", name: "nine characters", keeps: obj{"model": "mistral", "messages": loop(called())}, breaks: obj{"model": "mistral", "messages": arr{simtest.Say("user", "x"), called("tool_calls", arr{function("call_1")}), obj{"role": "tool", "tool_call_id": "call_1", "content": "y"}}}, says: "length of 9"},
	{host: "mistral", name: "members", keeps: obj{"model": "mistral", "messages": loop(called())}, breaks: obj{"model": "mistral", "messages": loop(called("reasoning_content", "x"))}, status: 422, says: "reasoning_content"},
	{host: "mistral", name: "parameters", keeps: obj{"model": "mistral", "reasoning_effort": "high"}, breaks: obj{"model": "mistral", "stream": true, "stream_options": obj{"include_usage": true}}, status: 422, says: "stream_options"},
	{host: "mistral", name: "closed thinking", keeps: obj{"model": "mistral", "messages": loop(called("content", arr{obj{"type": "thinking", "thinking": arr{simtest.Text("x")}, "closed": true}, simtest.Text("y")}))},
		breaks: obj{"model": "mistral", "messages": loop(called("content", arr{obj{"type": "thinking", "thinking": arr{simtest.Text("x")}}, simtest.Text("y")}))}, says: "closed"},
	{host: "mistral", name: "no thinking", keeps: obj{"model": "codestral-latest"}, breaks: obj{"model": "codestral-latest", "reasoning_effort": "high"}, says: "reasoning_effort"},
	{host: "copilot", name: "editor", keeps: obj{"model": "gpt-5.5"}, breaks: obj{"model": "gpt-5.5"}, wrong: simtest.ChatHeader("Editor-Version", ""), says: "Editor-Version"},
	{host: "copilot", name: "text without opaque data", keeps: obj{"model": "claude-sonnet-5", "messages": loop(called())}, breaks: obj{"model": "claude-sonnet-5", "messages": loop(called("reasoning_text", "x"))}, says: "reasoning_opaque"},
	{host: "copilot", name: "opaque data in a loop", keeps: obj{"model": "claude-sonnet-5", "messages": loop(called())}, breaks: obj{"model": "gemini-sim", "messages": loop(called())}, says: "thought_signature"},
	{host: "copilot", name: "no turn begins in the content of results", keeps: obj{"model": "gemini-sim", "messages": append(loop(called()), simtest.Say("assistant", "OK."), simtest.Say("user", "z"))},
		breaks: obj{"model": "gemini-sim", "messages": append(loop(called()), simtest.Say("user", "z"))}, says: "thought_signature"},
	{host: "copilot", name: "budget", keeps: obj{"model": "claude-sonnet-4.5", "thinking_budget": 2000}, breaks: obj{"model": "gpt-5.5", "thinking_budget": 2000}, says: "thinking_budget"},
	{host: "gemini", name: "signature in a loop", keeps: obj{"model": "gemini", "messages": loop(called("tool_calls", arr{function("abcdefghi", "extra_content", obj{"google": obj{"thought_signature": bypass}})}))},
		breaks: obj{"model": "gemini", "messages": loop(called())}, says: "thought_signature"},
	{host: "gemini", name: "false signature", keeps: obj{"model": "gemini"}, breaks: obj{"model": "gemini", "messages": append(loop(called("tool_calls", arr{function("abcdefghi", "extra_content", obj{"google": obj{"thought_signature": "x"}})})), simtest.Say("user", "y"))}, says: "not valid"},
	{host: "gemini", name: "one control", keeps: obj{"model": "gemini", "reasoning_effort": "low", "extra_body": obj{"google": obj{"thinking_config": obj{"include_thoughts": true}}}},
		breaks: obj{"model": "gemini", "reasoning_effort": "low", "extra_body": obj{"google": obj{"thinking_config": obj{"thinking_level": "low"}}}}, says: "both"},
	{host: "gemini", name: "level", keeps: obj{"model": "gemini-2.5-flash", "reasoning_effort": "minimal"}, breaks: obj{"model": "gemini", "reasoning_effort": "minimal"}, says: "Valid values"},
	{host: "ollama-v1", name: "word", keeps: obj{"model": "ollama", "reasoning_effort": "max"}, breaks: obj{"model": "ollama", "reasoning_effort": "huge"}, says: "huge"},
	{host: "ollama-v1", name: "no thinking", keeps: obj{"model": "llama3.2:3b", "reasoning_effort": "none"}, breaks: obj{"model": "llama3.2:3b", "reasoning_effort": "low"}, says: "does not support thinking"},
	{host: "vllm", name: "switch", keeps: obj{"model": "vllm", "chat_template_kwargs": obj{"enable_thinking": false}}, breaks: obj{"model": "vllm", "chat_template_kwargs": obj{"enable_thinking": "no"}}, says: "boolean"},
	{host: "vllm", name: "word", keeps: obj{"model": "vllm", "reasoning_effort": "none"}, breaks: obj{"model": "vllm", "reasoning_effort": "huge"}, says: "reasoning_effort"},
	{host: "vllm", name: "arguments", keeps: obj{"model": "vllm", "messages": loop(called())}, breaks: obj{"model": "vllm", "messages": loop(called("tool_calls", arr{obj{"id": "abcdefghi", "type": "function", "function": obj{"name": "read", "arguments": "{"}}}))}, says: "no JSON object"},
	{host: "sglang", name: "word", keeps: obj{"model": "sglang", "reasoning_effort": "high"}, breaks: obj{"model": "sglang", "reasoning_effort": true}, says: "reasoning_effort"},
	{host: "llamacpp", name: "switch", keeps: obj{"model": "llamacpp", "chat_template_kwargs": obj{"enable_thinking": true}}, breaks: obj{"model": "llamacpp", "chat_template_kwargs": obj{"enable_thinking": "true"}}, says: "boolean"},
	{host: "llamacpp", name: "something said", keeps: obj{"model": "llamacpp", "messages": arr{simtest.Say("user", "x"), simtest.Say("assistant", ""), simtest.Say("user", "y")}}, breaks: obj{"model": "llamacpp", "messages": arr{simtest.Say("user", "x"), obj{"role": "assistant", "reasoning_content": "z"}, simtest.Say("user", "y")}}, says: "content or tool_calls"},
	{host: "lmstudio", name: "model", keeps: obj{"model": "lmstudio"}, breaks: obj{"model": "x"}, status: 404, says: "does not exist"},
	{host: "cloud", name: "effort", keeps: obj{"model": "partner/model"}, breaks: obj{"model": "partner/model", "reasoning_effort": "low"}, says: "reasoning_effort"},
	{host: "generic", name: "effort", keeps: obj{"model": "generic", "reasoning_effort": "minimal"}, breaks: obj{"model": "generic", "reasoning_effort": "huge"}, says: "Unsupported value"},
}

// Each rule of each host: kept, it is taken; broken, it is refused in the host's words and noted.
func TestChatRules(t *testing.T) {
	tried := map[string]bool{}
	for _, r := range slices.Concat(rules, optionRules) {
		tried[r.host] = true
		t.Run(r.host+" "+r.name, func(t *testing.T) {
			s := sim.New(sim.Config{})
			if got := simtest.Complete(t, s, r.host, simtest.ChatHeader(), r.keeps); got.Status != 200 || strings.Contains(got.Body, "base_resp") && strings.Contains(got.Body, "2013") {
				t.Errorf("kept: %d %s", got.Status, got.Body)
			}
			if n := len(s.Refusals()); n != 0 {
				t.Errorf("kept: %d refusals", n)
			}
			h := r.wrong
			if h == nil {
				h = simtest.ChatHeader()
			}
			want := r.status
			if want == 0 {
				want = 400
			}
			got := simtest.Complete(t, s, r.host, h, r.breaks)
			if got.Status != want || !strings.Contains(got.Body, r.says) {
				t.Errorf("broken: %d %s, want %d with %q", got.Status, got.Body, want, r.says)
			}
			if n := len(s.Refusals()); n != 1 {
				t.Errorf("broken: %d refusals", n)
			}
		})
	}
	for i := range hosts {
		if !tried[hosts[i].name] {
			t.Errorf("host %s has no rule", hosts[i].name)
		}
	}
}

// The vendors' own traps: an off that is accepted and not honoured, a parameter that is dropped in silence.
func TestChatTraps(t *testing.T) {
	for _, trap := range []struct {
		host   string
		body   obj
		thinks bool
	}{
		{"zai", obj{"model": "glm-5.3", "reasoning_effort": "none"}, true},
		{"zai", obj{"model": "glm-5.2", "thinking": obj{"type": "disabled"}}, false},
		{"minimax", obj{"model": "MiniMax-M2.1", "thinking": obj{"type": "disabled"}}, true},
		{"minimax", obj{"model": "MiniMax-M3.1-Flash", "reasoning_effort": "none"}, true},
		{"deepseek", obj{"model": "deepseek-v4-pro", "reasoning_effort": "off"}, true},
		{"deepseek", obj{"model": "deepseek-v4-pro", "thinking": obj{"type": "disabled"}}, false},
		{"ollama-v1", obj{"model": "gpt-oss:20b", "reasoning_effort": "none"}, true},
		{"ollama-v1", obj{"model": "qwen3.5:9b", "reasoning_effort": "none"}, false},
		{"lmstudio", obj{"model": "qwen/qwen3.6-27b", "reasoning_effort": "none"}, true},
		{"kimi", obj{"model": "kimi-k3", "thinking": obj{"type": "enabled"}}, true},
		{"openrouter", obj{"model": "openai/gpt-5.5", "reasoning": obj{"effort": "minimal"}}, true},
		{"groq", obj{"model": "qwen/qwen3-32b", "reasoning_effort": "none", "reasoning_format": "parsed"}, false},
	} {
		got := simtest.Complete(t, sim.New(sim.Config{}), trap.host, simtest.ChatHeader(), trap.body)
		message := simtest.Get[obj](got.JSON(), "choices", 0, "message")
		thought := ""
		for _, name := range []string{"reasoning_content", "reasoning"} {
			thought += simtest.Get[string](message, name)
		}
		if details, ok := message["reasoning_details"]; ok && details != nil {
			thought += "details"
		}
		if strings.Contains(simtest.Get[string](message, "content"), "<think>") {
			thought += "inline"
		}
		if got.Status != 200 || trap.thinks != (thought != "") {
			t.Errorf("%s %v: status %d, thinking %q, want %v", trap.host, trap.body, got.Status, thought, trap.thinks)
		}
	}
}

// How the ends of streams differ.
func TestChatEnds(t *testing.T) {
	for _, c := range []struct {
		host  string
		model string
		body  obj
		has   []string
		lacks []string
	}{
		{"openai", "gpt", obj{}, []string{"[DONE]"}, []string{`"usage"`, "reasoning_content"}},
		{"openai", "gpt", obj{"stream_options": obj{"include_usage": true}}, []string{`"usage"`, "reasoning_tokens"}, nil},
		{"deepseek", "deepseek", obj{}, []string{": keep-alive", "[DONE]", `"reasoning_content"`, `"usage"`}, nil},
		{"openrouter", "anthropic/sim", obj{}, []string{": OPENROUTER PROCESSING", `"signature"`, `"native_finish_reason"`}, nil},
		{"copilot", "gemini-sim", obj{}, []string{`"reasoning_opaque"`, `"prompt_filter_results"`}, []string{"[DONE]"}},
		{"gemini", "gemini", obj{"extra_body": obj{"google": obj{"thinking_config": obj{"include_thoughts": true}}}}, []string{`thought\u003e`}, []string{"[DONE]"}},
		{"groq", "qwen/sim", obj{"reasoning_format": "parsed"}, []string{`"x_groq"`, `"reasoning"`}, []string{`think\u003e`}},
		{"groq", "qwen/sim", obj{}, []string{`think\u003e`}, []string{`"reasoning"`}},
		{"minimax", "minimax", obj{"reasoning_split": true}, []string{`"reasoning_details"`, `"base_resp"`}, []string{`think\u003e`}},
		{"minimax", "minimax", obj{}, []string{`think\u003e`}, []string{`"reasoning_details"`}},
		{"mistral", "mistral", obj{"reasoning_effort": "high"}, []string{`"closed":true`}, []string{"reasoning_tokens"}},
		{"vllm", "vllm", obj{}, []string{`"reasoning":`, "[DONE]"}, []string{"reasoning_tokens"}},
	} {
		body := simtest.Merged(obj{"model": c.model, "stream": true}, c.body)
		got := simtest.Complete(t, sim.New(sim.Config{}), c.host, simtest.ChatHeader(), body)
		for _, want := range c.has {
			if !strings.Contains(got.Body, want) {
				t.Errorf("%s %v: no %s in\n%s", c.host, c.body, want, testgo.Excerpt(got.Body))
			}
		}
		for _, no := range c.lacks {
			if strings.Contains(got.Body, no) {
				t.Errorf("%s %v: %s in\n%s", c.host, c.body, no, testgo.Excerpt(got.Body))
			}
		}
	}
}

// A host is chosen by its path or by a header; its models are listed.
func TestChatPaths(t *testing.T) {
	s := sim.New(sim.Config{})
	body := obj{"model": "deepseek", "messages": arr{simtest.Say("user", "hi [[sim: text=5]]")}}
	for path, host := range map[string]string{"/deepseek/chat/completions": "", "/deepseek/v1/chat/completions": "", "/v1/chat/completions": "deepseek", "/chat/completions": "deepseek"} {
		h := simtest.ChatHeader()
		if host != "" {
			h.Set("X-Sim-Dialect", host)
		}
		if got := simtest.Send(t, s, "POST", path, h, body); got.Status != 200 {
			t.Errorf("%s %s: %d %s", path, host, got.Status, got.Body)
		}
	}
	if got := simtest.Send(t, s, "GET", "/deepseek/models", simtest.ChatHeader(), nil); simtest.Get[string](got.JSON(), "data", 0, "id") != "deepseek-v4-pro" {
		t.Errorf("models: %s", got.Body)
	}
	if got := simtest.Send(t, s, "GET", "/deepseek/chat/completions", simtest.ChatHeader(), nil); got.Status != 405 {
		t.Errorf("GET: %d", got.Status)
	}
	if got := simtest.Send(t, s, "POST", "/deepseek/x", simtest.ChatHeader(), obj{}); got.Status != 404 {
		t.Errorf("unknown path: %d", got.Status)
	}
}

// What was signed is taken back; what was changed is refused.
func TestChatSignatures(t *testing.T) {
	s := sim.New(sim.Config{})
	ask := obj{"model": "anthropic/sim", "messages": arr{simtest.Say("user", "hi [[sim: text=5]]")}}
	first := simtest.Complete(t, s, "openrouter", simtest.ChatHeader(), ask)
	details := simtest.Get[arr](first.JSON(), "choices", 0, "message", "reasoning_details")
	if len(details) != 1 {
		t.Fatalf("details %v", details)
	}
	again := func(model string, details arr) simtest.Reply {
		return simtest.Complete(t, s, "openrouter", simtest.ChatHeader(), obj{"model": model, "messages": arr{simtest.Say("user", "hi"),
			obj{"role": "assistant", "content": "x", "reasoning_details": details}, simtest.Say("user", "and?")}})
	}
	if got := again("anthropic/claude-sonnet-5", details); got.Status != 200 {
		t.Errorf("as it was: %d %s", got.Status, got.Body)
	}
	changed := simtest.Merged(details[0].(obj), obj{"text": "something else"})
	if got := again("anthropic/sim", arr{changed}); got.Status != 400 || !strings.Contains(got.Body, "Invalid `signature`") {
		t.Errorf("changed: %d %s", got.Status, got.Body)
	}
}

// TestMissingFace: a server without a face for a request names the import that is missing. This test binary has this face
// alone.
func TestMissingFace(t *testing.T) {
	s := sim.New(sim.Config{})
	got := simtest.Send(t, s, "POST", "/v1/messages", http.Header{}, obj{})
	if got.Status != 501 || !strings.Contains(got.Body, "provider/sim/faces") || !strings.Contains(got.Body, "(it has: chat)") {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	if r := s.Refusals(); len(r) != 1 || r[0].Status != 501 {
		t.Errorf("refusals: %v", r)
	}
}
