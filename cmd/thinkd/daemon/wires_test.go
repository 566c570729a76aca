package daemon

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/vendors"
	"github.com/thinkd/thinkd/registry"
)

// wireTable is what models of one family get for each level that can be asked for, policy downgrade. It is written by
// hand from the vendors' pages (OpenAI: reasoning, latest-model; Google: thinking; of the others: thinking, reasoning)
// and knows nothing of the catalog.
//
// Levels are asked>effective, where the vendor's word differs asked>effective:word; a word alone stands for itself.
// Off, auto and on have their own bodies, the others have that of word.
type wireTable struct {
	models, levels      string
	word, off, auto, on string // "": not sent to this family
}

const (
	// levels of families, each word once

	never6   = "off>low minimal>low auto on>medium low medium high xhigh max"                  // low … max
	never4   = "off>low minimal>low auto on>medium low medium high xhigh max>xhigh"            // low … xhigh
	never3   = "off>low minimal>low auto on>medium low medium high xhigh>high max>high"        // low, medium, high
	neverMin = "off>minimal minimal auto on>medium low medium high xhigh>high max>high"        // minimal … high
	off6     = "off minimal>low auto on>medium low medium high xhigh max"                      // off, low … max
	off4     = "off minimal>low auto on>medium low medium high xhigh max>xhigh"                // off, low … xhigh
	off3     = "off minimal>low auto on>medium low medium high xhigh>high max>high"            // off, low, medium, high
	toggled  = "off minimal>on auto on low>on medium>on high>on xhigh>on max>on"               // off, on
	alwaysOn = "off>on minimal>on auto on low>on medium>on high>on xhigh>on max>on"            // on
	silent   = "off minimal>off auto>off on>off low>off medium>off high>off xhigh>off max>off" // off
	upper3   = "off>low:LOW minimal>low:LOW auto low:LOW medium:MEDIUM high:HIGH xhigh>high:HIGH max>high:HIGH on>medium:MEDIUM"
	upperMin = "off>minimal:MINIMAL minimal:MINIMAL auto low:LOW medium:MEDIUM high:HIGH xhigh>high:HIGH max>high:HIGH"
	qwen     = "low:4096 medium:16384 high:32768 xhigh>high:32768 max>high:32768 minimal>low:4096 off auto"

	openAI       = `{"reasoning":{"effort":"%s","summary":"auto"}}`
	openAIRecall = `{"reasoning":{"effort":"%s","summary":"auto","context":"all_turns"}}`
	openAINone   = `{"reasoning":{"effort":"none"}}`
	google       = `{"generationConfig":{"thinkingConfig":{"thinkingLevel":"%s","includeThoughts":true}}}`
	googleBudget = `{"generationConfig":{"thinkingConfig":{"thinkingBudget":%s,"includeThoughts":true}}}`
	googleAuto   = `{"generationConfig":{"thinkingConfig":{"includeThoughts":true}}}`
	googleOff    = `{"generationConfig":{"thinkingConfig":{"thinkingBudget":0}}}`
	routerWord   = `{"reasoning":{"enabled":true,"effort":"%s"},"provider":{"require_parameters":true}}`
	routerAuto   = `{"reasoning":{"enabled":true},"provider":{"require_parameters":true}}`
	routerOff    = `{"reasoning":{"enabled":false}}`
	plainWord    = `{"reasoning_effort":"%s"}`
	amazon       = `{"additionalModelRequestFields":{"reasoning_effort":"%s"}}`
	zhipu        = `{"thinking":{"type":"enabled","clear_thinking":false}}`
	zhipuOff     = `{"thinking":{"type":"disabled"}}`
	zhipuWord    = `{"thinking":{"type":"enabled","clear_thinking":false},"reasoning_effort":"%s"}`
)

