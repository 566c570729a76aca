package gemini

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// wireAPI is the name in [provider.Origin] and [provider.Error].
const wireAPI = "gemini"

// BypassSignature puts the documented bypass in the place of all thought signatures of earlier turns, for a history
// whose signatures the vendor does not take (docs: thought-signatures).
const BypassSignature provider.Repair = "gemini/bypass_signature"

// Host is what is special about who serves the API. The zero value is Google's own address, whose BaseURL is without /v1beta.
type Host struct {
	// Cloud: the host is Google Cloud, once called Vertex AI. Addresses differ, and BaseURL has their part up to the location. A bearer
	// token takes the place of the key.
	Cloud bool
}

// HostNamed is the record for a dialect of the API; a dialect that is not known is Google's own address.
func HostNamed(dialect string) Host { return Host{Cloud: dialect == "cloud"} }

// Hosts lists the dialects of the API, sorted.
func Hosts() []string { return []string{"cloud", "gemini"} }

// API is generateContent at one address with one key.
type API struct {
	host   Host
	caller exchange.Caller
}

var (
	_ provider.Provider  = (*API)(nil)
	_ provider.Converter = (*API)(nil)
	_ provider.Returner  = (*API)(nil)
	_ provider.Lister    = (*API)(nil)
)

// New makes the adapter; it does not call.
func New(cfg exchange.Config, host Host) *API {
	if host.Cloud {
		cfg.Vendor = "gemini" // who makes the models
	}
	return &API{host: host, caller: exchange.NewCaller(wireAPI, cfg)}
}

// address is where a model answers. Names from the vendor's list begin with "models/".
func (a *API) address(model string) string {
	models := "/v1beta/models/"
	if a.host.Cloud {
		models = "/publishers/google/models/"
	}
	return a.caller.BaseURL + models + url.PathEscape(strings.TrimPrefix(model, "models/")) + ":streamGenerateContent?alt=sse"
}

var numbered = regexp.MustCompile(`gemini-(\d+)`)

// generationOf is a model's generation by its name; 0: the name does not say.
func generationOf(model string) int {
	if m := numbered.FindStringSubmatch(model); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			return n
		}
	}
	return 0
}

// generationFor is the generation of the model that is asked. A name without a number, as the aliases of the newest model
// have it, is judged by its row: up to the second models think by budget, since the third by level (docs: thinking).
func generationFor(row provider.Model) int {
	switch n := generationOf(row.Rules()); {
	case n > 0:
		return n
	case row.Thinking.Control == provider.ControlBudget:
		return 2
	case row.Thinking.Control == provider.ControlEffort, !row.Known && strings.Contains(row.ID, "gemini"):
		return 3
	}
	return 0
}

// leveled reports whether a model belongs to the generations that think by level and insist on their signatures.
func leveled(row provider.Model) bool { return generationFor(row) >= 3 }
