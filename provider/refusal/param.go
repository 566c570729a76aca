package refusal

import (
	"regexp"
	"strings"
	"sync"
)

// params are the forms in which refusals name a member of the body.
var params = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`(?i)(?:unsupported|unknown|invalid) (?:parameter|value|type|argument)(?:\(s\))?: '?"?([a-z][\w.]*)`),
		regexp.MustCompile(`(?i)property '(?:body\.)?([a-z][\w.]*)' is unsupported`),
		regexp.MustCompile(`(?i)unrecognized request argument supplied: ([a-z]\w*)`),
		regexp.MustCompile(`(?i)does not support parameter '?([a-z][\w.]*)`),
		regexp.MustCompile(`(?i)not permitted, field: '([a-z]\w*)'`),
		regexp.MustCompile(`(?i)(?:body\.|^|'body', ')([a-z]\w*)(?:'\), 'msg': '|: )extra (?:fields|inputs) (?:are )?not permitted`),
		regexp.MustCompile(`(?i)\binvalid (temperature|top_p|top_k)\b`),
		regexp.MustCompile("(?i)[`'\"]?(temperature|top_p|top_k)[`'\"]? (?:cannot both be specified|is deprecated|may only be set|may not be set|is not supported|does not support)"),
		regexp.MustCompile(`(?i)^(?:capierror: )?(?:\d+ )?(output_config\.effort|reasoning_effort|reasoning\.effort) "`),
		regexp.MustCompile(`(?i)^(?:capierror: )?(?:\d+ )?(max_(?:completion_)?tokens)\b`),
		regexp.MustCompile("(?i)(clear_thinking_\\d+)` strategy requires"),
	}
})

// spellings are members as the body has them, where a text names them in another way.
var spellings = map[string]string{
	"reasoningEffort": "reasoning_effort", "maxTokens": "max_tokens", "body.thinking": "thinking",
}

// paramOf is the member that a refusal is about, empty if it names none.
func paramOf(text string) string {
	lower := strings.ToLower(text)
	switch {
	case strings.Contains(lower, "reasoning is mandatory"):
		return "reasoning"
	case strings.Contains(lower, "thinking is not supported"), strings.Contains(lower, "does not support thinking"),
		strings.Contains(lower, "thinking budget"), strings.Contains(lower, "thinking level"), strings.Contains(lower, `thinking.type.`):
		return "thinking"
	}
	for _, form := range params() {
		if found := form.FindStringSubmatch(text); found != nil {
			name := strings.Trim(found[1], ".")
			if known, ok := spellings[name]; ok {
				return known
			}
			return name
		}
	}
	return ""
}
