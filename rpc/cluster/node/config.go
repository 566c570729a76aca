package node

import (
	"crypto/rand"
	"encoding/binary"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/thinkd/thinkd/session/jet"
	"github.com/thinkd/thinkd/session/lease"
)

// Config says how a node reaches the others.
type Config struct {
	Name      string        // of this node, for people
	Servers   []string      // the URL of each store server
	Prefix    string        // of all streams and subjects
	Replicas  int           // of each stream that is made
	MaxBytes  int64         // of each stream for logs that is made; 0: no limit
	OpenBytes int64         // of the text of open blocks, in the memory of each server
	AuditAge  time.Duration // of records of requests, in a stream that is made; 0: they stay
	Link      string        // where other nodes connect to this one; empty: nowhere

	Creds     string // a file with credentials of NATS; empty: none
	CA        string // a file with certificates that sign those of the servers; empty: those of the system
	Cert, Key string // files with a certificate of this node and its key, or neither

	Log *slog.Logger // required for Open
}

// dial makes a connection to each server. A server that cannot be reached yet is reached later.
func (c Config) dial() (conns jet.Conns, err error) {
	options := []nats.Option{nats.Name("thinkd " + c.Name), nats.IgnoreDiscoveredServers()}
	if c.Log != nil {
		options = append(options, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { c.Log.Warn("store server", "err", err) }))
	}
	if c.Creds != "" {
		options = append(options, nats.UserCredentials(c.Creds))
	}
	if c.CA != "" {
		options = append(options, nats.RootCAs(c.CA))
	}
	if c.Cert != "" {
		options = append(options, nats.ClientCert(c.Cert, c.Key))
	}
	for _, url := range c.Servers {
		conn, err := jet.Dial(url, options...)
		if err != nil {
			hangUp(conns)
			return nil, err
		}
		conns = append(conns, conn)
	}
	return conns, nil
}

func (c Config) audit() jet.AuditOptions {
	return jet.AuditOptions{Prefix: c.Prefix, Replicas: c.Replicas, MaxAge: c.AuditAge}
}

func hangUp(conns jet.Conns) {
	for _, conn := range conns {
		conn.Close()
	}
}

// newNumber is that of a run of a node.
func newNumber() lease.Node {
	var b [8]byte
	rand.Read(b[:])
	return lease.Node(max(binary.BigEndian.Uint64(b[:]), 1))
}
