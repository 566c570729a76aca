package config

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Cluster makes the daemon a node of a cluster. Paths are absolute, or as the working directory has them where there is no file.
type Cluster struct {
	Servers   []string // the URL of each store server
	Name      string   // of this node
	Prefix    string
	Replicas  int
	MaxBytes  int64 // of each stream for logs; 0: no limit
	OpenBytes int64 // of the text of open blocks
	DrainTime time.Duration
	AuditAge  time.Duration // after which records of requests are removed; 0: they stay
	Creds     string
	CA        string
	Cert, Key string
	Link      *Link // nil: other nodes do not reach this one, nor it them
}

// Link is how nodes reach each other.
type Link struct {
	Listen        string // an address and a port
	Address       string // where other nodes connect to; empty: that of the listener
	CA, Cert, Key string
}

const (
	maxServers       = 5
	defaultReplicas  = 3
	defaultDrainTime = 10 * time.Minute
	defaultOpenBytes = 512 << 20
	leastOpenBytes   = 1 << 20
)

var (
	clusterPrefix = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`) })
	nodeName      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._-]{1,63}$`) })
)

func (src *source) cluster(f *fileCluster) (_ *Cluster, err error) {
	if f == nil {
		return nil, nil
	}
	c := &Cluster{Servers: f.Servers, Name: f.Name, Prefix: f.Prefix, Replicas: f.Replicas, MaxBytes: f.MaxBytes, OpenBytes: cmp.Or(f.OpenBytes, defaultOpenBytes), DrainTime: defaultDrainTime,
		Creds: src.beside(f.Creds), CA: src.beside(f.CA), Cert: src.beside(f.Cert), Key: src.beside(f.Key)}
	if err := src.clusterServers(c.Servers); err != nil {
		return nil, err
	}
	if c.Name == "" {
		host, err := os.Hostname()
		if err != nil {
			return nil, src.errorf("cluster.name", "is missing, and this machine has no name: %w", err)
		}
		c.Name = host
	}
	if c.Prefix == "" {
		c.Prefix = "thinkd"
	}
	if c.Replicas == 0 {
		c.Replicas = min(defaultReplicas, len(c.Servers))
	}
	switch {
	case !nodeName().MatchString(c.Name):
		return nil, src.errorf("cluster.name", "%q: must have 1 to 63 letters, digits, dots, - and _", c.Name)
	case !clusterPrefix().MatchString(c.Prefix):
		return nil, src.errorf("cluster.prefix", "%q: must have 1 to 32 letters, digits, - and _", c.Prefix)
	case c.Replicas < 1 || c.Replicas > len(c.Servers):
		return nil, src.errorf("cluster.replicas", "must be from 1 to the number of servers, which is %d", len(c.Servers))
	case c.MaxBytes < 0:
		return nil, src.errorf("cluster.max_bytes", "must not be negative")
	case c.OpenBytes < leastOpenBytes:
		return nil, src.errorf("cluster.max_open_bytes", "must be at least %d", leastOpenBytes)
	}
	if err := src.duration("cluster.drain_time", f.DrainTime, &c.DrainTime); err != nil {
		return nil, err
	}
	if f.AuditAge != "" {
		if c.AuditAge, err = parseAge(f.AuditAge); err != nil {
			return nil, src.errorf("cluster.audit_age", "%w", err)
		}
	}
	if c.Link, err = src.clusterLink(f); err != nil {
		return nil, err
	}
	return c, src.clusterFiles(f, c)
}

// clusterServers checks the addresses. An address is never quoted: there may be a password in it.
func (src *source) clusterServers(list []string) error {
	if len(list) == 0 {
		return src.errorf("cluster.servers", `is missing: list the address of each store server, such as "nats://store1:4222"`)
	}
	if len(list) > maxServers {
		return src.errorf("cluster.servers", "has %d addresses: a cluster has at most %d store servers", len(list), maxServers)
	}
	for i, text := range list {
		u, err := url.Parse(text)
		switch {
		case err != nil, u.Scheme != "nats" && u.Scheme != "tls", u.Hostname() == "", u.Path != "", u.RawQuery != "", strings.Contains(text, "#"), strings.Contains(text, ","):
			return src.errorf("cluster.servers", `address %d: must be one server such as "nats://store1:4222" or "tls://store1:4222"`, i+1)
		case slices.Contains(list[:i], text):
			return src.errorf("cluster.servers", "address %d is listed twice: contact with the servers is counted by address", i+1)
		}
	}
	return nil
}

// clusterFiles reads the files, so that an error is found before the first connection.
func (src *source) clusterFiles(f *fileCluster, c *Cluster) error {
	if (f.Cert == "") != (f.Key == "") {
		key := "client_cert_file"
		if f.Key != "" {
			key = "client_key_file"
		}
		return src.errorf("cluster."+key, "client_cert_file and client_key_file go together")
	}
	if c.Creds != "" {
		if _, err := os.Stat(c.Creds); err != nil {
			return src.errorf("cluster.creds_file", "%w", err)
		}
	}
	if c.CA != "" {
		text, err := os.ReadFile(c.CA)
		if err == nil && !x509.NewCertPool().AppendCertsFromPEM(text) {
			err = errors.New("has no certificate in PEM")
		}
		if err != nil {
			return src.errorf("cluster.ca_file", "%w", err)
		}
	}
	if c.Cert != "" {
		if _, err := tls.LoadX509KeyPair(c.Cert, c.Key); err != nil {
			return src.errorf("cluster.client_cert_file", "%w", fmt.Errorf("cannot be used with client_key_file: %w", err))
		}
	}
	return nil
}

// clusterLink checks what links need. The certificates are read when the node begins.
func (src *source) clusterLink(f *fileCluster) (*Link, error) {
	l := &Link{Listen: f.LinkListen, Address: f.LinkAddress, CA: src.beside(f.LinkCA), Cert: src.beside(f.LinkCert), Key: src.beside(f.LinkKey)}
	if *l == (Link{}) {
		return nil, nil
	}
	for _, need := range []struct{ key, value string }{{"link_listen", l.Listen}, {"link_ca_file", l.CA}, {"link_cert_file", l.Cert}, {"link_key_file", l.Key}} {
		if need.value == "" {
			return nil, src.errorf("cluster."+need.key, "is missing: links between nodes need an address to listen at, a CA, a certificate and its key")
		}
	}
	host, _, err := net.SplitHostPort(l.Listen)
	if err != nil {
		return nil, src.errorf("cluster.link_listen", "%w", err)
	}
	if ip := net.ParseIP(host); l.Address == "" && (host == "" || ip != nil && ip.IsUnspecified()) {
		return nil, src.errorf("cluster.link_address", "is missing: other nodes cannot connect to %q", l.Listen)
	}
	if l.Address != "" {
		if _, _, err := net.SplitHostPort(l.Address); err != nil {
			return nil, src.errorf("cluster.link_address", "%w", err)
		}
	}
	return l, nil
}
