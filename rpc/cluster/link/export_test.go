package link

import (
	"crypto/tls"
	"crypto/x509"
	"time"
)

// Force has the node show the certificate of its files, whether others accept it or not.
func (i *Identity) Force() error {
	cert, err := tls.LoadX509KeyPair(i.files.Cert, i.files.Key)
	if err != nil {
		return err
	}
	cert.Leaf, err = x509.ParseCertificate(cert.Certificate[0])
	i.mu.Lock()
	defer i.mu.Unlock()
	i.kept.cert = cert
	return err
}

// SetClock has the node look at another clock when it checks certificates.
func (i *Identity) SetClock(now func() time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.kept.now = now
}
