package identity_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/identity"
	"github.com/thinkd/thinkd/provider/login"
)

// said answers each request for a token with the same status and body.
type said struct {
	status int
	body   string
}

func (s said) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: s.status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(s.body)), Request: req}, nil
}

// FuzzTokens reads any answer of the servers that give tokens for a secret or for the login of a person: no panic, no secret in an error,
// and no success without a token.
func FuzzTokens(f *testing.F) {
	for _, seed := range []string{
		`{"access_token":"at","token_type":"Bearer","expires_in":3599}`, `{"access_token":"at","expires_in":"3599"}`, `{"access_token":"","expires_in":-1}`,
		`{"access_token":7,"expires_in":1e99}`, `{"access_token":"at","expires_on":"99999999999999999999"}`,
		`{"access_token":"at","expires_on":"99999999999999999"}`, `{"access_token":"at","expires_on":"9223372036854775807"}`,
		`{"error":"invalid_client","error_description":"AADSTS7000215: ` + canary + `"}`, `{"error":{"code":400,"message":"` + canary + `"}}`, `<html>`, `[`, ``,
	} {
		f.Add(200, seed)
		f.Add(401, seed)
	}
	file := filepath.Join(f.TempDir(), "person.json")
	person := `{"type":"authorized_user","client_id":"id","client_secret":"` + canary + `","refresh_token":"` + canary + `"}`
	if err := os.WriteFile(file, []byte(person), 0o600); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, status int, body string) {
		if status < 200 || status > 599 {
			return
		}
		client := &http.Client{Transport: said{status, body}}
		for _, id := range []login.Identity{
			identity.Entra{Resource: "https://r.openai.azure.com", Tenant: "t", Client: "c", Secret: provider.NewSecret(canary)}.Open("azure", client),
			identity.Google{Project: "p", File: file}.Open("vertex", client),
		} {
			token, until, err := id.Token(t.Context())
			switch {
			case err != nil && strings.Contains(err.Error(), canary):
				t.Errorf("%T: a secret is in %v", id, err)
			case err == nil && token.IsZero():
				t.Errorf("%T: a success without a token", id)
			case err == nil && until.After(time.Now().AddDate(1000, 0, 0)):
				t.Errorf("%T: a token until %v", id, until)
			}
		}
	})
}