var wireTables = []wireTable{
	{models: "openai/gpt-6.1-sol openai/gpt-6-astra sim/gpt-always", levels: never6,
		word: openAIRecall, auto: `{"reasoning":{"summary":"auto","context":"all_turns"}}`},
	{models: "openai/gpt-6.1-terra openai/gpt-6-sol openai/gpt-6-luna openai/gpt-5.6-sol openai/gpt-5.6 openai/gpt-5.6-terra openai/gpt-5.6-luna sim/gpt", levels: off6,
		word: openAIRecall, off: openAINone, auto: `{"reasoning":{"summary":"auto","context":"all_turns"}}`},
	{models: "openai/gpt-5.6-cyber azure/gpt-6.1-sol azure/gpt-6-astra azure/gpt-5.6-sol azure/gpt-5.6-terra azure/gpt-5.6-luna", levels: never6,
		word: openAI, auto: `{"reasoning":{"summary":"auto"}}`},
	{models: "openai/gpt-daybreak-blue-latest openai/gpt-daybreak-red-latest azure/gpt-6.1-terra azure/gpt-6-sol azure/gpt-6-luna", levels: off6,
		word: openAI, off: openAINone, auto: `{"reasoning":{"summary":"auto"}}`},
	{models: "openai/gpt-5.5", levels: off4, word: openAI, off: openAINone, auto: `{"reasoning":{"summary":"auto"}}`},
	{models: "openai/gpt-5.5-pro openai/gpt-5.4-pro openai/gpt-5.2-pro azure/gpt-5.5-pro azure/gpt-5.4-pro azure/gpt-5.2-pro",
		levels: "off>medium minimal>medium low>medium auto on>medium medium high xhigh max>xhigh", word: openAI, auto: `{"reasoning":{"summary":"auto"}}`},
	// Off unless switched on: auto says nothing.
	{models: "openai/gpt-5.4 openai/gpt-5.4-mini openai/gpt-5.4-nano openai/gpt-5.2", levels: off4, word: openAI, off: openAINone, auto: `{}`},
	{models: "openai/gpt-5.1", levels: off3, word: openAI, off: openAINone, auto: `{}`},
	{models: "openai/gpt-5.3-codex openai/gpt-5.3-codex-spark openai/gpt-5.1-codex-max", levels: never4, word: openAI, auto: `{"reasoning":{"summary":"auto"}}`},
	{models: "openai/gpt-5.1-codex openai/gpt-5.1-codex-mini openai/gpt-5-codex openai/o3 openai/o3-pro openai/o4-mini openai/o3-mini openai/o1 sim/gpt-open",
		levels: never3, word: openAI, auto: `{"reasoning":{"summary":"auto"}}`},
	{models: "openai/gpt-5 openai/gpt-5-mini openai/gpt-5-nano", levels: neverMin, word: openAI, auto: `{"reasoning":{"summary":"auto"}}`},
	{models: "openai/gpt-5-pro azure/gpt-5-pro", levels: "off>high minimal>high low>high medium>high auto on>high high xhigh>high max>high", word: openAI, auto: `{"reasoning":{"summary":"auto"}}`},
	{models: "openai/gpt-4.1 openai/gpt-4o openai/gpt-4.1-mini openai/gpt-4o-mini openai/gpt-5-chat-latest sim/gpt-silent", levels: silent, off: `{}`},

	{models: "gemini/gemini-4-argon gemini/gemini-3.8-flash gemini/gemini-3.7-flash gemini/gemini-flash-latest gemini/gemini-pro-latest sim/gemini sim/gemini-continued vertex/gemini-4-argon vertex/gemini-3.8-flash vertex/gemini-3.7-flash",
		levels: upper3, word: google, auto: googleAuto},
	{models: "gemini/gemini-3.6-flash gemini/gemini-3.5-flash vertex/gemini-3.6-flash vertex/gemini-3.5-flash", levels: upperMin + " on>medium:MEDIUM", word: google, auto: googleAuto},
	{models: "gemini/gemini-3.5-flash-lite gemini/gemini-flash-lite-latest gemini/gemini-3.1-flash-lite vertex/gemini-3.5-flash-lite vertex/gemini-3.1-flash-lite", levels: upperMin + " on>minimal:MINIMAL", word: google, auto: googleAuto},
	{models: "gemini/gemini-3-flash-preview vertex/gemini-3-flash-preview", levels: upperMin + " on>high:HIGH", word: google, auto: googleAuto},
	{models: "gemini/gemini-3.1-pro-preview gemini/gemini-3.1-pro-preview-customtools vertex/gemini-3.1-pro-preview vertex/gemini-3.1-pro-preview-customtools",
		levels: "off>low:LOW minimal>low:LOW auto low:LOW medium:MEDIUM high:HIGH xhigh>high:HIGH max>high:HIGH on>high:HIGH", word: google, auto: googleAuto},
	// No medium.
	{models: "gemini/gemini-3-pro-preview",
		levels: "off>low:LOW minimal>low:LOW auto low:LOW medium>low:LOW high:HIGH xhigh>high:HIGH max>high:HIGH on>high:HIGH", word: google, auto: googleAuto},
	{models: "gemini/gemini-2.5-pro vertex/gemini-2.5-pro", levels: "off>low:1024 minimal>low:1024 auto low:1024 medium:8192 high:24576 xhigh>high:24576 max>high:24576 on>high:24576",
		word: googleBudget, auto: `{}`},
	{models: "gemini/gemini-2.5-flash sim/gemini-budget vertex/gemini-2.5-flash",
		levels: "off minimal>low:1024 auto low:1024 medium:8192 high:24576 xhigh>high:24576 max>high:24576 on>high:24576", word: googleBudget, off: googleOff, auto: `{}`},
	{models: "gemini/gemini-2.5-flash-lite vertex/gemini-2.5-flash-lite",
		levels: "off minimal>low:1024 auto low:1024 medium:8192 high:24576 xhigh>high:24576 max>high:24576 on>medium:8192", word: googleBudget, off: googleOff, auto: `{}`},

	{models: "deepseek/deepseek-flash deepseek/deepseek-v4-flash deepseek/deepseek-v4-pro sim/deepseek",
		levels: "off minimal>low auto on>high low medium>low high xhigh>high max",
		word:   `{"thinking":{"type":"enabled"},"reasoning_effort":"%s"}`, off: `{"thinking":{"type":"disabled"}}`, auto: `{"thinking":{"type":"enabled"}}`},

	{models: "xai/grok-4.6", levels: "off>low minimal>low auto on>high low medium high xhigh max>xhigh", word: openAI, auto: `{"reasoning":{"summary":"auto"}}`},
	{models: "xai/grok-4.5", levels: "off>low minimal>low auto on>high low medium high xhigh>high max>high", word: openAI, auto: `{"reasoning":{"summary":"auto"}}`},
	{models: "xai/grok-4.7", levels: "off>low minimal>low auto on>high low medium high xhigh max>xhigh", word: openAI, auto: `{"reasoning":{"summary":"auto"}}`},
	{models: "xai/grok-4.3 sim/grok", levels: "off minimal>low auto on>low low medium high xhigh>high max>high", word: openAI, off: openAINone, auto: `{"reasoning":{"summary":"auto"}}`},
	// They reject the parameter.
	{models: "xai/grok-4.20-0309-reasoning xai/grok-build-0.1", levels: alwaysOn, on: `{}`, auto: `{}`},
	{models: "xai/grok-4.20-0309-non-reasoning", levels: silent, off: `{}`},
	{models: "xai/grok-3-mini", levels: "off>low minimal>low auto on>low low medium>low high xhigh>high max>high", word: plainWord, auto: `{}`},

	{models: "openrouter/anthropic/claude-opus-4.8 openrouter/anthropic/claude-sonnet-5", levels: off6, word: routerWord, off: routerOff, auto: routerAuto},
	{models: "sim/anthropic/sim", levels: "off minimal>low auto on>high low medium high xhigh max", word: routerWord, off: routerOff, auto: routerAuto},
	{models: "openrouter/openai/gpt-5.5 openrouter/openai/gpt-5.4-mini sim/openai/sim", levels: off4, word: routerWord, off: routerOff, auto: routerAuto},
	{models: "openrouter/anthropic/claude-opus-5.5 openrouter/openai/gpt-6.1-sol openrouter/openai/gpt-6-astra", levels: never6, word: routerWord, auto: routerAuto},
	{models: "openrouter/anthropic/claude-sonnet-5.5 openrouter/anthropic/claude-fable-5.2", levels: "off>low minimal>low auto on>high low medium high xhigh max",
		word: routerWord, auto: routerAuto},
	{models: "openrouter/minimax/minimax-m3.1-flash", levels: "off>low minimal>low auto on>max low medium high xhigh max", word: routerWord, auto: routerAuto},
	{models: "openrouter/anthropic/claude-haiku-5.5 openrouter/openai/gpt-6.1-terra openrouter/openai/gpt-6-sol openrouter/openai/gpt-6-luna", levels: off6,
		word: routerWord, off: routerOff, auto: routerAuto},
	{models: "openrouter/google/gemini-4-argon openrouter/google/gemini-3.8-flash", levels: never3, word: routerWord, auto: routerAuto},
	{models: "openrouter/x-ai/grok-4.7 openrouter/x-ai/grok-4.6", levels: "off>low minimal>low auto on>high low medium high xhigh max>xhigh", word: routerWord, auto: routerAuto},
	{models: "openrouter/deepseek/deepseek-v4.1-flash", levels: "off minimal>low low medium>low auto on>high high xhigh>high max", word: routerWord, off: routerOff, auto: routerAuto},
	{models: "openrouter/deepseek/deepseek-v4-flash", levels: "off minimal>high low>high medium>high auto on>high high xhigh max>xhigh", word: routerWord, off: routerOff, auto: routerAuto},
	{models: "openrouter/moonshotai/kimi-k3.1-pro openrouter/moonshotai/kimi-k3", levels: "off minimal>low low medium>low auto on>max high xhigh>high max",
		word: routerWord, off: routerOff, auto: routerAuto},
	{models: "openrouter/z-ai/glm-5.3 openrouter/z-ai/glm-5.3-flash", levels: "off>low minimal>low low medium>low auto on>max high xhigh>high max", word: routerWord, auto: routerAuto},
	{models: "openrouter/mistralai/mistral-large-4-0", levels: "off minimal>high low>high medium>high auto on>high high xhigh>high max>high", word: routerWord, off: routerOff, auto: routerAuto},
	{models: "openrouter/google/gemini-3.1-pro-preview", levels: never3, word: routerWord, auto: routerAuto},
	{models: "openrouter/google/gemini-3.5-flash", levels: neverMin, word: routerWord, auto: routerAuto},
	{models: "openrouter/x-ai/grok-4.5 sim/google/sim", levels: "off>low minimal>low auto on>high low medium high xhigh>high max>high", word: routerWord, auto: routerAuto},
	{models: "openrouter/x-ai/grok-4.3", levels: off3, word: routerWord, off: routerOff, auto: routerAuto},
	{models: "openrouter/deepseek/deepseek-v4-pro", levels: "off minimal>high low>high medium>high auto on>high high xhigh max>xhigh", word: routerWord, off: routerOff, auto: routerAuto},
	// Effort is dropped there without a word, a budget is honoured.
	{models: "openrouter/qwen/qwen3.7-max", levels: qwen + " on>medium:16384",
		word: `{"reasoning":{"enabled":true,"max_tokens":%s},"provider":{"require_parameters":true}}`, off: routerOff, auto: `{}`},
	{models: "openrouter/moonshotai/kimi-k2.6 openrouter/z-ai/glm-5", levels: alwaysOn, on: `{}`, auto: `{}`},

	{models: "groq/openai/gpt-oss-120b groq/openai/gpt-oss-20b groq/openai/gpt-oss-safeguard-20b", levels: never3,
		word: `{"include_reasoning":true,"reasoning_effort":"%s"}`, auto: `{"include_reasoning":true}`},
	{models: "groq/qwen/qwen3-32b groq/qwen/qwen3.6-27b", levels: toggled, on: `{"reasoning_format":"parsed","reasoning_effort":"default"}`,
		off: `{"reasoning_format":"parsed","reasoning_effort":"none"}`, auto: `{"reasoning_format":"parsed","reasoning_effort":"default"}`},
	{models: "groq/qwen/qwen3.8-27b", levels: off3, word: `{"reasoning_format":"parsed","reasoning_effort":"%s"}`,
		off: `{"reasoning_format":"parsed","reasoning_effort":"none"}`, auto: `{"reasoning_format":"parsed"}`},
	{models: "sim/qwen/sim", levels: toggled, on: `{"reasoning_format":"parsed"}`, off: `{"reasoning_format":"parsed","reasoning_effort":"none"}`, auto: `{"reasoning_format":"parsed"}`},
	{models: "groq/llama-3.3-70b-versatile groq/llama-3.1-8b-instant", levels: silent, off: `{}`},

	{models: "mistral/mistral-large-4", levels: off3, word: plainWord, off: `{"reasoning_effort":"none"}`, auto: `{}`},
	{models: "mistral/mistral-medium-3-5 mistral/mistral-medium-3.5 mistral/mistral-medium-latest mistral/mistral-small-2603 mistral/mistral-small-latest sim/mistral",
		levels: "off minimal>high low>high medium>high auto on>high high xhigh>high max>high", word: plainWord, off: `{"reasoning_effort":"none"}`, auto: `{}`},
	{models: "mistral/magistral-medium-latest mistral/magistral-small", levels: alwaysOn, on: `{"prompt_mode":"reasoning"}`, auto: `{"prompt_mode":"reasoning"}`},
	{models: "mistral/mistral-large-2512 mistral/codestral-latest mistral/codestral-2508 mistral/devstral-2512 mistral/devstral-latest mistral/ministral-14b-2512 mistral/ministral-8b-2512 mistral/mistral-large-latest mistral/mistral-medium-2508 mistral/mistral-small-2506 mistral/devstral-medium-latest mistral/labs-devstral-small-2512 mistral/ministral-8b-latest mistral/ministral-3b-2512 mistral/ministral-3b-latest", levels: silent, off: `{}`},

	{models: "moonshot/kimi-k3 moonshot/kimi-k3.1-pro moonshot/kimi-k3.1-pro-highspeed sim/kimi",
		levels: "off>low minimal>low auto on>max low medium>low high xhigh>high max", word: plainWord, auto: `{"thinking":{"type":"enabled"}}`},
	{models: "moonshot/kimi-k2.7-code moonshot/kimi-k2.7-code-highspeed", levels: alwaysOn,
		on: `{"thinking":{"type":"enabled","keep":"all"}}`, auto: `{"thinking":{"type":"enabled","keep":"all"}}`},
	{models: "moonshot/kimi-k2.6", levels: toggled,
		on: `{"thinking":{"type":"enabled","keep":"all"}}`, off: `{"thinking":{"type":"disabled"}}`, auto: `{"thinking":{"type":"enabled","keep":"all"}}`},
	{models: "moonshot/kimi-k2.5 sim/kimi-toggle", levels: toggled,
		on: `{"thinking":{"type":"enabled"}}`, off: `{"thinking":{"type":"disabled"}}`, auto: `{"thinking":{"type":"enabled"}}`},
	{models: "moonshot/kimi-k2-thinking moonshot/kimi-k2-thinking-turbo", levels: alwaysOn, on: `{}`, auto: `{}`},
	{models: "moonshot/kimi-k2-0905-preview", levels: silent, off: `{}`},

	// Off is refused in one form and ignored in another: it is never sent.
	{models: "zai/glm-5.3 zai/glm-5.3-flash zai/glm-5.3-highspeed", levels: "off>low minimal>low auto on>max low medium>low high xhigh>high max", word: zhipuWord, auto: zhipu},
	{models: "zai/glm-5.2 zai/glm-5.2-highspeed", levels: "off minimal>high low>high medium>high auto on>high high xhigh>high max", word: zhipuWord, off: zhipuOff, auto: zhipu},
	{models: "zai/glm-5.1 zai/glm-5 zai/glm-5-turbo zai/glm-5v-turbo zai/glm-4.7 zai/glm-4.7-flash zai/glm-4.6 zai/glm-4.6v zai/glm-4.5 zai/glm-4.5-air sim/glm",
		levels: toggled, on: zhipu, off: zhipuOff, auto: zhipu},
	{models: "zai/glm-4.5v sim/glm-never-off", levels: alwaysOn, on: `{}`, auto: `{}`},

	{models: "minimax/MiniMax-M3.1-Flash", levels: "off>low minimal>low auto on>max low medium high xhigh max",
		word: `{"reasoning_split":true,"reasoning_effort":"%s"}`, auto: `{"reasoning_split":true}`},
	{models: "minimax/MiniMax-M3 sim/minimax", levels: toggled, on: `{"reasoning_split":true,"thinking":{"type":"adaptive"}}`,
		off: `{"reasoning_split":true,"thinking":{"type":"disabled"}}`, auto: `{"reasoning_split":true,"thinking":{"type":"adaptive"}}`},
	{models: "minimax/MiniMax-M2.1 minimax/MiniMax-M2 minimax/MiniMax-M2.7 minimax/MiniMax-M2.7-highspeed", levels: alwaysOn, on: `{"reasoning_split":true}`, auto: `{"reasoning_split":true}`},

	{models: "dashscope/qwen3.8-max dashscope/qwen3.8-flash", levels: "off minimal>low low medium auto on>xhigh high xhigh max",
		word: `{"enable_thinking":true,"reasoning_effort":"%s"}`, off: `{"enable_thinking":false}`, auto: `{"enable_thinking":true}`},
	{models: "dashscope/qwen3.7-max dashscope/qwen3.7-plus dashscope/qwen3.6-max-preview dashscope/qwen3.6-plus", levels: qwen + " on>high:32768",
		word: `{"enable_thinking":true,"thinking_budget":%s,"preserve_thinking":true}`,
		off:  `{"enable_thinking":false,"preserve_thinking":true}`, auto: `{"preserve_thinking":true}`},
	{models: "dashscope/qwen3.6-flash dashscope/qwen3.6-27b dashscope/qwen3.6-35b-a3b dashscope/qwen3.5-plus dashscope/qwen3.5-397b-a17b " +
		"dashscope/qwen3.5-122b-a10b dashscope/qwen3.5-35b-a3b dashscope/qwen3.5-27b dashscope/qwen3-235b-a22b dashscope/qwen3-32b dashscope/qwen3-14b " +
		"dashscope/qwen3-8b sim/qwen", levels: qwen + " on>high:32768",
		word: `{"enable_thinking":true,"thinking_budget":%s}`, off: `{"enable_thinking":false}`, auto: `{}`},
	{models: "dashscope/qwen-plus dashscope/qwen-flash dashscope/qwen-turbo", levels: qwen + " on>medium:16384",
		word: `{"enable_thinking":true,"thinking_budget":%s}`, off: `{"enable_thinking":false}`, auto: `{}`},
	{models: "dashscope/qwen3-max", levels: toggled, on: `{"enable_thinking":true}`, off: `{"enable_thinking":false}`, auto: `{}`},
	{models: "dashscope/qwq-plus dashscope/qvq-max dashscope/qwen3-next-80b-a3b-thinking", levels: alwaysOn, on: `{}`, auto: `{}`},
	{models: "dashscope/qwen3-coder-plus dashscope/qwen3-coder-flash", levels: silent, off: `{}`},

	// Copilot's lists are its own. Chat Completions there takes no effort for Google's and Moonshot's newest.
	{models: "copilot/gemini-4-argon copilot/gemini-3.8-flash copilot/kimi-k3", levels: alwaysOn, on: `{}`, auto: `{}`},
	{models: "copilot/gemini-3.5-flash", levels: "off>minimal minimal auto on>high low medium high xhigh>high max>high", word: plainWord, auto: `{}`},
	{models: "copilot/gemini-3.1-pro-preview copilot/gemini-3-flash-preview", levels: "off>low minimal>low auto on>high low medium high xhigh>high max>high", word: plainWord, auto: `{}`},
	{models: "copilot/gemini-2.5-pro",
		levels: "off>low:4096 minimal>low:4096 auto on>medium:10000 low:4096 medium:10000 high:32000 xhigh>high:32000 max>high:32000", word: `{"thinking_budget":%s}`, auto: `{}`},
	{models: "copilot/gpt-5.5 azure/gpt-5.5", levels: off4, word: openAI, off: openAINone, auto: `{"reasoning":{"summary":"auto"}}`},
	{models: "copilot/gpt-5.4 copilot/gpt-5.4-mini azure/gpt-5.4 azure/gpt-5.4-mini azure/gpt-5.4-nano azure/gpt-5.2", levels: off4, word: openAI, off: openAINone, auto: `{}`},
	{models: "copilot/gpt-6.1-sol copilot/gpt-6-astra copilot/gpt-5.6-sol copilot/gpt-5.6-terra copilot/gpt-5.6-luna", levels: never6, word: openAI, auto: `{"reasoning":{"summary":"auto"}}`},
	{models: "copilot/gpt-6.1-terra copilot/gpt-6-sol copilot/gpt-6-luna", levels: off6, word: openAI, off: openAINone, auto: `{"reasoning":{"summary":"auto"}}`},
	{models: "copilot/grok-4.7 copilot/grok-4.6", levels: "off>low minimal>low auto on>high low medium high xhigh max>xhigh", word: openAI, auto: `{"reasoning":{"summary":"auto"}}`},
	{models: "copilot/grok-4.5", levels: "off>low minimal>low auto on>high low medium high xhigh>high max>high", word: openAI, auto: `{"reasoning":{"summary":"auto"}}`},
	{models: "copilot/mai-code-1.1-flash", levels: never3, word: openAI, auto: `{"reasoning":{"summary":"auto"}}`},
	{models: "copilot/gpt-5.4-nano copilot/gpt-5.3-codex azure/gpt-5.3-codex azure/gpt-5.3-codex-spark", levels: never4, word: openAI, auto: `{"reasoning":{"summary":"auto"}}`},
	{models: "copilot/gpt-5-mini azure/o3 azure/o3-pro azure/o4-mini", levels: never3, word: openAI, auto: `{"reasoning":{"summary":"auto"}}`}, // no minimal there
	{models: "azure/gpt-5.1", levels: off3, word: openAI, off: openAINone, auto: `{}`},
	{models: "azure/gpt-5 azure/gpt-5-mini azure/gpt-5-nano", levels: neverMin, word: openAI, auto: `{"reasoning":{"summary":"auto"}}`},
	{models: "azure/gpt-4.1 azure/gpt-4o azure/gpt-4.1-mini azure/gpt-4o-mini", levels: silent, off: `{}`},

	// The plan's backend has another default than the public API, and off for some.
	{models: "chatgpt/gpt-5.6-sol", levels: "off>low minimal>low auto on>low low medium high xhigh max",
		word: openAIRecall, auto: `{"reasoning":{"summary":"auto","context":"all_turns"}}`},
	{models: "chatgpt/gpt-6.1-sol chatgpt/gpt-6-astra chatgpt/gpt-5.6-terra chatgpt/gpt-5.6-luna", levels: never6, word: openAIRecall,
		auto: `{"reasoning":{"summary":"auto","context":"all_turns"}}`},
	{models: "chatgpt/gpt-6.1-terra chatgpt/gpt-6-sol chatgpt/gpt-6-luna", levels: off6, word: openAIRecall, off: openAINone,
		auto: `{"reasoning":{"summary":"auto","context":"all_turns"}}`},

	// The simulator's models of hosts that run what one likes.
	{models: "sim/gemini-sim", levels: "off>minimal minimal auto on>high low medium high xhigh>high max>high", word: plainWord, auto: `{}`},
	{models: "sim/vllm", levels: toggled, on: `{"chat_template_kwargs":{"enable_thinking":true,"thinking":true}}`,
		off: `{"chat_template_kwargs":{"enable_thinking":false,"thinking":false}}`, auto: `{"chat_template_kwargs":{"enable_thinking":true,"thinking":true}}`},
	{models: "sim/sglang", levels: "off minimal auto on>high low medium high xhigh max",
		word: `{"separate_reasoning":true,"stream_reasoning":true,"chat_template_kwargs":{"enable_thinking":true,"thinking":true},"reasoning_effort":"%s"}`,
		off:  `{"separate_reasoning":true,"stream_reasoning":true,"chat_template_kwargs":{"enable_thinking":false,"thinking":false},"reasoning_effort":"none"}`,
		auto: `{"separate_reasoning":true,"stream_reasoning":true,"chat_template_kwargs":{"enable_thinking":true,"thinking":true}}`},
	{models: "sim/llamacpp", levels: toggled, on: `{"chat_template_kwargs":{"enable_thinking":true}}`,
		off: `{"chat_template_kwargs":{"enable_thinking":false}}`, auto: `{"chat_template_kwargs":{"enable_thinking":true}}`},
	{models: "sim/lmstudio", levels: never4, word: plainWord, auto: `{}`},
	{models: "sim/ollama-deaf", levels: never3, word: plainWord, auto: `{}`},
	{models: "sim/generic", levels: "off minimal auto on>medium low medium high xhigh max", word: plainWord, off: `{"reasoning_effort":"none"}`, auto: `{}`},
	{models: "sim/ollama", levels: toggled, on: `{"think":true}`, off: `{"think":false}`, auto: `{"think":true}`},
	{models: "sim/ollama-levels", levels: never3, word: `{"think":"%s"}`, auto: `{"think":true}`},
	{models: "sim/ollama-plain", levels: silent, off: `{}`},
	{models: "cohere/command-a-plus-05-2026", levels: "off minimal>low:4096 auto on>high:63000 low:4096 medium:16384 high:63000 xhigh>high:63000 max>high:63000",
		word: `{"thinking":{"type":"enabled","token_budget":%s}}`, off: `{"thinking":{"type":"disabled"}}`, auto: `{}`},
	{models: "cohere/command-a-reasoning-08-2025 sim/cohere", levels: "off minimal>low:4096 auto on>high:31000 low:4096 medium:12000 high:31000 xhigh>high:31000 max>high:31000",
		word: `{"thinking":{"type":"enabled","token_budget":%s}}`, off: `{"thinking":{"type":"disabled"}}`, auto: `{}`},
	{models: "cohere/north-mini-code-1-0", levels: toggled, on: `{"thinking":{"type":"enabled"}}`, off: `{"thinking":{"type":"disabled"}}`, auto: `{"thinking":{"type":"enabled"}}`},
	{models: "cohere/command-a-03-2025 cohere/command-a-vision-07-2025 cohere/command-r7b-12-2024 cohere/command-r-plus-08-2024 cohere/command-r-08-2024 sim/cohere-plans",
		levels: silent, off: `{}`},
	// Off unless switched on: auto says nothing.
	{models: "sim/amazon.nova bedrock/global.amazon.nova-2-lite-v1:0 bedrock/amazon.nova-2-lite-v1:0 bedrock/eu.amazon.nova-2-lite-v1:0 bedrock/jp.amazon.nova-2-lite-v1:0", levels: off3,
		word: `{"additionalModelRequestFields":{"reasoningConfig":{"type":"enabled","maxReasoningEffort":"%s"}}}`,
		off:  `{"additionalModelRequestFields":{"reasoningConfig":{"type":"disabled"}}}`, auto: `{}`},
	{models: "bedrock/deepseek.v3.2 bedrock/deepseek.v3-v1:0", levels: off3, word: amazon, off: `{"additionalModelRequestFields":{"reasoning_effort":"none"}}`, auto: `{}`},
	{models: "bedrock/openai.gpt-oss-120b-1:0 bedrock/openai.gpt-oss-20b-1:0", levels: never3, word: amazon, auto: `{}`},
	{models: "bedrock/mistral.magistral-small-2509 bedrock/moonshot.kimi-k2-thinking bedrock/minimax.minimax-m2.5 " +
		"vertex/openai/gpt-oss-120b-maas vertex/openai/gpt-oss-20b-maas vertex/moonshotai/kimi-k2-thinking-maas vertex/zai-org/glm-5-maas vertex/zai-org/glm-4.7-maas", levels: alwaysOn, on: `{}`, auto: `{}`},
	{models: "bedrock/us.amazon.nova-premier-v1:0 bedrock/amazon.nova-pro-v1:0 bedrock/eu.amazon.nova-pro-v1:0 bedrock/apac.amazon.nova-pro-v1:0 " +
		"bedrock/amazon.nova-lite-v1:0 bedrock/eu.amazon.nova-lite-v1:0 bedrock/apac.amazon.nova-lite-v1:0 bedrock/ca.amazon.nova-lite-v1:0 " +
		"bedrock/amazon.nova-micro-v1:0 bedrock/eu.amazon.nova-micro-v1:0 bedrock/apac.amazon.nova-micro-v1:0 " +
		"bedrock/qwen.qwen3-235b-a22b-2507-v1:0 bedrock/qwen.qwen3-coder-480b-a35b-v1:0 bedrock/qwen.qwen3-next-80b-a3b " +
		"bedrock/qwen.qwen3-vl-235b-a22b bedrock/qwen.qwen3-32b-v1:0 bedrock/meta.llama4-maverick-17b-instruct-v1:0 " +
		"bedrock/meta.llama4-scout-17b-instruct-v1:0 bedrock/meta.llama3-3-70b-instruct-v1:0 bedrock/mistral.mistral-large-3-675b-instruct " +
		"bedrock/mistral.devstral-2-123b bedrock/mistral.ministral-3-14b-instruct " +
		"vertex/deepseek-ai/deepseek-v3.2-maas vertex/qwen/qwen3-235b-a22b-instruct-2507-maas vertex/mistral-medium-3 vertex/mistral-small-2503",
		levels: silent, off: `{}`},
}

