package clouds

import (
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	simaws "github.com/thinkd/thinkd/provider/sim/aws"
)

// Amazon is a machine without credentials, and stand-ins of all hosts that issue some.
type Amazon struct {
	Home   string   // of the shared files, which do not exist
	IDs    []string // the access key ids that the hosts issue, in turn; the last one again and again. Nil: the machine has no role
	Lasts  time.Duration
	at     string
	t      *testing.T
	mu     sync.Mutex
	issued int
}

// NewAmazon starts the hosts, and directs the process to them until the test ends.
func NewAmazon(t *testing.T) *Amazon {
	a := &Amazon{t: t, Home: t.TempDir(), IDs: []string{"ASIAISSUED"}, Lasts: time.Hour}
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "") // restores it
			os.Unsetenv(name)
		}
	}
	hosts := httptest.NewServer(a)
	t.Cleanup(hosts.Close)
	a.at = hosts.URL
	for name, value := range map[string]string{
		"HOME": a.Home, "USERPROFILE": a.Home, "AWS_CONFIG_FILE": filepath.Join(a.Home, "config"), "AWS_SHARED_CREDENTIALS_FILE": filepath.Join(a.Home, "credentials"),
		"AWS_EC2_METADATA_SERVICE_ENDPOINT": hosts.URL, "AWS_ENDPOINT_URL_STS": hosts.URL + "/sts", "AWS_ENDPOINT_URL_SSO": hosts.URL + "/sso", "AWS_ENDPOINT_URL": hosts.URL,
	} {
		t.Setenv(name, value)
	}
	return a
}

// File writes a file below the home, and returns its path.
func (a *Amazon) File(name, text string) string {
	a.t.Helper()
	path := filepath.Join(a.Home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		a.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		a.t.Fatal(err)
	}
	return path
}

// Keys are the lines of a profile with an access key.
func Keys(id string) string {
	lines := "aws_access_key_id = " + id + "\naws_secret_access_key = " + simaws.SecretOf(id) + "\n"
	if strings.HasPrefix(id, "ASIA") {
		lines += "aws_session_token = " + simaws.TokenOf(id) + "\n"
	}
	return lines
}

// Setenv sets a variable until the test ends.
func (a *Amazon) Setenv(name, value string) { a.t.Setenv(name, value) }

// Environment sets the variables of an access key.
func (a *Amazon) Environment(id string) {
	a.t.Setenv("AWS_ACCESS_KEY_ID", id)
	a.t.Setenv("AWS_SECRET_ACCESS_KEY", simaws.SecretOf(id))
	if strings.HasPrefix(id, "ASIA") {
		a.t.Setenv("AWS_SESSION_TOKEN", simaws.TokenOf(id))
	}
}

// SignOn writes the profile sso, of somebody who has signed on; false: who has not.
func (a *Amazon) SignOn(signed bool) {
	a.File("config", "[profile sso]\nsso_session = corp\nsso_account_id = 111122223333\nsso_role_name = reader\n[sso-session corp]\nsso_region = eu-central-1\nsso_start_url = https://corp.example.com/start\n")
	if name := sha1.Sum([]byte("corp")); signed {
		a.File(".aws/sso/cache/"+hex.EncodeToString(name[:])+".json", `{"accessToken":"sso-token","expiresAt":"`+time.Now().Add(time.Hour).UTC().Format(time.RFC3339)+`"}`)
	}
}

// Role writes the profile role, which assumes a role with a key of another profile.
func (a *Amazon) Role() {
	a.File("credentials", "[source]\n"+Keys("AKIASOURCE"))
	a.File("config", "[profile role]\nrole_arn = arn:aws:iam::1:role/reader\nsource_profile = source\n")
}

// WebIdentity is that of a workload with a token in a file.
func (a *Amazon) WebIdentity() {
	a.t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", a.File("token", "the-token"))
	a.t.Setenv("AWS_ROLE_ARN", "arn:aws:iam::1:role/reader")
}

// Container has an agent that issues credentials.
func (a *Amazon) Container() {
	a.t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", a.at+"/container")
	a.t.Setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "container-token")
}

