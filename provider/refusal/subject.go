package refusal

import (
	"regexp"
	"strings"
	"sync"

	"github.com/thinkd/thinkd/provider"
)

// Patterns are looked at in this order; the first that matches counts. All texts are in small letters.
var subjects = sync.OnceValue(func() []subjectWords {
	return []subjectWords{
		{provider.SubjectOutput, alternatives(`tool_use_failed`, `failed to call a function`, `failed to parse tool call`, `expected peg-native format`, `but model called a tool`)},
		{provider.SubjectAccount, alternatives(`organization must be verified`, `for this subscription`, `extra usage`, `usage limit`, `not included in your plan`)},
		{provider.SubjectModel, alternatives(`requested model is not supported`, `model is not supported`, `when using codex with`, `not accessible via`,
			`operation does not work with`, `model identifier is invalid`, `access to the model`, `on-demand throughput`,
			`does not support tools`, `enable-auto-tool-choice`, `model .{0,100}(?:not found|does not exist)`, `not a valid model`, `unknown model`,
			`unsupported parameter: '(?:messages|input)'`, `use /v1/responses`)},
		{provider.SubjectHistory, alternatives(`\b(?:messages|input|contents)(?:\.|\[\.?)\d`, `\bmessage\[`, `message at (?:index|position)`, `input\[n\]`)},
		{provider.SubjectTools, alternatives(`\btools?(?:\.\d|\[)`, `tools\.function`, `function_declarations`, `input_schema`, `json schema`, `schema for function`, `function parameters`, `must match the .{0,40}schema`)},
		{provider.SubjectHistory, alternatives(`image`, `vision`, `\bpdf\b`, `mime type`, `media`, `signature`, `reasoning_content`, `reasoning details`, `encrypted`, `compaction`, `prefill`, "in `thinking` block",
			`tool_use`, `tool_calls?\b`, `tool call`, `tool result`, `tool's? id`, `function calls?\b`, `function_call`, `function response`, `tool_result`, `with role`, `\broles?\b`, `template`, `user query`,
			`both content and thinking`, `non-whitespace`, `empty message`, `content element`, `parts field`, `text parameter`, `type of 'item'`, `item with id`, `was provided without`,
			`part type`, `invalid value for 'content'`, `surrogate`, `item pairs`, `messages parameter`, `message must be at least 1 token`, `message must not be empty`, `both message and tool_results`, `tool_plan`, `tool ids`, `tool message`, `previous tool calls`, `system turn`, `trailing whitespace`, `first message`, `'input_text'`, `context_compaction`, `\btooluse\b`, `\btoolresult\b`, `start with a user message`, `nothing available to cache`, "field `summary`",
			`validation errors`, `content policy`, `content management`, `content exists risk`, `multiturn`, `container_id`, `untagged enum`, `unknown variant`, `invalid json`, `previous_response`)},
		{provider.SubjectParameter, alternatives(`parameter`, `unrecognized request argument`, `property 'body\.`, `not permitted`, `unsupported value`, `effort`, `temperature`, `top_[pk]`, `max_(?:completion_|output_|new_)?tokens`,
			`maximum tokens you requested`, `thinking`, `reasoning is mandatory`, `tool.choice`, `cache_control`, `context_management`, `\bstore\b`, `\bstream\b`, `stream_options`, `instructions are required`,
			`beta`, `cached content`, `built-in tools`, `tool use with function calling`, `参数非法`, `schema fields`)},
	}
})

type subjectWords struct {
	subject provider.Subject
	words   *regexp.Regexp
}

func alternatives(words ...string) *regexp.Regexp {
	return regexp.MustCompile(strings.Join(words, "|"))
}

func subjectOf(text string) provider.Subject {
	for _, s := range subjects() {
		if s.words.MatchString(text) {
			return s.subject
		}
	}
	return provider.SubjectUnknown
}
