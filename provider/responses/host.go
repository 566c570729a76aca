package responses

import (
	"maps"
	"slices"
)

// Host is what is special about who serves the API. The zero value is a host that takes what all of them take.
type Host struct {
	KeyHeader     string            // holds the key as it is; empty: Authorization, as a bearer token
	AccountHeader string            // holds Config.Account
	Sessions      []string          // headers that hold a name for the conversation
	Version       string            // of the API, in the address; empty: none
	Headers       map[string]string // sent with each call
	Catalog       string            // the path of a list that tells what models can do; empty: there is none
	List          string            // the path of a list that has little more than names; empty: there is none
	Instructions  string            // for a request without a system prompt, where the host insists on one

	CacheKey    bool // takes prompt_cache_key
	Unpadded    bool // a request can leave out the padding of deltas
	Developer   bool // the system prompt goes as a message of the developer role
	ModelBound  bool // encrypted content is for the model that made it, and an answer names a machine in place of it
	SealedCalls bool // deltas of arguments may be ciphertext: only what comes at their end counts
	Unlimited   bool // refuses max_output_tokens
	Unsampled   bool // refuses temperature and top_p
	Initiator   bool // wants to know who spoke last, and of images, in headers
}

var hosts = map[string]Host{
	"openai": {List: "/models", CacheKey: true, Unpadded: true},

	// Model is the name of a deployment. The v1 address needs no version (Azure docs: api-version-lifecycle).
	"azure": {KeyHeader: "api-key", CacheKey: true},

	// The ChatGPT plan's backend is no public API; this is what OpenAI's own client, which is open source, sends it. The
	// session's name routes the prompt cache: without it nothing is found there. Some proxies reject the older name with
	// an underscore (openai/codex pull requests 21757 and 22193).
	"chatgpt": {
		AccountHeader: "ChatGPT-Account-ID", Sessions: []string{"session-id", "thread-id"}, Headers: map[string]string{"originator": "thinkd"},
		Catalog: "/models?client_version=1.0.0", Instructions: "Answer the user.", CacheKey: true, Unlimited: true, Unsampled: true,
	},

	// No public contract either: from the source of GitHub's editor extension.
	"copilot": {
		Headers: map[string]string{
			"Editor-Version": "thinkd/1.0.0", "Editor-Plugin-Version": "thinkd/1.0.0",
			"Openai-Intent": "conversation-edits", "X-GitHub-Api-Version": "2025-05-01",
		},
		Developer: true, ModelBound: true, SealedCalls: true, Unlimited: true, Initiator: true,
	},

	"xai": {List: "/models"},
}

// HostNamed is the record for a dialect of the API; a dialect that is not known is a plain host.
func HostNamed(dialect string) Host { return hosts[dialect] }

// Hosts lists the dialects of the API that have a record, sorted.
func Hosts() []string { return slices.Sorted(maps.Keys(hosts)) }
