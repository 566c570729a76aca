package rpc

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/conn"
)

// gate stands in front of every route. It asks by which name the daemon was called (a page of a name that somebody
// has bound to our address is not one of ours), which page asks, and for the token.
type gate struct {
	hosts       map[string]bool // Host headers, lower case
	origins     map[string]bool // Origin headers, lower case
	behindProxy bool
	look        func() // nil: there is no need to

	mu      sync.Mutex
	token   [sha256.Size]byte
	open    bool // there is a token
	bearers context.Context
	revoke  context.CancelCauseFunc
	guesses guesses
}

func newGate(c HTTPConfig) *gate {
	g := &gate{hosts: make(map[string]bool), origins: make(map[string]bool), behindProxy: c.BehindProxy, look: c.Look}
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

// foreign tells what is wrong with where a request is from; empty: nothing.
func (g *gate) foreign(r *http.Request) string {
	if !g.hosts[strings.ToLower(r.Host)] {
		return "this daemon does not go by that name; the operator can add it to hosts under [serve] in the config"
	}
	if origins, ok := r.Header["Origin"]; ok && (len(origins) != 1 || !g.origins[strings.ToLower(origins[0])]) {
		return "pages of that origin have no access; the operator can add it to origins under [serve] in the config"
	}
	return ""
}

// setToken replaces the token; empty: nobody comes in. Whoever came in with the one before is told and goes, unless it
// is the same.
func (g *gate) setToken(token provider.Secret) {
	g.mu.Lock()
	defer g.mu.Unlock()
	digest := sha256.Sum256([]byte(token.Reveal()))
	if g.bearers != nil && g.open == !token.IsZero() && digest == g.token {
		return
	}
	if g.revoke != nil {
		g.revoke(conn.ErrRevoked)
	}
	g.token, g.open = digest, !token.IsZero()
	g.bearers, g.revoke = context.WithCancelCause(context.Background())
}

// close ends the connections of all bearers, for a cause; there are no more.
func (g *gate) close(cause error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = false
	g.revoke(cause)
}

// bearer checks a request's token. The context ends when the token is replaced. A status other than 0 refuses; after is
// when to come again.
//
// Wrong tokens are counted, per peer and in all, and above the bound told apart from others by nothing but 429. A right
// one always passes: 256 random bits are not guessed at any rate, while a peer (all that is local is one, and so is a
// tunnel) must not be able to lock out the owner. No token is no guess.
func (g *gate) bearer(r *http.Request) (ctx context.Context, status int, after time.Duration) {
	token, given := offeredToken(r)
	digest := sha256.Sum256([]byte(token))
	if given && g.look != nil {
		g.look()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if subtle.ConstantTimeCompare(digest[:], g.token[:]) == 1 && g.open {
		return g.bearers, 0, 0
	}
	if !given {
		return nil, http.StatusUnauthorized, 0
	}
	if after := g.guesses.wrong(g.peer(r), time.Now()); after > 0 {
		return nil, http.StatusTooManyRequests, after
	}
	return nil, http.StatusUnauthorized, 0
}

const (
	bearerPrefix = "bearer "
	tokenPrefix  = "thinkd.token."
)

// offeredToken is the token of a request: its Authorization, or else a subprotocol, since a page can set no headers.
// More than one is none that is right: a request is one guess.
func offeredToken(r *http.Request) (token string, given bool) {
	if list, ok := r.Header["Authorization"]; ok {
		if len(list) == 1 && len(list[0]) > len(bearerPrefix) && strings.EqualFold(list[0][:len(bearerPrefix)], bearerPrefix) {
			token = strings.TrimSpace(list[0][len(bearerPrefix):])
		}
		return token, true
	}
	for _, p := range offeredProtocols(r) {
		if t, ok := strings.CutPrefix(p, tokenPrefix); ok {
			if given {
				return "", true
			}
			token, given = t, true
		}
	}
	return token, given
}

// offeredProtocols are the subprotocols that a client offers, the token's among them.
func offeredProtocols(r *http.Request) []string {
	var list []string
	for _, header := range r.Header.Values("Sec-WebSocket-Protocol") {
		for p := range strings.SplitSeq(header, ",") {
			if p = strings.TrimSpace(p); p != "" {
				list = append(list, p)
			}
		}
	}
	return list
}

// peer is who asks: an address, or of IPv6 the network that one customer has. What a header says of it counts only
// where the operator has put a proxy in front, and then only the proxy's own word, which stands last.
func (g *gate) peer(r *http.Request) netip.Prefix {
	from, _ := netip.ParseAddrPort(r.RemoteAddr)
	addr := from.Addr()
	if g.behindProxy {
		list := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		if told, err := netip.ParseAddr(strings.TrimSpace(list[len(list)-1])); err == nil {
			addr = told
		}
	}
	addr = addr.Unmap().WithZone("")
	bits := addr.BitLen()
	if addr.Is6() && !addr.IsLoopback() {
		bits = 64
	}
	prefix, _ := addr.Prefix(bits) // of an address that is none: the zero one, a peer like any other
	return prefix
}

// Wrong tokens within a minute.
const (
	maxGuesses     = 10
	maxPeerGuesses = 5
	guessTime      = time.Minute
)

// guesses remembers when wrong tokens came. There are never more than maxGuesses of them to remember.
type guesses []guess

type guess struct {
	peer netip.Prefix
	at   time.Time
}

// wrong takes note of a wrong token, or says after what time another would be looked at.
func (list *guesses) wrong(peer netip.Prefix, now time.Time) (after time.Duration) {
	old := 0
	for old < len(*list) && now.Sub((*list)[old].at) >= guessTime {
		old++
	}
	*list = (*list)[old:]
	var first, firstOfPeer *guess
	ofPeer := 0
	for i := range *list {
		g := &(*list)[i]
		if first == nil {
			first = g
		}
		if g.peer == peer {
			if ofPeer++; ofPeer == 1 {
				firstOfPeer = g
			}
		}
	}
	if len(*list) >= maxGuesses {
		after = guessTime - now.Sub(first.at)
	}
	if ofPeer >= maxPeerGuesses {
		after = max(after, guessTime-now.Sub(firstOfPeer.at))
	}
	if after == 0 {
		*list = append(*list, guess{peer, now})
	}
	return after
}
