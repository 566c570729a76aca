package sim

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// LoginsConfig says what a [Logins] hands out. The zero value of a member is what the vendors do.
type LoginsConfig struct {
	ClientID string        // the application's id, the only one that is known
	API      string        // where tokens for Copilot are good, as the exchange tells; empty: it does not tell
	Account  string        // that the plan's tokens name
	Interval int           // seconds between two polls; 0: 5
	CodeLife time.Duration // of a device code; 0: 15 minutes
	Life     time.Duration // of what calls are made with; 0: half an hour
}

// Logins is a strict stand-in for the servers that one logs in at: GitHub's, with the device flow and the exchange for a
// token of Copilot, and OpenAI's, with PKCE. Whoever asks for /oauth/authorize is a person who has agreed, unless
// [Logins.Decline] was called. All methods may be called from any goroutine.
//
// [docs: GitHub, authorizing OAuth apps; RFC 7636, RFC 8628; openai/codex: codex-rs/login]
type Logins struct {
	config LoginsConfig

	mu        sync.Mutex
	devices   map[string]*device // by device code
	codes     map[string]planCode
	lasting   map[string]string    // GitHub's tokens and refresh tokens, with their kind; "used": replaced
	passing   map[string]time.Time // what calls are made with, and its end
	issued    []string             // every secret so far
	exchanges int
	declining bool
	failing   int // a status, to answer the next renewals with
}

type device struct {
	user     string
	interval time.Duration
	polled   time.Time
	ends     time.Time
	approved bool
	denied   bool
}

type planCode struct{ challenge, redirect string }

// NewLogins makes a stand-in.
func NewLogins(c LoginsConfig) *Logins {
	if c.Interval == 0 {
		c.Interval = 5
	}
	if c.CodeLife == 0 {
		c.CodeLife = 15 * time.Minute
	}
	if c.Life == 0 {
		c.Life = 30 * time.Minute
	}
	return &Logins{config: c, devices: map[string]*device{}, codes: map[string]planCode{}, lasting: map[string]string{}, passing: map[string]time.Time{}}
}

// ServeHTTP answers for all of the servers.
func (l *Logins) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch r.Method + " " + r.URL.Path {
	case "POST /login/device/code":
		l.deviceCode(w, r)
	case "POST /login/oauth/access_token":
		l.deviceToken(w, r)
	case "GET /copilot_internal/v2/token":
		l.exchange(w, r)
	case "GET /oauth/authorize":
		l.authorize(w, r)
	case "POST /oauth/token":
		l.planToken(w, r)
	default:
		http.NotFound(w, r)
	}
}

// Guard serves next for calls with a token that is good, and refuses others as an API does.
func (l *Logins) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		l.mu.Lock()
		ends, ok := l.passing[token]
		l.mu.Unlock()
		if !ok || !time.Now().Before(ends) {
			http.Error(w, "unauthorized: token expired", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Approve is a person who types in a code; false: there is none such.
func (l *Logins) Approve(userCode string) bool {
	return l.each(userCode, func(d *device) { d.approved = true })
}

// Deny is a person who types in a code and declines.
func (l *Logins) Deny(userCode string) bool {
	return l.each(userCode, func(d *device) { d.denied = true })
}

func (l *Logins) each(userCode string, do func(*device)) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range l.devices {
		if d.user == userCode {
			do(d)
			return true
		}
	}
	return false
}

// Decline makes the person at /oauth/authorize decline.
func (l *Logins) Decline() { l.set(func() { l.declining = true }) }

// Revoke takes back all that lasts: nothing is renewed any more.
func (l *Logins) Revoke() { l.set(func() { clear(l.lasting) }) }

// Forget ends all that calls are made with, before its time.
func (l *Logins) Forget() { l.set(func() { clear(l.passing) }) }

// Fail answers renewals with a status; 0: no more.
func (l *Logins) Fail(status int) { l.set(func() { l.failing = status }) }

// Issued lists every secret that was handed out.
func (l *Logins) Issued() (list []string) {
	l.set(func() { list = append(list, l.issued...) })
	return list
}

// Exchanges counts what was renewed or tried to be.
func (l *Logins) Exchanges() (n int) {
	l.set(func() { n = l.exchanges })
	return n
}

func (l *Logins) set(do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	do()
}

// secret makes one of a vendor's form.
func (l *Logins) secret(prefix string) string {
	s := prefix + rand.Text()
	l.issued = append(l.issued, s)
	return s
}

// form reads a request's form; false: it was answered.
func (l *Logins) form(w http.ResponseWriter, r *http.Request) (url.Values, bool) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/x-www-form-urlencoded" {
		http.Error(w, "wants a form", http.StatusUnsupportedMediaType)
		return nil, false
	}
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	if err := r.ParseForm(); err != nil {
		http.Error(w, "no form", http.StatusBadRequest)
		return nil, false
	}
	return r.PostForm, true
}

