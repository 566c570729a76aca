package messages

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/aws"
	"github.com/thinkd/thinkd/provider/exchange"
)

// Betas that a request may need (docs: api/beta-headers).
const (
	betaInterleaved = "interleaved-thinking-2025-05-14"
	betaBinding     = "thinking-binding-controls-2026-08-01"
	betaTokenCount  = "thinking-token-count-2026-05-13"
	betaUpdates     = "thinking-display-updates-2026-08-18"
	betaInPlace     = "mid-conversation-output-config-2026-07-01"
)

// Host is what is special about who serves the API. The zero value is Anthropic, or who passes everything on to it.
type Host struct {
	Bearer bool   // the key goes as a bearer token, not in x-api-key
	On     string // the type of `thinking` that switches it on; empty: adaptive
	Plain  bool   // it has neither betas nor `display`

	// Unsigned is a host that does not sign. Its thinking is the text itself, and is wanted back as it came.
	Unsigned bool

	// Betas are the only ones that the host takes; nil: it takes all. Without a feature's beta the feature is not used.
	Betas []string

	Claude    bool              // the models are Anthropic's, on every host: their thinking is a summary
	Headers   map[string]string // sent with each call
	Initiator bool              // wants to know who spoke last, and of images, in headers

	// Vendor is whose models the host has. Thinking that the vendor signed elsewhere is good here, and the other way. Empty: the configured one.
	Vendor string

	// Address is where a model is called, given the base URL; nil: /v1/messages.
	Address func(base, model string) string

	// Version is what the body calls the version of the API. The address names the model then, and the header has no version. Empty: the
	// header has it.
	Version string

	// Framing is that of a stream that is no event stream of HTTP: the body has the betas, and does not ask for a stream. nil: it is one.
	Framing *exchange.Framing

	// List asks for the host's models in a form of its own; nil: they are listed in the vendor's, where the host has that.
	List func(ctx context.Context, c *exchange.Caller, header http.Header) ([]provider.Model, error)

	// ListBase is the address of a list in the vendor's form that has no models but those of this API, given the base URL; nil: there is no
	// such list.
	ListBase func(base string) string

	// Echo: the host refuses an answer with tool calls that is sent back without thinking. Empty thinking is enough.
	Echo bool
}

var hosts = map[string]Host{
	"anthropic": {},

	// Thinking has to be on every answer with tool calls, for ever (docs: api-docs.deepseek.com, thinking_mode).
	"deepseek": {Bearer: true, On: "enabled", Plain: true, Unsigned: true, Echo: true},

	// Thinking between tool calls is lost where it is not sent back, without an error (docs: platform.minimax.io,
	// text-m2-function-call).
	"minimax": {Bearer: true, Plain: true, Unsigned: true},

	// No public contract: from the source of GitHub's editor extension, and from reports of what its gateway refuses
	// (pydantic/pydantic-ai #8232, BerriAI/litellm #28053). Chat Completions of this host cannot make every Claude think.
	"copilot": {Bearer: true, Betas: []string{betaInterleaved}, Claude: true, Initiator: true, Headers: map[string]string{
		"Editor-Version": "thinkd/1.0.0", "Editor-Plugin-Version": "thinkd/1.0.0",
		"Openai-Intent": "conversation-edits", "X-GitHub-Api-Version": "2025-05-01",
	}},

	// Amazon's own address for this API (docs: claude-in-amazon-bedrock). The page on betas names none but this one for it, and a beta that it does
	// not know is refused.
	"mantle": {Bearer: true, Betas: []string{betaInterleaved}, Claude: true, Vendor: "anthropic", Address: func(base, _ string) string {
		return aws.Mantle(base) + "/v1/messages"
	}, ListBase: aws.Mantle},

	// Amazon's InvokeModel, which wraps each event in a frame (docs: claude-on-amazon-bedrock).
	"bedrock": {Bearer: true, Betas: []string{betaInterleaved}, Claude: true, Vendor: "anthropic", Version: "bedrock-2023-05-31", Framing: aws.Chunks(),
		Address: func(base, model string) string {
			return base + "/model/" + aws.Escape(model) + "/invoke-with-response-stream"
		}, List: aws.Models},

	// Google Cloud (docs: claude-on-vertex-ai; @anthropic-ai/vertex-sdk 1.1.3: client.js). Betas go in the header, and all are taken.
	"cloud": {Bearer: true, Claude: true, Vendor: "anthropic", Version: "vertex-2023-10-16", Address: func(base, model string) string {
		return base + "/publishers/anthropic/models/" + url.PathEscape(model) + ":streamRawPredict"
	}},

	// An unknown host that takes its thinking back without a signature.
	"unsigned": {Plain: true, Unsigned: true},
}

// HostNamed is the record for a dialect of the API; a dialect that is not known is a host as Anthropic is.
func HostNamed(dialect string) Host { return hosts[dialect] }

// takes reports whether the host knows a beta.
func (h Host) takes(beta string) bool {
	return !h.Plain && (h.Betas == nil || slices.Contains(h.Betas, beta))
}

// Hosts lists the dialects of the API, sorted.
func Hosts() []string { return slices.Sorted(maps.Keys(hosts)) }
