package registry

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// NotFoundError says that no configured provider has a model, and which names come near.
type NotFoundError struct {
	ID         string
	Candidates []string // provider/id, the nearest first; may be empty
	Providers  []string // those that are configured
}

func (e *NotFoundError) Error() string {
	text := fmt.Sprintf("no model %q", e.ID)
	if len(e.Candidates) > 0 {
		return text + "; near: " + strings.Join(e.Candidates, ", ")
	}
	return text + "; name it as provider/id, with one of these providers: " + strings.Join(e.Providers, ", ")
}

// AmbiguousError says that several providers have a model of the same id.
type AmbiguousError struct {
	ID         string
	Candidates []string // provider/id, in catalog order
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("model %q is at several providers; say which: %s", e.ID, strings.Join(e.Candidates, ", "))
}

// mostCandidates is how many near names an error lists, longestName how much of a client's word is compared.
const (
	mostCandidates = 3
	longestName    = 100
)

func (c *Catalog) notFound(id string) error {
	type near struct {
		ref   string
		steps int
	}
	var list []near
	asked := plain(id[strings.LastIndex(id, "/")+1:])
	isProvider := slices.Contains(c.providers, strings.TrimSuffix(id, "/"))
	for _, m := range c.Models() {
		has := plain(m.ID)
		steps := distance(asked, has)
		switch {
		case isProvider && m.Provider == strings.TrimSuffix(id, "/"):
			steps = 0
		case len(asked) >= 4 && strings.Contains(has, asked):
			steps = min(steps, 1)
		}
		if steps <= len(asked)/4 {
			list = append(list, near{m.Ref(), steps})
		}
	}
	slices.SortStableFunc(list, func(a, b near) int { return cmp.Compare(a.steps, b.steps) })
	e := &NotFoundError{ID: strings.ToValidUTF8(id[:min(len(id), longestName)], ""), Providers: c.Providers()}
	for _, n := range list[:min(len(list), mostCandidates)] {
		e.Candidates = append(e.Candidates, n.ref)
	}
	return e
}

// plain is a name without what people vary: case, dots, dashes.
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

// distance counts the letters to add, drop or replace to make a of b.
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
