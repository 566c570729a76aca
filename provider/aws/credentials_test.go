package aws_test

import (
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/aws"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/provider/sim"
	simaws "github.com/thinkd/thinkd/provider/sim/aws"
)

// world is a machine with no credentials, and stand-ins of all hosts that issue some.
type world struct {
	t    *testing.T
	home string
	ids  []string // the access key ids that they issue, in turn; the last one again and again
	ends time.Duration
	n    atomic.Int32
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, home: t.TempDir(), ids: []string{"ASIAISSUED"}, ends: time.Hour}
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "") // restores it
			os.Unsetenv(name)
		}
	}
	hosts := httptest.NewServer(w)
	t.Cleanup(hosts.Close)
	for name, value := range map[string]string{
		"HOME": w.home, "USERPROFILE": w.home, "AWS_CONFIG_FILE": filepath.Join(w.home, "config"), "AWS_SHARED_CREDENTIALS_FILE": filepath.Join(w.home, "credentials"),
		"AWS_EC2_METADATA_SERVICE_ENDPOINT": hosts.URL, "AWS_ENDPOINT_URL_STS": hosts.URL + "/sts", "AWS_ENDPOINT_URL_SSO": hosts.URL + "/sso", "AWS_ENDPOINT_URL": hosts.URL,
	} {
		t.Setenv(name, value)
	}
	return w
}

func (w *world) file(name, text string) string {
	path := filepath.Join(w.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// issue is the next access key, its secret, its token, and when it ends.
func (w *world) issue() (id, secret, token string, ends time.Time) {
	id = w.ids[min(int(w.n.Add(1)), len(w.ids))-1]
	return id, simaws.SecretOf(id), simaws.TokenOf(id), time.Now().Add(w.ends).UTC()
}

func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
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
		id, secret, token, ends := w.issue()
		rw.Header().Set("Content-Type", "text/xml")
		say(`<%[1]sResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><%[1]sResult><AssumedRoleUser><Arn>arn:aws:sts::1:assumed-role/reader/x</Arn><AssumedRoleId>A:x</AssumedRoleId></AssumedRoleUser><Credentials><AccessKeyId>%[2]s</AccessKeyId><SecretAccessKey>%[3]s</SecretAccessKey><SessionToken>%[4]s</SessionToken><Expiration>%[5]s</Expiration></Credentials></%[1]sResult></%[1]sResponse>`,
			action, id, secret, token, ends.Format(time.RFC3339))
	case strings.HasPrefix(r.URL.Path, "/sso/federation/credentials"):
		if r.Header.Get("X-Amz-Sso_bearer_token") != "sso-token" || r.URL.Query().Get("role_name") != "reader" {
			rw.Header().Set("X-Amzn-ErrorType", "UnauthorizedException")
			http.Error(rw, `{"message":"Session token not found or invalid"}`, http.StatusUnauthorized)
			return
		}
		id, secret, token, ends := w.issue()
		say(`{"roleCredentials":{"accessKeyId":%q,"secretAccessKey":%q,"sessionToken":%q,"expiration":%d}}`, id, secret, token, ends.UnixMilli())
	case r.URL.Path == "/container":
		if r.Header.Get("Authorization") != "container-token" {
			http.Error(rw, "{}", http.StatusForbidden)
			return
		}
		id, secret, token, ends := w.issue()
		say(`{"AccessKeyId":%q,"SecretAccessKey":%q,"Token":%q,"Expiration":%q}`, id, secret, token, ends.Format(time.RFC3339))
	case r.URL.Path == "/latest/api/token" && r.Method == http.MethodPut:
		rw.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "300")
		say("imds-token")
	case strings.HasSuffix(r.URL.Path, "/iam/security-credentials/") || strings.HasSuffix(r.URL.Path, "/iam/security-credentials-extended/"):
		say("reader")
	case strings.HasSuffix(r.URL.Path, "/reader") && r.Header.Get("X-Aws-Ec2-Metadata-Token") == "imds-token" && w.ids != nil:
		id, secret, token, ends := w.issue()
		say(`{"Code":"Success","Type":"AWS-HMAC","AccessKeyId":%q,"SecretAccessKey":%q,"Token":%q,"Expiration":%q,"LastUpdated":%q}`, id, secret, token, ends.Format(time.RFC3339), ends.Format(time.RFC3339))
	default:
		http.NotFound(rw, r)
	}
}

