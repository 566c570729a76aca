package vendors

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider/chat"
	"github.com/thinkd/thinkd/provider/messages"
	"github.com/thinkd/thinkd/provider/responses"
)

// API is a wire API that this build speaks.
type API struct {
	Name     string
	Dialects func() ([]string, error) // the names of its dialects
	Suffix   string                   // added to a base URL for each call; a base URL must not end in it. Empty: nothing is added
}

// APIs lists them as the documentation does.
var APIs = []API{
	{"messages", list(messages.Hosts()...), "/v1"},
	{"responses", list(responses.Hosts()...), ""},
	{"chat", chat.Dialects, ""},
	{"gemini", list("cloud", "gemini"), "/v1beta"},
	{"ollama", list("ollama"), "/api"},
}

// Dialects are those of the config, by name. They are dialects of Chat Completions.
type Dialects map[string]*chat.Dialect

func list(names ...string) func() ([]string, error) {
	return func() ([]string, error) { return names, nil }
}

// APINamed finds an API; the zero one if there is none of that name.
func APINamed(name string) (api API, ok bool) {
	i := slices.IndexFunc(APIs, func(a API) bool { return a.Name == name })
	if i < 0 {
		return API{}, false
	}
	return APIs[i], true
}

// CheckAPI says what is wrong with the name of an API; empty: nothing.
func CheckAPI(name string) (problem string) {
	var served []string
	for _, a := range APIs {
		served = append(served, a.Name)
	}
	list := strings.Join(served, ", ")
	switch {
	case slices.Contains(served, name):
		return ""
	case name == "":
		return "missing; this version serves " + list
	}
	return fmt.Sprintf("%q is no wire API; this version serves %s", name, list)
}

// CheckDialect says what is wrong with the name of a dialect of an API; empty: nothing. An empty name is fine.
func CheckDialect(api, dialect string, own Dialects) (problem string) {
	a, ok := APINamed(api)
	if !ok || dialect == "" {
		return ""
	}
	known, err := a.Dialects()
	if err != nil {
		return err.Error()
	}
	if api == "chat" {
		known = slices.Concat(known, slices.Sorted(maps.Keys(own)))
	}
	if slices.Contains(known, dialect) {
		return ""
	}
	return fmt.Sprintf("%q is not a dialect of %s in this version; known: %s", dialect, api, strings.Join(known, ", "))
}
