package acp

import (
	"context"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
)

// authMethod is a way to log in that the editor offers.
type authMethod struct {
	ID          string   `json:"id"`
	Type        string   `json:"type"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Args        []string `json:"args"` // for the command that the editor runs, in a terminal
}

// authMethods are for editors that can run thinkd in a terminal. Others get none: a key would pass through the editor, and some editors
// log in with the first method unasked.
func authMethods(can clientCapabilities) []authMethod {
	if !can.Auth.Terminal {
		return []authMethod{}
	}
	return []authMethod{{ID: "thinkd", Type: "terminal", Name: "Keys and logins",
		Description: "Enter the key of a model provider, or log in to ChatGPT or GitHub Copilot", Args: []string{"--login"}}}
}

type authenticateParams struct {
	Method string `json:"methodId"`
}

// authenticate refuses: the only method is one that the editor runs itself.
func authenticate(_ context.Context, _ *Editor, p authenticateParams) (method.Nothing, error) {
	return method.Nothing{}, conn.InvalidParams("methodId", "%q is not a method of authenticate: run `thinkd acp --login`, or `thinkd auth set PROVIDER`, in a terminal", p.Method)
}

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
