package refusal

import (
	"net/http"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider"
)

// classify sets what the code, the text and the status of a refusal mean together.
func classify(e *provider.Error, text string) {
	text = strings.ToLower(text)
	e.Kind = kindOf(e, text)
	switch e.Kind {
	case provider.KindTooLong:
		e.Subject = provider.SubjectSize
	case provider.KindAuth, provider.KindQuota, provider.KindRateLimit:
		e.Subject = provider.SubjectAccount
	case provider.KindRefused:
		e.Subject = provider.SubjectHistory
	case provider.KindBadRequest:
		e.Subject = subject(e, text)
	case provider.KindTransport:
		switch about := subjectOf(text); {
		case e.Status < 500:
		case about == provider.SubjectOutput:
			e.Subject = about
		case template(text): // of a local server: the same request fails for ever
			e.Kind, e.Subject = provider.KindBadRequest, provider.SubjectHistory
		}
	}
	if e.Subject == provider.SubjectOutput && e.Hint == provider.HintNone {
		e.Hint = provider.HintRetry
	}
}

func subject(e *provider.Error, text string) provider.Subject {
	switch e.Code {
	case "model_not_found", "model_not_supported", "unsupported_api_for_model", "OperationNotSupported":
		return provider.SubjectModel
	case "ResourceNotFoundException":
		return provider.SubjectModel
	case "invalid_function_parameters":
		return provider.SubjectTools
	case "tool_use_failed":
		return provider.SubjectOutput
	case "invalid_reasoning_effort", "unsupported_value", "unsupported_parameter", "unknown_parameter":
		if s := subjectOf(text); s != provider.SubjectUnknown {
			return s
		}
		return provider.SubjectParameter
	case "invalid_encrypted_content", "previous_response_not_found", "sanitizer_server_error", "image_dimensions_too_large":
		return provider.SubjectHistory
	}
	s := subjectOf(text)
	if e.Status == http.StatusNotFound && s != provider.SubjectHistory || e.Status == http.StatusMethodNotAllowed {
		return provider.SubjectModel
	}
	if s == provider.SubjectUnknown && e.Code == "1210" { // Z.ai: mostly arguments of a call that are no JSON
		return provider.SubjectHistory
	}
	return s
}

// template reports whether a server of local models says that its template cannot write the conversation.
func template(text string) bool {
	for _, words := range []string{"item pairs", "jinja", "template", "roles must alternate", "unsupported role", "unknown role"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

func kindOf(e *provider.Error, text string) provider.Kind {
	says := func(fragments ...string) bool {
		return slices.ContainsFunc(fragments, func(f string) bool { return strings.Contains(text, f) })
	}
	switch e.Code {
	case "authentication_error", "permission_error", "invalid_api_key":
		return provider.KindAuth
	case "billing_error", "insufficient_quota", "usage_limit_reached", "contract_spend_limit_reached":
		return provider.KindQuota
	case "overloaded_error":
		return provider.KindOverloaded
	case "request_too_large", "context_length_exceeded", "exceed_context_size_error", "model_max_prompt_tokens_exceeded", "1261": // 1261: Z.ai
		return provider.KindTooLong
	case "content_filter", "invalid_prompt":
		return provider.KindRefused
	case "tool_use_failed":
		return provider.KindBadRequest
	case "ServiceQuotaExceededException": // Amazon, as those below
		return provider.KindQuota
	case "ModelNotReadyException":
		return provider.KindOverloaded
	case "ModelErrorException", "ModelStreamErrorException", "modelStreamErrorException", "modelErrorException":
		return provider.KindTransport // 424: the model failed, and may not the next time
	}
	switch {
	case e.Status == 401 || e.Status == 402 || e.Status == 403:
	case oversized(text):
		return provider.KindTooLong
	case says("out of extra usage"):
		return provider.KindQuota
	case says("too many tokens per day", "too many requests per day"): // Bedrock, whose quota of the day no waiting within a turn brings back
		return provider.KindQuota
	case says("too many tokens") && says("wait", "throttl", "rate"): // Bedrock
		return provider.KindRateLimit
	case e.Code == "rate_limit_error", e.Code == "rate_limit_exceeded":
		return provider.KindRateLimit
	case overflowed(text):
		return provider.KindTooLong
	case says("content exists risk", "content management policy"):
		return provider.KindRefused
	}
	switch e.Status {
	case 401, 403:
		return provider.KindAuth
	case 402:
		return provider.KindQuota
	case 413:
		return provider.KindTooLong
	case 408, 409:
		return provider.KindTransport
	case 429:
		return provider.KindRateLimit
	case 503, 529:
		return provider.KindOverloaded
	}
	if e.Status >= 500 {
		return provider.KindTransport
	}
	return provider.KindBadRequest
}