// call signs a request to a host that checks the signature, and returns the access key id that the host saw.
func call(t *testing.T, s *aws.Signer) (string, error) {
	t.Helper()
	client := providertest.Simulated(t, sim.New(sim.Config{}))
	c := exchange.NewCaller("converse", exchange.Config{Provider: "bedrock", BaseURL: "http://bedrock-runtime.eu-central-1.amazonaws.com", Authorizer: s, Client: client})
	resp, err := c.Post(t.Context(), c.BaseURL+"/signed/"+aws.Escape("anthropic.claude-v1:0/é x")+"?b=2&a=%2F1", http.Header{"Content-Type": {"application/json"}}, []byte(`{"a":1}`))
	if err != nil {
		return "", err
	}
	answer, err := c.JSON(t.Context(), resp)
	return answer.Get("caller").Str, err
}

func TestCredentials(t *testing.T) {
	const keys = "aws_access_key_id = %s\naws_secret_access_key = secret-of-%[1]s\n"
	for _, tt := range []struct {
		name    string
		profile string
		set     func(w *world)
		want    string
	}{
		{"keys in the environment", "", func(w *world) {
			w.t.Setenv("AWS_ACCESS_KEY_ID", "AKIAENV")
			w.t.Setenv("AWS_SECRET_ACCESS_KEY", simaws.SecretOf("AKIAENV"))
		}, "AKIAENV"},
		{"temporary keys in the environment", "", func(w *world) {
			w.t.Setenv("AWS_ACCESS_KEY_ID", "ASIAENV")
			w.t.Setenv("AWS_SECRET_ACCESS_KEY", simaws.SecretOf("ASIAENV"))
			w.t.Setenv("AWS_SESSION_TOKEN", simaws.TokenOf("ASIAENV"))
		}, "ASIAENV"},
		{"keys of the default profile", "", func(w *world) {
			w.file("credentials", "[default]\n"+fmt.Sprintf(keys, "AKIADEFAULT"))
		}, "AKIADEFAULT"},
		{"keys of the profile of the environment", "", func(w *world) {
			w.t.Setenv("AWS_PROFILE", "work")
			w.file("credentials", "[default]\n"+fmt.Sprintf(keys, "AKIADEFAULT")+"[work]\n"+fmt.Sprintf(keys, "AKIAWORK"))
		}, "AKIAWORK"},
		{"a named profile comes before keys in the environment", "work", func(w *world) {
			w.t.Setenv("AWS_ACCESS_KEY_ID", "AKIAENV")
			w.t.Setenv("AWS_SECRET_ACCESS_KEY", simaws.SecretOf("AKIAENV"))
			w.file("credentials", "[work]\n"+fmt.Sprintf(keys, "AKIAWORK"))
		}, "AKIAWORK"},
		{"single sign-on", "sso", func(w *world) {
			w.file("config", "[profile sso]\nsso_session = corp\nsso_account_id = 111122223333\nsso_role_name = reader\n[sso-session corp]\nsso_region = eu-central-1\nsso_start_url = https://corp.example.com/start\n")
			name := sha1.Sum([]byte("corp"))
			w.file(".aws/sso/cache/"+hex.EncodeToString(name[:])+".json", `{"accessToken":"sso-token","expiresAt":"`+time.Now().Add(time.Hour).UTC().Format(time.RFC3339)+`"}`)
		}, "ASIAISSUED"},
		{"an assumed role", "role", func(w *world) {
			w.file("credentials", "[source]\n"+fmt.Sprintf(keys, "AKIASOURCE"))
			w.file("config", "[profile role]\nrole_arn = arn:aws:iam::1:role/reader\nsource_profile = source\n")
		}, "ASIAISSUED"},
		{"web identity", "", func(w *world) {
			w.t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", w.file("token", "the-token"))
			w.t.Setenv("AWS_ROLE_ARN", "arn:aws:iam::1:role/reader")
		}, "ASIAISSUED"},
		{"a container", "", func(w *world) {
			w.t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", os.Getenv("AWS_ENDPOINT_URL")+"/container")
			w.t.Setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "container-token")
		}, "ASIAISSUED"},
		{"the metadata of an instance", "", func(w *world) {}, "ASIAISSUED"},
		{"a program", "program", func(w *world) {
			out, err := json.Marshal(map[string]any{"Version": 1, "AccessKeyId": "ASIAPROGRAM", "SecretAccessKey": simaws.SecretOf("ASIAPROGRAM"),
				"SessionToken": simaws.TokenOf("ASIAPROGRAM"), "Expiration": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)})
			if err != nil {
				w.t.Fatal(err)
			}
			w.file("config", "[profile program]\ncredential_process = cat "+w.file("out.json", string(out))+"\n")
		}, "ASIAPROGRAM"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			tt.set(w)
			s := aws.NewSigner(aws.NewCredentials(aws.Settings{Region: "eu-central-1", Profile: tt.profile}), aws.ServiceBedrock)
			if got, err := call(t, s); got != tt.want || err != nil {
				t.Errorf("the host saw %q, error %v; want %q", got, err, tt.want)
			}
			if got := s.Scrub("key " + simaws.SecretOf(tt.want) + " " + simaws.TokenOf(tt.want)); strings.HasPrefix(tt.want, "ASIA") && strings.Contains(got, simaws.TokenOf(tt.want)) || strings.Contains(got, simaws.SecretOf(tt.want)) {
				t.Errorf("a secret is left in %q", got)
			}
		})
	}
}

