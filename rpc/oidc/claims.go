package oidc

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/thinkd/thinkd/rpc/auth"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/session"
)

// skew is how far the clocks of the issuer and of this machine may be apart.
const skew = time.Minute

// claims are those of a verified token.
type claims map[string]json.RawMessage

// text is a claim that is a string, and not empty.
func (c claims) text(name string) (string, error) {
	var word string
	if json.Unmarshal(c[name], &word) != nil || word == "" {
		return "", fmt.Errorf("it has no claim %s", name)
	}
	return word, nil
}

// time is a claim that is a time; ok is false if there is none.
func (c claims) time(name string) (at time.Time, ok bool, err error) {
	raw, ok := c[name]
	if !ok {
		return at, false, nil
	}
	var seconds float64
	if err := json.Unmarshal(raw, &seconds); err != nil || string(raw) == "null" || seconds < 0 || seconds > 1<<40 {
		return at, false, fmt.Errorf("its claim %s is not a time", name)
	}
	return time.UnixMilli(int64(seconds * 1000)), true, nil
}

// words is a claim that is a list of strings, or a string with spaces between words.
func (c claims) words(name string) (list []string) {
	var word string
	if json.Unmarshal(c[name], &list) == nil {
		return list
	}
	if json.Unmarshal(c[name], &word) == nil {
		return strings.Fields(word)
	}
	return nil
}

// until checks the times of a token, and returns when it expires.
func (c claims) until(now time.Time) (time.Time, error) {
	expires, ok, err := c.time("exp")
	switch {
	case err != nil:
		return expires, err
	case !ok:
		return expires, errors.New("it has no claim exp, so it would never expire")
	case !now.Before(expires.Add(skew)):
		return expires, errExpired
	}
	for _, name := range []string{"nbf", "iat"} {
		at, ok, err := c.time(name)
		if err != nil {
			return expires, err
		}
		if ok && at.After(now.Add(skew)) {
			return expires, fmt.Errorf("its %s is in the future; compare the clocks of the issuer and of this machine", name)
		}
	}
	return expires, nil
}

var errExpired = errors.New("it has expired")

// principal is whose requests the bearer makes.
func (c claims) principal(cfg Config) (p method.Principal, err error) {
	var o session.Owner
	if o.User, err = c.text(cfg.UserClaim); err != nil {
		return p, err
	}
	if cfg.UserClaim == "email" && string(c["email_verified"]) != "true" {
		return p, errors.New("its email is not verified")
	}
	if cfg.TenantClaim != "" {
		if o.Tenant, err = c.text(cfg.TenantClaim); err != nil {
			return p, err
		}
	}
	if err := auth.CheckOwner(o); err != nil {
		return p, err
	}
	rights := []string{method.Use.String()}
	if cfg.RightsClaim != "" {
		rights = nil
		for _, word := range c.words(cfg.RightsClaim) {
			if _, ok := method.RightNamed(word); ok { // others are for other programs
				rights = append(rights, word)
			}
		}
		if len(rights) == 0 {
			return p, fmt.Errorf("its claim %s has none of the rights of thinkd", cfg.RightsClaim)
		}
	}
	return auth.NewPrincipal(o, rights)
}
