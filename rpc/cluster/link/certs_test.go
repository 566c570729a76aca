package link_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/thinkd/thinkd/rpc/cluster/link"
)

// authority signs certificates of nodes.
type authority struct {
	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t testing.TB) *authority {
	key := newKey(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "CA"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(99 * time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{t, cert, key}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// write writes the files of a node. uris are those of its certificate, which ends at the given time.
func (a *authority) write(f link.Files, until time.Time, uris ...string) {
	a.t.Helper()
	key := newKey(a.t)
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-time.Hour), NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}}
	for _, text := range uris {
		u, err := url.Parse(text)
		if err != nil {
			a.t.Fatal(err)
		}
		template.URIs = append(template.URIs, u)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	put(a.t, f.Cert, "CERTIFICATE", der)
	put(a.t, f.Key, "PRIVATE KEY", private)
}

func put(t testing.TB, path, kind string, der ...[]byte) {
	t.Helper()
	var text []byte
	for _, one := range der {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: one})...)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func filesIn(dir string) link.Files {
	return link.Files{CA: filepath.Join(dir, "ca.pem"), Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
}

func nodeURI(name string) string { return "spiffe://thinkd/node/" + name }

// identity is that of a node whose certificate a signs.
func (a *authority) identity(name string) (*link.Identity, link.Files) {
	a.t.Helper()
	f := filesIn(a.t.TempDir())
	put(a.t, f.CA, "CERTIFICATE", a.cert.Raw)
	a.write(f, time.Now().Add(10*time.Hour), nodeURI(name))
	i, err := link.NewIdentity("thinkd", name, f)
	if err != nil {
		a.t.Fatal(err)
	}
	return i, f
}

// A node does not start with a certificate that others would refuse.
func TestOwnCertificate(t *testing.T) {
	a, other := newAuthority(t), newAuthority(t)
	for _, c := range []struct {
		name  string
		by    *authority
		until time.Time
		uris  []string
		ok    bool
	}{
		{"right", a, time.Now().Add(time.Hour), []string{nodeURI("a")}, true},
		{"another name", a, time.Now().Add(time.Hour), []string{nodeURI("b")}, false},
		{"a name that begins alike", a, time.Now().Add(time.Hour), []string{nodeURI("a/b")}, false},
		{"another cluster", a, time.Now().Add(time.Hour), []string{"spiffe://other/node/a"}, false},
		{"no name", a, time.Now().Add(time.Hour), nil, false},
		{"two names", a, time.Now().Add(time.Hour), []string{nodeURI("a"), nodeURI("b")}, false},
		{"expired", a, time.Now().Add(-time.Minute), []string{nodeURI("a")}, false},
		{"another authority", other, time.Now().Add(time.Hour), []string{nodeURI("a")}, false},
	} {
		f := filesIn(t.TempDir())
		put(t, f.CA, "CERTIFICATE", a.cert.Raw)
		c.by.write(f, c.until, c.uris...)
		if _, err := link.NewIdentity("thinkd", "a", f); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
