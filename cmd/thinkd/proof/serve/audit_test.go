package serve

import (
	"net/http"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// The right audit reads the audit over the network: of all users with a token of the operator, and of one's own tenant else. Clients that
// are not let in are recorded without their token.
func TestServeAudit(t *testing.T) {
	data, config := t.TempDir(), proof.WriteConfig(t, "[auth]\n")
	ann := token(t, data, config, "create", "--user", "ann", "--tenant", "acme")
	tenant := token(t, data, config, "create", "--user", "eve", "--tenant", "acme", "--rights", "audit")
	all := token(t, data, config, "create", "--rights", "audit")
	bob := token(t, data, config, "create", "--user", "bob")
	s := proof.StartServe(t, proof.Command(t, nil, append(proof.ServeArgs(data), "--config", config)...))
	for _, wrong := range []string{"thd_" + strings.Repeat("x", 43), "a.b.c"} {
		if got := s.Status("rpc", wrong); got != http.StatusUnauthorized {
			t.Errorf("a wrong token gets %d", got)
		}
	}
	users := map[string]*proof.WsClient{"ann": proof.DialWS(t, s.Base, ann, nil), "bob": proof.DialWS(t, s.Base, bob, nil)}
	for name, c := range users {
		c.Must("session/new", map[string]any{"model_id": "sim/claude", "title": "secret of " + name}, nil)
		if err := c.Call("audit/read", map[string]any{}, nil); err == nil || !strings.Contains(err.Error(), "audit") {
			t.Errorf("%s without the right: %v", name, err)
		}
	}
	type record struct{ User, Tenant, Method, From, Kind string }
	// Each call is recorded too, so pages of one record would never end.
	read := func(token string) (list []record, next string) {
		c := proof.DialWS(t, s.Base, token, nil)
		for {
			var page struct {
				Records []record
				Next    string `json:"next_cursor"`
			}
			c.Must("audit/read", map[string]any{"limit": 3, "cursor": next}, &page)
			list = append(list, page.Records...)
			if page.Next == "" {
				return list, next
			}
			next = page.Next
		}
	}
	seen := make(map[string]bool)
	everything, _ := read(all)
	for _, r := range everything {
		seen[r.User+" "+r.Method+" "+r.Kind] = true
	}
	for _, want := range []string{" token/create ", " login unauthorized", "ann session/new ", "bob session/new ", "ann audit/read forbidden"} {
		if !seen[want] {
			t.Errorf("%q is not among %v", want, seen)
		}
	}
	theirs, cursor := read(tenant)
	for _, r := range theirs {
		if r.Tenant != "acme" || r.User == "" {
			t.Errorf("the auditor of a tenant reads %+v", r)
		}
	}
	if len(theirs) < 2 || strings.Contains(cursor, "-") && strings.Contains(cursor, ".") {
		t.Errorf("%d records, cursor %q", len(theirs), cursor)
	}
	s.Terminate()
}
