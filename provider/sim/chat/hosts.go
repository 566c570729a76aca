package chat

import (
	"fmt"
	"strings"

	"github.com/thinkd/thinkd/provider/sim/strict"
)

// hostRules is what the hosts of Chat Completions differ in. What it says of a request is judged; what it says of an
// answer is how answers come. [docs of each host: thinking, streaming, errors, tools]
type hostRules struct {
	name   string
	local  bool   // needs no key
	errors string // form of its errors; empty: OpenAI's
	models []model

	// Requests.
	think     func(c *call, f *strict.Object) error // reads what asks for thinking
	strict    bool                                  // members that it does not know are refused
	known     []string                              // members that it takes beside those that all take
	noChoice  bool                                  // tool_choice is none of them
	autoOnly  bool                                  // while thinking tool_choice is auto or none
	developer bool                                  // the role of that name is taken
	files     bool                                  // documents are taken
	members   []string                              // of assistant messages, beside role, content and tool_calls
	closed    bool                                  // any other member of a message is refused
	ids9      bool                                  // ids of calls are nine letters or digits
	short     bool                                  // ids of calls have at most 40 characters
	turns     bool                                  // users and the assistant take turns, or the model's template fails
	filled    bool                                  // a message without any text is refused
	blind     bool                                  // images are refused
	parsed    bool                                  // arguments of calls are read as JSON
	echo      string                                // a member that every turn with calls needs while thinking
	noEmpty   bool                                  // an empty content beside calls is refused
	headers   []string                              // that every request needs

	// Answers.
	field    string    // of thinking; empty: it is not shown
	details  string    // openrouter, minimax: thinking is an array as well
	array    bool      // content is an array
	tags     [2]string // thinking is inside content
	filler   string    // content of a chunk of thinking: null, empty; else there is none
	opaque   bool      // one reasoning_opaque per answer
	signed   bool      // the first call of each step is signed
	whole    bool      // calls come whole
	usage    string    // finish, trailing, choice, groq; trailing needs stream_options but where it says always
	always   bool
	count    string // of thinking: details, flat; empty: none
	outside  bool   // completion_tokens is without it
	noDone   bool
	swallows bool // an error in mid-stream is the end of the body and nothing else
	comment  string
}

// model is what the models of a host differ in.
type model struct {
	id       string
	imitates string // the simulator's own names: the row that they stand for
	note     string
	efforts  []string // words that ask for thinking; empty: there are none
	effort   string   // without a word; where there are no words: on
	off      bool     // can be off
	silent   bool     // does not think unless asked
	dumb     bool     // never thinks
	budget   int      // the largest; 0: takes none
	stream   bool     // thinks only when streamed
	hidden   bool     // thinks, and shows nothing
	form     string   // the host's own kind of control, where its models differ
	output   int      // tokens; 0: 32,000
}

func (m *model) thinks() bool { return !m.dumb }

var (
	words3   = []string{"low", "medium", "high"}
	words3x  = []string{"low", "medium", "high", "xhigh"}
	wordsDS  = []string{"low", "high", "max"}
	wordsHM  = []string{"high", "max"}
	wordsNoX = []string{"low", "medium", "high", "max"}
	words5   = []string{"low", "medium", "high", "xhigh", "max"}
	words6   = []string{"minimal", "low", "medium", "high", "xhigh", "max"}
)

