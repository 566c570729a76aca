package login

import (
	"context"
	"errors"
	"time"

	"github.com/thinkd/thinkd/provider"
)

// Identity is who a process is to a cloud: an account of a machine, a service or a person that the cloud gives short-lived tokens,
// without a dialogue. It is safe for concurrent use.
type Identity interface {
	// Token gets a new token, and says when it expires. It never returns one that it returned before, unless the cloud does. An
	// error is a *provider.Error, or the cause of ctx. The error of a refusal has the kind auth.
	Token(ctx context.Context) (token provider.Secret, expires time.Time, err error)

	// Account names whom calls with the tokens belong to. The name stays the same when a token is renewed, and contains no secret.
	Account() string

	// Missing says what to do to get an identity. It is empty if there is one, as far as can be known without a call.
	Missing() string
}

// identityRenewBefore is how long before its end a token of an identity is renewed. Google's metadata server has a new one at the
// latest 4 minutes before (golang.org/x/oauth2/google: ComputeTokenSource), Microsoft's 5 minutes.
const identityRenewBefore = 225 * time.Second

// byIdentity is an identity as a flow without a login. Its grant is not a secret, and is never sent.
type byIdentity struct{ Identity }

func (byIdentity) Login(context.Context, func(Prompt)) (Grant, error) { return Grant{}, ErrNoLogin }

// Direct is a key that somebody set: it is used as it is.
func (byIdentity) Direct(g Grant) (Credential, bool) { return Credential{Key: g.Token}, !g.identity }

func (i byIdentity) Exchange(ctx context.Context, g Grant) (Credential, Grant, error) {
	token, expires, err := i.Token(ctx)
	if err == nil && token.IsZero() {
		err = errors.New("no token")
	}
	if err != nil {
		return Credential{}, g, err
	}
	c := Credential{Key: token, Bearer: true, Account: i.Account()}
	left := time.Until(expires)
	c.lifetime(left-identityRenewBefore, left)
	return c, g, nil
}
