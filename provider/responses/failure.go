package responses

import (
	"cmp"
	"strings"

	"github.com/tidwall/gjson"
)

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
