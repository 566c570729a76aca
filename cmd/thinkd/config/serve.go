package config

import (
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Serve says how the network comes in. Paths are absolute, or as the working directory has them where there is no
// file.
type Serve struct {
	Hosts       []string // names, with a port or without
	Origins     []string // scheme://host[:port]
	TLSCert     string   // with TLSKey, or neither
	TLSKey      string
	BehindProxy bool

	MCPFromClients bool // servers of tools are taken from clients who come over the network
}

func (src *source) serve(f fileServe) (Serve, error) {
	for _, h := range f.Hosts {
		if !isHost(h) {
			return Serve{}, src.errorf("serve.hosts", `%q: must be names such as "thinkd.example.com" or "box.lan:7717"`, h)
		}
	}
	for _, o := range f.Origins {
		if !isOrigin(o) {
			return Serve{}, src.errorf("serve.origins", `%q: must be origins such as "https://app.example.com", without a path`, o)
		}
	}
	if (f.TLSCert == "") != (f.TLSKey == "") {
		key := "tls_cert"
		if f.TLSKey != "" {
			key = "tls_key"
		}
		return Serve{}, src.errorf("serve."+key, "tls_cert and tls_key go together")
	}
	return Serve{Hosts: f.Hosts, Origins: f.Origins, TLSCert: src.beside(f.TLSCert), TLSKey: src.beside(f.TLSKey),
		BehindProxy: f.BehindProxy, MCPFromClients: f.MCPFromClients}, nil
}

// beside is a path as seen from the file: the daemon's working directory is nobody's business.
func (src *source) beside(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(src.path), path)
}

var hostName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`) })

// isHost takes what a Host header may be: a name or an address, and maybe a port.
func isHost(text string) bool {
	if host, port, err := net.SplitHostPort(text); err == nil {
		return isPort(port) && (hostName().MatchString(host) || strings.Contains(host, ":") && net.ParseIP(host) != nil)
	}
	if inner, ok := strings.CutPrefix(text, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		return ok && net.ParseIP(inner) != nil
	}
	return hostName().MatchString(text)
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

// isOrigin takes what a browser sends as one (RFC 6454, section 6.1).
func isOrigin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && isHost(u.Host) && text == u.Scheme+"://"+u.Host
}
