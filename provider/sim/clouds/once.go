package clouds

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// Once is a host of models that takes each credential for one request. The next request with it is refused, as if it had expired in
// between.
type Once struct {
	Inner   http.Handler
	Account string // that all bearer tokens stand for, such as "the-account"; signatures stay as they are
	Ended   func() // called after each refusal; nil: nothing is

	mu            sync.Mutex
	valid         string // the latest token; empty: each credential is valid that was not used
	spent         map[string]bool
	used, refused []string
}

// Issue makes a token valid, and all others invalid.
func (o *Once) Issue(token string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.valid = token
}

// Seen are the credentials that were taken and those that were refused, in order.
func (o *Once) Seen() (used, refused []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.used, o.refused
}

// Forget empties what Seen returns.
func (o *Once) Forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.used, o.refused = nil, nil
}

// take reports whether a credential is taken.
func (o *Once) take(credential string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.spent == nil {
		o.spent = map[string]bool{}
	}
	if credential == "" || o.spent[credential] || o.valid != "" && credential != o.valid {
		o.refused = append(o.refused, credential)
		return false
	}
	o.spent[credential], o.used = true, append(o.used, credential)
	return true
}

func (o *Once) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	given := r.Header.Get("Authorization")
	token, bearer := strings.CutPrefix(given, "Bearer ")
	credential := token
	if !bearer {
		_, credential, _ = strings.Cut(given, "Credential=")
		credential, _, _ = strings.Cut(credential, "/")
	}
	if r.Header.Get("api-key") == "" && o.take(credential) {
		if bearer && o.Account != "" {
			r.Header.Set("Authorization", "Bearer "+o.Account)
		}
		o.Inner.ServeHTTP(w, r)
		return
	}
	if o.Ended != nil {
		o.Ended()
	}
	w.Header().Set("Content-Type", "application/json")
	if !bearer {
		w.Header().Set("X-Amzn-ErrorType", "ExpiredTokenException")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"message":"The security token included in the request is expired"}`)
		return
	}
	w.WriteHeader(http.StatusUnauthorized)
	fmt.Fprint(w, `{"error":{"code":401,"message":"Request had invalid authentication credentials.","status":"UNAUTHENTICATED"}}`)
}
