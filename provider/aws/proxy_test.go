package aws_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider/aws"
	simaws "github.com/thinkd/thinkd/provider/sim/aws"
)

// TestMetadataBesideProxy asks the metadata of a machine whose provider is reached through a proxy. The proxy cannot reach it.
func TestMetadataBesideProxy(t *testing.T) {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_FULL_URI"} {
		t.Setenv(name, "")
	}
	none := t.TempDir() + "/none"
	t.Setenv("AWS_CONFIG_FILE", none)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", none)
	machine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/latest/api/token":
			w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "300")
			w.Write([]byte("imds-token"))
		case "/latest/meta-data/iam/security-credentials/":
			w.Write([]byte("reader"))
		default:
			w.Write([]byte(`{"Code":"Success","Type":"AWS-HMAC","AccessKeyId":"ASIAMACHINE","SecretAccessKey":"` + simaws.SecretOf("ASIAMACHINE") + `","Token":"` + simaws.TokenOf("ASIAMACHINE") +
				`","Expiration":"` + time.Now().Add(time.Hour).UTC().Format(time.RFC3339) + `"}`))
		}
	}))
	defer machine.Close()
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", machine.URL)
	var proxied atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		proxied.Add(1)
		w.WriteHeader(http.StatusForbidden)
	}))
	defer proxy.Close()
	at, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_CA_BUNDLE", bundle(t)) // which the library adds to its own client alone
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(at)}}
	defer client.CloseIdleConnections()
	s := aws.NewSigner(aws.NewCredentials(aws.Settings{Region: "eu-central-1", Client: client}), aws.ServiceBedrock)
	if got, err := call(t, s); got != "ASIAMACHINE" || err != nil || proxied.Load() > 0 {
		t.Errorf("the host saw %q, error %v; the proxy saw %d requests", got, err, proxied.Load())
	}
}

// bundle is a file with the certificate of an authority.
func bundle(t *testing.T) string {
	host := httptest.NewTLSServer(nil)
	defer host.Close()
	path := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: host.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