// deviceCode begins GitHub's device flow.
func (l *Logins) deviceCode(w http.ResponseWriter, r *http.Request) {
	f, ok := l.form(w, r)
	switch {
	case !ok:
	case f.Get("client_id") != l.config.ClientID:
		github(w, r, http.StatusNotFound, map[string]any{"error": "Not Found"})
	case f.Get("scope") != "read:user":
		github(w, r, http.StatusBadRequest, map[string]any{"error": "invalid_scope"})
	default:
		id := l.secret("")
		user := rand.Text()
		user = user[:4] + "-" + user[4:8]
		l.devices[id] = &device{user: user, interval: time.Duration(l.config.Interval) * time.Second, polled: time.Now(), ends: time.Now().Add(l.config.CodeLife)}
		github(w, r, http.StatusOK, map[string]any{"device_code": id, "user_code": user, "verification_uri": "https://github.com/login/device",
			"expires_in": int(l.config.CodeLife.Seconds()), "interval": l.config.Interval})
	}
}

// deviceToken answers a poll; refusals come with the status 200.
func (l *Logins) deviceToken(w http.ResponseWriter, r *http.Request) {
	f, ok := l.form(w, r)
	if !ok {
		return
	}
	refuse := func(word string) {
		github(w, r, http.StatusOK, map[string]any{"error": word, "error_description": "The device code " + f.Get("device_code") + " is refused.", "error_uri": "https://docs.github.com"})
	}
	id, now := f.Get("device_code"), time.Now()
	d := l.devices[id]
	switch {
	case f.Get("grant_type") != "urn:ietf:params:oauth:grant-type:device_code":
		refuse("unsupported_grant_type")
	case f.Get("client_id") != l.config.ClientID:
		refuse("incorrect_client_credentials")
	case d == nil:
		refuse("incorrect_device_code")
	case !now.Before(d.ends):
		refuse("expired_token")
	case now.Sub(d.polled) < d.interval:
		d.polled, d.interval = now, d.interval+5*time.Second
		refuse("slow_down")
	case d.denied:
		delete(l.devices, id)
		refuse("access_denied")
	case !d.approved:
		d.polled = now
		refuse("authorization_pending")
	default:
		delete(l.devices, id)
		token := l.secret("ghu_")
		l.lasting[token] = "github"
		github(w, r, http.StatusOK, map[string]any{"access_token": token, "token_type": "bearer", "scope": "read:user"})
	}
}

// github answers as GitHub does: with a form, unless JSON is asked for.
func github(w http.ResponseWriter, r *http.Request, status int, members map[string]any) {
	if r.Header.Get("Accept") == "application/json" {
		plainJSON(w, status, members)
		return
	}
	form := url.Values{}
	for name, value := range members {
		form.Set(name, fmt.Sprint(value))
	}
	w.Header().Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	w.WriteHeader(status)
	w.Write([]byte(form.Encode())) // a client that has gone needs no answer
}

func plainJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) // the same
}

// Exchange makes a token for Copilot of one of GitHub's.
func (l *Logins) exchange(w http.ResponseWriter, r *http.Request) {
	l.exchanges++
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case l.failing != 0:
		http.Error(w, "the simulator was asked to fail", l.failing)
	case r.Header.Get("Editor-Version") == "":
		plainJSON(w, http.StatusBadRequest, map[string]any{"message": "missing Editor-Version header"})
	case strings.HasPrefix(token, "ghp_"):
		plainJSON(w, http.StatusForbidden, map[string]any{"message": "Personal Access Tokens are not supported for this endpoint"})
	case l.lasting[token] != "github":
		plainJSON(w, http.StatusUnauthorized, map[string]any{"message": "Bad credentials", "documentation_url": "https://docs.github.com/rest", "you_said": token})
	default:
		ends := time.Now().Add(l.config.Life)
		answer := map[string]any{"expires_at": ends.Unix(), "refresh_in": int(l.config.Life.Seconds()) - 300}
		made := l.secret("tid=") + ";exp=" + fmt.Sprint(ends.Unix()) + ";proxy-ep=proxy.individual.githubcopilot.com"
		answer["token"] = made
		if l.config.API != "" {
			answer["endpoints"] = map[string]any{"api": l.config.API}
		}
		l.passing[made] = ends
		plainJSON(w, http.StatusOK, answer)
	}
}