// TestCredentialsEnd tries credentials that are over before the host is called, and some that the host ends early.
func TestCredentialsEnd(t *testing.T) {
	set := func(t *testing.T, ids ...string) *world {
		w := newWorld(t)
		w.ids = ids
		t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", os.Getenv("AWS_ENDPOINT_URL")+"/container")
		t.Setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "container-token")
		return w
	}
	t.Run("renewed before they end", func(t *testing.T) {
		w := set(t, "ASIAFIRST", "ASIASECOND", "ASIATHIRD")
		w.ends = time.Minute
		s := aws.NewSigner(aws.NewCredentials(aws.Settings{Region: "us-east-1"}), aws.ServiceBedrock)
		for _, want := range []string{"ASIAFIRST", "ASIASECOND", "ASIATHIRD"} {
			if got, err := call(t, s); got != want || err != nil {
				t.Errorf("the host saw %q, error %v; want %q", got, err, want)
			}
		}
	})
	t.Run("kept while they last", func(t *testing.T) {
		w := set(t, "ASIAFIRST", "ASIASECOND")
		s := aws.NewSigner(aws.NewCredentials(aws.Settings{Region: "us-east-1"}), aws.ServiceBedrock)
		for range 3 {
			if got, err := call(t, s); got != "ASIAFIRST" || err != nil {
				t.Errorf("the host saw %q, error %v", got, err)
			}
		}
		if n := w.n.Load(); n != 1 {
			t.Errorf("credentials were issued %d times", n)
		}
	})
	t.Run("renewed when the host ends them", func(t *testing.T) {
		set(t, "ASIAEXPIRED", "ASIASECOND")
		s := aws.NewSigner(aws.NewCredentials(aws.Settings{Region: "us-east-1"}), aws.ServiceBedrock)
		if got, err := call(t, s); got != "ASIASECOND" || err != nil {
			t.Errorf("the host saw %q, error %v", got, err)
		}
	})
	t.Run("no others in the environment", func(t *testing.T) {
		set(t, "ASIAEXPIRED")
		t.Setenv("AWS_ACCESS_KEY_ID", "ASIAEXPIRED")
		t.Setenv("AWS_SECRET_ACCESS_KEY", simaws.SecretOf("ASIAEXPIRED"))
		t.Setenv("AWS_SESSION_TOKEN", simaws.TokenOf("ASIAEXPIRED"))
		s := aws.NewSigner(aws.NewCredentials(aws.Settings{Region: "us-east-1"}), aws.ServiceBedrock)
		_, err := call(t, s)
		if e, ok := errors.AsType[*provider.Error](err); !ok || e.Kind != provider.KindAuth || !strings.Contains(e.Error(), "expired") {
			t.Errorf("error %v", err)
		}
	})
}

func TestNoCredentials(t *testing.T) {
	for name, tt := range map[string]struct {
		profile string
		set     func(w *world)
		say     string
	}{
		"none at all":     {"", func(w *world) { w.ids = nil }, "set AWS_BEARER_TOKEN_BEDROCK"},
		"unknown profile": {"nobody", func(w *world) {}, "nobody"},
		"over sign-on": {"sso", func(w *world) {
			w.file("config", "[profile sso]\nsso_session = corp\nsso_account_id = 111122223333\nsso_role_name = reader\n[sso-session corp]\nsso_region = eu-central-1\nsso_start_url = https://corp.example.com/start\n")
		}, "run `aws sso login --profile sso`"},
		"a broken file": {"x", func(w *world) { w.file("config", "[profile x]\nrole_arn = arn:aws:iam::1:role/reader\n") }, "profile x"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.set(newWorld(t))
			_, err := call(t, aws.NewSigner(aws.NewCredentials(aws.Settings{Region: "eu-central-1", Profile: tt.profile}), aws.ServiceBedrock))
			if e, ok := errors.AsType[*provider.Error](err); !ok || e.Kind != provider.KindAuth || !strings.Contains(e.Error(), tt.say) || !strings.Contains(e.Error(), "no AWS credentials") {
				t.Errorf("error %v, want one of kind auth with %q", err, tt.say)
			}
		})
	}
}

