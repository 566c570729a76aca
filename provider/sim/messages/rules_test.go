package messages

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/simtest"
)

// rule is one rule of the wire: a request that keeps it and one that breaks it.
type rule struct {
	name   string
	keeps  obj
	with   http.Header // of both; nil: a plain one
	breaks obj
	wrong  http.Header // of the breaking one; nil: as with
	status int         // 0: 400
	kind   string      // empty: invalid_request_error
	says   string
}

// managed asks for edits of the context.
func managed(edits ...any) obj { return obj{"context_management": obj{"edits": arr(edits)}} }

// answered asks for an answer by a schema.
func answered(schema obj) obj {
	return obj{"output_config": obj{"format": obj{"type": "json_schema", "schema": schema}}}
}

func effort(e string) obj { return obj{"effort": e} }

var rules = []rule{
	{name: "key", keeps: obj{}, breaks: obj{}, wrong: simtest.Header("x-api-key", ""), status: 401, kind: "authentication_error", says: "x-api-key"},
	{name: "bearer instead of a key", with: simtest.Header("x-api-key", "", "authorization", "Bearer t", "anthropic-beta", "oauth-2025-04-20"), keeps: obj{},
		breaks: obj{}, wrong: simtest.Header("x-api-key", "", "authorization", "Bearer t"), status: 401, kind: "authentication_error", says: "oauth-2025-04-20"},
	{name: "never both", keeps: obj{}, breaks: obj{}, wrong: simtest.Header("authorization", "Bearer t"), status: 401, kind: "authentication_error", says: "never"},
	{name: "version", keeps: obj{}, breaks: obj{}, wrong: simtest.Header("anthropic-version", ""), says: "anthropic-version"},
	{name: "known version", keeps: obj{}, breaks: obj{}, wrong: simtest.Header("anthropic-version", "2026-01-01"), says: "not a valid version"},
	{name: "known beta", with: simtest.Header("anthropic-beta", "context-1m-2025-08-07, "+betaInterleaved), keeps: obj{}, breaks: obj{},
		wrong: simtest.Header("anthropic-beta", "interleaved-thinking"), says: "Unexpected value(s) `interleaved-thinking`"},
	{name: "model", keeps: obj{}, breaks: obj{"model": "claude-next"}, status: 404, kind: "not_found_error", says: "model: claude-next"},
	{name: "retired model", keeps: obj{"model": "claude-sonnet-4-5"}, breaks: obj{"model": "claude-sonnet-4-0"}, status: 404, kind: "not_found_error", says: "claude-sonnet-4-0"},
	{name: "model is text", keeps: obj{}, breaks: obj{"model": 5}, says: "model: Input should be a valid string"},
	{name: "model is there", keeps: obj{}, breaks: obj{"model": nil}, says: "model: Field required"},
	{name: "unknown member", keeps: obj{}, breaks: obj{"reasoning": obj{}}, says: "reasoning: Extra inputs are not permitted"},
	{name: "member without its beta", keeps: obj{}, breaks: obj{"context_management": obj{}}, says: "context_management: Extra inputs are not permitted"},
	{name: "clearing of thinking needs its beta", with: simtest.Header("anthropic-beta", betaEdits), keeps: managed(obj{"type": "clear_thinking_20251015", "keep": "all"}),
		breaks: managed(obj{"type": "clear_thinking_20251015", "keep": "all"}), wrong: simtest.Header("anthropic-beta", betaCompact), says: "Input tag 'clear_thinking_20251015'"},
	{name: "clearing of thinking comes first", with: simtest.Header("anthropic-beta", betaEdits+","+betaCompact), keeps: managed(obj{"type": "clear_thinking_20251015"}, obj{"type": "compact_20260112"}),
		breaks: managed(obj{"type": "compact_20260112"}, obj{"type": "clear_thinking_20251015"}), says: "must be the first entry of `edits`"},
	{name: "turns to keep", with: simtest.Header("anthropic-beta", betaEdits), keeps: managed(obj{"type": "clear_thinking_20251015", "keep": obj{"type": "thinking_turns", "value": 1}}),
		breaks: managed(obj{"type": "clear_thinking_20251015", "keep": obj{"type": "thinking_turns", "value": 0}}), says: "keep.value: Input should be greater"},
	{name: "no clearing without thinking", with: simtest.Header("anthropic-beta", betaEdits), keeps: simtest.Merged(managed(obj{"type": "clear_thinking_20251015"}), obj{"model": "claude-haiku-4-5", "thinking": obj{"type": "enabled", "budget_tokens": 1024}, "max_tokens": 2000}),
		breaks: simtest.Merged(managed(obj{"type": "clear_thinking_20251015"}), obj{"model": "claude-haiku-4-5", "thinking": obj{"type": "disabled"}}), says: "strategy requires `thinking` to be enabled or adaptive"},
	{name: "compaction needs its beta", with: simtest.Header("anthropic-beta", betaCompact), keeps: managed(obj{"type": "compact_20260112"}),
		breaks: managed(obj{"type": "compact_20260112"}), wrong: simtest.Header("anthropic-beta", betaEdits), says: "Input tag 'compact_20260112'"},
	{name: "no other compaction", with: simtest.Header("anthropic-beta", betaCompact+","+betaCompactLater), keeps: managed(obj{"type": "compact_20260112", "pause_after_compaction": true}),
		breaks: managed(obj{"type": "compact_20260904"}), says: "Input tag 'compact_20260904'"},
	{name: "not imitated", keeps: obj{}, breaks: obj{"container": "c"}, says: "does not imitate"},
	{name: "max_tokens is there", keeps: obj{"max_tokens": 10}, breaks: obj{"max_tokens": nil}, says: "max_tokens: Field required"},
	{name: "max_tokens is a number", keeps: obj{"max_tokens": 10.0}, breaks: obj{"max_tokens": 1.5}, says: "max_tokens: Input should be a valid integer"},
	{name: "max_tokens within the model's", keeps: obj{"max_tokens": 128000}, breaks: obj{"max_tokens": 128001}, says: "maximum allowed number of output tokens for claude-opus-5-5"},
	{name: "max_tokens of a smaller model", keeps: obj{"model": "claude-haiku-4-5", "max_tokens": 64000}, breaks: obj{"model": "claude-haiku-4-5", "max_tokens": 64001}, says: "64001 > 64000"},
	{name: "schema of the answer", keeps: answered(obj{"type": "object", "properties": obj{}, "additionalProperties": false}), breaks: answered(obj{"type": "object"}), says: "'additionalProperties' must be explicitly set to false"},
	{name: "keywords of the schema", keeps: answered(obj{"type": "object", "properties": obj{"a": obj{"type": "integer"}}, "additionalProperties": false}),
		breaks: answered(obj{"type": "object", "properties": obj{"a": obj{"type": "integer", "minimum": 1}}, "additionalProperties": false}), says: "property 'minimum' is not supported"},
	{name: "form of the answer", keeps: obj{}, breaks: obj{"output_config": obj{"format": obj{"type": "json_object"}}}, says: "output_config.format.type"},
	{name: "service tier", keeps: obj{"service_tier": "auto"}, breaks: obj{"service_tier": "fast"}, says: "'auto' or 'standard_only'"},
	{name: "metadata", keeps: obj{"metadata": obj{"user_id": "u"}}, breaks: obj{"metadata": obj{"name": "u"}}, says: "metadata.name: Extra inputs"},
	{name: "stop sequences", keeps: obj{"stop_sequences": arr{"END"}}, breaks: obj{"stop_sequences": arr{" \n"}}, says: "non-whitespace"},
	{name: "stream is a flag", keeps: obj{"stream": true}, breaks: obj{"stream": "yes"}, says: "stream: Input should be a valid boolean"},

	// The thinking union.
	{name: "thinking has a type", keeps: obj{"thinking": simtest.Thinking("adaptive")}, breaks: obj{"thinking": obj{"display": "omitted"}}, says: "thinking.type: Field required"},
	{name: "thinking type is known", keeps: obj{"thinking": simtest.Thinking("adaptive")}, breaks: obj{"thinking": simtest.Thinking("auto")}, says: "Input tag 'auto'"},
	{name: "no budget with adaptive", keeps: obj{"thinking": simtest.Thinking("adaptive")}, breaks: obj{"thinking": simtest.Thinking("adaptive", "budget_tokens", 2000)}, says: "thinking.adaptive.budget_tokens: Extra inputs are not permitted"},
	{name: "no display with disabled", keeps: obj{"model": "claude-opus-5", "thinking": simtest.Thinking("disabled")},
		breaks: obj{"model": "claude-opus-5", "thinking": simtest.Thinking("disabled", "display", "omitted")}, says: "thinking.disabled.display: Extra inputs are not permitted"},
	{name: "no display with between_tools", keeps: obj{"model": "claude-sonnet-5-5", "thinking": simtest.Thinking("between_tools")},
		breaks: obj{"model": "claude-sonnet-5-5", "thinking": simtest.Thinking("between_tools", "display", "omitted")}, says: "thinking.between_tools.display: Extra inputs are not permitted"},
	{name: "display", keeps: obj{"thinking": simtest.Thinking("adaptive", "display", "omitted")}, breaks: obj{"thinking": simtest.Thinking("adaptive", "display", "full")}, says: "'summarized' or 'omitted'"},
	{name: "display updates needs its beta", with: simtest.Header("anthropic-beta", betaUpdates), keeps: obj{"thinking": simtest.Thinking("adaptive", "display", "updates")},
		breaks: obj{"thinking": simtest.Thinking("adaptive", "display", "updates")}, wrong: simtest.Header(), says: "thinking.adaptive.display"},
	{name: "block_binding needs its beta", with: simtest.Header("anthropic-beta", betaBinding),
		keeps:  obj{"thinking": simtest.Thinking("adaptive", "block_binding", obj{"prefix_mismatch_behavior": "drop_block"})},
		breaks: obj{"thinking": simtest.Thinking("adaptive", "block_binding", obj{"prefix_mismatch_behavior": "drop_block"})}, wrong: simtest.Header(), says: "thinking.adaptive.block_binding: Extra inputs are not permitted"},
	{name: "block_binding values", with: simtest.Header("anthropic-beta", betaBinding),
		keeps:  obj{"thinking": simtest.Thinking("adaptive", "block_binding", obj{"prefix_mismatch_behavior": "error"})},
		breaks: obj{"thinking": simtest.Thinking("adaptive", "block_binding", obj{"prefix_mismatch_behavior": "ignore"})}, says: "'error' or 'drop_block'"},
	{name: "block_binding on adaptive only", with: simtest.Header("anthropic-beta", betaBinding),
		keeps:  obj{"model": "claude-sonnet-4-5", "thinking": simtest.Thinking("enabled", "budget_tokens", 1024)},
		breaks: obj{"model": "claude-sonnet-4-5", "thinking": simtest.Thinking("enabled", "budget_tokens", 1024, "block_binding", obj{"prefix_mismatch_behavior": "error"})},
		says:   "thinking.enabled.block_binding: Extra inputs"},
	{name: "smallest budget", keeps: obj{"model": "claude-sonnet-4-5", "thinking": simtest.Thinking("enabled", "budget_tokens", 1024)},
		breaks: obj{"model": "claude-sonnet-4-5", "thinking": simtest.Thinking("enabled", "budget_tokens", 1023)}, says: "budget_tokens"},
	{name: "budget below max_tokens", keeps: obj{"model": "claude-sonnet-4-5", "max_tokens": 4097, "thinking": simtest.Thinking("enabled", "budget_tokens", 4096)},
		breaks: obj{"model": "claude-sonnet-4-5", "max_tokens": 4096, "thinking": simtest.Thinking("enabled", "budget_tokens", 4096)}, says: "`max_tokens` must be greater than `thinking.budget_tokens`"},
	{name: "budget above max_tokens when interleaved", with: simtest.Header("anthropic-beta", betaInterleaved), keeps: obj{"model": "claude-sonnet-4-5", "max_tokens": 2000, "thinking": simtest.Thinking("enabled", "budget_tokens", 4096)},
		breaks: obj{"model": "claude-sonnet-4-5", "max_tokens": 2000, "thinking": simtest.Thinking("enabled", "budget_tokens", 4096)}, wrong: simtest.Header(), says: "max_tokens"},
	{name: "no budget without output", with: simtest.Header("anthropic-beta", betaInterleaved), keeps: obj{"max_tokens": 0},
		breaks: obj{"model": "claude-sonnet-4-5", "max_tokens": 0, "thinking": simtest.Thinking("enabled", "budget_tokens", 4096)}, says: "max_tokens"},
	{name: "budget is there", keeps: obj{}, breaks: obj{"model": "claude-sonnet-4-5", "thinking": simtest.Thinking("enabled")}, says: "thinking.enabled.budget_tokens: Field required"},

	// Effort.
	{name: "effort words", keeps: obj{"output_config": effort("low")}, breaks: obj{"output_config": effort("minimal")}, says: "output_config.effort: Input should be 'low', 'medium'"},
	{name: "effort none", keeps: obj{"output_config": obj{}}, breaks: obj{"output_config": effort("none")}, says: "output_config.effort"},
	{name: "no xhigh before 4.7", keeps: obj{"model": "claude-opus-4-6", "output_config": effort("max")}, breaks: obj{"model": "claude-opus-4-6", "output_config": effort("xhigh")}, says: "'xhigh'"},
	{name: "no max on opus 4.5", keeps: obj{"model": "claude-opus-4-5", "output_config": effort("high")}, breaks: obj{"model": "claude-opus-4-5", "output_config": effort("max")}, says: "'max'"},
	{name: "effort beside a budget", keeps: obj{"model": "claude-opus-4-5", "output_config": effort("low"), "thinking": simtest.Thinking("enabled", "budget_tokens", 4096)},
		breaks: obj{"model": "claude-haiku-4-5", "output_config": effort("low"), "thinking": simtest.Thinking("enabled", "budget_tokens", 4096)}, says: "does not support the effort parameter"},
	{name: "calm when off", keeps: obj{"model": "claude-opus-5", "thinking": simtest.Thinking("disabled"), "output_config": effort("high")},
		breaks: obj{"model": "claude-opus-5", "thinking": simtest.Thinking("disabled"), "output_config": effort("xhigh")}, says: "output_config.effort 'xhigh' is not supported when thinking is disabled on this model"},
	{name: "calm between tools", keeps: obj{"model": "claude-sonnet-5-5", "thinking": simtest.Thinking("between_tools"), "output_config": effort("high")},
		breaks: obj{"model": "claude-sonnet-5-5", "thinking": simtest.Thinking("between_tools"), "output_config": effort("max")}, says: "'max' is not supported when thinking is disabled"},
	{name: "calm on haiku", keeps: obj{"model": "claude-haiku-5-5", "thinking": simtest.Thinking("adaptive"), "output_config": effort("max")},
		breaks: obj{"model": "claude-haiku-5-5", "thinking": simtest.Thinking("disabled"), "output_config": effort("max")}, says: "'max' is not supported when thinking is disabled"},
	{name: "effort in mid-conversation needs its beta", with: simtest.Header("anthropic-beta", betaTurnEffort),
		keeps:  obj{"messages": arr{simtest.Say("user", "a"), simtest.Merged(simtest.Say("system", arr{}), obj{"output_config": effort("low")}), simtest.Say("user", "b")}},
		breaks: obj{"messages": arr{simtest.Say("user", "a"), simtest.Merged(simtest.Say("system", "x"), obj{"output_config": effort("low")}), simtest.Say("user", "b")}}, wrong: simtest.Header(), says: "messages.1.output_config: Extra inputs"},
	{name: "effort in mid-conversation needs its model", with: simtest.Header("anthropic-beta", betaTurnEffort),
		keeps:  obj{"model": "claude-opus-5", "messages": arr{simtest.Say("user", "a"), simtest.Merged(simtest.Say("system", arr{}), obj{"output_config": effort("low")}), simtest.Say("user", "b")}},
		breaks: obj{"model": "claude-sonnet-5", "messages": arr{simtest.Say("user", "a"), simtest.Merged(simtest.Say("system", arr{}), obj{"output_config": effort("low")}), simtest.Say("user", "b")}}, says: "output_config.effort requires a model that supports per-turn effort"},
	{name: "effort in mid-conversation needs thinking", with: simtest.Header("anthropic-beta", betaTurnEffort),
		keeps:  obj{"model": "claude-haiku-5-5", "output_config": effort("high"), "thinking": simtest.Thinking("disabled"), "messages": arr{simtest.Say("user", "a"), simtest.Merged(simtest.Say("system", arr{}), obj{"output_config": effort("high")}), simtest.Say("user", "b")}},
		breaks: obj{"model": "claude-haiku-5-5", "output_config": effort("high"), "thinking": simtest.Thinking("disabled"), "messages": arr{simtest.Say("user", "a"), simtest.Merged(simtest.Say("system", arr{}), obj{"output_config": effort("low")}), simtest.Say("user", "b")}}, says: "messages.1: output_config.effort 'low' differs from the 'high' in effect before it"},

	// Sampling.
	{name: "temperature on new models", keeps: obj{"temperature": 1.0}, breaks: obj{"temperature": 0.5}, says: "temperature"},
	{name: "temperature on new models, off too", keeps: obj{"model": "claude-opus-4-8"}, breaks: obj{"model": "claude-opus-4-8", "temperature": 0}, says: "temperature"},
	{name: "top_p on new models", keeps: obj{"top_p": 1}, breaks: obj{"top_p": 0.97}, says: "top_p"},
	{name: "top_k on new models", keeps: obj{}, breaks: obj{"top_k": 40}, says: "top_k"},
	{name: "temperature with thinking", keeps: obj{"model": "claude-opus-4-6", "temperature": 0.2}, breaks: obj{"model": "claude-opus-4-6", "temperature": 0.2, "thinking": simtest.Thinking("adaptive")}, says: "`temperature` may only be set to 1 when thinking is enabled"},
	{name: "top_p with thinking", keeps: obj{"model": "claude-opus-4-6", "top_p": 0.95, "thinking": simtest.Thinking("adaptive")}, breaks: obj{"model": "claude-opus-4-6", "top_p": 0.94, "thinking": simtest.Thinking("adaptive")}, says: "0.95"},
	{name: "top_k with thinking", keeps: obj{"model": "claude-sonnet-4-5", "top_k": 5}, breaks: obj{"model": "claude-sonnet-4-5", "top_k": 5, "thinking": simtest.Thinking("enabled", "budget_tokens", 1024)}, says: "top_k"},
	{name: "temperature and top_p together", keeps: obj{"model": "claude-sonnet-4-5", "top_p": 0.9}, breaks: obj{"model": "claude-sonnet-4-5", "temperature": 0.2, "top_p": 0.9}, says: "cannot both be specified"},
	{name: "range of temperature", keeps: obj{"model": "claude-sonnet-4-5", "temperature": 0}, breaks: obj{"model": "claude-sonnet-4-5", "temperature": 1.1}, says: "temperature: Input should be from 0 to 1"},

	// Tools.
	{name: "forced tool on new models", keeps: obj{"tools": arr{simtest.ReadTool}, "tool_choice": obj{"type": "auto"}}, breaks: obj{"tools": arr{simtest.ReadTool}, "tool_choice": obj{"type": "any"}}, says: `tool_choice: type "tool" and "any" are not supported for this model.`},
	{name: "forced tool with a budget", keeps: obj{"model": "claude-sonnet-4-5", "tools": arr{simtest.ReadTool}, "tool_choice": obj{"type": "tool", "name": "read"}},
		breaks: obj{"model": "claude-sonnet-4-5", "tools": arr{simtest.ReadTool}, "tool_choice": obj{"type": "tool", "name": "read"}, "thinking": simtest.Thinking("enabled", "budget_tokens", 1024)}, says: "forces tool use"},
	{name: "forced tool while adaptive", keeps: obj{"model": "claude-opus-5", "tools": arr{simtest.ReadTool}, "tool_choice": obj{"type": "any"}, "thinking": simtest.Thinking("adaptive")},
		breaks: obj{"model": "claude-opus-5", "tools": arr{simtest.ReadTool}, "tool_choice": obj{"type": "tool", "name": "write"}}, says: "Tool 'write' not found"},
	{name: "choice needs tools", keeps: obj{"tool_choice": obj{"type": "none"}}, breaks: obj{"tool_choice": obj{"type": "auto"}}, says: "while providing tools"},
	{name: "tool names", keeps: obj{"tools": arr{simtest.ReadTool}}, breaks: obj{"tools": arr{simtest.Merged(simtest.ReadTool, obj{"name": "a b"})}}, says: "tools.0.name: String should match pattern"},
	{name: "tools are unique", keeps: obj{"tools": arr{simtest.ReadTool}}, breaks: obj{"tools": arr{simtest.ReadTool, simtest.ReadTool}}, says: "must be unique"},
	{name: "tool schema", keeps: obj{"tools": arr{simtest.ReadTool}}, breaks: obj{"tools": arr{obj{"name": "x", "input_schema": obj{"type": "string"}}}}, says: "tools.0.custom.input_schema.type"},
	{name: "tool members", keeps: obj{"tools": arr{simtest.Merged(simtest.ReadTool, obj{"strict": true})}}, breaks: obj{"tools": arr{simtest.Merged(simtest.ReadTool, obj{"parameters": obj{}})}}, says: "tools.0.custom.parameters: Extra inputs"},
	{name: "vendor tool", keeps: obj{"tools": arr{obj{"type": "web_search_20250305", "name": "web_search", "max_uses": 3}}}, breaks: obj{"tools": arr{obj{"type": "function", "name": "web_search"}}}, says: "Input tag 'function'"},
	{name: "calls are answered", keeps: obj{"messages": simtest.Loop}, breaks: obj{"messages": arr{simtest.Loop[0], simtest.Loop[1], simtest.Say("user", "never mind")}}, says: "`tool_use` ids were found without `tool_result` blocks immediately after: toolu_1"},
	{name: "calls are answered at the end", keeps: obj{"messages": simtest.Loop}, breaks: obj{"messages": arr{simtest.Loop[0], simtest.Loop[1]}}, says: "`tool_use` ids were found without `tool_result`"},
	{name: "results come first", keeps: obj{"messages": arr{simtest.Loop[0], simtest.Loop[1], simtest.Say("user", arr{simtest.Result, simtest.Text("and then?")})}},
		breaks: obj{"messages": arr{simtest.Loop[0], simtest.Loop[1], simtest.Say("user", arr{simtest.Text("and then?"), simtest.Result})}}, says: "without `tool_result` blocks immediately after"},
	{name: "results have calls", keeps: obj{"messages": simtest.Loop}, breaks: obj{"messages": arr{simtest.Loop[0], simtest.Loop[1], simtest.Say("user", arr{simtest.Result, simtest.Merged(simtest.Result, obj{"tool_use_id": "toolu_2"})})}}, says: "unexpected `tool_use_id` found in `tool_result` blocks: toolu_2"},
	{name: "results without any call", keeps: obj{"messages": simtest.Loop}, breaks: obj{"messages": arr{simtest.Say("user", arr{simtest.Result})}}, says: "messages.0.content.0: unexpected `tool_use_id`"},
	{name: "one result each", keeps: obj{"messages": simtest.Loop}, breaks: obj{"messages": arr{simtest.Loop[0], simtest.Loop[1], simtest.Say("user", arr{simtest.Result, simtest.Result})}}, says: "multiple `tool_result` blocks"},
	{name: "ids are unique", keeps: obj{"messages": simtest.Loop}, breaks: obj{"messages": append(arr{}, append(simtest.Loop, simtest.Loop[1], simtest.Loop[2])...)}, says: "ids must be unique"},
	{name: "input is an object", keeps: obj{"messages": simtest.Loop}, breaks: obj{"messages": arr{simtest.Loop[0], simtest.Say("assistant", arr{simtest.Merged(simtest.Call, obj{"input": "x"})}), simtest.Loop[2]}}, says: "messages.1.content.0.tool_use.input: Input should be an object"},
	{name: "id pattern", keeps: obj{"messages": simtest.Loop}, breaks: obj{"messages": arr{simtest.Loop[0], simtest.Say("assistant", arr{simtest.Merged(simtest.Call, obj{"id": "call:1"})}), simtest.Loop[2]}}, says: "messages.1.content.0.tool_use.id: String should match pattern"},
	{name: "manual mode opens with thinking", keeps: obj{"model": "claude-opus-4-6", "messages": simtest.Loop, "thinking": simtest.Thinking("adaptive")},
		breaks: obj{"model": "claude-opus-4-6", "messages": simtest.Loop, "thinking": simtest.Thinking("enabled", "budget_tokens", 1024)}, says: "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`"},

	// Messages.
	{name: "messages", keeps: obj{}, breaks: obj{"messages": arr{}}, says: "at least one message"},
	{name: "messages is a list", keeps: obj{}, breaks: obj{"messages": "hi"}, says: "messages: Input should be a valid list"},
	{name: "messages is there", keeps: obj{}, breaks: obj{"messages": nil}, says: "messages: Field required"},
	{name: "roles", keeps: obj{"messages": arr{simtest.Say("user", "a"), simtest.Say("system", "be short"), simtest.Say("user", "b")}}, breaks: obj{"messages": arr{simtest.Say("developer", "a")}}, says: "messages.0.role: Input should be 'user'"},
	{name: "first the user", keeps: obj{"messages": arr{simtest.Say("user", "a"), simtest.Say("assistant", "b"), simtest.Say("user", "c")}}, breaks: obj{"messages": arr{simtest.Say("assistant", "b"), simtest.Say("user", "c")}}, says: `first message must use the "user" role`},
	{name: "message members", keeps: obj{}, breaks: obj{"messages": arr{simtest.Merged(simtest.Say("user", "a"), obj{"id": "1"})}}, says: "messages.0.id: Extra inputs"},
	{name: "empty text", keeps: obj{"messages": arr{simtest.Say("user", arr{simtest.Text("a")})}}, breaks: obj{"messages": arr{simtest.Say("user", arr{simtest.Text("a"), simtest.Text("")})}}, says: "text content blocks must be non-empty"},
	{name: "blank text", keeps: obj{}, breaks: obj{"messages": arr{simtest.Say("user", " \n")}}, says: "non-whitespace"},
	{name: "empty message", keeps: obj{}, breaks: obj{"messages": arr{simtest.Say("user", "a"), simtest.Say("assistant", arr{}), simtest.Say("user", "b")}}, says: "non-empty content"},
	{name: "empty text in a result", keeps: obj{"messages": arr{simtest.Loop[0], simtest.Loop[1], simtest.Say("user", arr{simtest.Merged(simtest.Result, obj{"content": ""})})}},
		breaks: obj{"messages": arr{simtest.Loop[0], simtest.Loop[1], simtest.Say("user", arr{simtest.Merged(simtest.Result, obj{"content": arr{simtest.Text("")}})})}}, says: "non-empty"},
	{name: "block kinds", keeps: obj{}, breaks: obj{"messages": arr{simtest.Say("user", arr{obj{"type": "input_text", "text": "a"}})}}, says: "Input tag 'input_text'"},
	{name: "block members", keeps: obj{"messages": arr{simtest.Say("user", arr{simtest.Merged(simtest.Text("a"), obj{"cache_control": obj{"type": "ephemeral"}})})}},
		breaks: obj{"messages": arr{simtest.Say("user", arr{simtest.Merged(simtest.Text("a"), obj{"state": 1})})}}, says: "messages.0.content.0.text.state: Extra inputs"},
	{name: "who may call", keeps: obj{"messages": simtest.Loop}, breaks: obj{"messages": arr{simtest.Say("user", arr{simtest.Call})}}, says: "`tool_use` blocks can only be in `assistant` messages"},
	{name: "who may think", keeps: obj{}, breaks: obj{"messages": arr{simtest.Say("user", arr{obj{"type": "thinking", "thinking": "", "signature": ""}})}}, says: "`thinking` blocks may only be in `assistant` messages"},
	{name: "image", keeps: obj{"messages": arr{simtest.Say("user", arr{obj{"type": "image", "source": obj{"type": "base64", "media_type": "image/png", "data": "AA=="}}})}},
		breaks: obj{"messages": arr{simtest.Say("user", arr{obj{"type": "image", "url": "x"}})}}, says: "messages.0.content.0.image.source: Field required"},
	{name: "system", keeps: obj{"system": arr{simtest.Text("be short")}}, breaks: obj{"system": arr{simtest.Text("")}}, says: "non-empty"},
	{name: "system kinds", keeps: obj{"system": "be short"}, breaks: obj{"system": arr{obj{"type": "image", "source": obj{"type": "url"}}}}, says: "system.0"},
	{name: "cache marks", keeps: obj{"messages": arr{simtest.Say("user", marked(4))}}, breaks: obj{"messages": arr{simtest.Say("user", marked(5))}}, says: "A maximum of 4 blocks with cache_control may be provided. Found 5."},
	{name: "cache mark kinds", keeps: obj{"cache_control": obj{"type": "ephemeral", "ttl": "1h"}}, breaks: obj{"cache_control": obj{"type": "ephemeral", "ttl": "2h"}}, says: "cache_control.ttl"},
	{name: "no mark on thinking", keeps: obj{}, breaks: obj{"messages": arr{simtest.Say("user", "a"), simtest.Say("assistant", arr{obj{"type": "thinking", "thinking": "", "signature": "", "cache_control": obj{"type": "ephemeral"}}, simtest.Text("b")}), simtest.Say("user", "c")}},
		says: "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted"},
	{name: "prefill on new models", keeps: obj{}, breaks: obj{"messages": arr{simtest.Say("user", "a"), simtest.Say("assistant", "Well,")}}, says: "This model does not support assistant message prefill"},
	{name: "prefill while thinking", keeps: obj{"model": "claude-sonnet-4-5", "messages": arr{simtest.Say("user", "a"), simtest.Say("assistant", "Well,")}},
		breaks: obj{"model": "claude-sonnet-4-5", "thinking": simtest.Thinking("enabled", "budget_tokens", 1024), "messages": arr{simtest.Say("user", "a"), simtest.Say("assistant", "Well,")}}, says: "prefill"},
	{name: "prefill ends in a word", keeps: obj{}, breaks: obj{"model": "claude-sonnet-4-5", "messages": arr{simtest.Say("user", "a"), simtest.Say("assistant", "Well, ")}}, says: "trailing whitespace"},
	{name: "the window", keeps: obj{"model": "claude-haiku-4-5", "messages": arr{simtest.Say("user", strings.Repeat("word ", 159_000))}}, breaks: obj{"model": "claude-haiku-4-5", "messages": arr{simtest.Say("user", strings.Repeat("word ", 161_000))}}, says: "prompt is too long"},
	{name: "an object", keeps: obj{}, breaks: obj{"thinking": "on"}, says: "thinking: Input should be an object"},
}