// cell reads what a level becomes: the requested level, the level in effect, and its part of the body.
func (w wireTable) cell(t *testing.T, text string) (asked, effective provider.Level, wire string) {
	t.Helper()
	rest, word, _ := strings.Cut(text, ":")
	from, to, ok := strings.Cut(rest, ">")
	if !ok {
		to = from
	}
	if word == "" {
		word = to
	}
	switch wire = map[string]string{"off": w.off, "auto": w.auto, "on": w.on}[to]; {
	case to == "off", to == "auto", to == "on":
	default:
		wire = fmt.Sprintf(w.word, word)
	}
	if wire == "" {
		t.Fatalf("%s: the table has no body for %q", w.models, text)
	}
	return provider.Level(from), provider.Level(to), wire
}

// TestWires resolves each level for each row, except Anthropic's, which have their own table. The decision and its part of the body
// match the table, and the strict stand-in for the vendor accepts the call. Levels that lead to the same decision are called once.
func TestWires(t *testing.T) {
	t.Parallel()
	vendor := sim.New(sim.Config{Now: ofTheTables})
	catalog, opened := atStandIn(t, proof.Serve(t, vendor))
	covered := map[string]bool{}
	for _, table := range wireTables {
		cells := strings.Fields(table.levels)
		if len(cells) != len(provider.AllLevels()) {
			t.Errorf("%s: the table has %d levels", table.models, len(cells))
		}
		for ref := range strings.FieldsSeq(table.models) {
			m, err := catalog.Find(ref)
			if err != nil || !m.Known {
				t.Errorf("%s: no row (%v)", ref, err)
				continue
			}
			covered[m.Ref()] = true
			t.Run(ref, func(t *testing.T) {
				t.Parallel()
				called := map[string]bool{}
				for _, text := range cells {
					level, effective, wire := table.cell(t, text)
					tryWire(t, opened.Find(m.Provider), m, level, effective, wire, called)
				}
			})
		}
	}
	for _, m := range catalog.Models() {
		if m.API != "messages" && !covered[m.Ref()] {
			t.Errorf("%s is in the catalog and in no table here: write down what its levels have to be", m.Ref())
		}
	}
	t.Cleanup(func() { // when all have run
		for _, r := range vendor.Refusals() {
			if strings.Count(r.Path, "/") > 1 { // else one asks whether a server is there
				t.Errorf("refused: %+v", r)
			}
		}
	})
}