// hosts is the table. Never written.
var hosts = []hostRules{
	{name: "openai", short: true, think: thinkOpenAI, strict: true, known: []string{"store", "verbosity", "parallel_tool_calls", "metadata", "service_tier"}, developer: true, files: true, closed: true,
		usage: "trailing", count: "details", models: []model{
			{id: "gpt-5.5", efforts: words3x, effort: "medium", off: true, hidden: true},
			{id: "gpt-5", efforts: []string{"minimal", "low", "medium", "high"}, effort: "medium", hidden: true},
			{id: "gpt-4.1", dumb: true},
			{id: "gpt", imitates: "gpt-5.5", note: "thinks out of sight, can be off"},
		}},
	{name: "deepseek", blind: true, think: thinkDeepSeek, known: []string{"parallel_tool_calls"}, autoOnly: true, members: []string{"reasoning_content"}, echo: "reasoning_content",
		field: "reasoning_content", filler: "null", usage: "finish", always: true, count: "details", comment: ": keep-alive\n\n", models: []model{
			{id: "deepseek-v4-pro", efforts: wordsDS, effort: "high", off: true, output: 384_000},
			{id: "deepseek-v4-flash", efforts: wordsDS, effort: "high", off: true, output: 384_000},
			{id: "deepseek-flash", efforts: wordsDS, effort: "high", off: true, output: 384_000},
			{id: "deepseek", imitates: "deepseek-v4-pro", note: "wants the thinking of turns with calls back", output: 384_000},
		}},
	{name: "dashscope", errors: "dashscope", think: thinkDashScope, known: []string{"parallel_tool_calls", "top_k"}, autoOnly: true, members: []string{"reasoning_content"},
		field: "reasoning_content", filler: "null", usage: "trailing", count: "details", models: []model{
			{id: "qwen3.7-max", effort: "on", off: true, budget: 262_144},
			{id: "qwen3.7-plus", effort: "on", off: true, budget: 262_144},
			{id: "qwen3.6-max-preview", effort: "on", off: true, budget: 131_072},
			{id: "qwen3.6-plus", effort: "on", off: true, budget: 81_920},
			{id: "qwen3.6-flash", effort: "on", off: true, budget: 131_072},
			{id: "qwen3.6-27b", effort: "on", off: true, budget: 131_072},
			{id: "qwen3.6-35b-a3b", effort: "on", off: true, budget: 131_072},
			{id: "qwen3.5-plus", effort: "on", off: true, budget: 81_920},
			{id: "qwen3.5-397b-a17b", effort: "on", off: true, budget: 81_920},
			{id: "qwen3.5-122b-a10b", effort: "on", off: true, budget: 81_920},
			{id: "qwen3.5-35b-a3b", effort: "on", off: true, budget: 81_920},
			{id: "qwen3.5-27b", effort: "on", off: true, budget: 81_920},
			{id: "qwen3.8-max", efforts: words6, effort: "xhigh", off: true},
			{id: "qwen3.8-flash", efforts: words6, effort: "xhigh", off: true},
			{id: "qwen-plus", effort: "on", off: true, silent: true, budget: 81_920},
			{id: "qwen-flash", effort: "on", off: true, silent: true, budget: 81_920},
			{id: "qwen-turbo", effort: "on", off: true, silent: true, budget: 38_912},
			{id: "qwen3-max", effort: "on", off: true, silent: true, budget: 81_920},
			{id: "qwen3-235b-a22b", effort: "on", off: true, budget: 38_912, stream: true},
			{id: "qwen3-32b", effort: "on", off: true, budget: 38_912, stream: true},
			{id: "qwen3-14b", effort: "on", off: true, budget: 38_912, stream: true},
			{id: "qwen3-8b", effort: "on", off: true, budget: 38_912, stream: true},
			{id: "qwq-plus", effort: "on", budget: 38_912},
			{id: "qvq-max", effort: "on", budget: 38_912},
			{id: "qwen3-next-80b-a3b-thinking", effort: "on", budget: 38_912},
			{id: "qwen3-coder-plus", dumb: true},
			{id: "qwen3-coder-flash", dumb: true},
			{id: "qwen", imitates: "qwen3.7-max", note: "a budget of tokens, can be off"},
		}},
	{name: "openrouter", errors: "openrouter", think: thinkOpenRouter, known: []string{"top_k", "parallel_tool_calls", "verbosity", "transforms", "include"}, files: true,
		members: []string{"reasoning", "reasoning_details", "reasoning_content"}, field: "reasoning", details: "openrouter", filler: "empty", usage: "trailing", always: true, count: "details",
		comment: ": OPENROUTER PROCESSING\n\n", models: []model{
			{id: "anthropic/claude-sonnet-5", efforts: words5, effort: "high", off: true, budget: 64_000},
			{id: "anthropic/claude-opus-4.8", efforts: words5, effort: "high", off: true, budget: 64_000},
			{id: "anthropic/claude-opus-5.5", efforts: words5, effort: "medium"},
			{id: "anthropic/claude-sonnet-5.5", efforts: words5, effort: "high"},
			{id: "anthropic/claude-haiku-5.5", efforts: words5, effort: "medium", off: true},
			{id: "anthropic/claude-fable-5.2", efforts: words5, effort: "high"},
			{id: "openai/gpt-6.1-sol", efforts: words5, effort: "medium"},
			{id: "openai/gpt-6.1-terra", efforts: words5, effort: "medium", off: true},
			{id: "openai/gpt-6-astra", efforts: words5, effort: "medium"},
			{id: "openai/gpt-6-sol", efforts: words5, effort: "medium", off: true},
			{id: "openai/gpt-6-luna", efforts: words5, effort: "medium", off: true},
			{id: "google/gemini-4-argon", efforts: words3, effort: "medium"},
			{id: "google/gemini-3.8-flash", efforts: words3, effort: "medium"},
			{id: "x-ai/grok-4.7", efforts: words3x, effort: "high"},
			{id: "x-ai/grok-4.6", efforts: words3x, effort: "high"},
			{id: "deepseek/deepseek-v4.1-flash", efforts: wordsDS, effort: "high", off: true},
			{id: "deepseek/deepseek-v4-flash", efforts: []string{"high", "xhigh"}, effort: "high", off: true},
			{id: "moonshotai/kimi-k3.1-pro", efforts: wordsDS, effort: "max", off: true},
			{id: "moonshotai/kimi-k3", efforts: wordsDS, effort: "max", off: true},
			{id: "z-ai/glm-5.3", efforts: wordsDS, effort: "max"},
			{id: "z-ai/glm-5.3-flash", efforts: wordsDS, effort: "max"},
			{id: "minimax/minimax-m3.1-flash", efforts: words5, effort: "max"},
			{id: "mistralai/mistral-large-4-0", efforts: []string{"high"}, effort: "high", off: true},
			{id: "openai/gpt-5.5", efforts: words3x, effort: "medium", off: true},
			{id: "openai/gpt-5.4-mini", efforts: words3x, effort: "medium", off: true},
			{id: "google/gemini-3.1-pro", efforts: words3, effort: "high", hidden: true},
			{id: "google/gemini-3.1-pro-preview", efforts: words3, effort: "high", hidden: true},
			{id: "google/gemini-3.5-flash", efforts: []string{"minimal", "low", "medium", "high"}, effort: "medium", hidden: true},
			{id: "x-ai/grok-4.5", efforts: words3, effort: "high"},
			{id: "x-ai/grok-4.3", efforts: words3, effort: "low", off: true},
			{id: "deepseek/deepseek-v4-pro", efforts: []string{"high", "xhigh"}, effort: "high", off: true},
			{id: "qwen/qwen3.7-max", effort: "on", off: true, budget: 262_144},
			{id: "moonshotai/kimi-k2.6", effort: "on", off: true},
			{id: "z-ai/glm-5", effort: "on", off: true},
			{id: "anthropic/sim", imitates: "anthropic/claude-sonnet-5", note: "signs its thinking, and signs late"},
			{id: "openai/sim", imitates: "openai/gpt-5.5", note: "summaries with ciphertext"},
			{id: "google/sim", imitates: "google/gemini-3.1-pro", note: "ciphertext alone, never off"},
		}},
	{name: "kimi", think: thinkKimi, known: []string{"prompt_cache_key"}, autoOnly: true, members: []string{"reasoning_content"}, echo: "reasoning_content", noEmpty: true, parsed: true,
		field: "reasoning_content", usage: "choice", always: true, models: []model{
			{id: "kimi-k3", efforts: wordsDS, effort: "max", form: "effort"},
			{id: "kimi-k3.1-pro", efforts: wordsDS, effort: "max", form: "effort"},
			{id: "kimi-k3.1-pro-highspeed", efforts: wordsDS, effort: "max", form: "effort"},
			{id: "kimi-k2.6", effort: "on", off: true, form: "keep"},
			{id: "kimi-k2.5", effort: "on", off: true, form: "type"},
			{id: "kimi-k2.7-code", effort: "on", form: "keep"},
			{id: "kimi-k2.7-code-highspeed", effort: "on", form: "keep"},
			{id: "kimi-k2-thinking", effort: "on", form: "none"},
			{id: "kimi-k2-thinking-turbo", effort: "on", form: "none"},
			{id: "kimi-k2-0905-preview", dumb: true, form: "none"},
			{id: "kimi", imitates: "kimi-k3", note: "low, high or max, never off"},
			{id: "kimi-toggle", imitates: "kimi-k2.6", note: "on or off"},
		}},
	{name: "zai", errors: "zai", think: thinkZAI, known: []string{"tool_stream", "do_sample", "request_id"}, members: []string{"reasoning_content"},
		field: "reasoning_content", usage: "finish", always: true, count: "details", whole: true, models: []model{
			{id: "glm-5.3", efforts: wordsDS, effort: "max", output: 131_072, form: "effort"},
			{id: "glm-5.3-flash", efforts: wordsDS, effort: "max", output: 131_072, form: "effort"},
			{id: "glm-5.3-highspeed", efforts: wordsDS, effort: "max", output: 131_072, form: "effort"},
			{id: "glm-5.2", efforts: wordsHM, effort: "high", off: true},
			{id: "glm-5.2-highspeed", efforts: wordsHM, effort: "high", off: true},
			{id: "glm-5.1", effort: "on", off: true},
			{id: "glm-5", effort: "on", off: true},
			{id: "glm-5-turbo", effort: "on", off: true},
			{id: "glm-5v-turbo", effort: "on", off: true},
			{id: "glm-4.7", effort: "on", off: true},
			{id: "glm-4.7-flash", effort: "on", off: true},
			{id: "glm-4.6", effort: "on", off: true},
			{id: "glm-4.6v", effort: "on", off: true},
			{id: "glm-4.5", effort: "on", off: true},
			{id: "glm-4.5-air", effort: "on", off: true},
			{id: "glm-4.5v", effort: "on"},
			{id: "glm", imitates: "glm-5.2", note: "on or off, with words"},
			{id: "glm-never-off", imitates: "glm-5.3", note: "refuses one form of off and ignores the other"},
		}},
	{name: "minimax", errors: "minimax", think: thinkMiniMax, noChoice: true, members: []string{"reasoning_details", "reasoning_content"},
		field: "reasoning_content", details: "minimax", usage: "finish", always: true, count: "details", models: []model{
			{id: "MiniMax-M2.7", effort: "on", form: "none"},
			{id: "MiniMax-M2.7-highspeed", effort: "on", form: "none"},
			{id: "MiniMax-M2.1", effort: "on", form: "none"},
			{id: "MiniMax-M2", effort: "on", form: "none"},
			{id: "MiniMax-M3", effort: "on", off: true, form: "type"},
			{id: "MiniMax-M3.1-Flash", efforts: words5, effort: "max", form: "effort"},
			{id: "minimax", imitates: "MiniMax-M3", note: "on or off; between tags unless it is asked to split"},
		}},
	{name: "xai", filled: true, errors: "xai", think: thinkXAI, known: []string{"parallel_tool_calls", "search_parameters"}, members: []string{"reasoning_content"},
		field: "reasoning_content", usage: "trailing", always: true, count: "details", outside: true, models: []model{
			{id: "grok-4.3", efforts: words3, effort: "low", off: true},
			{id: "grok-4.5", efforts: words3, effort: "high"},
			{id: "grok-4.20-0309-reasoning", effort: "on", hidden: true},
			{id: "grok-3-mini", efforts: []string{"low", "high"}, effort: "low"},
			{id: "grok", imitates: "grok-4.3", note: "counts thinking outside of the answer"},
		}},
	{name: "groq", think: thinkGroq, known: []string{"parallel_tool_calls", "service_tier"}, strict: true, members: []string{"reasoning", "name"}, closed: true,
		field: "reasoning", usage: "groq", always: true, count: "details", whole: true, tags: [2]string{"<think>", "</think>"}, models: []model{
			{id: "openai/gpt-oss-120b", efforts: words3, effort: "medium", form: "oss"},
			{id: "openai/gpt-oss-20b", efforts: words3, effort: "medium", form: "oss"},
			{id: "openai/gpt-oss-safeguard-20b", efforts: words3, effort: "medium", form: "oss"},
			{id: "qwen/qwen3-32b", efforts: []string{"default"}, effort: "default", off: true},
			{id: "qwen/qwen3.6-27b", efforts: []string{"default"}, effort: "default", off: true},
			{id: "qwen/qwen3.8-27b", efforts: words3, effort: "medium", off: true},
			{id: "llama-3.3-70b-versatile", dumb: true},
			{id: "llama-3.1-8b-instant", dumb: true},
			{id: "qwen/sim", imitates: "qwen/qwen3-32b", note: "between tags unless it is asked to parse"},
		}},
	{name: "mistral", turns: true, errors: "mistral", think: thinkMistral, known: []string{"safe_prompt", "random_seed", "prompt_mode", "parallel_tool_calls"}, strict: true, members: []string{"prefix"}, closed: true, ids9: true,
		array: true, usage: "finish", always: true, whole: true, models: []model{
			{id: "mistral-medium-3-5", efforts: []string{"high"}, effort: "high", off: true, silent: true},
			{id: "mistral-medium-3.5", efforts: []string{"high"}, effort: "high", off: true, silent: true},
			{id: "mistral-medium-latest", efforts: []string{"high"}, effort: "high", off: true, silent: true},
			{id: "mistral-small-2603", efforts: []string{"high"}, effort: "high", off: true, silent: true},
			{id: "mistral-small-latest", efforts: []string{"high"}, effort: "high", off: true, silent: true},
			{id: "mistral-large-4", efforts: words3, effort: "medium", off: true},
			{id: "magistral-medium-latest", effort: "on", form: "mode"},
			{id: "magistral-small", effort: "on", form: "mode"},
			{id: "mistral-large-2512", dumb: true},
			{id: "codestral-latest", dumb: true},
			{id: "codestral-2508", dumb: true},
			{id: "devstral-2512", dumb: true},
			{id: "devstral-latest", dumb: true},
			{id: "ministral-14b-2512", dumb: true},
			{id: "ministral-8b-latest", dumb: true},
			{id: "ministral-3b-2512", dumb: true},
			{id: "ministral-3b-latest", dumb: true},
			{id: "mistral-large-latest", dumb: true},
			{id: "mistral-medium-2508", dumb: true},
			{id: "mistral-small-2506", dumb: true},
			{id: "devstral-medium-latest", dumb: true},
			{id: "labs-devstral-small-2512", dumb: true},
			{id: "ministral-8b-2512", dumb: true},
			{id: "mistral", imitates: "mistral-medium-3-5", note: "content is an array, ids have nine characters"},
		}},
	{name: "copilot", short: true, think: thinkCopilot, known: []string{"thinking_budget", "n", "intent", "parallel_tool_calls"}, members: []string{"reasoning_text", "reasoning_opaque"},
		headers: []string{"Editor-Version"}, field: "reasoning_text", opaque: true, usage: "trailing", always: true, count: "flat", outside: true, noDone: true, models: []model{
			{id: "gemini-3.5-flash", efforts: []string{"minimal", "low", "medium", "high"}, effort: "high", budget: 24_000},
			{id: "gemini-3.1-pro-preview", efforts: words3, effort: "high", budget: 32_000},
			{id: "gemini-3-flash-preview", efforts: words3, effort: "high", budget: 32_000},
			{id: "gemini-2.5-pro", effort: "on", budget: 32_768},
			{id: "claude-fable-5", efforts: words5, effort: "high"},
			{id: "claude-sonnet-5", efforts: words5, effort: "high", off: true, silent: true},
			{id: "claude-opus-4.8", efforts: words5, effort: "high", off: true, silent: true},
			{id: "claude-opus-4.7", efforts: words5, effort: "high", off: true, silent: true},
			{id: "claude-opus-4.6", efforts: wordsNoX, effort: "high", off: true, silent: true},
			{id: "claude-sonnet-4.6", efforts: wordsNoX, effort: "high", off: true, silent: true, budget: 32_000},
			{id: "claude-opus-4.5", effort: "on", off: true, silent: true, budget: 32_000},
			{id: "claude-sonnet-4.5", effort: "on", off: true, silent: true, budget: 32_000},
			{id: "claude-haiku-4.5", dumb: true},
			{id: "gemini-4-argon", effort: "on"},
			{id: "gemini-3.8-flash", effort: "on"},
			{id: "kimi-k3", effort: "on"},
			{id: "gpt-5.5", efforts: words3x, effort: "medium", off: true, hidden: true},
			{id: "gemini-sim", imitates: "gemini-3.5-flash", note: "wants its opaque data back in a tool loop"},
		}},
	{name: "gemini", errors: "gemini", think: thinkGemini, known: []string{"extra_body", "parallel_tool_calls"}, members: []string{"extra_content", "thought_signature"},
		tags: [2]string{"<thought>", "</thought>"}, signed: true, whole: true, usage: "trailing", noDone: true, outside: true, models: []model{
			{id: "gemini-3.8-flash", efforts: words3, effort: "high"},
			{id: "gemini-2.5-flash", efforts: []string{"minimal", "low", "medium", "high"}, effort: "high", off: true},
			{id: "gemini", imitates: "gemini-3.8-flash", note: "signs the first call of a step"},
		}},
	{name: "ollama-v1", turns: true, local: true, think: thinkOllamaV1, known: []string{"format"}, members: []string{"reasoning"},
		field: "reasoning", filler: "empty", usage: "trailing", whole: true, swallows: true, models: []model{
			{id: "qwen3.5:9b", effort: "on", off: true},
			{id: "gpt-oss:20b", efforts: words3, effort: "medium", form: "deaf"},
			{id: "llama3.2:3b", dumb: true},
			{id: "ollama", imitates: "qwen3.5:9b", note: "swallows errors in mid-stream"},
			{id: "ollama-deaf", imitates: "gpt-oss:20b", note: "accepts an off and thinks all the same"},
		}},
	{name: "vllm", turns: true, local: true, errors: "vllm", think: thinkVLLM, known: []string{"top_k", "chat_template_kwargs", "parallel_tool_calls"}, members: []string{"reasoning", "reasoning_content"}, parsed: true,
		field: "reasoning", usage: "trailing", models: []model{
			{id: "Qwen/Qwen3.6-27B", effort: "on", off: true},
			{id: "deepseek-ai/DeepSeek-V4", efforts: wordsHM, effort: "high", off: true},
			{id: "vllm", imitates: "Qwen/Qwen3.6-27B", note: "switched by its template"},
		}},
	{name: "sglang", turns: true, local: true, errors: "flat", think: thinkSGLang, known: []string{"top_k"}, members: []string{"reasoning_content"}, parsed: true,
		field: "reasoning_content", usage: "trailing", count: "flat", models: []model{
			{id: "default", efforts: words6, effort: "high", off: true},
			{id: "sglang", imitates: "default", note: "counts thinking at the top of the usage"},
		}},
	{name: "llamacpp", turns: true, local: true, errors: "llamacpp", think: thinkLlamaCPP, known: []string{"top_k", "cache_prompt"}, members: []string{"reasoning_content"}, parsed: true,
		field: "reasoning_content", usage: "trailing", tags: [2]string{"<think>", "</think>"}, comment: ":\n\n", models: []model{
			{id: "qwen3.gguf", effort: "on", off: true},
			{id: "llamacpp", imitates: "qwen3.gguf", note: "takes booleans for switches"},
		}},
	{name: "lmstudio", turns: true, local: true, think: thinkLMStudio, known: []string{"top_k"}, members: []string{"reasoning", "reasoning_content"},
		usage: "trailing", tags: [2]string{"<think>", "</think>"}, models: []model{
			{id: "qwen/qwen3.6-27b", efforts: words3x, effort: "medium", form: "deaf"},
			{id: "lmstudio", imitates: "qwen/qwen3.6-27b", note: "thinking between tags; accepts an off and thinks all the same"},
		}},
	{name: "generic", turns: true, local: true, think: thinkGeneric, known: []string{"top_k"}, members: []string{"reasoning_content", "reasoning", "reasoning_text", "thinking", "thought", "cot_summary", "reasoning_details", "reasoning_opaque"},
		field: "reasoning_content", usage: "trailing", count: "details", noDone: true, models: []model{
			{id: "generic", efforts: words6, effort: "medium", off: true, note: "a host that nobody knows", imitates: "a model"},
		}},
}

// model finds a row, and takes the one that it imitates for what it does not say itself.
func (h *hostRules) model(id string) *model {
	for i := range h.models {
		m := h.models[i]
		if m.id != id {
			continue
		}
		for j := range h.models {
			if h.models[j].id == m.imitates {
				own := h.models[j]
				own.id, own.imitates, own.note = m.id, m.imitates, m.note
				return &own
			}
		}
		return &m
	}
	return nil
}

// help has the hosts, and the simulator's own names of their models.
func help() string {
	var b strings.Builder
	b.WriteString("Hosts of Chat Completions, each below its own path, and their models:\n\n")
	for i := range hosts {
		h := &hosts[i]
		for j := range h.models {
			if m := &h.models[j]; m.imitates != "" {
				fmt.Fprintf(&b, "  /%-11s %-21s as %s: %s\n", h.name, m.id, m.imitates, m.note)
			}
		}
	}
	return b.String()
}
