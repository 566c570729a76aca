package provider

import (
	"regexp"
	"strings"
)

// Fragments of refusals. Each text is in lower case.
var (
	// namesHistory: a place in what was said.
	namesHistory = regexp.MustCompile(`\bmessages?[.\[ ]*\d|\binput\[[\dn]+\]|\bcontents?\[|\bitem\b|\btool_call|\btool_use|\btool_result|` +
		`\bfunction (call|response)|\bimage|\bpdf\b|\bmedia\b|\bmime type|\breasoning_content|\bencrypted|\bsignature|\brole\b|\broles\b`)
	// namesRequest: the model, the endpoint, the account or a parameter.
	namesRequest = regexp.MustCompile(`\bmodel\b.{0,80}\b(not found|not exist|not supported|unsupported|not accessible|not available|not support|deprecated|retired)|` +
		`\b(no such|unknown|invalid|unsupported|requested) model\b|\bendpoint\b|\borgani[sz]ation\b|\baccount\b|\bsubscription\b|\bbilling\b|\bquota\b|\bapi key\b|` +
		`\b(unsupported|unknown|unrecognized|missing required) (parameter|argument|field|value|arguments)\b|\bextra (inputs|fields)\b|` +
		`\b(max_tokens|max_completion_tokens|max_output_tokens|temperature|top_p|top_k|reasoning_effort|reasoning\.|budget_tokens|thinking budget|thinking level|` +
		`tool_choice|tool choice|stream_options|output_config|response_format|cache_control|store must|stream must|instructions are required)|` +
		`\btools?[.\[ ]*[\dn]\b|\bfunction_declarations\b|\bschema\b|\binput_schema\b|\bfunction[. ]parameters\b|\btool_config\b|\bclear_thinking|` +
		`\b(not support +(tools|thinking)|is not supported (on|by) this model|is unsupported by the model)`)
	// namesTemplate: a local server's template that the history does not fit, which comes with status 500.
	namesTemplate = regexp.MustCompile(`\b(template|jinja|roles must|must alternate|mapping|peg-|expected .* format)`)
)

// BlamesHistory reports whether a refusal may be due to what was said, rather than to the model, the endpoint, the account,
// a parameter, or how much the provider has to do. It errs on the side of yes: leaving out what was said since the last
// request that was accepted is tried once, and kept only where it helps or nothing else is left.
func (e *Error) BlamesHistory() bool {
	text := strings.ToLower(e.Code + " " + strings.TrimSuffix(e.Message, notFoundHelp))
	switch e.Kind {
	case KindRefused:
		return true
	case KindTooLong:
		return e.Status == 413
	case KindBadRequest:
	default:
		return e.Status == 500 && namesTemplate.MatchString(text)
	}
	switch {
	case e.Status < 400 && e.Code == "": // no answer at all, or one that is none, such as a proxy's page
		return false
	case namesHistory.MatchString(text):
		return true
	case e.Status == 404, namesRequest.MatchString(text):
		return false
	}
	return true
}
