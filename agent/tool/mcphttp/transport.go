package mcphttp

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// New returns the default transport, with TLS 1.2 or later. It connects to any address, and uses the proxies of the environment.
func New() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	t.ForceAttemptHTTP2 = true
	return t
}

// Public is what a transport to a server of users needs to know.
type Public struct {
	Server  string         // the server's name in the config, for errors
	Allow   []netip.Prefix // networks that are not public, to which connections are allowed all the same
	Setting string         // the key in the config that has Allow, for errors

	resolver *net.Resolver // nil: that of the system
}

// PrivateError is the error of a connection that a [Public] transport did not make. Nothing was sent.
type PrivateError struct {
	Server  string
	Host    string     // as the request has it
	Addr    netip.Addr // of the host
	Setting string
}

func (e *PrivateError) Error() string {
	return fmt.Sprintf("cannot connect to %s for the MCP server %s: %s is not a public address; to let users reach it, add it to %s in the config",
		e.Host, e.Server, e.Addr, e.Setting)
}

// Transport returns a transport as New does, which connects to public addresses and those in Allow, and uses no proxy. Other
// connections fail with a *[PrivateError] before they begin. If a host has several addresses, those that are refused are skipped.
func (p Public) Transport() *http.Transport {
	t := New()
	t.Proxy, t.DialContext = nil, p.dial
	return t
}

// The times of [http.DefaultTransport].
const (
	dialTime  = 30 * time.Second
	keepAlive = 30 * time.Second
)

// dial connects to a host. The dialer calls Control with each address after it was resolved and before anything is sent there.
func (p Public) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: dialTime, KeepAlive: keepAlive, Resolver: p.resolver,
		Control: func(_, resolved string, _ syscall.RawConn) error { return p.check(host, resolved) }}
	return d.DialContext(ctx, network, address)
}

// check returns an error if no connection to a resolved address may be made.
func (p Public) check(host, resolved string) error {
	at, err := netip.ParseAddrPort(resolved)
	if err != nil {
		return err
	}
	addr := at.Addr().Unmap()
	if IsPublic(addr) || within(p.Allow, addr) {
		return nil
	}
	return &PrivateError{p.Server, host, addr, p.Setting}
}
