package aws_test

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/aws"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/provider/sim"
	simaws "github.com/thinkd/thinkd/provider/sim/aws"
	"github.com/thinkd/thinkd/provider/sim/clouds"
)

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
	for _, tt := range []struct {
		name    string
		profile string
		set     func(w *clouds.Amazon)
		want    string
	}{
		{"keys in the environment", "", func(w *clouds.Amazon) { w.Environment("AKIAENV") }, "AKIAENV"},
		{"temporary keys in the environment", "", func(w *clouds.Amazon) { w.Environment("ASIAENV") }, "ASIAENV"},
		{"keys of the default profile", "", func(w *clouds.Amazon) {
			w.File("credentials", "[default]\n"+clouds.Keys("AKIADEFAULT"))
		}, "AKIADEFAULT"},
		{"keys of the profile of the environment", "", func(w *clouds.Amazon) {
			w.Setenv("AWS_PROFILE", "work")
			w.File("credentials", "[default]\n"+clouds.Keys("AKIADEFAULT")+"[work]\n"+clouds.Keys("AKIAWORK"))
		}, "AKIAWORK"},
		{"a named profile comes before keys in the environment", "work", func(w *clouds.Amazon) {
			w.Environment("AKIAENV")
			w.File("credentials", "[work]\n"+clouds.Keys("AKIAWORK"))
		}, "AKIAWORK"},
		{"single sign-on", "sso", func(w *clouds.Amazon) { w.SignOn(true) }, "ASIAISSUED"},
		{"an assumed role", "role", func(w *clouds.Amazon) { w.Role() }, "ASIAISSUED"},
		{"web identity", "", func(w *clouds.Amazon) { w.WebIdentity() }, "ASIAISSUED"},
		{"a container", "", func(w *clouds.Amazon) { w.Container() }, "ASIAISSUED"},
		{"the metadata of an instance", "", func(w *clouds.Amazon) {}, "ASIAISSUED"},
		{"a program", "program", func(w *clouds.Amazon) { w.Program("ASIAPROGRAM") }, "ASIAPROGRAM"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := clouds.NewAmazon(t)
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
	set := func(t *testing.T, ids ...string) *clouds.Amazon {
		w := clouds.NewAmazon(t)
		w.IDs = ids
		w.Container()
		return w
	}
	t.Run("renewed before they end", func(t *testing.T) {
		w := set(t, "ASIAFIRST", "ASIASECOND", "ASIATHIRD")
		w.Lasts = time.Minute
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
		if n := w.Issued(); n != 1 {
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
		w := set(t, "ASIAEXPIRED")
		w.Environment("ASIAEXPIRED")
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
		set     func(w *clouds.Amazon)
		say     string
	}{
		"none at all":     {"", func(w *clouds.Amazon) { w.IDs = nil }, "set AWS_BEARER_TOKEN_BEDROCK"},
		"unknown profile": {"nobody", func(w *clouds.Amazon) {}, "nobody"},
		"over sign-on": {"sso", func(w *clouds.Amazon) {
			w.SignOn(false)
		}, "run `aws sso login --profile sso`"},
		"a broken file": {"x", func(w *clouds.Amazon) { w.File("config", "[profile x]\nrole_arn = arn:aws:iam::1:role/reader\n") }, "profile x"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.set(clouds.NewAmazon(t))
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
	clouds.NewAmazon(t).Environment("AKIAENV")
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
	w := clouds.NewAmazon(t)
	w.File("config", "[default]\nregion = eu-west-1\n[profile work]\nregion = ap-southeast-2\n")
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
