package vendors

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/chat"
	"github.com/thinkd/thinkd/provider/cohere"
	"github.com/thinkd/thinkd/provider/converse"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/gemini"
	"github.com/thinkd/thinkd/provider/messages"
	"github.com/thinkd/thinkd/provider/ollama"
	"github.com/thinkd/thinkd/provider/responses"
)

// API is a wire API that this build speaks.
type API struct {
	Name     string
	Dialects func() ([]string, error) // the names of its dialects
	Suffix   string                   // added to a base URL for each call; a base URL must not end in it. Empty: nothing is added

	// New makes an adapter for a host of that dialect; an empty one means an unknown host. own are the
	// dialects of the config. It makes no call.
	New func(cfg exchange.Config, dialect string, own Dialects) (provider.Provider, error)

	// Members names what the body of a request to a host of that dialect can have: see [exchange.Members].
	Members func(dialect string, own Dialects) []string

	// Simulated is the path of the simulator's base URL for a dialect.
	Simulated func(dialect string) string
}

// APIs has a row for each wire API, in the order of the documentation. All that depends on which APIs there are, the tests of
// every adapter among it, goes by this table.
var APIs = []API{
	{"messages", list(messages.Hosts()...), "/v1", func(cfg exchange.Config, dialect string, _ Dialects) (provider.Provider, error) {
		return messages.New(cfg, messages.HostNamed(dialect)), nil
	}, members(messages.Members), func(dialect string) string {
		switch dialect {
		case "copilot": // it has ids and rules of its own
			return "/copilot"
		case "cloud":
			return simulatedProject
		}
		return ""
	}},
	{"responses", list(responses.Hosts()...), "", func(cfg exchange.Config, dialect string, _ Dialects) (provider.Provider, error) {
		return responses.New(cfg, responses.HostNamed(dialect)), nil
	}, members(responses.Members), always("/v1")},
	{"chat", chat.Dialects, "", newChat, chatMembers, func(dialect string) string {
		if dialect == "cloud" || dialect == "cloud-mistral" {
			return simulatedProject
		}
		return "/" + cmp.Or(dialect, plainDialect)
	}},
	{"gemini", list(gemini.Hosts()...), "/v1beta", func(cfg exchange.Config, dialect string, _ Dialects) (provider.Provider, error) {
		return gemini.New(cfg, gemini.HostNamed(dialect)), nil
	}, members(gemini.Members), func(dialect string) string {
		if dialect == "cloud" {
			return simulatedProject
		}
		return ""
	}},
	{"ollama", list("ollama"), "/api", func(cfg exchange.Config, _ string, _ Dialects) (provider.Provider, error) {
		return ollama.New(cfg), nil
	}, members(ollama.Members), always("")},
	{"converse", list("bedrock"), "", func(cfg exchange.Config, _ string, _ Dialects) (provider.Provider, error) {
		return converse.New(cfg), nil
	}, members(converse.Members), always("")},
	{"cohere", list("cohere"), "/v2", func(cfg exchange.Config, _ string, _ Dialects) (provider.Provider, error) {
		return cohere.New(cfg), nil
	}, members(cohere.Members), always("")},
}

// simulatedProject is the address of Google Cloud in the simulator.
const simulatedProject = "/v1/projects/simulated/locations/global"

// plainDialect is the dialect of an unknown host of Chat Completions.
const plainDialect = "generic"

func members(all func() []string) func(string, Dialects) []string {
	return func(string, Dialects) []string { return all() }
}

func chatMembers(dialect string, own Dialects) []string {
	d := own[dialect]
	if d == nil {
		var err error
		if d, err = chat.Named(cmp.Or(dialect, plainDialect)); err != nil {
			return nil // which is the error of New
		}
	}
	return d.Members()
}

func newChat(cfg exchange.Config, dialect string, own Dialects) (provider.Provider, error) {
	if d := own[dialect]; d != nil {
		return chat.New(cfg, d), nil
	}
	d, err := chat.Named(cmp.Or(dialect, plainDialect))
	if err != nil {
		return nil, err
	}
	return chat.New(cfg, d), nil
}

func always(path string) func(string) string { return func(string) string { return path } }

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