func marked(n int) arr {
	var blocks arr
	for i := range n {
		blocks = append(blocks, simtest.Merged(simtest.Text(fmt.Sprint(i)), obj{"cache_control": obj{"type": "ephemeral"}}))
	}
	return blocks
}

func TestRules(t *testing.T) {
	s := sim.New(sim.Config{})
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			good := r.with
			if good == nil {
				good = simtest.Header()
			}
			if got := simtest.Create(t, s, good.Clone(), r.keeps); got.Status != 200 {
				t.Errorf("kept, and refused with %d: %s", got.Status, got.Body)
			}
			bad := r.wrong
			if bad == nil {
				bad = good
			}
			status, kind := r.status, r.kind
			if status == 0 {
				status = 400
			}
			if kind == "" {
				kind = "invalid_request_error"
			}
			before := len(s.Refusals())
			got := simtest.Create(t, s, bad.Clone(), r.breaks)
			if got.Status != status || got.ErrorType() != kind || !strings.Contains(got.ErrorText(), r.says) {
				t.Errorf("broken, and answered with %d %s\nwant %d %s: …%s…", got.Status, got.Body, status, kind, r.says)
			}
			if id := got.Header.Get("request-id"); id == "" || simtest.Get[string](got.JSON(), "request_id") != id {
				t.Errorf("request id %q, in the body %v", id, got.JSON()["request_id"])
			}
			refusals := s.Refusals()
			if len(refusals) != before+1 || refusals[before].Message != got.ErrorText() || refusals[before].Status != status {
				t.Errorf("refusals: %+v", refusals[before:])
			}
		})
	}
}

