package refusal

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// overflows are what hosts say of a request that does not fit into the window, in small letters. It is the one list for
// all adapters: gateways pass the texts of one vendor on in the form of another.
var overflows = []string{
	"context_length_exceeded", "exceed_context_size", "model_max_prompt_tokens_exceeded", // codes, also inside of texts
	"prompt is too long", "exceed context limit", "input is too long", // Anthropic, Bedrock
	"maximum context length", "exceeds the context window", "exceeds the model's context", // OpenAI, vLLM, Mistral
	"maximum prompt length",                  // xAI
	"reduce the length of the messages",      // Groq, Cerebras
	"exceeded model token limit",             // Kimi
	"prompt token count of",                  // Copilot
	"prompt exceeds max length", "prompt 超长", // Z.ai
	"context window exceeds limit",                                 // MiniMax
	"context length of only", "is greater than the context length", // LM Studio
	"available context size", "context size has been exceeded", // llama.cpp
	"input length exceeds", "exceeds the context length", "context size", // Ollama
	"range of input length should be",                                                 // DashScope
	"longer than the maximum model length",                                            // vLLM
	"exceeds the maximum allowed length", "is longer than the model's context length", // SGLang
	"`inputs` tokens + `max_new_tokens`", "`inputs` must have less than", // TGI, Together
	"too many tokens: size limit exceeded", "too many tokens: total number of tokens", // Cohere
	"exceeds the maximum number of tokens", "exceed max message tokens", "max prompt tokens", // Gemini, Doubao
}

// overflowed reports whether a host's text says that the request does not fit into the window. "Too many tokens" alone
// is a rate limit (Bedrock).
func overflowed(text string) bool {
	text = strings.ToLower(text)
	for _, o := range overflows {
		if strings.Contains(text, o) {
			return true
		}
	}
	return false
}

// oversized reports whether a limit per minute is below this single request, or a plan takes no prompt of this length:
// no waiting helps, a shorter request does.
func oversized(text string) bool {
	return strings.Contains(text, "request too large") && strings.Contains(text, "requested") ||
		strings.Contains(text, "extra usage is required")
}

// Room is what a refusal says about limits, in tokens; 0: it does not say.
type Room struct {
	Window int // of input and output together
	Input  int // of the refused request
	Output int // the most that the model writes
}

// rooms are the forms in which hosts name these numbers. Names of groups: w window, i input, o output, r what input and
// limit on output are together.
var rooms = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`(?P<i>\d+) \+ \d+ > (?P<w>\d+)`),                                                                       // Anthropic: input + max_tokens > limit
		regexp.MustCompile(`maximum context length is (?P<w>\d+).*?\((?P<i>\d+) (?:of text input|in the messages|in your prompt)`), // OpenAI, vLLM, OpenRouter
		regexp.MustCompile(`maximum context length is (?P<w>\d+).*?your request has (?P<i>\d+) input tokens`),                      // vLLM
		regexp.MustCompile("must be <= (?P<w>\\d+)\\. given: (?P<i>\\d+) `inputs`"),                                                // TGI
		regexp.MustCompile(`limit (?P<w>\d+), requested (?P<r>\d+)`),                                                               // Groq, OpenAI: tokens a minute
		regexp.MustCompile(`max_tokens: \d+ > (?P<o>\d+)`),                                                                         // Anthropic
		regexp.MustCompile(`supports at most (?P<o>\d+) completion tokens`),                                                        // OpenAI
		regexp.MustCompile(`tokens you requested exceeds the model limit of (?P<o>\d+)`),                                           // Bedrock
		regexp.MustCompile(`supported range is from 1 \(inclusive\) to (?P<x>\d+) \(exclusive\)`),                                  // Vertex
		regexp.MustCompile(`max tokens must be less than or equal to (?P<o>\d+)`),                                                  // Cohere
		regexp.MustCompile(`range of max_tokens should be \[1, (?P<o>\d+)\]`),                                                      // DashScope
	}
})

// RoomOf reads the numbers of a refusal that a smaller limit on output may cure; asked is the limit that was sent.
func RoomOf(text string, asked int) Room {
	text = strings.ToLower(text)
	var room Room
	for _, form := range rooms() {
		found := form.FindStringSubmatch(text)
		if found == nil {
			continue
		}
		for i, name := range form.SubexpNames() {
			n, err := strconv.Atoi(found[i])
			if name == "" || err != nil {
				continue
			}
			switch name {
			case "w":
				room.Window = n
			case "i":
				room.Input = n
			case "o":
				room.Output = n
			case "x":
				room.Output = n - 1
			case "r":
				room.Input = max(n-asked, 0)
			}
		}
		return room
	}
	return room
}
