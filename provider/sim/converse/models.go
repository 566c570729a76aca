package converse

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/thinkd/thinkd/provider/sim"
)

// control says how a model should think.
type control int

const (
	never    control = iota
	always           // it takes no member for it
	claude           // thinking, output_config
	nova             // reasoningConfig
	flat             // reasoning_effort
	nestling         // reasoning.effort
)

// model has the differences between models.
type model struct {
	id       string // without the prefix of a place
	name     string
	maker    string
	control  control
	efforts  []string
	adaptive bool // Claude: takes no budget
	calm     bool // does not think unless told
	signs    bool
	hides    bool // its reasoning comes as redacted content
	masks    bool // its reasoning comes as a mark in place of the text
	refuses  bool // takes no reasoning back
	caches   bool
	mixes    bool                  // takes text beside results of tools
	profiled bool                  // answers under the id of an inference profile only
	toolName func() *regexp.Regexp // nil: the API's own rule
	lacks    []string              // members of requests that it refuses
	output   int
}

var (
	plainName  = pattern(`^[a-zA-Z][a-zA-Z0-9_]*$`)
	three      = []string{"low", "medium", "high"}
	four       = []string{"low", "medium", "high", "max"}
	noStop     = []string{"stopSequences"}                                           // [langgenius/dify-official-plugins#1767]
	noChoice   = []string{"toolConfig.toolChoice.any", "toolConfig.toolChoice.tool"} // [docs: API_runtime_ToolChoice]
	noSampling = []string{"temperature", "topP"}                                     // [NousResearch/hermes-agent#111438]
	five       = []string{"low", "medium", "high", "xhigh", "max"}
)

// pattern compiles an expression at its first use: a program that does not simulate this API does not pay for it.
func pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// models is the table. Never written.
var models = []model{
	{id: "anthropic.claude-opus-4-6-v1", name: "Claude Opus 4.6", maker: "Anthropic", control: claude, efforts: four, calm: true, signs: true, caches: true, mixes: true, output: 128_000},
	{id: "anthropic.claude-opus-4-8", name: "Claude Opus 4.8", maker: "Anthropic", control: claude, efforts: five, adaptive: true, calm: true, signs: true, caches: true, mixes: true, output: 128_000},
	{id: "anthropic.claude-haiku-4-5-20251001-v1:0", name: "Claude Haiku 4.5", maker: "Anthropic", control: claude, calm: true, signs: true, caches: true, mixes: true, output: 64_000},
	{id: "anthropic.claude-3-7-sonnet-20250219-v1:0", name: "Claude 3.7 Sonnet", maker: "Anthropic", control: claude, calm: true, signs: true, caches: true, mixes: true, profiled: true, output: 64_000},
	{id: "amazon.nova-2-lite-v1:0", name: "Nova 2 Lite", maker: "Amazon", control: nova, efforts: three, calm: true, masks: true, caches: true, output: 65_535},
	{id: "amazon.nova-pro-v1:0", name: "Nova Pro", maker: "Amazon", caches: true, output: 10_000},
	{id: "amazon.nova-premier-v1:0", name: "Nova Premier", maker: "Amazon", caches: true, output: 10_000},
	{id: "amazon.nova-lite-v1:0", name: "Nova Lite", maker: "Amazon", caches: true, output: 10_000},
	{id: "amazon.nova-micro-v1:0", name: "Nova Micro", maker: "Amazon", caches: true, output: 10_000},
	{id: "amazon.nova", name: "Simulated Nova", maker: "Amazon", control: nova, efforts: three, calm: true, masks: true, caches: true, output: 65_535},
	{id: "deepseek.v3-v1:0", name: "DeepSeek V3.1", maker: "DeepSeek", control: flat, efforts: three, calm: true, refuses: true, output: 81_920},
	{id: "deepseek.v3.2", name: "DeepSeek V3.2", maker: "DeepSeek", control: flat, efforts: three, calm: true, refuses: true, output: 81_920},
	{id: "qwen.qwen3-32b-v1:0", name: "Qwen3 32B", maker: "Qwen", lacks: noStop, output: 8_192},
	{id: "qwen.qwen3-235b-a22b-2507-v1:0", name: "Qwen3 235B", maker: "Qwen", lacks: noStop, output: 131_072},
	{id: "qwen.qwen3-coder-480b-a35b-v1:0", name: "Qwen3 Coder 480B", maker: "Qwen", lacks: noStop, output: 65_536},
	{id: "qwen.qwen3-next-80b-a3b", name: "Qwen3 Next 80B", maker: "Qwen", lacks: noStop, output: 262_000},
	{id: "qwen.qwen3-vl-235b-a22b", name: "Qwen3 VL 235B", maker: "Qwen", lacks: noStop, output: 262_000},
	{id: "meta.llama4-scout-17b-instruct-v1:0", name: "Llama 4 Scout", maker: "Meta", lacks: noChoice, toolName: plainName, output: 8_192},
	{id: "meta.llama3-3-70b-instruct-v1:0", name: "Llama 3.3 70B", maker: "Meta", lacks: noChoice, toolName: plainName, output: 4_096},
	{id: "meta.llama4-maverick-17b-instruct-v1:0", name: "Llama 4 Maverick", maker: "Meta", lacks: noChoice, toolName: plainName, output: 8_192},
	{id: "mistral.mistral-large-3-675b-instruct", name: "Mistral Large 3", maker: "Mistral AI", output: 8_192},
	{id: "mistral.devstral-2-123b", name: "Devstral 2", maker: "Mistral AI", output: 8_192},
	{id: "mistral.ministral-3-14b-instruct", name: "Ministral 3 14B", maker: "Mistral AI", output: 4_096},
	{id: "mistral.magistral-small-2509", name: "Magistral Small", maker: "Mistral AI", control: always, output: 40_000},
	{id: "openai.gpt-oss-120b-1:0", name: "gpt-oss-120b", maker: "OpenAI", control: flat, efforts: three, output: 128_000},
	{id: "openai.gpt-oss-20b-1:0", name: "gpt-oss-20b", maker: "OpenAI", control: flat, efforts: three, output: 128_000},
	{id: "openai.gpt-6-luna", name: "GPT-6 Luna", maker: "OpenAI", control: nestling, efforts: five, hides: true, output: 128_000},
	{id: "moonshot.kimi-k2-thinking", name: "Kimi K2 Thinking", maker: "Moonshot AI", control: always, output: 16_000},
	{id: "xai.grok-4.6", name: "Grok 4.6", maker: "xAI", lacks: noSampling, output: 131_072},
	{id: "minimax.minimax-m2.5", name: "MiniMax M2.5", maker: "MiniMax", control: always, output: 98_304},
}

var places = []string{"us.", "eu.", "au.", "jp.", "apac.", "in.", "ca.", "global."}

// modelBy returns the row for an id, with or without a place.
func modelBy(id string) (m *model, place bool) {
	for _, p := range places {
		if rest, ok := strings.CutPrefix(id, p); ok {
			id, place = rest, true
			break
		}
	}
	i := slices.IndexFunc(models, func(m model) bool { return m.id == id })
	if i < 0 {
		return nil, false
	}
	return &models[i], place
}

// sealed is the kind of seals: models of one maker read each other's.
func (m *model) sealed() sim.Seal { return sim.Seal{Kind: "converse", Model: m.maker} }

func help() string {
	return "Models of Converse, besides Amazon's own ids (requests carry a bearer token or a signature):\n\n  amazon.nova           thinks by effort, and not by default\n"
}
