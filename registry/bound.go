package registry

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/thinkd/thinkd/provider"
)

// Limits for the rows of a list or a table.
const (
	maxListed = 5_000   // models of one list
	maxID     = 200     // bytes of an id or a name
	maxTokens = 1 << 30 // of a window or an output
	maxRate   = 10_000  // USD per million tokens
)

// Bounded returns the plausible rows of a list. It leaves out rows with an invalid id and returns the reasons. It clears
// implausible members. It does not change its argument.
func Bounded(list []provider.Model) (rows []provider.Model, skipped []error) {
	if len(list) > maxListed {
		skipped = append(skipped, fmt.Errorf("the list has %d models: the first %d are taken", len(list), maxListed))
		list = list[:maxListed]
	}
	seen := make(map[string]bool)
	for _, m := range list {
		switch {
		case m.ID == "" || !plainText(m.ID) || strings.ContainsFunc(m.ID, unicode.IsSpace):
			skipped = append(skipped, fmt.Errorf("a model's id %.60q is no id: it is empty, longer than %d bytes, or has spaces or control characters", m.ID, maxID))
			continue
		case seen[m.ID]:
			continue
		}
		seen[m.ID] = true
		if !plainText(m.Name) {
			m.Name = ""
		}
		if m.Window < 0 || m.Window > maxTokens {
			m.Window = 0
		}
		if m.MaxOutput < 0 || m.MaxOutput > maxTokens {
			m.MaxOutput = 0
		}
		if m.Price != nil && !meant(*m.Price) {
			m.Price = nil
		}
		m.Input = slices.DeleteFunc(slices.Clone(m.Input), func(kind string) bool { return !slices.Contains(inputs, kind) })
		if len(m.Input) == 0 {
			m.Input = nil
		}
		if checkMedia(m.Media, func(string, string, ...any) error { return errMedia }) != nil {
			m.Media = nil
		}
		if l := m.Lifecycle; l != nil && (!slices.Contains(lifecycles, l.State) || !plainText(l.ReplacedBy) || l.Retires != "" && !isDay(l.Retires)) {
			m.Lifecycle = nil
		}
		rows = append(rows, m)
	}
	if len(skipped) > 10 {
		skipped = append(skipped[:10], fmt.Errorf("and %d more rows", len(skipped)-10))
	}
	return rows, skipped
}

// plainText reports whether a text of a list is safe to show.
func plainText(text string) bool {
	return len(text) <= maxID && utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// meant reports whether a price is plausible.
func meant(p provider.Price) bool {
	return p.Check() == nil && p.Input <= maxRate && p.Output <= maxRate && p.CachedInput <= maxRate && p.CacheWrite <= maxRate
}