// Program writes the profile program, whose credentials a program prints: those of the id, until it is called again with another.
func (a *Amazon) Program(id string) {
	out, err := json.Marshal(map[string]any{"Version": 1, "AccessKeyId": id, "SecretAccessKey": simaws.SecretOf(id),
		"SessionToken": simaws.TokenOf(id), "Expiration": time.Now().Add(a.Lasts).UTC().Format(time.RFC3339)})
	if err != nil {
		a.t.Fatal(err)
	}
	a.File("config", "[profile program]\ncredential_process = cat "+a.File("out.json", string(out))+"\n")
}

// Issued is how often credentials were issued.
func (a *Amazon) Issued() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.issued
}

// issue is the next access key, its secret, its token, and when it ends.
func (a *Amazon) issue() (id, secret, token string, ends time.Time) {
	a.mu.Lock()
	a.issued++
	id = a.IDs[min(a.issued, len(a.IDs))-1]
	a.mu.Unlock()
	return id, simaws.SecretOf(id), simaws.TokenOf(id), time.Now().Add(a.Lasts).UTC()
}

func (a *Amazon) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	say := func(format string, values ...any) { fmt.Fprintf(rw, format, values...) }
	switch {
	case strings.HasPrefix(r.URL.Path, "/sts"):
		action := "AssumeRole"
		if strings.Contains(string(body), "Action=AssumeRoleWithWebIdentity") {
			action = "AssumeRoleWithWebIdentity"
		}
		if action == "AssumeRole" && !strings.Contains(r.Header.Get("Authorization"), "Credential=AKIASOURCE/") ||
			action != "AssumeRole" && !strings.Contains(string(body), "WebIdentityToken=the-token") || !strings.Contains(string(body), "role%2Freader") {
			http.Error(rw, string(body), http.StatusForbidden)
			return
		}
		id, secret, token, ends := a.issue()
		rw.Header().Set("Content-Type", "text/xml")
		say(`<%[1]sResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><%[1]sResult><AssumedRoleUser><Arn>arn:aws:sts::1:assumed-role/reader/x</Arn><AssumedRoleId>A:x</AssumedRoleId></AssumedRoleUser><Credentials><AccessKeyId>%[2]s</AccessKeyId><SecretAccessKey>%[3]s</SecretAccessKey><SessionToken>%[4]s</SessionToken><Expiration>%[5]s</Expiration></Credentials></%[1]sResult></%[1]sResponse>`,
			action, id, secret, token, ends.Format(time.RFC3339))
	case strings.HasPrefix(r.URL.Path, "/sso/federation/credentials"):
		if r.Header.Get("X-Amz-Sso_bearer_token") != "sso-token" || r.URL.Query().Get("role_name") != "reader" {
			rw.Header().Set("X-Amzn-ErrorType", "UnauthorizedException")
			http.Error(rw, `{"message":"Session token not found or invalid"}`, http.StatusUnauthorized)
			return
		}
		id, secret, token, ends := a.issue()
		say(`{"roleCredentials":{"accessKeyId":%q,"secretAccessKey":%q,"sessionToken":%q,"expiration":%d}}`, id, secret, token, ends.UnixMilli())
	case r.URL.Path == "/container":
		if r.Header.Get("Authorization") != "container-token" {
			http.Error(rw, "{}", http.StatusForbidden)
			return
		}
		id, secret, token, ends := a.issue()
		say(`{"AccessKeyId":%q,"SecretAccessKey":%q,"Token":%q,"Expiration":%q}`, id, secret, token, ends.Format(time.RFC3339))
	case r.URL.Path == "/latest/api/token" && r.Method == http.MethodPut:
		rw.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "300")
		say("imds-token")
	case strings.HasSuffix(r.URL.Path, "/iam/security-credentials/") || strings.HasSuffix(r.URL.Path, "/iam/security-credentials-extended/"):
		say("reader")
	case strings.HasSuffix(r.URL.Path, "/reader") && r.Header.Get("X-Aws-Ec2-Metadata-Token") == "imds-token" && a.IDs != nil:
		id, secret, token, ends := a.issue()
		say(`{"Code":"Success","Type":"AWS-HMAC","AccessKeyId":%q,"SecretAccessKey":%q,"Token":%q,"Expiration":%q,"LastUpdated":%q}`, id, secret, token, ends.Format(time.RFC3339), ends.Format(time.RFC3339))
	default:
		http.NotFound(rw, r)
	}
}
