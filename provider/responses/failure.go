package responses

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// Repairs of what the vendor refuses.
const (
	// DropReasoning is the beginning of a repair that leaves out the reasoning of the history so far, and takes the ids
	// off what followed it: "responses/drop_reasoning:" and a name for the last item that it concerns. What comes later
	// goes back as ever.
	DropReasoning = "responses/drop_reasoning:"
	// NoSummary asks for no summary: some organisations get none before they prove who they are.
	NoSummary provider.Repair = "responses/no_summary"
)

func repairUpTo(item string) provider.Repair { return provider.Repair(DropReasoning + item) }

// optional are the members that a request can do without, if a host refuses them by name.
var optional = []string{"reasoning", "reasoning.effort", "reasoning.summary", "reasoning.context", "temperature", "top_p", "max_output_tokens",
	"prompt_cache_key", "include", "stream_options", "context_management"}

func (c *call) holds(member string) bool {
	return slices.Contains(optional, member) && gjson.GetBytes(c.body, member).Exists()
}

// withhold takes out what a host has refused by name.
func (b *body) withhold(members []string) {
	for _, member := range members {
		switch member {
		case "temperature":
			b.Temperature = nil
		case "top_p":
			b.TopP = nil
		case "max_output_tokens":
			b.MaxOutput = 0
		case "prompt_cache_key":
			b.CacheKey = ""
		case "include":
			b.Include = nil
		case "stream_options":
			b.Options = nil
		case "context_management":
			b.Context = nil
		}
	}
}

// withhold is the same for what the decision on thinking puts into the body.
func (c *control) withhold(members []string) {
	if c.Reasoning == nil {
		return
	}
	left := *c.Reasoning
	for _, member := range members {
		switch member {
		case "reasoning":
			left = reasoning{}
		case "reasoning.effort":
			left.Effort = ""
		case "reasoning.summary":
			left.Summary = ""
		case "reasoning.context":
			left.Context = ""
		}
	}
	if c.Reasoning = &left; left == (reasoning{}) {
		c.Reasoning = nil
	}
}

// Refine says what this vendor's words mean, beyond what is common to all, and names the repair that may help.
func (c *call) Refine(e *provider.Error) {
	switch e.Code {
	case "insufficient_quota", "credit_balance_exhausted", "usage_not_included":
		e.Kind, e.Hint = provider.KindQuota, provider.HintFinal
	case "usage_limit_reached": // of a plan, until it is filled again
		e.Kind = provider.KindQuota
	case "server_is_overloaded":
		e.Kind = provider.KindOverloaded
	case "slow_down":
		if e.Status != 429 {
			e.Kind = provider.KindOverloaded
		}
	case "invalid_prompt", "content_filter":
		e.Kind = provider.KindRefused
	default:
		if strings.HasSuffix(e.Code, "_policy") || strings.HasSuffix(e.Code, "_policy_violation") {
			e.Kind = provider.KindRefused
		}
	}
	switch {
	case c.changes > 0 && e.Status == 400 && strings.Contains(e.Message, "configuration_update"):
		e.Repair = effortOnTop(c.model)
	case c.effort != "" && e.Code == "unsupported_value" && learned(c.effort, e.Message) != nil:
		words := learned(c.effort, e.Message)
		e.Repair, e.Learned = effortsOf(c.model, words), &provider.Learned{Levels: levelsOf(words)}
	case c.last != "" && unpaired(e):
		e.Repair = repairUpTo(c.last)
	case c.summary && e.Status == 400 && (strings.Contains(e.Message, "reasoning.summary") || strings.Contains(e.Message, "reasoning summaries")):
		e.Repair = NoSummary
	case e.Subject == provider.SubjectParameter && c.holds(e.Param):
		e.Repair = exchange.Without(wireAPI, e.Param, c.model)
	}
}

// unpaired reports whether an error is about encrypted content or about items that need each other. The texts are
// matched on their stable fragments only.
func unpaired(e *provider.Error) bool {
	if e.Code == "invalid_encrypted_content" {
		return true
	}
	if e.Status != 400 && e.Status != 404 {
		return false
	}
	return slices.ContainsFunc([]string{
		"item_id did not match", "without its required following item", "without its required 'reasoning' item",
		"Items are not persisted", "Duplicate item found with id", "encrypted_content", "compaction blob",
		".summary'", "required field `summary`", ".status'", "context_compaction",
	}, func(fragment string) bool { return strings.Contains(e.Message, fragment) })
}

// failed is an error inside an answer: in a stream, nested in `error` or flat, or a response that failed. It is
// classified as the status that it would have come with (docs: error-codes).
func (r *reply) failed(object gjson.Result) error {
	said := object.Get("error")
	switch {
	case said.IsObject():
	case said.Type == gjson.String: // {"code":"…","error":"…"} of xAI
		return r.Refusal(errorStatus(object.Get("code").Str), []byte(object.Raw))
	default:
		said = object
	}
	word := cmp.Or(said.Get("code").Str, said.Get("type").Str)
	return r.Refusal(errorStatus(word), []byte(`{"error":`+said.Raw+`}`))
}

func errorStatus(word string) int {
	switch word {
	case "invalid_request_error", "invalid_encrypted_content", "context_length_exceeded", "unsupported_value",
		"unsupported_parameter", "invalid_prompt", "data_residency_mismatch", "model_max_prompt_tokens_exceeded":
		return 400
	case "authentication_error", "invalid_api_key":
		return 401
	case "model_not_found":
		return 404
	case "rate_limit_exceeded", "rate_limit_error", "insufficient_quota", "credit_balance_exhausted",
		"usage_limit_reached", "usage_not_included":
		return 429
	case "server_is_overloaded", "slow_down":
		return 503
	}
	if strings.HasSuffix(word, "_policy") || strings.HasSuffix(word, "_policy_violation") {
		return 400
	}
	return 500 // server_error, and words that this build does not know
}