// authorize is the page at which a person agrees.
func (l *Logins) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	back, err := url.Parse(q.Get("redirect_uri"))
	challenge, _ := base64.RawURLEncoding.DecodeString(q.Get("code_challenge"))
	problem := ""
	switch {
	case q.Get("response_type") != "code":
		problem = "response_type"
	case q.Get("client_id") != l.config.ClientID:
		problem = "client_id"
	case err != nil || back.Scheme != "http" || back.Hostname() != "localhost" || back.Path != "/auth/callback":
		problem = "redirect_uri"
	case q.Get("code_challenge_method") != "S256" || len(challenge) != sha256.Size:
		problem = "code_challenge"
	case len(q.Get("state")) < 16:
		problem = "state"
	case !strings.Contains(q.Get("scope"), "openid") || !strings.Contains(q.Get("scope"), "offline_access"):
		problem = "scope"
	}
	if problem != "" { // never a redirect to an address that is not known
		http.Error(w, "invalid "+problem, http.StatusBadRequest)
		return
	}
	answer := url.Values{"state": {q.Get("state")}}
	if l.declining {
		answer.Set("error", "access_denied")
	} else {
		code := l.secret("ac_")
		l.codes[code] = planCode{q.Get("code_challenge"), q.Get("redirect_uri")}
		answer.Set("code", code)
	}
	back.RawQuery = answer.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

// planToken redeems a code, once, and a refresh token, which is replaced.
func (l *Logins) planToken(w http.ResponseWriter, r *http.Request) {
	f, ok := l.form(w, r)
	if !ok {
		return
	}
	refuse := func(status int, code string) {
		plainJSON(w, status, map[string]any{"error": map[string]any{"type": "invalid_request_error", "code": code,
			"message": "Refused: " + code + " " + f.Get("code") + f.Get("refresh_token") + f.Get("code_verifier")}})
	}
	if f.Get("client_id") != l.config.ClientID {
		refuse(http.StatusUnauthorized, "invalid_client")
		return
	}
	switch f.Get("grant_type") {
	case "authorization_code":
		c, known := l.codes[f.Get("code")]
		delete(l.codes, f.Get("code"))
		sum := sha256.Sum256([]byte(f.Get("code_verifier")))
		if !known || c.redirect != f.Get("redirect_uri") || len(f.Get("code_verifier")) < 43 ||
			c.challenge != base64.RawURLEncoding.EncodeToString(sum[:]) {
			refuse(http.StatusBadRequest, "invalid_grant")
			return
		}
		l.grantPlan(w)
	case "refresh_token":
		l.exchanges++
		old := f.Get("refresh_token")
		switch {
		case l.failing != 0:
			refuse(l.failing, "server_error")
		case l.lasting[old] == "used":
			refuse(http.StatusUnauthorized, "refresh_token_reused")
		case l.lasting[old] != "plan":
			refuse(http.StatusUnauthorized, "refresh_token_invalidated")
		default:
			l.lasting[old] = "used"
			l.grantPlan(w)
		}
	default:
		refuse(http.StatusBadRequest, "unsupported_grant_type")
	}
}

func (l *Logins) grantPlan(w http.ResponseWriter) {
	claims, err := json.Marshal(map[string]any{"jti": rand.Text(), "https://api.openai.com/auth": map[string]any{"chatgpt_account_id": l.config.Account}})
	if err != nil {
		panic(err) // strings
	}
	jwt := "eyJhbGciOiJub25lIn0." + base64.RawURLEncoding.EncodeToString(claims) + "."
	access, lasting := l.secret(jwt), l.secret("rt_")
	l.lasting[lasting] = "plan"
	l.passing[access] = time.Now().Add(l.config.Life)
	plainJSON(w, http.StatusOK, map[string]any{"access_token": access, "id_token": jwt + "signature", "refresh_token": lasting,
		"token_type": "Bearer", "expires_in": int(l.config.Life.Seconds())})
}
