package vendors

import (
	"cmp"
	"encoding/json"
	"net/http"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/aws"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/login"
	"github.com/thinkd/thinkd/provider/transport"
	"github.com/thinkd/thinkd/registry"
)

// Simulator is the id of the provider inside this process. It stands last: it is used when there is nothing better.
const Simulator = "sim"

// Bedrock is the id of Amazon's vendor. Its address follows from a region.
const Bedrock = "bedrock"

// Config is a model API at one address with one key. Both come from the operator alone.
type Config struct {
	ID           string
	Vendor       string // who made the models, as far as the operator says; else the id
	API          string // the wire API, where a model's row names no other
	Dialect      string // empty: no quirks are known
	BaseURL      string // without a slash at the end; empty: inside this process (the simulator), or not known yet
	KeyEnv       string // the variable that Key was read from; empty: it needs none
	KeyEnvName   bool   // the variable has its own name as its value, which is no key
	KeyEnvNow    string // the variable to set in place of KeyEnv; empty: KeyEnv is the right one
	Key          provider.Secret
	Login        *Login   // nil: there are only keys
	Identity     Identity // in a cloud; nil: none. It is not together with a Login
	Headers      map[string]string
	Defaults     registry.Defaults
	DefaultModel string // empty: none
	NumCtx       int    // tokens of the window to ask an Ollama for; 0: as its adapter does
	Cache        provider.CacheTime
	Context      json.RawMessage // the vendor's own context management, in the vendor's words; nil: none
	Extra        json.RawMessage // a JSON object that is merged into the body of each call; nil: nothing
	Network      transport.Settings
	Amazon       *aws.Settings      // nil: calls need a key; else requests without one are signed with the credentials of this machine
	Egress       []string           // labels of the operator's that say where its data goes
	Surcharge    map[string]float64 // see [registry.Provider]
	Rows         []registry.Row     // corrections and additions to the catalog
}

// Login is how one logs in to a provider. The tags are the keys of the config file.
type Login struct {
	Kind     string `toml:"-"`           // copilot or chatgpt
	ClientID string `toml:"client_id"`   // of the application that one logs in to; empty: the operator has named none
	Editor   bool   `toml:"editor"`      // it is an editor's, whose tokens for Copilot are exchanged
	Address  string `toml:"address"`     // of the login's server; empty: the vendor's
	API      string `toml:"api_address"` // of GitHub's API; empty: what belongs to Address
	Port     int    `toml:"port"`        // that a browser comes back to; 0: the vendor's
}

// Identity is where an identity comes from that calls are made with if there is no key, such as [identity.Google]. Opening it makes no
// call.
type Identity interface {
	Open(providerID string, client *http.Client) login.Identity
	Files() []string // that hold secrets
}

// SecretFiles are the files of the operator that hold a private key or a credential of the provider.
func (c Config) SecretFiles() []string {
	var list []string
	if c.Network.KeyFile != "" {
		list = append(list, c.Network.KeyFile)
	}
	if c.Identity != nil {
		list = append(list, c.Identity.Files()...)
	}
	return list
}

// NeedsKey reports whether calls are made with a key, a login or an identity.
func (c Config) NeedsKey() bool { return c.KeyEnv != "" || c.Login != nil || c.Identity != nil }

// Replaced names the members of requests that the operator's extra_body replaces, such as "temperature" or, for one model,
// "temperature (gpt-6.1)". They are then other than thinkd reports.
func (c Config) Replaced(own Dialects) []string {
	list := replaces(c.API, c.Dialect, own, c.Extra)
	for _, r := range c.Rows {
		api, dialect := cmp.Or(r.API, c.API), cmp.Or(r.Dialect, c.Dialect)
		for _, name := range replaces(api, dialect, own, r.ExtraBody) {
			list = append(list, name+" ("+r.ID+")")
		}
	}
	return list
}

func replaces(name, dialect string, own Dialects, extra json.RawMessage) []string {
	api, ok := APINamed(name)
	if !ok || extra == nil {
		return nil
	}
	return exchange.Replaces(api.Members(dialect, own), extra)
}

// Local reports whether the provider is a server of the user that needs no key, on this machine or its network. Such a
// server may not be running.
func (c Config) Local() bool {
	return !c.NeedsKey() && c.BaseURL != "" && exchange.Local(c.BaseURL)
}

// Lists reports whether the server is asked which models it has.
func (c Config) Lists() bool {
	v, _ := registry.VendorNamed(c.Vendor)
	return v.Live && c.Local()
}

// Assumed reports whether the address is only where such a server usually is, a port that any other may have.
func (c Config) Assumed() bool {
	v, _ := registry.VendorNamed(c.Vendor)
	return v.API == "chat" && c.BaseURL == v.BaseURL
}

// localPatience is for local servers that no vendor's row describes: they load models as well.
const localPatience = 10 * time.Minute

// Patience is how long the provider may be silent; 0: no longer than others.
func (c Config) Patience() time.Duration {
	v, _ := registry.VendorNamed(c.Vendor)
	if v.Patience == 0 && c.Local() {
		return localPatience
	}
	return time.Duration(v.Patience) * time.Second
}
