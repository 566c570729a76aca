package network

import (
	"net"
	"net/http"
	"strconv"
	"strings"
)

// gate stands in front of every route. It checks by which name the daemon was called (a page of a name that somebody
// has bound to our address is not one of ours), and which page asks.
type gate struct {
	hosts       map[string]bool // Host headers, lower case
	origins     map[string]bool // Origin headers, lower case
	behindProxy bool
}

func newGate(c Config) *gate {
	g := &gate{hosts: make(map[string]bool), origins: make(map[string]bool), behindProxy: c.BehindProxy}
	scheme := "http"
	if c.TLS {
		scheme = "https"
	}
	for _, name := range append([]string{"localhost", "127.0.0.1", "[::1]"}, c.Names...) {
		g.admitName(scheme, name, c.Port)
	}
	if c.BehindProxy {
		scheme = "https" // as browsers see it
	}
	for _, host := range c.Hosts {
		g.admitName(scheme, host, c.Port)
	}
	for _, origin := range c.Origins {
		g.origins[strings.ToLower(origin)] = true
	}
	return g
}

// defaultPorts are left out by browsers.
var defaultPorts = map[string]string{"http": "80", "https": "443"}

// admitName admits a name, which may have a port. Without one it stands for our port and, as a name behind a proxy may
// be called, for that of the scheme.
func (g *gate) admitName(scheme, name string, port int) {
	name = strings.ToLower(name)
	if host, its, err := net.SplitHostPort(name); err == nil {
		g.admit(scheme, bracketed(host), its)
		return
	}
	g.admit(scheme, name, strconv.Itoa(port))
	if g.behindProxy && scheme == "https" {
		g.admit(scheme, name, defaultPorts[scheme])
	}
}

func bracketed(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

func (g *gate) admit(scheme, name, port string) {
	g.hosts[name+":"+port] = true
	if port == defaultPorts[scheme] {
		g.hosts[name] = true
		g.origins[scheme+"://"+name] = true
		return
	}
	g.origins[scheme+"://"+name+":"+port] = true
}

// foreign is what is wrong with where a request is from; empty: nothing.
func (g *gate) foreign(r *http.Request) string {
	if !g.hosts[strings.ToLower(r.Host)] {
		return "this daemon does not go by that name; the operator can add it to hosts under [serve] in the config"
	}
	if origins, ok := r.Header["Origin"]; ok && (len(origins) != 1 || !g.origins[strings.ToLower(origins[0])]) {
		return "pages of that origin have no access; the operator can add it to origins under [serve] in the config"
	}
	return ""
}
