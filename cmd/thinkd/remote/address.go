package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// Address is the base URL of a daemon, with a slash at its end.
type Address string

// ParseAddress reads the URL that thinkd serve prints, with or without a path, query or fragment. A daemon on another machine needs https.
func ParseAddress(text string) (Address, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http":
		return "", fmt.Errorf("%q is not the address of a daemon, such as https://thinkd.example.com", text)
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return "", fmt.Errorf("%s has no TLS: a token would be read on the way. Use https", u.Host)
	}
	return Address(u.Scheme + "://" + strings.ToLower(u.Host) + "/"), nil
}

func loopback(host string) bool {
	at, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && at.IsLoopback()
}

// Provider is the OpenID provider of a daemon, as it says at /oidc.
type Provider struct {
	Issuer   string `json:"issuer"`
	ClientID string `json:"client_id"`
}

// errNoProvider says that a daemon has no OpenID provider.
var errNoProvider = errors.New("the daemon has no OpenID provider: ask its operator for an API token, and log in with --token")

// provider asks a daemon for its OpenID provider.
func (a Address) provider(ctx context.Context, client *http.Client) (p Provider, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, string(a)+"oidc", nil)
	if err != nil {
		return p, err
	}
	response, err := client.Do(r)
	if err != nil {
		return p, err
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound, http.StatusUnauthorized: // a daemon says of no page whether it is there
		return p, errNoProvider
	default:
		return p, fmt.Errorf("%s answers %s", a, response.Status)
	}
	const most = 64 << 10
	if err := json.NewDecoder(io.LimitReader(response.Body, most)).Decode(&p); err != nil {
		return p, fmt.Errorf("%s does not answer as a daemon of thinkd: %w", a, err)
	}
	if p.Issuer == "" {
		return p, errNoProvider
	}
	issuer, err := url.Parse(p.Issuer)
	if err != nil || p.ClientID == "" || issuer.Scheme != "https" && !(issuer.Scheme == "http" && loopback(issuer.Hostname())) {
		return p, fmt.Errorf("%s names an OpenID provider without TLS, or none", a)
	}
	return p, nil
}
