package clouds

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Entra stands in for Microsoft's servers of tokens, for the tenant "tenant" and its application "client", and for the identity of a
// machine. It gives another token each time.
type Entra struct {
	Secret string // of the application; that of App Service is "header-" before it
	Issued func(token string)

	mu      sync.Mutex
	refuses bool
	given   int
}

// Workload is the token of a federated workload that [Entra] takes.
const Workload = "workload"

// entraModels is the service that tokens are for.
const entraModels = "https://cognitiveservices.azure.com"

// Refuse makes all servers refuse from now on.
func (e *Entra) Refuse() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refuses = true
}

func (e *Entra) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	refuse := func(text string) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":"invalid_client","error_description":"AADSTS7000215: %s"}`, text)
	}
	e.mu.Lock()
	refuses := e.refuses
	e.mu.Unlock()
	form := r.FormValue
	lasts := `"expires_in":3599`
	switch {
	case refuses:
		refuse("Invalid client secret " + e.Secret)
		return
	case r.URL.Path == "/tenant/oauth2/v2.0/token":
		if form("grant_type") != "client_credentials" || form("scope") != entraModels+"/.default" || form("client_id") != "client" {
			refuse("wrong form")
			return
		}
		if a := form("client_assertion"); form("client_secret") != e.Secret && a != Workload && !ofApplication(a, "http://"+r.Host+r.URL.Path) {
			refuse("no proof")
			return
		}
	case r.URL.Path == "/metadata/identity/oauth2/token":
		if r.Header.Get("Metadata") != "true" || form("api-version") != "2018-02-01" || form("resource") != entraModels {
			refuse("wrong query")
			return
		}
		lasts = fmt.Sprintf(`"expires_in":"3599","expires_on":"%d"`, time.Now().Add(time.Hour).Unix())
	case r.URL.Path == "/msi/token":
		if r.Header.Get("X-IDENTITY-HEADER") != "header-"+e.Secret || form("api-version") != "2019-08-01" || form("client_id") != "client" {
			refuse("wrong query")
			return
		}
		lasts = fmt.Sprintf(`"expires_on":"%d"`, time.Now().Add(time.Hour).Unix())
	default:
		http.NotFound(w, r)
		return
	}
	e.mu.Lock()
	e.given++
	token := fmt.Sprintf("eyJ.%d", e.given)
	e.mu.Unlock()
	if e.Issued != nil {
		e.Issued(token)
	}
	fmt.Fprintf(w, `{"token_type":"Bearer",%s,"access_token":%q}`, lasts, token)
}

// ofApplication reports whether the application's certificate signed an assertion for an address.
func ofApplication(token, address string) bool {
	a, ok := readAssertion(token)
	key, _ := Key()
	der, _ := Certificate()
	sum, digest := sha256.Sum256([]byte(a.text)), sha256.Sum256(der)
	return ok && a.head["alg"] == "PS256" && a.head["x5t#S256"] == base64.RawURLEncoding.EncodeToString(digest[:]) &&
		a.claims["aud"] == address && a.claims["iss"] == "client" && a.claims["sub"] == "client" &&
		rsa.VerifyPSS(&key.PublicKey, crypto.SHA256, sum[:], a.signature, nil) == nil
}
