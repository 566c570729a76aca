package converse

import (
	"slices"
	"strings"
)

// family is who made a model, as far as requests differ.
type family string

const (
	claude   family = "anthropic"
	nova     family = "amazon"
	openAI   family = "openai" // except its open models
	gptOSS   family = "gpt-oss"
	kimi     family = "moonshot"
	deepseek family = "deepseek"
	mistral  family = "mistral"
	qwen     family = "qwen"
	llama    family = "meta"
	grok     family = "xai"
)

// familyOf reads an id, such as us.anthropic.claude-opus-4-6-v1 or the resource name of an inference profile. The prefix of a place is any
// part before the maker's (docs: inference-profiles-support). An id that names no maker is its own family.
func familyOf(model string) family {
	model = strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	parts := strings.Split(model, ".")
	for _, part := range parts[:min(len(parts), 2)] {
		switch f := family(part); f {
		case claude, nova, deepseek, mistral:
			return f
		case openAI:
			if strings.Contains(model, "gpt-oss") {
				return gptOSS
			}
			return f
		case kimi, "moonshotai":
			return kimi
		case qwen, llama, grok, "minimax", "zai", "nvidia", "writer", "ai21", "cohere", "google":
			return f
		}
	}
	return family(parts[0])
}

// returns reports whether a family takes its reasoning back. DeepSeek's refuse it, as users report (strands-agents: bedrock model).
func (f family) returns() bool { return f != deepseek }

// signs reports whether reasoning is worth nothing without its signature.
func (f family) signs() bool { return f == claude }

// caches reports whether a family takes marks for its prompt cache (docs: prompt-caching).
func (f family) caches() bool { return f == claude || f == nova }

// marksResults reports whether a family takes a mark behind the result of a tool. Nova refuses the whole request for one, as users report.
func (f family) marksResults() bool { return f == claude }

// mixes reports whether a family takes a prompt and results of tools in one turn. Others refuse that.
func (f family) mixes() bool { return f == claude }

// Members of requests that some models do not take, as refusals name them.
const (
	memberTemperature = "temperature"
	memberTopP        = "topP"
	memberStop        = "stopSequences"
	memberAny         = "toolConfig.toolChoice.any"
	memberTool        = "toolConfig.toolChoice.tool"
	memberFormat      = "outputConfig"
	memberTier        = "serviceTier"
)

// lacks reports whether a family refuses a member of requests. Users report it of Qwen (langgenius/dify-official-plugins#1767) and Grok
// (NousResearch/hermes-agent#111438). Llama cannot be forced to call a tool (docs: API_runtime_ToolChoice).
func (f family) lacks(member string) bool {
	switch f {
	case qwen:
		return member == memberStop
	case grok:
		return member == memberTemperature || member == memberTopP
	case llama:
		return member == memberAny || member == memberTool
	}
	return false
}

// efforts are the words that Nova takes; others take all of ours.
func (f family) takes(effort string) bool {
	return f != nova || slices.Contains([]string{"low", "medium", "high"}, effort)
}
