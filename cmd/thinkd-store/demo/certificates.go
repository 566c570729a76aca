package demo

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"path/filepath"
	"time"

	"github.com/thinkd/thinkd/provider/durable"
)

// validTime is how long the certificates of a demo are valid.
const validTime = 30 * 24 * time.Hour

// authority signs certificates. Its key is in no file.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// newAuthority makes an authority, and writes its certificate to NAME.pem.
func newAuthority(dir, name string) (a authority, err error) {
	a.dir = dir
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return a, err
	}
	template, err := newTemplate(name)
	if err != nil {
		return a, err
	}
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err != nil {
		return a, err
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		return a, err
	}
	return a, a.write(name+".pem", "CERTIFICATE", der)
}

// server writes NAME.pem and NAME.key, for a server on this machine that is a client of others as well.
func (a authority) server(name string) error {
	return a.certify(name, func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)} })
}

// node writes NAME-link.pem and NAME-link.key, for the links of a node.
func (a authority) node(prefix, name string) error {
	return a.certify(name+"-link", func(c *x509.Certificate) {
		c.URIs = []*url.URL{{Scheme: "spiffe", Host: prefix, Path: "/node/" + name}}
	})
}

func (a authority) certify(name string, names func(*x509.Certificate)) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template, err := newTemplate(name)
	if err != nil {
		return err
	}
	template.KeyUsage, template.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	names(template)
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := a.write(name+".pem", "CERTIFICATE", der); err != nil {
		return err
	}
	return a.write(name+".key", "PRIVATE KEY", private)
}

func newTemplate(name string) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	return &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(validTime)}, nil
}

func (a authority) write(name, kind string, der []byte) error {
	if err := durable.Replace(filepath.Join(a.dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})); err != nil {
		return fmt.Errorf("certificates: %w", err)
	}
	return nil
}
