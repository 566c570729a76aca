package sim

import (
	"net/http"
	"slices"
	"strings"
)

// Lists of models with what they can do, in the form of each host. [docs: OpenRouter models, Kimi list models, vLLM
// openai_compatible_server, LM Studio rest/list, llama.cpp tools/server/README; source of Copilot's and the ChatGPT
// plan's own clients]

// listing is what GET /models has.
func (h *chatHost) listing() []any {
	list := []any{}
	if h.name == "copilot" {
		list = copilotListing()
	}
	for i := range h.models {
		m := h.model(h.models[i].id)
		if h.name == "copilot" && copilotModel(m.id) != nil {
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
			row["name"], row["context_length"], row["supported_parameters"] = m.id, chatWindow, params
			row["architecture"] = map[string]any{"input_modalities": []string{"text", "image", "file"}}
			row["pricing"] = map[string]any{"prompt": "0.000002", "completion": "0.00001", "input_cache_read": "0.0000002"}
		case "kimi":
			row["supports_reasoning"], row["context_length"] = m.thinks(), chatWindow
			row["supports_image_in"] = true
		case "copilot":
			row["name"], row["model_picker_enabled"] = m.id, true
			row["capabilities"] = map[string]any{"type": "chat", "supports": m.published(),
				"limits": map[string]any{"max_context_window_tokens": chatWindow, "max_prompt_tokens": chatWindow - 32_000, "max_output_tokens": 32_000}}
		case "vllm", "sglang":
			row["max_model_len"] = chatWindow
		case "llamacpp":
			row["meta"] = map[string]any{"n_ctx_train": 2 * chatWindow}
		}
		list = append(list, row)
		if h.name == "llamacpp" {
			break // it serves one
		}
	}
	return list
}

// routed is OpenRouter's account of a model's thinking: its efforts downwards.
func (m *chatModel) routed() map[string]any {
	efforts := append([]string{}, m.efforts...)
	slices.Reverse(efforts)
	r := map[string]any{"mandatory": !m.off, "default_enabled": !m.silent, "supported_efforts": efforts, "supports_max_tokens": m.budget > 0}
	if slices.Contains(efforts, m.effort) {
		r["default_effort"] = m.effort
	}
	return r
}

// published is what Copilot tells a model supports.
func (m *chatModel) published() map[string]any {
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

// native is what a host of local models tells beside the API that it took over; nil: nothing at that path.
func (h *chatHost) native(path string) any {
	switch h.name + path {
	case "lmstudio/api/v1/models":
		list := []any{}
		for i := range h.models {
			list = append(list, map[string]any{"type": "llm", "key": h.models[i].id, "display_name": h.models[i].id, "max_context_length": chatWindow,
				"loaded_instances": []any{map[string]any{"id": h.models[i].id, "config": map[string]any{"context_length": 4096}}},
				"capabilities":     map[string]any{"vision": false, "trained_for_tool_use": true}})
		}
		return map[string]any{"models": append(list, map[string]any{"type": "embedding", "key": "text-embedding"})}
	case "llamacpp/props":
		return map[string]any{"default_generation_settings": map[string]any{"n_ctx": chatWindow}, "modalities": map[string]any{"vision": false},
			"chat_template":      "{% if enable_thinking is defined and not enable_thinking %}<think></think>{% endif %}",
			"chat_template_caps": map[string]any{"supports_tools": true}}
	}
	return nil
}

// planList is where the ChatGPT plan's backend lists its models.
const planList = "/backend-api/codex/models"

// servePlanModels answers there. Its client is asked for its version.
func (s *Server) servePlanModels(ex *exchange) {
	if _, err := s.responsesKey(ex.r, responsesFaces["/backend-api/codex/responses"]); err != nil {
		ex.refuseResponses(err)
		return
	}
	if ex.r.URL.Query().Get("client_version") == "" {
		ex.refuseResponses(unfit("client_version", "missing_required_parameter", "Missing required parameter: 'client_version'."))
		return
	}
	list := []any{}
	for i := range responsesModels {
		m := &responsesModels[i]
		if m.open || m.note != "" {
			continue
		}
		levels := []any{}
		for _, effort := range m.efforts {
			levels = append(levels, map[string]any{"effort": effort, "description": ""})
		}
		if slices.Contains(m.efforts, "max") {
			levels = append(levels, map[string]any{"effort": "ultra", "description": ""}) // what its own client does with max
		}
		list = append(list, map[string]any{"slug": m.id, "display_name": m.id, "default_reasoning_level": m.effort, "supported_reasoning_levels": levels,
			"supports_reasoning_summaries": true, "visibility": "list", "supported_in_api": true, "context_window": 372_000, "input_modalities": []string{"text", "image"}})
	}
	ex.sendJSON(http.StatusOK, map[string]any{"models": list})
}

// serveResponsesModels answers with names and dates, as OpenAI does for all that its key may use; with the header
// X-Sim-Dialect as xAI does. [docs: models/list, deprecations; xAI docs: models]
func (s *Server) serveResponsesModels(ex *exchange) {
	if _, err := s.responsesKey(ex.r, responsesFaces["/v1/responses"]); err != nil {
		ex.refuseResponses(err)
		return
	}
	xai := ex.r.Header.Get("X-Sim-Dialect") == "xai"
	list := []any{}
	for i := range responsesModels {
		m := &responsesModels[i]
		if m.note != "" || strings.HasPrefix(m.id, "grok-") != xai {
			continue
		}
		row := map[string]any{"id": m.id, "object": "model", "created": 0, "owned_by": "openai"}
		if !xai {
			row["shutdown_date"] = nil
			if m.id == "gpt-5" {
				row["shutdown_date"] = "2026-12-11"
			}
		}
		list = append(list, row)
	}
	if !xai {
		for _, other := range []string{"text-embedding-3-large", "gpt-image-2", "whisper-1", "gpt-realtime-2"} {
			list = append(list, map[string]any{"id": other, "object": "model", "created": 0, "owned_by": "openai"})
		}
	}
	ex.sendJSON(http.StatusOK, map[string]any{"object": "list", "data": list})
}
