package chat

import (
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
)

// Lists of models with their abilities, in the form of each host. [docs: OpenRouter models, Kimi list models, vLLM
// openai_compatible_server, LM Studio rest/list, llama.cpp tools/server/README; source of Copilot's and the ChatGPT
// plan's own clients]

// listing returns the entries of GET /models.
func (h *hostRules) listing(ex *sim.Exchange) []any {
	list, listed := []any{}, map[any]bool{}
	for _, row := range ex.Listed(h.name) {
		list, listed[row["id"]] = append(list, row), true
	}
	for i := range h.models {
		m := h.model(h.models[i].id)
		if listed[m.id] {
			continue
		}
		row := map[string]any{"id": m.id, "object": "model", "owned_by": h.name}
		switch h.name {
		case "openrouter":
			params := []string{"tools"}
			if m.thinks() {
				params = append(params, "reasoning", "include_reasoning")
				row["reasoning"] = m.routed()
			}
			row["name"], row["context_length"], row["supported_parameters"] = m.id, window, params
			row["architecture"] = map[string]any{"input_modalities": []string{"text", "image", "file"}}
			row["pricing"] = map[string]any{"prompt": "0.000002", "completion": "0.00001", "input_cache_read": "0.0000002"}
		case "kimi":
			row["supports_reasoning"], row["context_length"] = m.thinks(), window
			row["supports_image_in"] = true
		case "copilot":
			row["name"], row["model_picker_enabled"] = m.id, true
			row["capabilities"] = map[string]any{"type": "chat", "supports": m.published(),
				"limits": map[string]any{"max_context_window_tokens": window, "max_prompt_tokens": window - 32_000, "max_output_tokens": 32_000}}
		case "vllm", "sglang":
			row["max_model_len"] = window
		case "llamacpp":
			row["meta"] = map[string]any{"n_ctx_train": 2 * window}
		}
		list = append(list, row)
		if h.name == "llamacpp" {
			break // it serves only one model
		}
	}
	return list
}

// routed returns what OpenRouter lists about a model's thinking: its efforts, the highest first.
func (m *model) routed() map[string]any {
	efforts := append([]string{}, m.efforts...)
	slices.Reverse(efforts)
	r := map[string]any{"mandatory": !m.off, "default_enabled": !m.silent, "supported_efforts": efforts, "supports_max_tokens": m.budget > 0}
	if slices.Contains(efforts, m.effort) {
		r["default_effort"] = m.effort
	}
	return r
}

// published returns what Copilot lists as supported by a model.
func (m *model) published() map[string]any {
	s := map[string]any{"streaming": true, "tool_calls": true, "vision": true}
	if len(m.efforts) > 0 {
		efforts := slices.Clone(m.efforts)
		if m.off && strings.HasPrefix(m.id, "gpt-") {
			efforts = slices.Insert(efforts, 0, "none")
		}
		s["reasoning_effort"] = efforts
	}
	if m.budget > 0 {
		s["min_thinking_budget"], s["max_thinking_budget"] = 1024, m.budget
	}
	return s
}

// native returns the answer of a host of local models at a path outside Chat Completions; nil: there is nothing at that path.
func (h *hostRules) native(path string) any {
	switch h.name + path {
	case "lmstudio/api/v1/models":
		list := []any{}
		for i := range h.models {
			list = append(list, map[string]any{"type": "llm", "key": h.models[i].id, "display_name": h.models[i].id, "max_context_length": window,
				"loaded_instances": []any{map[string]any{"id": h.models[i].id, "config": map[string]any{"context_length": 4096}}},
				"capabilities":     map[string]any{"vision": false, "trained_for_tool_use": true}})
		}
		return map[string]any{"models": append(list, map[string]any{"type": "embedding", "key": "text-embedding"})}
	case "llamacpp/props":
		return map[string]any{"default_generation_settings": map[string]any{"n_ctx": window}, "modalities": map[string]any{"vision": false},
			"chat_template":      "{% if enable_thinking is defined and not enable_thinking %}<think></think>{% endif %}",
			"chat_template_caps": map[string]any{"supports_tools": true}}
	}
	return nil
}
