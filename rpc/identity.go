package rpc

import (
	"context"
	"errors"
	"time"

	"github.com/thinkd/thinkd/rpc/auth"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
)

// identity is who a client is, as the daemon knows it.
type identity struct {
	User    string   `json:"user"`
	Tenant  string   `json:"tenant,omitempty"`
	Rights  []string `json:"rights"`
	Expires int64    `json:"expires_at,omitempty"` // Unix milliseconds; absent: the connection does not expire
}

// identityOf is nil for a client of the operator that does not expire: there is nothing to know.
func identityOf(p method.Principal, expires time.Time) *identity {
	if p.OwnsMachine() && expires.IsZero() {
		return nil
	}
	i := &identity{User: p.Owner.User, Tenant: p.Owner.Tenant, Rights: []string{}}
	for _, r := range p.Rights {
		i.Rights = append(i.Rights, r.String())
	}
	if !expires.IsZero() {
		i.Expires = expires.UnixMilli()
	}
	return i
}

type renewParams struct {
	Token string `json:"token"`
}

type renewResult struct {
	Identity *identity `json:"identity"` // null: the operator's token, which does not expire
}

// renew answers late: a token may have to be checked with keys from another server.
func renew(_ context.Context, c *client, p renewParams) (func(context.Context) (renewResult, error), error) {
	if p.Token == "" {
		return nil, conn.InvalidParams("token", "is missing")
	}
	return func(context.Context) (renewResult, error) {
		g, err := c.Lease.Renew(p.Token)
		if err != nil {
			return renewResult{}, renewError(err)
		}
		c.Renewed(g)
		return renewResult{identityOf(g.Principal, g.Expires)}, nil
	}, nil
}

func renewError(err error) error {
	if refusal, ok := errors.AsType[*auth.Refusal](err); ok {
		e := &conn.Error{Code: conn.CodeUnauthorized, Message: refusal.Reason, Data: map[string]any{"field": "token"}}
		if refusal.RetryAfter > 0 {
			e.Data["retry_after_ms"] = refusal.RetryAfter.Milliseconds()
		}
		return e
	}
	switch {
	case errors.Is(err, auth.ErrOtherOwner):
		return &conn.Error{Code: conn.CodeUnauthorized, Message: auth.ErrOtherOwner.Error(), Data: map[string]any{"field": "token"}}
	case errors.Is(err, auth.ErrNotRenewable):
		return conn.InvalidRequest("%v", auth.ErrNotRenewable)
	case errors.Is(err, conn.ErrRevoked):
		return &conn.Error{Code: conn.CodeClosing, Message: "the connection is ending"}
	}
	return err
}
