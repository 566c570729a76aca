package egress

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider"
)

// Check returns why a session may not call a provider, nil if it may. allowed are the labels of the session: none allow every
// provider. labels are those of the provider: all must be allowed, and there must be at least one, because nobody knows where the
// data of a provider without labels goes. The error has the kind provider.KindEgress.
func Check(allowed []string, providerID string, labels []string) error {
	if len(allowed) == 0 {
		return nil
	}
	refused := func(why string) error {
		return &provider.Error{Provider: providerID, Kind: provider.KindEgress, Hint: provider.HintFinal,
			Message: fmt.Sprintf("%s, and this session may only reach %s", why, strings.Join(allowed, ", "))}
	}
	if len(labels) == 0 {
		return refused("the provider has no egress labels")
	}
	for _, l := range labels {
		if !slices.Contains(allowed, l) {
			return refused(fmt.Sprintf("the provider has the egress label %s", l))
		}
	}
	return nil
}

// Guard returns the provider that a session may use in place of p, which is nil if there is none: p itself, or one whose calls all fail
// with the error of Check. It never calls p then.
func Guard(p provider.Provider, allowed []string, providerID string, labels []string) provider.Provider {
	if err := Check(allowed, providerID, labels); p != nil && err != nil {
		return refusing{p, err}
	}
	return p
}

// refusing is a provider that a session may not reach. What needs no call is as it is without that.
type refusing struct {
	p   provider.Provider
	err error
}

func (r refusing) Stream(context.Context, *provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) { yield(nil, r.err) }
}

func (r refusing) Wire(req *provider.Request) (json.RawMessage, error) { return r.p.Wire(req) }

// MaxLabels is how many labels a session or a provider may have.
const MaxLabels = 20

// CheckLabels returns what is wrong with a list of labels, nil if nothing is.
func CheckLabels(labels []string) error {
	if len(labels) > MaxLabels {
		return fmt.Errorf("has %d labels; the limit is %d", len(labels), MaxLabels)
	}
	for _, l := range labels {
		if l == "" || len(l) > maxLabel || strings.IndexFunc(l, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.')
		}) >= 0 {
			return fmt.Errorf("%.80q is not a label: a label has 1 to %d lower-case letters, digits, dots, dashes and underscores", l, maxLabel)
		}
	}
	return nil
}

const maxLabel = 40 // characters

// Narrow returns the labels that two lists allow. An empty list allows all. ok is false if both have labels, and none in common.
func Narrow(a, b []string) (both []string, ok bool) {
	switch {
	case len(a) == 0:
		return b, true
	case len(b) == 0:
		return a, true
	}
	for _, l := range a {
		if slices.Contains(b, l) {
			both = append(both, l)
		}
	}
	return both, len(both) > 0
}
