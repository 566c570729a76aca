package transport

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
)

const canary = "c4n4ry-secret"

// get makes an exchange by a transport with these settings.
func get(t *testing.T, s Settings, address string) (string, error) {
	t.Helper()
	rt, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	defer rt.CloseIdleConnections()
	return ask(t.Context(), rt, address)
}

func ask(ctx context.Context, rt http.RoundTripper, address string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	resp, err := (&http.Client{Transport: rt}).Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return string(data), err
}

// newCert is a certificate that signed itself, and its key, as PEM.
func newCert(t *testing.T, name string) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"host.test"}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, form, form, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}

func write(t *testing.T, path string, data []byte) string {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestCertificates reaches a server whose authority the system does not know, and that wants a certificate of the client. A renewed
// certificate is used by the next connection.
func TestCertificates(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TLS.PeerCertificates) > 0 {
			io.WriteString(w, r.TLS.PeerCertificates[0].Subject.CommonName)
		}
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	server.StartTLS()
	defer server.Close()
	if _, err := get(t, Settings{}, server.URL); !isUntrusted(err) {
		t.Errorf("an authority that nobody knows: %v", err)
	}
	dir := t.TempDir()
	s := Settings{CAFile: write(t, filepath.Join(dir, "ca.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))}
	if text, err := get(t, s, server.URL); err != nil || text != "" {
		t.Errorf("%q, %v", text, err)
	}
	cert, key := newCert(t, "monday")
	s.CertFile, s.KeyFile = write(t, filepath.Join(dir, "cert.pem"), cert), write(t, filepath.Join(dir, "key.pem"), key)
	rt, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	rt.DisableKeepAlives = true
	for _, day := range []string{"monday", "tuesday"} {
		cert, key := newCert(t, day)
		write(t, s.CertFile, cert)
		write(t, s.KeyFile, key)
		if text, err := ask(t.Context(), rt, server.URL); err != nil || text != day {
			t.Errorf("%s: %q, %v", day, text, err)
		}
	}
}

func isUntrusted(err error) bool {
	_, ok := errors.AsType[*tls.CertificateVerificationError](err)
	return ok
}

// proxyServer is a proxy for CONNECT that wants a login.
func proxyServer(t *testing.T, login string) (*httptest.Server, *atomic.Int32) {
	t.Helper()
	var tunnels atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "this is a proxy for CONNECT", http.StatusMethodNotAllowed)
			return
		}
		if login != "" && r.Header.Get("Proxy-Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte(login)) {
			w.Header().Set("Proxy-Authenticate", `Basic realm="corp"`)
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		to, err := net.Dial("tcp", r.Host)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer to.Close()
		tunnels.Add(1)
		from, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer from.Close()
		io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n")
		back := testgo.Go(t, func() {
			io.Copy(from, to)
			from.Close()
		})
		io.Copy(to, bufio.NewReader(buffered))
		to.Close()
		<-back
	}))
	t.Cleanup(server.Close)
	return server, &tunnels
}

