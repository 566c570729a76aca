package network

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
)

// Token is an [Authenticator] with one principal, [method.Operator]: who shows the token is let in.
//
// Wrong tokens are counted, per peer and in all. Above a bound they are refused unseen. A right one always passes: 256
// random bits are not guessed at any rate, while a peer (all that is local is one, and so is a tunnel) must not be able
// to lock out the owner. A request without a token is no guess.
type Token struct {
	look        func()
	behindProxy bool

	mu      sync.Mutex
	digest  [sha256.Size]byte
	open    bool // there is a token
	valid   context.Context
	revoke  context.CancelCauseFunc
	guesses guesses
}

// NewToken admits the bearers of a token; an empty one admits no client. look is called before a token is
// checked, and calls Set if the token has changed; nil: Set is called otherwise. behindProxy says that a proxy stands in front, whose word
// about a peer's address counts.
func NewToken(token provider.Secret, look func(), behindProxy bool) *Token {
	t := &Token{look: look, behindProxy: behindProxy}
	t.Set(token)
	return t
}

// Set replaces the token at once; empty: no client is let in. A client that came with the one before is disconnected,
// unless the token is the same.
func (t *Token) Set(token provider.Secret) {
	t.mu.Lock()
	defer t.mu.Unlock()
	digest := sha256.Sum256([]byte(token.Reveal()))
	if t.valid != nil && t.open == !token.IsZero() && digest == t.digest {
		return
	}
	if t.revoke != nil {
		t.revoke(conn.ErrRevoked)
	}
	t.digest, t.open = digest, !token.IsZero()
	t.valid, t.revoke = context.WithCancelCause(context.Background())
}

// current returns the digest of the token, and a context that ends when the token is replaced. open says that there is a token.
func (t *Token) current() (valid context.Context, digest [sha256.Size]byte, open bool) {
	if t.look != nil {
		t.look()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.valid, t.digest, t.open
}

// Authenticate is that of [Authenticator]. The context ends when the token is replaced.
func (t *Token) Authenticate(r *http.Request) (method.Principal, context.Context, error) {
	token, given := offeredToken(r)
	digest := sha256.Sum256([]byte(token))
	if given && t.look != nil {
		t.look()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if subtle.ConstantTimeCompare(digest[:], t.digest[:]) == 1 && t.open {
		return method.Operator(), t.valid, nil
	}
	if given {
		if after := t.guesses.wrong(peer(r, t.behindProxy), time.Now()); after > 0 {
			return method.Principal{}, nil, &Refusal{Status: http.StatusTooManyRequests, Reason: "too many wrong tokens", RetryAfter: after}
		}
	}
	return method.Principal{}, nil, &Refusal{Status: http.StatusUnauthorized,
		Reason: "the token is missing or wrong; the file token in the daemon's data directory has it"}
}

const (
	bearerPrefix = "bearer "
	tokenPrefix  = "thinkd.token."
)

// offeredToken is the token of a request: its Authorization, or else a subprotocol, since a page can set no headers.
// More than one counts as a wrong one: a request is one guess.
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

// peer is the client's address, or of IPv6 the network that one customer has. What a header says of it counts only
// behind a proxy, and then only the proxy's own word, which stands last.
func peer(r *http.Request, behindProxy bool) netip.Prefix {
	from, _ := netip.ParseAddrPort(r.RemoteAddr)
	addr := from.Addr()
	if behindProxy {
		list := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		if forwarded, err := netip.ParseAddr(strings.TrimSpace(list[len(list)-1])); err == nil {
			addr = forwarded
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

// wrong records a wrong token, or returns the time after which another would be checked.
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
