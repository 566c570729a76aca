package demo

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/session/jet/ports"
)

// prefix is that of the streams, and the name of the cluster in certificates.
const prefix = "demo"

// drainTime is what running turns get when a node ends at SIGTERM.
const drainTime = "10s"

var (
	storeNames = []string{"store-1", "store-2", "store-3"}
	nodeNames  = []string{"node-a", "node-b", "node-c"}
)

// layout is the folder of a demo, and the addresses of its parts.
type layout struct {
	dir    string
	front  string   // the address for clients
	stores []string // addresses for nodes
	routes []string // addresses among the servers
	nodes  []string // addresses of pages
	token  string
}

// newLayout takes a free port for each part, and a new token.
func newLayout(dir, front string) (l layout, err error) {
	l = layout{dir: dir, front: front}
	free, err := ports.Free(2*len(storeNames) + len(nodeNames))
	if err != nil {
		return l, err
	}
	n := len(storeNames)
	l.stores, l.routes, l.nodes = free[:n], free[n:2*n], free[2*n:]
	random := make([]byte, 32)
	rand.Read(random) // never fails
	l.token = base64.RawURLEncoding.EncodeToString(random)
	return l, nil
}

func (l layout) path(names ...string) string {
	return filepath.Join(append([]string{l.dir}, names...)...)
}

// client is a data directory with a login to the demo, for commands with --remote.
func (l layout) client() string { return l.path("client") }

// write writes certificates, configs and the token. The credentials are there.
func (l layout) write() error {
	stores, err := newAuthority(l.dir, "stores-ca")
	if err != nil {
		return err
	}
	nodes, err := newAuthority(l.dir, "nodes-ca")
	if err != nil {
		return err
	}
	for i, name := range storeNames {
		if err := errors.Join(stores.server(name), l.replace(name+".toml", l.storeConfig(i))); err != nil {
			return err
		}
	}
	for _, name := range nodeNames {
		err := errors.Join(stores.server(name), nodes.node(prefix, name), l.replace(name+".toml", l.nodeConfig(name)), durable.MakeDir(l.path(name)))
		if err == nil {
			err = l.replace(filepath.Join(name, "token"), l.token+"\n") // one token for all, because a client may reach any
		}
		if err != nil {
			return err
		}
	}
	return durable.MakeDir(l.client())
}

func (l layout) replace(name, text string) error { return durable.Replace(l.path(name), []byte(text)) }

func (l layout) storeConfig(i int) string {
	name := storeNames[i]
	return fmt.Sprintf("name = %q\ndir = %q\nlisten = %q\ncluster_listen = %q\nroutes = [%s]\nkeys = %q\ntls_cert = %q\ntls_key = %q\ntls_ca = %q\nmax_disk = \"1GiB\"\nmax_memory = \"256MiB\"\n",
		name, l.path(name), l.stores[i], l.routes[i], quoted("", l.routes), l.path("store.keys"), l.path(name+".pem"), l.path(name+".key"), l.path("stores-ca.pem"))
}

func (l layout) nodeConfig(name string) string {
	return fmt.Sprintf("[serve]\nhosts = [%q]\n\n[cluster]\nservers = [%s]\nname = %q\nprefix = %q\ndrain_time = %q\nmax_bytes = 134217728\nmax_open_bytes = 16777216\n"+
		"creds_file = %q\nca_file = %q\nclient_cert_file = %q\nclient_key_file = %q\nlink_listen = \"127.0.0.1:0\"\nlink_ca_file = %q\nlink_cert_file = %q\nlink_key_file = %q\n",
		l.front, quoted("tls://", l.stores), name, prefix, drainTime, l.path("node.creds"), l.path("stores-ca.pem"), l.path(name+".pem"), l.path(name+".key"),
		l.path("nodes-ca.pem"), l.path(name+"-link.pem"), l.path(name+"-link.key"))
}

// quoted is a list for TOML.
func quoted(scheme string, addresses []string) string {
	var list []string
	for _, a := range addresses {
		list = append(list, fmt.Sprintf("%q", scheme+a))
	}
	return strings.Join(list, ", ")
}