func TestProxy(t *testing.T) {
	host := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }))
	defer host.Close()
	ca := write(t, filepath.Join(t.TempDir(), "ca.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: host.Certificate().Raw}))
	proxy, tunnels := proxyServer(t, "me:"+canary)
	for _, tt := range []struct {
		name, login string
		want        error
	}{{"right", "me:" + canary, nil}, {"none", "", ErrProxyLogin}, {"wrong", "me:other-" + canary, ErrProxyLogin}} {
		before := tunnels.Load()
		text, err := get(t, Settings{Proxy: proxy.URL, ProxyLogin: provider.NewSecret(tt.login), CAFile: ca}, host.URL)
		if !errors.Is(err, tt.want) || tt.want == nil && (text != "hello" || tunnels.Load() != before+1) {
			t.Errorf("%s login: %q, %v, %d tunnels", tt.name, text, err, tunnels.Load()-before)
		}
		if err != nil && strings.Contains(err.Error(), canary) {
			t.Errorf("the error has the password: %v", err)
		}
	}
	t.Setenv("HTTPS_PROXY", proxy.URL)
	before := tunnels.Load()
	if text, err := get(t, Settings{Proxy: Direct, CAFile: ca}, host.URL); err != nil || text != "hello" || tunnels.Load() != before {
		t.Errorf("direct: %q, %v", text, err)
	}
}

// The address of a proxy that cannot be read may have a password in it.
func TestErrorsHaveNoPassword(t *testing.T) {
	broken := fromEnvironment(func(*http.Request) (*url.URL, error) { return nil, errors.New("invalid: http://me:" + canary + "@") })
	if _, err := broken(nil); err == nil || strings.Contains(err.Error(), canary) {
		t.Errorf("%v", err)
	}
}

func TestSettingErrors(t *testing.T) {
	dir := t.TempDir()
	cert, key := newCert(t, "me")
	_, other := newCert(t, "other")
	certFile, keyFile := write(t, filepath.Join(dir, "cert"), cert), write(t, filepath.Join(dir, "key"), key)
	login := provider.NewSecret("me:" + canary)
	for _, tt := range []struct {
		s           Settings
		field, text string
	}{
		{Settings{Proxy: "proxy.test:3128"}, "proxy", "http://"},
		{Settings{Proxy: "ftp://proxy.test"}, "proxy", "socks5"},
		{Settings{Proxy: "http://me:" + canary + "@proxy.test"}, "proxy", "proxy_login_env"},
		{Settings{Proxy: "http://me:" + canary + "@proxy.test:port"}, "proxy", "such as"},
		{Settings{Proxy: "http://"}, "proxy", "no host"},
		{Settings{Proxy: "http://proxy.test/path"}, "proxy", "after the port"},
		{Settings{ProxyLogin: login}, "proxy_login_env", "needs proxy"},
		{Settings{Proxy: Direct, ProxyLogin: login}, "proxy_login_env", "needs proxy"},
		{Settings{Proxy: "http://proxy.test", ProxyLogin: provider.NewSecret(canary)}, "proxy_login_env", "user:password"},
		{Settings{CAFile: filepath.Join(dir, "none")}, "ca_file", "no such file"},
		{Settings{CAFile: keyFile}, "ca_file", "no certificate"},
		{Settings{CAFile: write(t, filepath.Join(dir, "large"), make([]byte, maxFile+1))}, "ca_file", "4 MiB"},
		{Settings{CertFile: certFile}, "client_key_file", "missing"},
		{Settings{KeyFile: keyFile}, "client_cert_file", "missing"},
		{Settings{CertFile: certFile, KeyFile: write(t, filepath.Join(dir, "other"), other)}, "client_cert_file", "private key"},
	} {
		_, err := New(tt.s)
		wrong, ok := errors.AsType[*SettingError](err)
		if !ok || wrong.Field != tt.field || !strings.Contains(err.Error(), tt.text) || strings.Contains(err.Error(), canary) {
			t.Errorf("%+v: %v", tt.s, err)
		}
	}
}

// deadConn is a connection that may die: from then on nothing arrives, and what is written is lost, as when a laptop changes its network.
type deadConn struct {
	net.Conn
	dead atomic.Bool
}

func (c *deadConn) Write(p []byte) (int, error) {
	if c.dead.Load() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// TestDeadConnection has an HTTP/2 connection die while it waits for the next call. The call ends with an error, and the next one has a
// new connection.
func TestDeadConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cert, key := newCert(t, "host")
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(cert)
		listener := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
		server := &http.Server{TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}},
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) })}
		served := testgo.Go(t, func() { server.ServeTLS(listener, "", "") })
		rt, err := New(Settings{Proxy: Direct})
		if err != nil {
			t.Fatal(err)
		}
		var dialed []*deadConn
		rt.TLSClientConfig.RootCAs = pool
		rt.DialContext = func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			listener.conns <- theirs
			dialed = append(dialed, &deadConn{Conn: ours})
			return dialed[len(dialed)-1], nil
		}
		call := func() (string, error) { return ask(t.Context(), rt, "https://host.test/") }
		if text, err := call(); err != nil || text != "HTTP/2.0" {
			t.Fatalf("%q, %v", text, err)
		}
		dialed[0].dead.Store(true)
		begun := time.Now()
		_, err = call()
		if took := time.Since(begun); err == nil || took > idlePing+pingWait {
			t.Errorf("a call on a dead connection took %v: %v", took, err)
		}
		if text, err := call(); err != nil || text != "HTTP/2.0" || len(dialed) != 2 {
			t.Errorf("the next call: %q, %v, %d connections", text, err, len(dialed))
		}
		rt.CloseIdleConnections()
		server.Close()
		for _, c := range dialed {
			c.Conn.Close()
		}
		<-served
	})
}

// pipes is a listener for connections in memory.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	close(p.closed)
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "unix"} }

func TestTrace(t *testing.T) {
	host := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }))
	defer host.Close()
	steps := func(s Settings, address string) (names []Step, failed error) {
		rt, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		defer rt.CloseIdleConnections()
		var trace Trace
		ask(trace.Attach(t.Context()), rt, address)
		for _, p := range trace.Steps() {
			names = append(names, p.Step)
			failed = errors.Join(failed, p.Err)
		}
		return names, failed
	}
	ca := write(t, filepath.Join(t.TempDir(), "ca.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: host.Certificate().Raw}))
	if names, err := steps(Settings{Proxy: Direct, CAFile: ca}, host.URL); !slices.Equal(names, []Step{StepConnect, StepTLS, StepAnswer}) || err != nil {
		t.Errorf("%q, %v", names, err)
	}
	if names, err := steps(Settings{Proxy: Direct}, host.URL); !slices.Equal(names, []Step{StepConnect, StepTLS}) || !isUntrusted(err) {
		t.Errorf("not trusted: %q, %v", names, err)
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	if names, err := steps(Settings{Proxy: Direct}, gone.URL); !slices.Equal(names, []Step{StepConnect}) || err == nil {
		t.Errorf("nobody listens: %q, %v", names, err)
	}
}
