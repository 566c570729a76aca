package registry

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/thinkd/thinkd/provider"
)

// family has the usual thinking of models with similar names. It applies if only the name of a model is known, or only
// that the model thinks.
type family struct {
	Match    string              `json:"match"` // a pattern of path.Match for the name in lower case, without the part before a slash
	Thinking provider.Capability `json:"thinking"`
}

//go:embed families.json
var familiesJSON []byte

type familyFile struct {
	AsOf    string                         `json:"as_of"`
	Source  string                         `json:"source"`
	Vendors map[string][]family            `json:"vendors"` // the first that matches counts
	Open    []family                       `json:"open"`    // open weights, on every host
	APIs    map[string]provider.Capability `json:"apis"`    // for a model that thinks and is of no family
}

// families decodes the file once. It panics if the embedded file is invalid, which the tests of the package exclude.
var families = sync.OnceValue(func() familyFile {
	var file familyFile
	if err := json.Unmarshal(familiesJSON, &file); err != nil {
		panic(fmt.Sprintf("registry: families.json: %v", err))
	}
	return file
})

// Bare cuts a model's id into the maker that Amazon Bedrock puts in front of it, and its own name: us.anthropic.claude-opus-4-6-v1 is
// anthropic's claude-opus-4-6-v1. The maker is empty for all other ids.
func Bare(id string) (maker, name string) {
	for name = id; ; { // a maker is small letters, with a dot and another small letter behind them
		n := strings.IndexFunc(name, func(r rune) bool { return r < 'a' || r > 'z' })
		if n < 1 || n+1 >= len(name) || name[n] != '.' || name[n+1] < 'a' || name[n+1] > 'z' {
			return maker, name
		}
		maker, name = name[:n], name[n+1:]
	}
}

// familyOf returns the usual thinking of models with this name, and the pattern that matched. It tries the vendor's families
// first, then those of the maker that the name states, then those of open weights.
func familyOf(vendor, name string) (c provider.Capability, pattern string, ok bool) {
	maker, name := Bare(strings.ToLower(name[strings.LastIndexByte(name, '/')+1:]))
	for _, list := range [][]family{families().Vendors[vendor], families().Vendors[maker], families().Open} {
		for _, f := range list {
			if ok, err := path.Match(f.Match, name); ok && err == nil { // the package's tests refuse a broken pattern
				return own(f.Thinking), f.Match, true
			}
		}
	}
	return provider.Capability{}, "", false
}

// thinkingOf returns the capability of a model if only its name is known, and that it thinks.
func thinkingOf(vendor, name, api string) provider.Capability {
	if c, _, ok := familyOf(vendor, name); ok && c.Thinks() {
		return c
	}
	c, ok := families().APIs[api]
	if !ok {
		c = families().APIs[""]
	}
	return own(c)
}

// own returns a copy that may be changed.
func own(c provider.Capability) provider.Capability {
	c.Levels, c.Display, c.Budgets = slices.Clone(c.Levels), slices.Clone(c.Display), maps.Clone(c.Budgets)
	return c
}
