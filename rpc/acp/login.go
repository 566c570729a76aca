package acp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
)

// authMethod is a way to log in that the editor offers.
type authMethod struct {
	ID          string   `json:"id"`
	Type        string   `json:"type,omitempty"` // empty: by authenticate
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Args        []string `json:"args,omitempty"` // for the command that the editor runs, in a terminal
}

// authMethods are for editors that can run thinkd in a terminal, or send their user to an address. Others get none: a key would pass
// through the editor, and some editors log in with the first method unasked.
func (e *Editor) authMethods() []authMethod {
	list := []authMethod{}
	if e.can.Auth.Terminal {
		list = append(list, authMethod{ID: "thinkd", Type: "terminal", Name: "Keys and logins",
			Description: "Enter the key of a model provider, or log in to ChatGPT or GitHub Copilot", Args: []string{"--login"}})
	}
	return append(list, e.planMethods()...)
}

// planNames are the names of plans for people, by provider.
var planNames = map[string]string{"chatgpt": "ChatGPT", "copilot": "GitHub Copilot"}

// planMethods are the logins to plans that the config sets up, for an editor that can send its user to an address. The editor then calls
// authenticate.
func (e *Editor) planMethods() (list []authMethod) {
	if !bool(e.can.Elicitation.URL) || !e.MaySetKeys() {
		return nil
	}
	for _, p := range e.Providers() {
		if name := planNames[p.ID]; p.LoginSet && name != "" {
			list = append(list, authMethod{ID: p.ID, Name: "Log in to " + name, Description: "Opens a page of " + name + " in the browser"})
		}
	}
	return list
}

type authenticateParams struct {
	Method string `json:"methodId"`
}

// authenticate leads the user through the login to a plan, and returns when the daemon has the login. The request for it goes to the
// editor, which shows the address and the code:
//
//	authenticate ──► Login ──► elicitation/create ──► the user logs in at the vendor
//	          ◄── elicitation/complete ◄── Login returns
//
// A user who declines, a cancelled request and the end of the connection end the login. An editor has one login at most.
func authenticate(ctx context.Context, e *Editor, p authenticateParams) (func(context.Context) (method.Nothing, error), error) {
	if !slices.ContainsFunc(e.planMethods(), func(m authMethod) bool { return m.ID == p.Method }) {
		return nil, conn.InvalidParams("methodId", "%q is not a method of authenticate: run `thinkd acp --login`, or `thinkd auth set PROVIDER`, in a terminal", p.Method)
	}
	if !e.logsIn.CompareAndSwap(false, true) {
		return nil, conn.InvalidParams("methodId", "a login is running: cancel its request first")
	}
	id := conn.RequestID(ctx)
	return func(ctx context.Context) (method.Nothing, error) {
		defer e.logsIn.Store(false)
		return method.Nothing{}, e.logIn(ctx, p.Method, id)
	}, nil
}

// elicitation asks the user to open an address, as a part of a request of the editor.
type elicitation struct {
	Mode    string          `json:"mode"`
	Request json.RawMessage `json:"requestId"`
	ID      string          `json:"elicitationId"`
	URL     string          `json:"url"`
	Message string          `json:"message"`
}

type elicitationEnd struct {
	ID string `json:"elicitationId"`
}

// errDeclined is the user's no to the login.
var errDeclined = &provider.Error{Kind: provider.KindAuth, Message: "the login was declined"}

func (e *Editor) logIn(ctx context.Context, id string, request json.RawMessage) error {
	ctx, stop := context.WithCancelCause(ctx)
	asked := elicitation{Mode: "url", Request: request, ID: "login-" + rand.Text()[:10]}
	var answered chan struct{}
	err := e.server.config.Login(ctx, id, func(url, code string, expires time.Duration) {
		asked.URL, asked.Message = url, loginMessage(id, code, expires)
		r, err := e.ask(ctx, "elicitation/create", asked)
		if err != nil {
			stop(err)
			return
		}
		answered = make(chan struct{})
		e.Run(func() { // ends with the answer or with ctx, which logIn ends
			defer close(answered)
			if err := acceptance(r.wait(ctx)); err != nil {
				stop(err)
			}
		})
	})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	stop(nil)
	if answered == nil {
		return err
	}
	<-answered
	if err != nil {
		return err
	}
	e.Log().Info("logged in", "provider", id)
	message, err := encode(envelope{Version: "2.0", Method: "elicitation/complete", Params: elicitationEnd{asked.ID}})
	if err == nil {
		err = e.Conn.Notify(e.Conn.Context(), message)
	}
	return err
}

// loginMessage says what the user has to do at the address.
func loginMessage(id, code string, expires time.Duration) string {
	if code == "" {
		return fmt.Sprintf("Log in to %s on this page. It returns to an address of the machine on which thinkd runs.", planNames[id])
	}
	text := fmt.Sprintf("Enter the code %s on this page to log in to %s.", code, planNames[id])
	if expires > 0 {
		text += fmt.Sprintf(" It is valid for %d minutes.", max(1, int(expires.Minutes())))
	}
	return text
}

// acceptance reads the editor's answer to a login. A request that was taken back, because the login has ended, is no answer.
func acceptance(answer json.RawMessage, err error) error {
	switch {
	case errors.Is(err, errUnasked):
		return nil
	case err != nil:
		return err
	case strings.EqualFold(gjson.GetBytes(answer, "action").String(), "accept"):
		return nil
	}
	return errDeclined
}
