package acp

import (
	"context"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/method"
)

// logout removes all keys and logins that the daemon has stored for providers: ACP names no account. A model call that runs goes on, and the
// next one of its turn fails. Keys of the environment and of the config stay, so a session may still need no login.
func logout(_ context.Context, e *Editor, _ method.Nothing) (method.Nothing, error) {
	return method.Nothing{}, e.server.config.Logout()
}

type authStatus struct {
	State    string        `json:"state"`
	Accounts []authAccount `json:"accounts,omitempty"`
}

type authAccount struct {
	Label  string `json:"label"`
	Active bool   `json:"active"`
}

// status is auth/status, an unstable method of ACP: whether a session can begin, and the providers that have a key or a login. Without
// either, a model on this machine may still answer.
func status(_ context.Context, e *Editor, _ method.Nothing) (authStatus, error) {
	r := authStatus{State: "unauthenticated"}
	for _, p := range e.Providers() {
		switch {
		case p.Auth == provider.KeyReady:
			r.State = "authenticated"
			r.Accounts = append(r.Accounts, authAccount{strings.TrimSpace(p.ID + " " + keyEnding(p.KeyEnding)), p.Available})
		case p.Available && p.Auth == provider.KeyNotNeeded && r.State != "authenticated":
			r.State = "not_required"
		}
	}
	slices.SortStableFunc(r.Accounts, func(a, b authAccount) int { return strings.Compare(a.Label, b.Label) })
	return r, nil
}

func keyEnding(characters string) string {
	if characters == "" {
		return ""
	}
	return "(key …" + characters + ")"
}
