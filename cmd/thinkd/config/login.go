package config

import (
	"regexp"
	"strings"
	"sync"

	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/vendors"
	"github.com/thinkd/thinkd/registry"
)

// clientID is a word without anything that an address gives a meaning to.
var clientID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._-]*$`) })

// login is the one of a vendor, or of a provider of its models whose table says so: a gateway has none by itself.
func (src *source) login(key string, f *vendors.Login, vendor string, own bool) (*vendors.Login, error) {
	v, _ := registry.VendorNamed(vendor)
	if f == nil {
		if v.Login == "" || !own {
			return nil, nil
		}
		f = &vendors.Login{}
	}
	switch {
	case v.Login == "":
		return nil, src.errorf(key+".login", "there is no login for this provider; it takes a key")
	case !clientID().MatchString(f.ClientID):
		return nil, src.errorf(key+".login.client_id", "must be the id of an application, not an address or a secret")
	case f.Port < 0 || f.Port > 65535:
		return nil, src.errorf(key+".login.port", "%d is not a port", f.Port)
	case v.Login != "copilot" && (f.Editor || f.API != ""):
		return nil, src.errorf(key+".login", "editor and api_address are for the login to GitHub")
	case v.Login != "chatgpt" && f.Port != 0:
		return nil, src.errorf(key+".login.port", "no browser comes back from this login")
	}
	for name, address := range map[string]string{"address": f.Address, "api_address": f.API} {
		if address == "" {
			continue
		}
		if problem := checkBaseURL(address, "chat"); problem != "" {
			return nil, src.errorf(key+".login."+name, "%s", problem)
		}
		if strings.HasPrefix(address, "http:") && !exchange.Local(address) {
			return nil, src.errorf(key+".login."+name, "is not encrypted: use https")
		}
	}
	c := *f
	c.Kind = v.Login
	return &c, nil
}