func tryWire(t *testing.T, p provider.Provider, m provider.Model, level, effective provider.Level, want string, called map[string]bool) {
	t.Helper()
	d, err := registry.Resolve(registry.Ask{Level: level, Source: provider.SourceSession}, m)
	if err != nil || d.Effective != effective {
		t.Errorf("%s: %s is in effect (%v), want %s", level, d.Effective, err, effective)
		return
	}
	req := &provider.Request{Model: m, Decision: d, System: "Be brief.", Messages: []provider.Message{
		{Role: provider.User, Blocks: provider.Blocks{provider.Text{Text: "Which date is later? [[sim: thinking=1 text=1 pace=0]]"}}}}}
	wire, err := p.Wire(req)
	if err != nil {
		t.Errorf("%s: %v", level, err)
		return
	}
	if diff := providertest.DiffJSON([]byte(want), wire); diff != "" {
		t.Errorf("%s: on the wire (-want +got):\n%s", level, diff)
	}
	same := string(effective) + " " + string(wire)
	if called[same] {
		return
	}
	called[same] = true
	reply, err := providertest.Collect(p.Stream(t.Context(), req))
	if err != nil || reply.Err != nil {
		t.Errorf("%s: %v, %v", level, reply.Err, err)
	}
}

// atStandIn is the catalog's vendors with the stand-in in their places.
func atStandIn(t *testing.T, address string) (*registry.Catalog, *vendors.Providers) {
	t.Helper()
	c, err := loadConfig(proof.WriteConfig(t, proof.StandInConfig(address)), proof.StandInEnvironment)
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := vendors.Catalog(c.Providers, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := vendors.Open(c.Providers, c.Dialects, noKeys(t), catalog, discard)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return catalog.At(ofTheTables), p
}

// ofTheTables is the day that the tables are of: vendors redirect names on later ones.
func ofTheTables() time.Time { return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC) }