// TestForgedSignatures changes a signed request in each way that the host has to notice: else it would prove nothing that it accepts the
// others.
func TestForgedSignatures(t *testing.T) {
	newWorld(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIAENV")
	t.Setenv("AWS_SECRET_ACCESS_KEY", simaws.SecretOf("AKIAENV"))
	creds := aws.NewCredentials(aws.Settings{Region: "eu-central-1"})
	client := providertest.Simulated(t, sim.New(sim.Config{}))
	for name, forge := range map[string]func(r *http.Request){
		"nothing":  func(*http.Request) {},
		"path":     func(r *http.Request) { r.URL.Path += "x" },
		"query":    func(r *http.Request) { r.URL.RawQuery = "a=2" },
		"body":     func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader(`{"a":2}`)) },
		"type":     func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") },
		"host":     func(r *http.Request) { r.Host = "elsewhere.example.com" },
		"time":     func(r *http.Request) { r.Header.Set("X-Amz-Date", "20260101T000000Z") },
		"token":    func(r *http.Request) { r.Header.Set("X-Amz-Security-Token", "x") },
		"unsigned": func(r *http.Request) { r.Header.Del("Authorization") },
		"owner": func(r *http.Request) {
			r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), "AKIAENV", "AKIAOTHER", 1))
		},
		"service": func(r *http.Request) {
			if err := aws.NewSigner(creds, aws.ServiceMantle).Authorize(r.Context(), r, []byte(`{"a":1}`)); err != nil {
				t.Error(err)
			}
		},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://bedrock.example.com/signed/m?a=1", strings.NewReader(`{"a":1}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if err := aws.NewSigner(creds, aws.ServiceBedrock).Authorize(t.Context(), r, []byte(`{"a":1}`)); err != nil {
			t.Fatal(err)
		}
		forge(r)
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if ok := resp.StatusCode == http.StatusOK; ok != (name == "nothing") {
			t.Errorf("%s: status %d %s", name, resp.StatusCode, text)
		}
	}
}

func TestRegion(t *testing.T) {
	w := newWorld(t)
	w.file("config", "[default]\nregion = eu-west-1\n[profile work]\nregion = ap-southeast-2\n")
	for _, tt := range []struct{ profile, region, want string }{{"", "", "eu-west-1"}, {"work", "", "ap-southeast-2"}, {"work", "us-west-2", "us-west-2"}, {"nobody", "", ""}} {
		t.Setenv("AWS_REGION", tt.region)
		if got := aws.Region(t.Context(), os.Getenv, tt.profile); got != tt.want {
			t.Errorf("profile %q, AWS_REGION %q: %q, want %q", tt.profile, tt.region, got, tt.want)
		}
	}
	for name, want := range map[string]bool{"eu-central-1": true, "us-gov-west-1": true, "ap-southeast-12": true, "": false, "Frankfurt": false, "eu-central-1.evil.com": false, "eu-1/": false} {
		if aws.ValidRegion(name) != want {
			t.Errorf("ValidRegion(%q) is %t", name, !want)
		}
	}
	for _, tt := range []struct{ base, control, mantle string }{
		{aws.Runtime("eu-central-1"), "https://bedrock.eu-central-1.amazonaws.com", "https://bedrock-mantle.eu-central-1.api.aws/anthropic"},
		{aws.Runtime("cn-north-1"), "https://bedrock.cn-north-1.amazonaws.com.cn", "https://bedrock-mantle.cn-north-1.api.aws/anthropic"},
		{"http://localhost:8080/x", "http://localhost:8080/x", "http://localhost:8080/x/anthropic"},
	} {
		if control, mantle := aws.Control(tt.base), aws.Mantle(tt.base); control != tt.control || mantle != tt.mantle {
			t.Errorf("%s: %s and %s", tt.base, control, mantle)
		}
	}
}
