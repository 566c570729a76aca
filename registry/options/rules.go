package options

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
)

// rule says what some models take. Of several rules for a model, the last one that names an option counts for it.
type rule struct {
	API      string             `json:"api"`      // empty: all
	Dialects []string           `json:"dialects"` // empty: all of the API
	Models   []string           `json:"models"`   // beginnings of ids, where a dot is a dash; empty: all
	Source   string             `json:"source"`
	AsOf     string             `json:"as_of"` // YYYY-MM-DD
	Take     map[string]*accept `json:"take"`  // by the name of the option

	// Together names options that are not taken in one call with another one, and why. An empty list ends an earlier rule.
	Together map[string]map[string]string `json:"together"`

	// Unverified names the options of Take that Source does not confirm: nobody has read a page about them or tried them.
	Unverified []string `json:"unverified"`
}

// accept is how an option is taken. The zero value is an option that is taken as it is.
type accept struct {
	Refuse  string              `json:"refuse"`  // why it is not taken; empty: it is
	Min     *float64            `json:"min"`     // a number below goes up to it
	Max     *float64            `json:"max"`     // and one above goes down
	Most    int                 `json:"most"`    // texts; 0: any number
	Visible bool                `json:"visible"` // texts need a character that is no space
	Words   []string            `json:"words"`   // that are taken; empty: all. "tool" is the name of a tool
	Instead map[string]string   `json:"instead"` // a word that is taken in place of another one
	Form    provider.OutputForm `json:"form"`    // of structured output
	Why     string              `json:"why"`     // a value is adjusted
	Lacks   map[string]string   `json:"lacks"`   // why a tool of the vendor is not taken, by its name
	Limits  []string            `json:"limits"`  // on the vendor's tools that the API keeps

	// What counts instead, the first that applies: where tools are in the request, where structured output is asked for by the vendor's
	// parameter, where the model thinks by a budget, and where it thinks.
	Tools    *accept `json:"tools"`
	Output   *accept `json:"output"`
	Budget   *accept `json:"budget"`
	Thinking *accept `json:"thinking"`

	source     string
	unverified bool
}

//go:embed rules.json
var rulesJSON string

// rules are those of the file. It panics if the embedded file is invalid, which the tests of the package exclude.
var rules = sync.OnceValue(func() []rule {
	dec := json.NewDecoder(strings.NewReader(rulesJSON))
	dec.DisallowUnknownFields()
	var list []rule
	if err := dec.Decode(&list); err != nil {
		panic(fmt.Sprintf("registry/options: rules.json: %v", err))
	}
	for _, r := range list {
		for name, a := range r.Take {
			a.source, a.unverified = r.Source, slices.Contains(r.Unverified, name)
		}
	}
	return list
})

// together is why an option is not taken, by the name of another one that is sent in the same call.
func together(m provider.Model, name string) (why map[string]string) {
	for _, r := range rules() {
		if with, ok := r.Together[name]; ok && r.appliesTo(m) {
			why = with
		}
	}
	return why
}

// takes is what a model takes, by the name of the option. An option that is missing has no parameter in its API.
func takes(m provider.Model) map[string]*accept {
	all := make(map[string]*accept)
	for _, r := range rules() {
		if r.appliesTo(m) {
			for name, a := range r.Take {
				all[name] = a
			}
		}
	}
	return all
}

func (r rule) appliesTo(m provider.Model) bool {
	if r.API != "" && r.API != m.API || len(r.Dialects) > 0 && !slices.Contains(r.Dialects, m.Dialect) {
		return false
	}
	_, name := registry.Bare(strings.ToLower(m.Rules()))
	id := strings.ReplaceAll(name, ".", "-")
	return len(r.Models) == 0 || slices.ContainsFunc(r.Models, func(prefix string) bool { return strings.HasPrefix(id, prefix) })
}
