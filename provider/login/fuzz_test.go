package login_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/login"
)

// FuzzAnswers reads any answer of a login's servers: no panic, no secret in an error, and no credential without a key or
// for an address that is not encrypted.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		`{"token":"tid=1;proxy-ep=proxy.a.example.com","expires_at":1763650000,"refresh_in":1500,"endpoints":{"api":"https://api.example.com"}}`,
		`{"access_token":"a.eyJodHRwczovL2FwaS5vcGVuYWkuY29tL2F1dGgiOnt9fQ.c","refresh_token":"rt","id_token":7,"expires_in":"3600"}`,
		`{"error":{"code":"refresh_token_reused","message":"` + canary + `"}}`, `{"error":"invalid_grant","error_description":"` + canary + `"}`, `[`, ``,
	} {
		f.Add(200, seed)
		f.Add(400, seed)
	}
	f.Fuzz(func(t *testing.T, status int, body string) {
		if status < 200 || status > 599 {
			return
		}
		client := &http.Client{Transport: &wire{instead: func(string) (*http.Response, error) { return answer(status, body), nil }}}
		for _, flow := range []login.Flow{&login.Copilot{Provider: "p", Editor: true, Client: client}, &login.ChatGPT{Provider: "p", Client: client}} {
			given := login.Grant{Token: provider.NewSecret(canary), ByLogin: true}
			c, next, err := flow.Exchange(t.Context(), given)
			switch {
			case err != nil && strings.Contains(err.Error(), canary):
				t.Errorf("%T: %v", flow, err)
			case err != nil && next != given:
				t.Errorf("%T: the grant is another one after %v", flow, err)
			case err == nil && (c.Key.IsZero() || next.IsZero()):
				t.Errorf("%T: a credential without a key, or no grant after it", flow)
			case err == nil && c.BaseURL != "" && !strings.HasPrefix(c.BaseURL, "https://") && !exchange.Local(c.BaseURL):
				t.Errorf("%T: %s", flow, c.BaseURL)
			}
		}
	})
}
