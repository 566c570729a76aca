package refusal

import (
	"cmp"
	"strings"

	"github.com/thinkd/thinkd/provider"
)

// BlamesHistory reports whether a refusal may be due to the messages, rather than to the model, the endpoint, the account,
// a parameter, or the load of the provider. If in doubt, it returns true: then the messages since the last accepted request are left
// out of one more try, and stay left out only if that helps or nothing else is left.
func BlamesHistory(e *provider.Error) bool {
	switch e.Kind {
	case provider.KindRefused:
		return true
	case provider.KindTooLong:
		return e.Status == 413
	case provider.KindBadRequest:
	default:
		return e.Status == 500 && template(strings.ToLower(e.Message))
	}
	if e.Status < 400 && e.Code == "" { // no answer at all, or one that is none, such as a proxy's page
		return false
	}
	switch cmp.Or(e.Subject, subject(e, strings.ToLower(strings.TrimSuffix(e.Message, notFoundHelp)))) {
	case provider.SubjectUnknown, provider.SubjectHistory:
		return true
	}
	return false
}

// Unreadable reports whether a host says that it could not read what the model wrote. The same request may go well; where it
// never does, something that was said leads the model there.
func Unreadable(e *provider.Error) bool {
	return e.Status >= 500 && cmp.Or(e.Subject, subjectOf(strings.ToLower(e.Message))) == provider.SubjectOutput
}

// RefusesMedia reports whether a refusal says that the model sees no media at all.
func RefusesMedia(e *provider.Error) bool {
	if e.Kind != provider.KindBadRequest || e.Subject != provider.SubjectHistory {
		return false
	}
	text := strings.ToLower(e.Message)
	for _, words := range []string{"support image", "image input", "untagged enum", "variant `image", "variant image", "part type: image", "images are not supported", "does not support vision"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}
