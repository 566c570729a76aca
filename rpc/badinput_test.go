package rpc

import (
	"fmt"
	"strings"
	"testing"
)

// An error about bad input names the member, and says what would be valid.
func TestBadInputNamesMemberAndValidValues(t *testing.T) {
	onStage(t, "wait 1h", 0, func(s *stage) {
		id := s.result("session/new", map[string]any{"model_id": "anthropic/claude-opus-5-5"}).Get("session_id").String()
		s.result("session/prompt", map[string]any{"session_id": id, "text": "one"})
		pending := s.result("session/prompt", map[string]any{"session_id": id, "text": "two"}).Get("turn_id").String()

		type members = map[string]any
		refuse := func(method string, params members, field, valid string) {
			t.Helper()
			s.Helper()
			a := s.ask(method, params)
			e := a.Get("error")
			if got := e.Get("data.field").String(); e.Get("code").Int() != -32602 || got != field || !strings.Contains(e.Get("message").String(), field) || !strings.Contains(e.Get("message").String(), valid) {
				t.Errorf("%s %v: %s\nwant -32602 that names %s, with %q", method, params, a.Raw, field, valid)
			}
		}
		for _, tt := range []struct {
			options      members
			field, valid string
		}{
			{members{"output": "xml"}, "output", "text, json"},
			{members{"output": 1}, "output", "text, json"},
			{members{"output": "json", "output_schema": members{"schema": members{"type": "object"}}}, "output", "give one of them"},
			{members{"output_schema": 1}, "output_schema", "schema, and optionally name and strict"},
			{members{"output_schema": members{"schema": members{"type": "array"}}}, "output_schema.schema", `"type": "object"`},
			{members{"output_schema": members{"schema": members{"type": "object"}, "name": "a b"}}, "output_schema.name", "letters, digits, underscores and dashes"},
			{members{"output_schema": members{"schema": members{"type": "object", "pattern": "("}}}, "output_schema.schema", "pattern"},
			{members{"tool_choice": "a b"}, "tool_choice", "auto, none, required or the name of a tool"},
			{members{"tool_choice": true}, "tool_choice", "auto, none, required or the name of a tool"},
			{members{"parallel_tools": "no"}, "parallel_tools", "true or false"},
			{members{"max_output_tokens": 0}, "max_output_tokens", "a whole number from 1"},
			{members{"max_output_tokens": 1.5}, "max_output_tokens", "a whole number from 1"},
			{members{"temperature": 2.1}, "temperature", "from 0 to 2"},
			{members{"top_p": 0}, "top_p", "above 0, up to 1"},
			{members{"top_k": 0}, "top_k", "a whole number from 1"},
			{members{"stop": "END"}, "stop", "an array of strings"},
			{members{"stop": []string{""}}, "stop", "256 bytes"},
			{members{"stop": strings.Split(strings.Repeat("a ", 16)+"a", " ")}, "stop", "at most 16"},
			{members{"seed": 1 << 32}, "seed", "a whole number of 32 bits"},
			{members{"verbosity": "long"}, "verbosity", "low, medium, high"},
			{members{"service_tier": "gold"}, "service_tier", "auto, standard, flex, priority"},
			{members{"cache": "2h"}, "cache", "5m, 1h, off"},
			{members{"server_tools": "web_search"}, "server_tools", "web_search, web_fetch and code_execution"},
			{members{"server_tools": []string{"search"}}, "server_tools", "web_search, web_fetch, code_execution"},
			{members{"server_tool_limits": 1}, "server_tool_limits", "max_uses, allowed_domains or blocked_domains"},
			{members{"server_tool_limits": members{"max_uses": -1}}, "server_tool_limits.max_uses", "from 1 to 1000"},
			{members{"server_tool_limits": members{"allowed_domains": []string{"https://a.com"}}}, "server_tool_limits.allowed_domains", "such as example.com"},
			{members{"server_tool_limits": members{"blocked_domains": []string{""}}}, "server_tool_limits.blocked_domains", "such as example.com"},
		} {
			field := "options." + tt.field
			refuse("session/new", members{"options": tt.options}, field, tt.valid)
			refuse("session/update", members{"session_id": id, "options": tt.options}, field, tt.valid)
			refuse("session/prompt", members{"session_id": id, "text": "x", "options": tt.options}, field, tt.valid)
			refuse("queue/update", members{"session_id": id, "turn_id": pending, "options": tt.options}, field, tt.valid)
		}
		refuse("usage/report", members{"split": "hour"}, "split", "day, model, level")
		refuse("usage/report", members{"split": "day"}, "split", "must not be the same as by")
		for _, tt := range []struct {
			method       string
			params       members
			field, valid string
		}{
			{"session/prompt", members{"text": "x", "options": 1}, "options", "must be an object"},
			{"session/prompt", members{"text": "x", "when_busy": "wait"}, "when_busy", "queue, steer, reject"},
			{"session/prompt", members{"text": "x", "when_busy": "steer", "options": members{"seed": 1}}, "options", `when_busy "queue"`},
			{"session/prompt", members{"content": []members{{"type": "media", "mime_type": "application/zip", "data": "UEsDBA=="}}}, "content", "it takes: text, image, pdf"},
			{"session/prompt", members{"content": []members{{"type": "tool_call"}}}, "content", "text and media"},
			{"queue/update", members{"turn_id": pending}, "text", "thinking_level, model_id, display, options or fallbacks"},
			{"session/attach", members{"notifications": []string{"deltas"}}, "notifications", "turn_end"},
			{"session/attach", members{"notifications": "turn_end"}, "notifications", "an array"},
			{"session/watch", members{"limit": -1}, "limit", "from 0"},
			{"session/prompt", members{"text": "x", "client_id": 1}, "client_id", "a string"},
			{"session/prompt", members{"text": "x", "client_id": strings.Repeat("a", 257)}, "client_id", "256 bytes"},
			{"queue/move", members{"turn_id": pending, "before": 1}, "before", "a string"},
			{"thinking/explain", members{"options": members{"top_p": 2}}, "options.top_p", "above 0, up to 1"},
			{"agents/set", members{"name": "x", "options": members{"verbosity": "long"}}, "options.verbosity", "low, medium, high"},
		} {
			tt.params["session_id"] = id
			refuse(tt.method, tt.params, tt.field, tt.valid)
		}
		if got := fmt.Sprint(s.result("session/queue", members{"session_id": id}).Get("queue.#")); got != "1" {
			t.Errorf("%s prompts are pending after refusals, want 1", got)
		}
	})
}
