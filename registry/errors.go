package registry

import (
	"fmt"
	"strings"
)

// NotFoundError means that no configured provider has a model. Its text names similar ids.
type NotFoundError struct {
	ID         string
	Candidates []string // provider/id, the most similar first; may be empty
	Providers  []string // the configured ones
}

func (e *NotFoundError) Error() string {
	text := fmt.Sprintf("no model %q", e.ID)
	if len(e.Candidates) > 0 {
		return text + "; near: " + strings.Join(e.Candidates, ", ")
	}
	return text + "; name it as provider/id, with one of these providers: " + strings.Join(e.Providers, ", ")
}

// AmbiguousError means that several providers have a model with this id.
type AmbiguousError struct {
	ID         string
	Candidates []string // provider/id, in catalog order
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("model %q is at several providers; say which: %s", e.ID, strings.Join(e.Candidates, ", "))
}

// longestName is how much of a name is compared, in bytes.
const longestName = 100

// plain returns a name in lower case and without dots and dashes, which people vary.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		}
		return -1
	}, name[:min(len(name), longestName)])
}

// distance returns how many letters have to be added, dropped or replaced to turn b into a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// RowError is an inconsistent or incomplete row. Field has the name of the configuration.
type RowError struct {
	Provider string
	Model    string
	Field    string
	Problem  string
}

func (e *RowError) Error() string {
	return fmt.Sprintf("provider %s: model %q: %s: %s", e.Provider, e.Model, e.Field, e.Problem)
}

// complaint makes the error for a member of a row.
type complaint func(field, format string, args ...any) error