// TestCountChecksTheSame: count_tokens refuses what create refuses, except in members that only create has.
func TestCountChecksTheSame(t *testing.T) {
	s := sim.New(sim.Config{})
	only := map[string]bool{"max_tokens": true, "stream": true, "temperature": true, "top_p": true, "top_k": true, "metadata": true, "stop_sequences": true, "service_tier": true}
	counted := 0
next:
	for _, r := range rules {
		body := simtest.Merged(simtest.Request(r.breaks), nil)
		delete(body, "max_tokens")
		for name := range r.breaks {
			if only[name] {
				continue next
			}
		}
		if r.name == "the window" {
			continue
		}
		h := r.wrong
		if h == nil {
			h = r.with
		}
		if h == nil {
			h = simtest.Header()
		}
		counted++
		if got := simtest.Send(t, s, "POST", "/v1/messages/count_tokens", h.Clone(), body); got.Status == 200 || !strings.Contains(got.ErrorText(), r.says) {
			t.Errorf("%s: %d %s", r.name, got.Status, got.Body)
		}
	}
	if counted < 60 {
		t.Errorf("only %d rules tried", counted)
	}
	got := simtest.Send(t, s, "POST", "/v1/messages/count_tokens", simtest.Header(), obj{"model": "claude", "messages": arr{simtest.Say("user", "twelve chars")}})
	if n := simtest.Get[float64](got.JSON(), "input_tokens"); got.Status != 200 || n != 3 {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	got = simtest.Send(t, s, "POST", "/v1/messages/count_tokens", simtest.Header(), simtest.Request(nil))
	if got.Status != 400 || !strings.Contains(got.ErrorText(), "max_tokens: Extra inputs are not permitted") {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}

// TestTypes is the matrix of models and thinking types, by hand. [docs: thinking]
func TestTypes(t *testing.T) {
	s := sim.New(sim.Config{})
	refusals := map[string]string{
		"adaptive":      "adaptive thinking is not supported on this model",
		"enabled":       `"thinking.type.enabled" is not supported for this model`,
		"disabled":      `"thinking.type.disabled" is not supported for this model`,
		"between_tools": `"thinking.type.between_tools" is not supported for this model.`,
	}
	for _, row := range []struct {
		models  string
		accepts string
		thinks  bool // when nothing is said
		efforts string
	}{
		{"claude-fable-5 claude-fable-5-1 claude-fable-5-2 claude-mythos-5 claude-mythos-5-1 claude-mythos-5-2 claude-opus-5-5 claude-always", "adaptive", true, "low medium high xhigh max"},
		{"claude-opus-5 claude-sonnet-5 claude-haiku-5-5 claude", "adaptive disabled", true, "low medium high xhigh max"},
		{"claude-sonnet-5-5 claude-between-tools", "adaptive between_tools", true, "low medium high xhigh max"},
		{"claude-opus-4-8 claude-opus-4-7", "adaptive disabled", false, "low medium high xhigh max"},
		{"claude-opus-4-6 claude-sonnet-4-6", "adaptive enabled disabled", false, "low medium high max"},
		{"claude-opus-4-5 claude-opus-4-5-20251101", "enabled disabled", false, "low medium high"},
		{"claude-sonnet-4-5 claude-sonnet-4-5-20250929 claude-haiku-4-5 claude-haiku-4-5-20251001 claude-budget", "enabled disabled", false, ""},
	} {
		for model := range strings.FieldsSeq(row.models) {
			for kind, says := range refusals {
				p := simtest.Thinking(kind)
				if kind == "enabled" {
					p["budget_tokens"] = 2048
				}
				got := simtest.Create(t, s, simtest.Header(), obj{"model": model, "thinking": p})
				switch {
				case strings.Contains(" "+row.accepts+" ", " "+kind+" "):
					thought := simtest.Get[string](got.JSON(), "content", 0, "type") == "thinking"
					if got.Status != 200 || thought != (kind == "adaptive" || kind == "enabled") {
						t.Errorf("%s, %s: %d, thinks %v", model, kind, got.Status, thought)
					}
				case got.Status != 400 || !strings.Contains(got.ErrorText(), says):
					t.Errorf("%s, %s: %d %s", model, kind, got.Status, got.Body)
				case kind == "disabled" && strings.Contains(row.accepts, "between_tools") && !strings.Contains(got.ErrorText(), `Send "between_tools"`):
					t.Errorf("%s, %s: %s", model, kind, got.ErrorText())
				}
			}
			got := simtest.Create(t, s, simtest.Header(), obj{"model": model})
			if thought := simtest.Get[string](got.JSON(), "content", 0, "type") == "thinking"; thought != row.thinks {
				t.Errorf("%s thinks by itself: %v", model, thought)
			}
			for _, e := range effortsAll {
				got := simtest.Create(t, s, simtest.Header(), obj{"model": model, "output_config": effort(e)})
				if want := strings.Contains(" "+row.efforts+" ", " "+e+" "); (got.Status == 200) != want {
					t.Errorf("%s, effort %s: %d %s", model, e, got.Status, got.Body)
				}
			}
		}
	}
}

func TestBodies(t *testing.T) {
	s := sim.New(sim.Config{Key: "right"})
	for _, c := range []struct {
		name, method, path, body string
		h                        http.Header
		status                   int
		kind, says               string
	}{
		{"wrong key", "POST", "/v1/messages", "{}", simtest.Header(), 401, "authentication_error", "invalid x-api-key"},
		{"no JSON", "POST", "/v1/messages", "{", simtest.Header("x-api-key", "right"), 400, "invalid_request_error", "not valid JSON"},
		{"no object", "POST", "/v1/messages", "[]", simtest.Header("x-api-key", "right"), 400, "invalid_request_error", "object"},
		{"two values", "POST", "/v1/messages", "{} {}", simtest.Header("x-api-key", "right"), 400, "invalid_request_error", "not valid JSON"},
		{"too large", "POST", "/v1/messages", strings.Repeat(" ", bodyLimit+1), simtest.Header("x-api-key", "right"), 413, "request_too_large", "maximum size"},
		{"wrong method", "GET", "/v1/messages", "", simtest.Header("x-api-key", "right"), 405, "invalid_request_error", "Method"},
		{"wrong path", "POST", "/v1/complete", "", simtest.Header("x-api-key", "right"), 404, "not_found_error", "Not found"},
	} {
		got := simtest.Send(t, s, c.method, c.path, c.h, c.body)
		if got.Status != c.status || got.ErrorType() != c.kind || !strings.Contains(got.ErrorText(), c.says) {
			t.Errorf("%s: %d %s", c.name, got.Status, got.Body)
		}
	}
}
