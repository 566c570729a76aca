package clouds

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Google stands in for Google's servers of tokens, each at its path. It gives another token each time.
type Google struct {
	Secret string // ends the secrets of a person
	Issued func(token string)

	mu      sync.Mutex
	refuses bool
	given   int
}

// Refuse makes all servers refuse from now on.
func (g *Google) Refuse() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refuses = true
}

// Credentials are the contents of a credentials file of each kind, for a server at an address. subject is a file with the text of [Subject].
//
// As gcloud writes the file of a person, it names no address of tokens. They come from oauth2.googleapis.com: a test has to lead that to
// the server.
func (g *Google) Credentials(at, subject string) map[string]map[string]any {
	_, key := Key()
	type object = map[string]any
	service := object{"type": "service_account", "client_email": "me@project.iam", "private_key": key, "private_key_id": "1", "token_uri": at + "/token"}
	federated := object{"type": "external_account", "audience": "//iam/pool", "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
		"token_url": at + "/sts", "credential_source": object{"file": subject}}
	both := object{"service_account_impersonation_url": at + "/impersonate"}
	for k, v := range federated {
		both[k] = v
	}
	return map[string]object{
		"service account":                  service,
		"person":                           {"type": "authorized_user", "client_id": "id", "client_secret": "client-" + g.Secret, "refresh_token": "refresh-" + g.Secret},
		"impersonated service account":     {"type": "impersonated_service_account", "service_account_impersonation_url": at + "/impersonate", "source_credentials": service},
		"federated workload":               federated,
		"federated workload, impersonated": both,
	}
}

// Subject is the token of a workload that [Google] exchanges for another.
const Subject = "oidc-of-the-workload"

func (g *Google) give(w http.ResponseWriter, member, expires string, more map[string]any) {
	g.mu.Lock()
	g.given++
	token := fmt.Sprintf("ya29.%d", g.given)
	g.mu.Unlock()
	if g.Issued != nil {
		g.Issued(token)
	}
	body := map[string]any{member: token, "token_type": "Bearer"}
	if expires == "expires_in" {
		body[expires] = 3600
	} else {
		body[expires] = time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	}
	for k, v := range more {
		body[k] = v
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(body)
}

func (g *Google) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	refuses := g.refuses
	g.mu.Unlock()
	if refuses {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":"invalid_grant","error_description":"Token has been revoked: %s"}`, "refresh-"+g.Secret)
		return
	}
	wants := func(ok bool, what string) bool {
		if !ok {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error":"unauthorized","error_description":"%s"}`, what)
		}
		return ok
	}
	switch r.URL.Path {
	case "/token":
		switch r.FormValue("grant_type") {
		case "urn:ietf:params:oauth:grant-type:jwt-bearer":
			if wants(ofAccount(r.FormValue("assertion")), "wrong claims, or not signed by the account's key") {
				g.give(w, "access_token", "expires_in", nil)
			}
		case "refresh_token":
			if wants(r.FormValue("refresh_token") == "refresh-"+g.Secret && r.FormValue("client_secret") == "client-"+g.Secret, "wrong refresh token") {
				g.give(w, "access_token", "expires_in", nil)
			}
		default:
			wants(false, "unknown grant")
		}
	case "/sts":
		if wants(r.FormValue("subject_token") == Subject && r.FormValue("audience") == "//iam/pool", "wrong subject token") {
			g.give(w, "access_token", "expires_in", map[string]any{"issued_token_type": "urn:ietf:params:oauth:token-type:access_token"})
		}
	case "/impersonate":
		if wants(strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ya29."), "the source has no token") {
			g.give(w, "accessToken", "expireTime", nil)
		}
	case "/computeMetadata/v1/instance/service-accounts/default/token":
		if wants(r.Header.Get("Metadata-Flavor") == "Google" && r.URL.Query().Get("scopes") != "", "Metadata-Flavor is missing") {
			g.give(w, "access_token", "expires_in", nil)
		}
	default:
		http.NotFound(w, r)
	}
}

// ofAccount reports whether the service account signed an assertion for the scope of Google Cloud.
func ofAccount(token string) bool {
	a, ok := readAssertion(token)
	key, _ := Key()
	sum := sha256.Sum256([]byte(a.text))
	return ok && rsa.VerifyPKCS1v15(&key.PublicKey, crypto.SHA256, sum[:], a.signature) == nil &&
		a.claims["iss"] == "me@project.iam" && strings.HasSuffix(fmt.Sprint(a.claims["scope"]), "/auth/cloud-platform")
}
