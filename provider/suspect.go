package provider

import (
	"cmp"
	"strings"
)

// BlamesHistory reports whether a refusal may be due to what was said, rather than to the model, the endpoint, the account,
// a parameter, or how much the provider has to do. It errs on the side of yes: leaving out what was said since the last
// request that was accepted is tried once, and kept only where it helps or nothing else is left.
func (e *Error) BlamesHistory() bool {
	switch e.Kind {
	case KindRefused:
		return true
	case KindTooLong:
		return e.Status == 413
	case KindBadRequest:
	default:
		return e.Status == 500 && template(strings.ToLower(e.Message))
	}
	if e.Status < 400 && e.Code == "" { // no answer at all, or one that is none, such as a proxy's page
		return false
	}
	switch cmp.Or(e.Subject, e.subject(strings.ToLower(strings.TrimSuffix(e.Message, notFoundHelp)))) {
	case SubjectUnknown, SubjectHistory:
		return true
	}
	return false
}

// Garbled reports whether a host says that it could not read what the model wrote. The same request may go well; where it
// never does, something that was said leads the model there.
func (e *Error) Garbled() bool {
	return e.Status >= 500 && cmp.Or(e.Subject, subjectOf(strings.ToLower(e.Message))) == SubjectOutput
}
