package chat

import (
	"fmt"

	"github.com/thinkd/thinkd/provider/sim/simtest"
)

var (
	jsonAnswer = arr{simtest.Say("user", "Which date is later, as JSON?")}
	asObject   = obj{"type": "json_object"}
)

// bySchema asks for an answer by a schema that OpenAI can enforce, or that it cannot, since a member is not required.
func bySchema(strict bool, required ...any) obj {
	return obj{"type": "json_schema", "json_schema": obj{"name": "verdict", "strict": strict, "schema": obj{"type": "object",
		"properties": obj{"a": obj{"type": "integer"}}, "required": arr(required), "additionalProperties": false}}}
}

func texts(n int) arr {
	list := arr{}
	for i := range n {
		list = append(list, fmt.Sprintf("END %d", i))
	}
	return list
}

// optionRules are the rules about options of each host; TestChatRules tries them.
var optionRules = []rule{
	{host: "openai", name: "stop", keeps: obj{"model": "gpt-4.1", "stop": texts(4)}, breaks: obj{"model": "gpt-4.1", "stop": texts(5)}, says: "at most 4"},
	{host: "openai", name: "hottest", keeps: obj{"model": "gpt-4.1", "temperature": 2}, breaks: obj{"model": "gpt-4.1", "temperature": 2.1}, says: "temperature"},
	{host: "openai", name: "top_p", keeps: obj{"model": "gpt-4.1", "top_p": 1}, breaks: obj{"model": "gpt-4.1", "top_p": 1.1}, says: "top_p"},
	{host: "openai", name: "top_k", keeps: obj{"model": "gpt-4.1"}, breaks: obj{"model": "gpt-4.1", "top_k": 5}, says: "top_k"},
	{host: "openai", name: "seed", keeps: obj{"model": "gpt-4.1", "seed": 7}, breaks: obj{"model": "gpt-4.1", "seed": "7"}, says: "seed"},
	{host: "openai", name: "verbosity", keeps: obj{"model": "gpt-5.5", "verbosity": "low"}, breaks: obj{"model": "gpt-5.5", "verbosity": "short"}, says: "verbosity"},
	{host: "openai", name: "tier", keeps: obj{"model": "gpt-5.5", "service_tier": "flex"}, breaks: obj{"model": "gpt-5.5", "service_tier": "gold"}, says: "service_tier"},
	{host: "openai", name: "parallel tools", keeps: obj{"model": "gpt-5.5", "parallel_tool_calls": false}, breaks: obj{"model": "gpt-5.5", "parallel_tool_calls": "no"}, says: "parallel_tool_calls"},
	{host: "openai", name: "forced without tools", keeps: obj{"model": "gpt-5.5", "tools": arr{tool}, "tool_choice": "required"}, breaks: obj{"model": "gpt-5.5", "tool_choice": "required"}, says: "tool_choice"},
	{host: "openai", name: "the word JSON", keeps: obj{"model": "gpt-5.5", "messages": jsonAnswer, "response_format": asObject}, breaks: obj{"model": "gpt-5.5", "response_format": asObject}, says: "'json'"},
	{host: "openai", name: "strict schema", keeps: obj{"model": "gpt-5.5", "response_format": bySchema(true, "a")}, breaks: obj{"model": "gpt-5.5", "response_format": bySchema(true)}, says: "Missing 'a'"},
	{host: "openai", name: "lenient schema", keeps: obj{"model": "gpt-5.5", "response_format": bySchema(false)}, breaks: obj{"model": "gpt-5.5", "response_format": obj{"type": "json_schema"}}, says: "json_schema"},
	{host: "deepseek", name: "stop", keeps: obj{"model": "deepseek", "stop": texts(16)}, breaks: obj{"model": "deepseek", "stop": texts(17)}, says: "at most 16"},
	{host: "deepseek", name: "seed", keeps: obj{"model": "deepseek"}, breaks: obj{"model": "deepseek", "seed": 7}, says: "seed"},
	{host: "deepseek", name: "no schema", keeps: obj{"model": "deepseek", "messages": jsonAnswer, "response_format": asObject}, breaks: obj{"model": "deepseek", "response_format": bySchema(false, "a")}, says: "unavailable"},
	{host: "dashscope", name: "JSON while thinking", keeps: obj{"model": "qwen", "enable_thinking": false, "messages": jsonAnswer, "response_format": asObject},
		breaks: obj{"model": "qwen", "enable_thinking": true, "messages": jsonAnswer, "response_format": asObject}, says: "enable_thinking"},
	{host: "dashscope", name: "required", keeps: obj{"model": "qwen", "enable_thinking": false, "tools": arr{tool}, "tool_choice": "auto"},
		breaks: obj{"model": "qwen", "enable_thinking": false, "tools": arr{tool}, "tool_choice": "required"}, says: "tool_choice"},
	{host: "kimi", name: "stop", keeps: obj{"model": "kimi", "stop": texts(5)}, breaks: obj{"model": "kimi", "stop": texts(6)}, says: "at most 5"},
	{host: "kimi", name: "top_p", keeps: obj{"model": "kimi"}, breaks: obj{"model": "kimi", "top_p": 0.5}, says: "top_p"},
	{host: "kimi", name: "seed", keeps: obj{"model": "kimi"}, breaks: obj{"model": "kimi", "seed": 7}, says: "seed"},
	{host: "zai", name: "stop", keeps: obj{"model": "glm", "stop": texts(1)}, breaks: obj{"model": "glm", "stop": texts(2)}, says: "at most 1"},
	{host: "zai", name: "hottest", keeps: obj{"model": "glm", "temperature": 1}, breaks: obj{"model": "glm", "temperature": 1.1}, says: "temperature"},
	{host: "zai", name: "top_p", keeps: obj{"model": "glm", "top_p": 0.01}, breaks: obj{"model": "glm", "top_p": 0.001}, says: "top_p"},
	{host: "zai", name: "tool choice", keeps: obj{"model": "glm", "tools": arr{tool}, "tool_choice": "auto"}, breaks: obj{"model": "glm", "tools": arr{tool}, "tool_choice": "none"}, says: "tool_choice"},
	{host: "zai", name: "parallel tools", keeps: obj{"model": "glm"}, breaks: obj{"model": "glm", "parallel_tool_calls": true}, says: "parallel_tool_calls"},
	{host: "minimax", name: "coldest", keeps: obj{"model": "minimax", "temperature": 0.01}, breaks: obj{"model": "minimax", "temperature": 0}, status: 200, says: "temperature"},
	{host: "minimax", name: "stop", keeps: obj{"model": "minimax"}, breaks: obj{"model": "minimax", "stop": texts(1)}, status: 200, says: "stop"},
	{host: "minimax", name: "JSON", keeps: obj{"model": "minimax"}, breaks: obj{"model": "minimax", "messages": jsonAnswer, "response_format": asObject}, status: 200, says: "response_format"},
	{host: "xai", name: "stop while not thinking", keeps: obj{"model": "grok", "reasoning_effort": "none"}, breaks: obj{"model": "grok", "reasoning_effort": "none", "stop": texts(1)}, says: "stop"},
	{host: "groq", name: "streamed JSON", keeps: obj{"model": "qwen/sim", "messages": jsonAnswer, "response_format": asObject},
		breaks: obj{"model": "qwen/sim", "stream": true, "messages": jsonAnswer, "response_format": asObject}, says: "streaming"},
	{host: "mistral", name: "hottest", keeps: obj{"model": "codestral-latest", "temperature": 1.5}, breaks: obj{"model": "codestral-latest", "temperature": 1.6}, says: "temperature"},
	{host: "mistral", name: "seed", keeps: obj{"model": "codestral-latest", "random_seed": 7}, breaks: obj{"model": "codestral-latest", "random_seed": -7}, says: "random_seed"},
	{host: "gemini", name: "stop", keeps: obj{"model": "gemini", "stop": texts(5)}, breaks: obj{"model": "gemini", "stop": texts(6)}, says: "at most 5"},
}
