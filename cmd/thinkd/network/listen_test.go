package network

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/cmd/thinkd/config"
	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/rpc"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/session/mem"
)

var discard = slog.New(slog.DiscardHandler)

// emptyServer serves the protocol without any provider.
func emptyServer(t *testing.T) *rpc.Server {
	t.Helper()
	group, err := agent.NewGroup(t.Context(), agent.Config{Store: mem.New(), Catalog: registry.Default(), Log: discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { group.Close() })
	return rpc.NewServer(rpc.Config{Version: "1", Config: service.Config{Log: discard, Sessions: service.AgentsOf(group), Catalog: registry.Default()}})
}

// selfSigned writes a certificate for loopback and returns what trusts it.
func selfSigned(t *testing.T) (cert, key string, trust *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"thinkd.test"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: pkcs8}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trust = x509.NewCertPool()
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	trust.AddCert(parsed)
	return cert, key, trust
}

// What may listen where: an address, TLS, and the token in the data directory.
func TestOpenListener(t *testing.T) {
	cert, key, _ := selfSigned(t)
	plain, withTLS, proxied := config.Serve{}, config.Serve{TLSCert: cert, TLSKey: key}, config.Serve{BehindProxy: true, Hosts: []string{"thinkd.test"}}
	tokens := map[string]struct {
		make func(path string) error
		why  string // empty: it is taken
	}{
		"none":     {func(string) error { return nil }, ""},
		"good":     {func(p string) error { return WriteToken(filepath.Dir(p)) }, ""},
		"empty":    {func(p string) error { return os.WriteFile(p, nil, 0o600) }, "is not 32 random bytes in base64url"},
		"short":    {func(p string) error { return os.WriteFile(p, []byte("secret\n"), 0o600) }, "is not 32 random bytes in base64url"},
		"readable": {func(p string) error { return errors.Join(WriteToken(filepath.Dir(p)), os.Chmod(p, 0o644)) }, "can be read by others (mode 644)"},
		"a link":   {func(p string) error { return os.Symlink("/etc/hostname", p) }, "is not a regular file"},
		"a folder": {func(p string) error { return os.Mkdir(p, 0o700) }, "is not a regular file"},
	}
	server := emptyServer(t)
	for _, tt := range []struct {
		addr   string
		config config.Serve
		url    string // its beginning; empty: refused
		why    string
	}{
		{"127.0.0.1:0", plain, "http://127.0.0.1:", ""},
		{"localhost:0", plain, "http://", ""},
		{"127.0.0.1:0", withTLS, "https://127.0.0.1:", ""},
		{"127.0.0.1:0", proxied, "https://thinkd.test/#token=", ""},
		{"0.0.0.0:0", plain, "", "needs TLS: set tls_cert and tls_key"},
		{":0", plain, "", "needs TLS: set tls_cert and tls_key"},
		{"[::]:0", plain, "", "needs TLS: set tls_cert and tls_key"},
		{"192.0.2.1:0", plain, "", "needs TLS: set tls_cert and tls_key"},
		{"0.0.0.0:0", withTLS, "https://127.0.0.1:", ""},
		{"0.0.0.0:0", config.Serve{TLSCert: cert, TLSKey: key, Hosts: []string{"thinkd.test"}}, "https://thinkd.test:", ""},
		{"0.0.0.0:0", proxied, "https://thinkd.test/#token=", ""},
		{"127.0.0.1:0", config.Serve{TLSCert: cert, TLSKey: cert}, "", "tls_cert and tls_key: "},
		{"127.0.0.1:0", config.Serve{TLSCert: cert + "x", TLSKey: key}, "", "tls_cert and tls_key: "},
		{"127.0.0.1", plain, "", "--listen"},
		{"127.0.0.1:http2000", plain, "", "--listen"},
		{"", plain, "", "needs TLS"},
	} {
		for name, token := range tokens {
			dir := t.TempDir()
			if err := token.make(filepath.Join(dir, "token")); err != nil {
				t.Fatal(err)
			}
			l, err := Open(tt.config, config.Auth{}, dir, nil, tt.addr, server, Health{}, discard)
			if err == nil {
				if tt.url == "" || token.why != "" || !strings.HasPrefix(l.URL(), tt.url) || !strings.Contains(l.URL(), "/#token=") {
					t.Errorf("%s, %+v, token %s: %s", tt.addr, tt.config, name, strings.Split(l.URL(), "#")[0])
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
				continue
			}
			why := tt.why
			if tt.url != "" {
				why = token.why
			}
			if why == "" || !strings.Contains(err.Error(), why) {
				t.Errorf("%s, %+v, token %s: %v", tt.addr, tt.config, name, err)
			}
		}
	}
}

func TestListenerTLS(t *testing.T) {
	cert, key, trust := selfSigned(t)
	l, err := Open(config.Serve{TLSCert: cert, TLSKey: key}, config.Auth{}, t.TempDir(), nil, "127.0.0.1:0", emptyServer(t), Health{}, discard)
	if err != nil {
		t.Fatal(err)
	}
	base, token, _ := strings.Cut(l.URL(), "#token=")
	for version, ok := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust, MinVersion: tls.VersionTLS10, MaxVersion: version}, ForceAttemptHTTP2: true}
		answer, err := (&http.Client{Transport: transport}).Get(base + "healthz")
		if (err == nil) != ok {
			t.Errorf("%s: %v", tls.VersionName(version), err)
		}
		if err == nil {
			body, err := io.ReadAll(answer.Body)
			if answer.Body.Close(); err != nil || string(body) != "ok" || answer.ProtoMajor != 1 {
				t.Errorf("%v, %q, %s", err, body, answer.Proto)
			}
		}
		transport.CloseIdleConnections()
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust}}
	c := proof.DialWS(t, base, token, &http.Client{Transport: transport})
	c.Must("ping", struct{}{}, nil)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if code, _ := c.Closed(); code != 1001 {
		t.Errorf("closed with %d", code)
	}
}

// Who does not say what he wants is not waited for.
func TestListenerHeaderTime(t *testing.T) {
	for name, begin := range map[string]string{"nothing": "", "a part": "GET / HTTP/1.1\r\nHost: localh"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				defer ours.Close()
				guests := newLobby(&oneConn{conn: theirs, closed: make(chan struct{})}, false)
				s := newHTTPServer(http.NotFoundHandler(), guests, nil, discard)
				served := make(chan error)
				testgo.Go(t, func() { served <- s.Serve(guests) }) // s.Close ends it; awaited below
				if _, err := io.WriteString(ours, begin); err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				if _, err := io.Copy(io.Discard, ours); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start); took != 2*time.Second {
					t.Errorf("it took %v", took)
				}
				if err := errors.Join(s.Close(), <-served); !errors.Is(err, http.ErrServerClosed) {
					t.Error(err)
				}
			})
		})
	}
}

// oneConn is a listener that accepts once.
type oneConn struct {
	mu     sync.Mutex
	conn   net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	l.mu.Lock()
	conn := l.conn
	l.conn = nil
	l.mu.Unlock()
	if conn != nil {
		return conn, nil
	}
	<-l.closed
	return nil, net.ErrClosed
}

func (l *oneConn) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *oneConn) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }
