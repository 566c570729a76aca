package oidc

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/thinkd/thinkd/rpc/auth"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
)

// Tokens is an [auth.Admitter] of the tokens of one issuer.
type Tokens struct {
	config   Config
	client   *http.Client // for the issuer's description and keys
	exchange *http.Client // for tokens
	log      *slog.Logger
	now      func() time.Time

	asking   sync.Mutex            // held while the issuer is asked for its description
	provider *oidc.Provider        // nil: the issuer was not reached yet
	verifier *oidc.IDTokenVerifier // the same
	asked    time.Time             // when it was reached last

	mu     sync.Mutex
	grants map[[sha256.Size]byte]*granted
}

// granted is a token that was admitted. All connections that came with it end together.
type granted struct {
	until time.Time
	valid context.Context
	end   context.CancelCauseFunc
}

// maxGrants bounds how many tokens are remembered; each of them was signed by the issuer.
const maxGrants = 100_000

// maxToken bounds a token, in bytes. The header of a request has no room for more.
const maxToken = 16 << 10

// New asks the issuer nothing yet.
func New(c Config, log *slog.Logger) *Tokens {
	return newTokens(c, http.DefaultTransport, log, time.Now)
}

func newTokens(c Config, transport http.RoundTripper, log *slog.Logger, now func() time.Time) *Tokens {
	if c.UserClaim == "" {
		c.UserClaim = "sub"
	}
	if len(c.Algorithms) == 0 {
		c.Algorithms = Algorithms()
	}
	return &Tokens{config: c, client: newClient(&sparing{next: transport, now: now, last: make(map[string]time.Time)}), exchange: newClient(transport),
		log: log, now: now, grants: make(map[[sha256.Size]byte]*granted)}
}

// Advice is for clients whose token nobody admits.
func (t *Tokens) Advice() string {
	return "of " + t.config.Issuer + ", only JWTs for the audience " + t.config.Audience + " are taken, such as an ID token: an opaque access token cannot be checked here"
}

// Admit implements [auth.Admitter]. It decides on all JWTs, also on those of other issuers.
func (t *Tokens) Admit(ctx context.Context, token string) (auth.Grant, bool, error) {
	alg, ok := algorithm(token)
	if !ok {
		return auth.Grant{}, false, nil
	}
	if !slices.Contains(t.config.Algorithms, alg) {
		return auth.Grant{}, true, refused(fmt.Errorf("its algorithm is not one of %s", strings.Join(t.config.Algorithms, ", ")))
	}
	p, until, _, err := t.check(ctx, token)
	if err != nil {
		return auth.Grant{}, true, err
	}
	g := auth.Grant{Principal: p, Expires: until}
	if g.Valid = t.grant(token, until.Add(skew)); g.Valid == nil {
		return auth.Grant{}, true, errors.New("too many tokens are in use")
	}
	return g, true, nil
}

// check verifies a JWT. It returns its user, when it expires, and its claims.
func (t *Tokens) check(ctx context.Context, token string) (p method.Principal, until time.Time, c claims, err error) {
	_, verifier, err := t.describe(ctx)
	if err != nil {
		return p, until, nil, err
	}
	verified, err := verifier.Verify(ctx, token)
	if err != nil { // the error can have parts of the token
		t.log.Debug("a JWT was refused", "err", err)
		return p, until, nil, refused(errors.New("its signature, iss or aud is not right: it must be of " + t.config.Issuer + " for " + t.config.Audience))
	}
	if err := verified.Claims(&c); err != nil {
		return p, until, nil, refused(errors.New("its claims cannot be read"))
	}
	if until, err = c.until(t.now()); err != nil {
		return p, until, nil, refused(err)
	}
	if p, err = c.principal(t.config); err != nil {
		return p, until, nil, refused(err)
	}
	return p, until, c, nil
}

// refused is the answer to a JWT that is not right.
func refused(why error) *auth.Refusal {
	return &auth.Refusal{Status: http.StatusUnauthorized, Reason: "the JWT is refused: " + why.Error()}
}

// algorithm is the alg in the header of a JWT; ok is false for what is none.
func algorithm(token string) (alg string, ok bool) {
	if len(token) > maxToken || strings.Count(token, ".") != 2 {
		return "", false
	}
	head, _, _ := strings.Cut(token, ".")
	text, err := base64.RawURLEncoding.DecodeString(head)
	if err != nil {
		return "", false
	}
	var header struct {
		Alg string `json:"alg"`
	}
	return header.Alg, json.Unmarshal(text, &header) == nil
}

// keysFor is how long the issuer's keys are used before they are fetched again: a key that the issuer has withdrawn signs nothing afterwards.
const keysFor = 15 * time.Minute

// askPause is how long the last keys count before an issuer that could not be reached is asked again.
const askPause = time.Minute

// describe returns the issuer's description, and what verifies its tokens. If there is none, or if it is old, it asks the issuer; the keys
// follow with the first token. While an issuer cannot be reached, its last keys count.
func (t *Tokens) describe(ctx context.Context) (*oidc.Provider, *oidc.IDTokenVerifier, error) {
	t.asking.Lock() // others wait for the one that asks, which takes fetchTime at most
	defer t.asking.Unlock()
	if t.verifier != nil && t.now().Sub(t.asked).Abs() < keysFor {
		return t.provider, t.verifier, nil
	}
	// The keys are fetched with this context too, after the request that it came with.
	p, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), t.client), t.config.Issuer)
	switch {
	case err == nil:
		t.asked, t.provider = t.now(), p
		t.verifier = p.Verifier(&oidc.Config{ClientID: t.config.Audience, SupportedSigningAlgs: t.config.Algorithms,
			SkipExpiryCheck: true}) // claims.until checks the times: the library lets nbf be five minutes in the future
	case t.verifier == nil:
		return nil, nil, fmt.Errorf("OpenID provider %s: %w", t.config.Issuer, err)
	default:
		t.asked = t.now().Add(askPause - keysFor)
		t.log.Warn("the OpenID provider cannot be reached; its last keys count", "issuer", t.config.Issuer, "err", err)
	}
	return t.provider, t.verifier, nil
}

// grant returns the context of a token's connections, which ends at until. It returns nil if there are too many tokens.
func (t *Tokens) grant(token string, until time.Time) context.Context {
	digest := sha256.Sum256([]byte(token))
	t.mu.Lock()
	defer t.mu.Unlock()
	if g := t.grants[digest]; g != nil && g.valid.Err() == nil {
		return g.valid
	}
	if len(t.grants) >= maxGrants {
		return nil
	}
	g := &granted{until: until}
	g.valid, g.end = context.WithCancelCause(context.Background())
	t.grants[digest] = g
	return g.valid
}

// look is how often Watch compares the clock with the tokens. A connection has to end within a second.
const look = 250 * time.Millisecond

// Watch ends the grants of tokens that expire, until ctx ends.
func (t *Tokens) Watch(ctx context.Context) {
	ticks := time.NewTicker(look)
	defer ticks.Stop()
	for {
		t.expire()
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
	}
}

func (t *Tokens) expire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	for digest, g := range t.grants {
		if !now.Before(g.until) {
			g.end(conn.ErrExpired)
			delete(t.grants, digest)
		}
	}
}
