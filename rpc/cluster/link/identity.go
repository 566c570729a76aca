package link

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
)

// Files are where a node has its certificate for links, in PEM.
type Files struct {
	CA        string // those that sign the certificates of nodes: a CA of the cluster's own
	Cert, Key string // of this node, with the CAs between it and one of CA
}

// Identity is how a node shows who it is, and how it knows others. It is safe for concurrent use.
type Identity struct {
	cluster, name string
	files         Files

	mu   sync.Mutex
	kept kept
}

// kept is what was read from the files. It does not change.
type kept struct {
	cert tls.Certificate
	pool *x509.CertPool
	runs int // how many were read before
	now  func() time.Time
}

// protocol is what two nodes speak over TLS.
const protocol = "thinkd-link"

// NewIdentity reads the files of a node. Its own certificate must be one that other nodes accept.
func NewIdentity(cluster, name string, f Files) (*Identity, error) {
	i := &Identity{cluster: cluster, name: name, files: f, kept: kept{now: time.Now}}
	return i, i.Reload()
}

// Reload reads the files again. After an error, what was read before stays in use.
func (i *Identity) Reload() error {
	pem, err := os.ReadFile(i.files.CA)
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return fmt.Errorf("%s has no certificate in PEM", i.files.CA)
	}
	cert, err := tls.LoadX509KeyPair(i.files.Cert, i.files.Key)
	if err != nil {
		return err
	}
	chain, err := certificates(cert.Certificate)
	if err == nil {
		for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth} {
			err = errors.Join(err, i.check(chain, pool, usage, i.name))
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", i.files.Cert, err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.kept.cert, i.kept.pool = cert, pool
	i.kept.runs++
	return nil
}

func certificates(list [][]byte) (chain []*x509.Certificate, err error) {
	for _, der := range list {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, err
		}
		chain = append(chain, c)
	}
	return chain, nil
}

// reloadTime is how often Watch reads the files.
const reloadTime = time.Hour

// Watch reads the files every hour, until ctx ends.
func (i *Identity) Watch(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(reloadTime)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if err := i.Reload(); err != nil {
			log.Error("the certificate for links cannot be read again", "err", err)
		}
	}
}

func (i *Identity) current() kept {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.kept
}

// check verifies the chain of a certificate, and the name of its node. An empty name is that of any node.
func (i *Identity) check(chain []*x509.Certificate, pool *x509.CertPool, usage x509.ExtKeyUsage, name string) error {
	if len(chain) == 0 {
		return errors.New("there is no certificate")
	}
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{Roots: pool, Intermediates: between, CurrentTime: i.current().now(), KeyUsages: []x509.ExtKeyUsage{usage}})
	if err != nil {
		return err
	}
	found, err := i.nameOf(chain[0])
	if err == nil && name != "" && found != name {
		err = fmt.Errorf("the certificate is of the node %q, not of %q", found, name)
	}
	return err
}

// nameOf is the node of a certificate.
func (i *Identity) nameOf(c *x509.Certificate) (string, error) {
	if len(c.URIs) != 1 { // SPIFFE demands exactly one
		return "", fmt.Errorf("the certificate has %d URIs instead of spiffe://%s/node/NAME", len(c.URIs), i.cluster)
	}
	name, ok := strings.CutPrefix(c.URIs[0].String(), "spiffe://"+i.cluster+"/node/")
	if !ok || name == "" || strings.Contains(name, "/") {
		return "", fmt.Errorf("the certificate's URI is %s instead of spiffe://%s/node/NAME", c.URIs[0], i.cluster)
	}
	return name, nil
}

// Config is that of TLS for connections to a node, or, without a name, from any node.
func (i *Identity) config(name string) *tls.Config {
	usage := x509.ExtKeyUsageClientAuth
	if name != "" {
		usage = x509.ExtKeyUsageServerAuth
	}
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		NextProtos:             []string{protocol},
		SessionTicketsDisabled: true, // each connection shows its certificates
		InsecureSkipVerify:     true, // VerifyConnection checks them: names of hosts are of no account
		ClientAuth:             tls.RequireAnyClientCert,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			c := i.current().cert
			return &c, nil
		},
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			c := i.current().cert
			return &c, nil
		},
		VerifyConnection: func(s tls.ConnectionState) error {
			if s.NegotiatedProtocol != protocol {
				return errors.New("the peer does not speak " + protocol)
			}
			return i.check(s.PeerCertificates, i.current().pool, usage, name)
		},
	}
}

// peer is the certificate that the other end of a connection has shown.
type peer struct {
	i     *Identity
	chain []*x509.Certificate
	usage x509.ExtKeyUsage
	name  string
	runs  int // of the files with which it was accepted
}

// peerOf is the peer of a connection after the handshake.
func (i *Identity) peerOf(c *tls.Conn, usage x509.ExtKeyUsage) (*peer, error) {
	p := &peer{i: i, chain: c.ConnectionState().PeerCertificates, usage: usage, runs: i.current().runs}
	name, err := i.nameOf(p.chain[0])
	p.name = name
	return p, err
}

// accepted is why the certificate would not be accepted now; nil: it would. One goroutine calls it.
func (p *peer) accepted() error {
	now := p.i.current()
	if p.runs == now.runs && now.now().Before(p.chain[0].NotAfter) {
		return nil
	}
	if err := p.i.check(p.chain, now.pool, p.usage, p.name); err != nil {
		return fmt.Errorf("the certificate of the node %s is accepted no more: %w", p.name, err)
	}
	p.runs = now.runs
	return nil
}
