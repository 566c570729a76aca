package logins

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

// Config configures a [Server]. A zero member has the vendors' value.
type Config struct {
	ClientID string        // the only client id that is accepted
	API      string        // the URL of Copilot's API that the exchange names; empty: it names none
	Account  string        // the account in the tokens of a plan
	Interval int           // minimum seconds between two polls; 0: 5
	CodeLife time.Duration // of a device code; 0: 15 minutes
	Life     time.Duration // of access tokens; 0: 30 minutes
}

// Server answers for both login servers. A request to /oauth/authorize stands for a person who agrees, or who declines after
// [Server.Decline]. All methods may be called from any goroutine.
//
// [docs: GitHub, authorizing OAuth apps; RFC 7636, RFC 8628; openai/codex: codex-rs/login]
type Server struct {
	config Config

	mu        sync.Mutex
	devices   map[string]*device // by device code
	codes     map[string]planCode
	lasting   map[string]string    // GitHub's tokens and refresh tokens, with their kind; "used": replaced
	access    map[string]time.Time // access tokens, and when they expire
	issued    []string             // all secrets
	exchanges int
	declining bool
	failing   int // the status of all renewals; 0: they succeed
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

// New returns a server. It holds no resources and needs no Close.
func New(c Config) *Server {
	if c.Interval == 0 {
		c.Interval = 5
	}
	if c.CodeLife == 0 {
		c.CodeLife = 15 * time.Minute
	}
	if c.Life == 0 {
		c.Life = 30 * time.Minute
	}
	return &Server{config: c, devices: map[string]*device{}, codes: map[string]planCode{}, lasting: map[string]string{}, access: map[string]time.Time{}}
}

// ServeHTTP answers for both servers.
func (l *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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

// Guard passes calls with a valid access token to next, and refuses others with the status 401.
func (l *Server) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		l.mu.Lock()
		ends, ok := l.access[token]
		l.mu.Unlock()
		if !ok || !time.Now().Before(ends) {
			http.Error(w, "unauthorized: token expired", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Approve enters a user code and agrees. It returns false if the code is unknown.
func (l *Server) Approve(userCode string) bool {
	return l.each(userCode, func(d *device) { d.approved = true })
}

// Deny enters a user code and declines. It returns false if the code is unknown.
func (l *Server) Deny(userCode string) bool {
	return l.each(userCode, func(d *device) { d.denied = true })
}

func (l *Server) each(userCode string, do func(*device)) bool {
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

// Decline makes later requests to /oauth/authorize decline.
func (l *Server) Decline() { l.set(func() { l.declining = true }) }

// Revoke invalidates all GitHub and refresh tokens, so that no access token can be renewed.
func (l *Server) Revoke() { l.set(func() { clear(l.lasting) }) }

// Forget invalidates all access tokens before they expire.
func (l *Server) Forget() { l.set(func() { clear(l.access) }) }

// Fail makes renewals fail with an HTTP status; with 0 they succeed again.
func (l *Server) Fail(status int) { l.set(func() { l.failing = status }) }

// Issued returns all secrets that were issued.
func (l *Server) Issued() (list []string) {
	l.set(func() { list = append(list, l.issued...) })
	return list
}

// Exchanges returns the number of renewals, with failed ones.
func (l *Server) Exchanges() (n int) {
	l.set(func() { n = l.exchanges })
	return n
}

func (l *Server) set(do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	do()
}

// secret issues a secret with a vendor's prefix.
func (l *Server) secret(prefix string) string {
	s := prefix + rand.Text()
	l.issued = append(l.issued, s)
	return s
}

// form returns a request's form. If there is none, it answers the request and returns false.
func (l *Server) form(w http.ResponseWriter, r *http.Request) (url.Values, bool) {
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

// deviceCode starts GitHub's device flow.
func (l *Server) deviceCode(w http.ResponseWriter, r *http.Request) {
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

// deviceToken answers a poll. Its refusals have the status 200.
func (l *Server) deviceToken(w http.ResponseWriter, r *http.Request) {
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

// github answers as GitHub does: with a form, or with JSON if the request accepts it.
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
	w.Write([]byte(form.Encode())) // an error means that the client has disconnected
}

func plainJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) // an error means that the client has disconnected
}

// exchange issues a token for Copilot for one of GitHub's.
func (l *Server) exchange(w http.ResponseWriter, r *http.Request) {
	l.exchanges++
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case l.failing != 0:
		http.Error(w, "the simulator was configured to fail", l.failing)
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
		l.access[made] = ends
		plainJSON(w, http.StatusOK, answer)
	}
}

// authorize is the page on which a person agrees.
func (l *Server) authorize(w http.ResponseWriter, r *http.Request) {
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
	if problem != "" { // without a redirect: the address may be anybody's
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

// planToken redeems a code once, and a refresh token once: it issues a new one.
func (l *Server) planToken(w http.ResponseWriter, r *http.Request) {
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

func (l *Server) grantPlan(w http.ResponseWriter) {
	claims, err := json.Marshal(map[string]any{"jti": rand.Text(), "https://api.openai.com/auth": map[string]any{"chatgpt_account_id": l.config.Account}})
	if err != nil {
		panic(err) // strings
	}
	jwt := "eyJhbGciOiJub25lIn0." + base64.RawURLEncoding.EncodeToString(claims) + "."
	access, lasting := l.secret(jwt), l.secret("rt_")
	l.lasting[lasting] = "plan"
	l.access[access] = time.Now().Add(l.config.Life)
	plainJSON(w, http.StatusOK, map[string]any{"access_token": access, "id_token": jwt + "signature", "refresh_token": lasting,
		"token_type": "Bearer", "expires_in": int(l.config.Life.Seconds())})
}
