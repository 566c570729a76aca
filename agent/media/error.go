package media

import (
	"fmt"
	"strings"

	"github.com/thinkd/thinkd/provider"
)

// Reason says why media are refused.
type Reason string

const (
	Kind  Reason = "kind"  // the model does not take the kind
	API   Reason = "api"   // thinkd cannot send the kind over the model's API
	Type  Reason = "type"  // the model takes the kind, and not the type
	Size  Reason = "size"  // it is too large
	Count Reason = "count" // there are too many
	Text  Reason = "text"  // it is no text, though its type says so
)

// Words lists all reasons.
func (Reason) Words() []string { return provider.Words(Kind, API, Type, Size, Count, Text) }

// Error refuses media that a model does not take.
type Error struct {
	Model  string // provider/id
	Block  int    // of the content; -1: all of it
	Kind   string // image, pdf, audio, video; empty: none that a model takes
	Type   string // MIME type
	Reason Reason
	Detail string   // what the limit is
	Takes  []string // the kinds or types that it does take; empty: not known
	Try    string   // a model that takes it; empty: none is known
}

func (e *Error) Error() string {
	what := e.Type
	if e.Kind != "" && e.Kind != what {
		what = e.Kind + " (" + e.Type + ")"
	}
	var text string
	switch e.Reason {
	case Kind, Type:
		text = fmt.Sprintf("model %s does not take %s", e.Model, what)
	case API:
		text = fmt.Sprintf("model %s cannot be sent %s over its API", e.Model, what)
	case Size:
		text = fmt.Sprintf("%s is too large for model %s: %s", what, e.Model, e.Detail)
	case Count:
		text = fmt.Sprintf("too much %s for a request to model %s: %s", e.Kind, e.Model, e.Detail)
		if e.Kind == "" {
			text = fmt.Sprintf("too much for a request to model %s: %s", e.Model, e.Detail)
		}
	case Text:
		text = fmt.Sprintf("%s is not UTF-8 text", e.Type)
	}
	if len(e.Takes) > 0 {
		text += "; it takes: " + strings.Join(e.Takes, ", ")
	}
	if e.Try != "" {
		text += ". " + e.Try + " takes it"
	}
	return text
}
