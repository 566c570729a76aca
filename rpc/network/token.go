package network

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/auth"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
)

// Token is an [Authenticator]. Who shows the token of the data directory is [method.Operator]; other tokens are for the admitters in
// Others.
//
// Wrong tokens are counted, per peer and in all. Above a bound they are refused unseen. A right one always passes: 256
// random bits are not guessed at any rate, while a peer (all that is local is one, and so is a tunnel) must not be able
// to lock out the owner. A request without a token is no guess.
type Token struct {
	look        func()
	behindProxy bool
	others      []auth.Admitter
	wrong       *auth.Refusal // of a token that nobody admits

	mu      sync.Mutex
	digest  [sha256.Size]byte
	open    bool // there is a token
	valid   context.Context
	revoke  context.CancelCauseFunc
	guesses guesses
}

// NewToken admits the bearers of a token, and those whom one of the others admits; an empty token admits no client. look is called before a
// token is checked, and calls Set if the token has changed; nil: Set is called otherwise. behindProxy says that a proxy stands in front,
// whose word about a peer's address counts.
func NewToken(token provider.Secret, look func(), behindProxy bool, others ...auth.Admitter) *Token {
	t := &Token{look: look, behindProxy: behindProxy, others: others, wrong: errWrongToken}
	for _, a := range others {
		if of, ok := a.(interface{ Advice() string }); ok { // what else clients send
			t.wrong = &auth.Refusal{Status: t.wrong.Status, Reason: t.wrong.Reason + "; " + of.Advice()}
		}
	}
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

// Authenticate is that of [Authenticator].
func (t *Token) Authenticate(r *http.Request) (auth.Grant, error) {
	token, given := offeredToken(r)
	if !given {
		return auth.Grant{}, t.wrong
	}
	return t.Renew(r, token)
}

// Renew is that of [Authenticator].
func (t *Token) Renew(r *http.Request, token string) (auth.Grant, error) {
	digest := sha256.Sum256([]byte(token))
	if valid, ours, open := t.current(); subtle.ConstantTimeCompare(digest[:], ours[:]) == 1 && open {
		return auth.Grant{Principal: method.Operator(), Valid: valid}, nil
	}
	wrong := t.wrong
	for _, a := range t.others {
		g, ok, err := a.Admit(context.WithoutCancel(r.Context()), token)
		refusal, refused := errors.AsType[*auth.Refusal](err)
		if refused && refusal.Status == http.StatusUnauthorized { // a guess like others
			wrong = refusal
			break
		}
		if ok || err != nil {
			return g, err
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if after := t.guesses.wrong(peer(r, t.behindProxy), time.Now()); after > 0 {
		return auth.Grant{}, &auth.Refusal{Status: http.StatusTooManyRequests, Reason: "too many wrong tokens", RetryAfter: after}
	}
	return auth.Grant{}, wrong
}

// byID returns what the API token with an id grants, or for no id the operator's token. The error says why that is not known; ok is false then.
func (t *Token) byID(id string) (g auth.Grant, ok bool, err error) {
	if id == "" {
		valid, _, open := t.current()
		return auth.Grant{Principal: method.Operator(), Valid: valid}, open, nil
	}
	for _, a := range t.others {
		if list, is := a.(interface {
			ByID(id string) (auth.Grant, bool)
			Unconfirmed() error
		}); is {
			if g, ok := list.ByID(id); ok {
				return g, true, nil
			}
			err = list.Unconfirmed()
		}
	}
	return auth.Grant{}, false, err
}

var errWrongToken = &auth.Refusal{Status: http.StatusUnauthorized,
	Reason: "the token is missing or wrong, or it was revoked or has expired; the operator's is in the file token in the data directory"}

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

// address is the client's. What a header says of it counts only behind a proxy, and then only the proxy's own word, which stands last.
func address(r *http.Request, behindProxy bool) netip.Addr {
	from, _ := netip.ParseAddrPort(r.RemoteAddr)
	addr := from.Addr()
	if behindProxy {
		list := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		if forwarded, err := netip.ParseAddr(strings.TrimSpace(list[len(list)-1])); err == nil {
			addr = forwarded
		}
	}
	return addr.Unmap().WithZone("")
}

// peer is the client's address, or of IPv6 the network that one customer has.
func peer(r *http.Request, behindProxy bool) netip.Prefix {
	addr := address(r, behindProxy)
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
