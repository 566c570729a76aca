package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func parseCluster(t *testing.T, doc string) (*Cluster, error) {
	t.Helper()
	c, err := Parse(filepath.Join(t.TempDir(), "config.toml"), []byte(doc), func(string) string { return "" })
	return c.Cluster, err
}

func TestClusterDefaults(t *testing.T) {
	if c, err := parseCluster(t, ""); c != nil || err != nil {
		t.Errorf("without a section: %+v, %v", c, err)
	}
	c, err := parseCluster(t, "[cluster]\nservers = ['nats://a:4222', 'nats://b:4222', 'nats://c:4222']\nname = 'n1'\n")
	if err != nil {
		t.Fatal(err)
	}
	want := &Cluster{Servers: []string{"nats://a:4222", "nats://b:4222", "nats://c:4222"}, Name: "n1", Prefix: "thinkd", Replicas: 3,
		OpenBytes: 512 << 20, DrainTime: 10 * time.Minute}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Error(diff)
	}
	if c, err := parseCluster(t, "[cluster]\nservers = ['nats://a']\n"); err != nil || c.Replicas != 1 || c.Name == "" {
		t.Errorf("one server: %+v, %v", c, err)
	}
}

func TestClusterErrors(t *testing.T) {
	noCert := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(noCert, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const servers = "servers = ['nats://a', 'nats://b']\n"
	for _, tt := range []struct{ doc, want string }{
		{"", "cluster.servers: is missing"},
		{"servers = ['http://a']", "cluster.servers: address 1"},
		{"servers = ['nats://a', 'nats://secret@']", "cluster.servers: address 2"},
		{"servers = ['nats://a,nats://b']", "cluster.servers: address 1"},
		{"servers = ['nats://a', 'nats://a']", "cluster.servers: address 2 is listed twice"},
		{"servers = ['nats://a', 'nats://b', 'nats://c', 'nats://d', 'nats://e', 'nats://f']", "has 6 addresses"},
		{servers + "name = 'a b'", `cluster.name: "a b"`},
		{servers + "link_listen = 'x:1'", "cluster.link_ca_file: is missing"},
		{servers + "link_ca_file = 'x'", "cluster.link_listen: is missing"},
		{servers + "link_listen = 'x'\nlink_ca_file = 'a'\nlink_cert_file = 'b'\nlink_key_file = 'c'", "cluster.link_listen: address x: missing port"},
		{servers + "link_listen = ':1'\nlink_ca_file = 'a'\nlink_cert_file = 'b'\nlink_key_file = 'c'", "cluster.link_address: is missing"},
		{servers + "prefix = 'a.b'", `cluster.prefix: "a.b"`},
		{servers + "replicas = 3", "cluster.replicas: must be from 1 to the number of servers, which is 2"},
		{servers + "max_bytes = -1", "cluster.max_bytes: must not be negative"},
		{servers + "max_open_bytes = 1", "cluster.max_open_bytes: must be at least"},
		{servers + "drain_time = 'soon'", "cluster.drain_time: "},
		{servers + "audit_age = '90'", "cluster.audit_age: must be an age"},
		{servers + "creds_file = 'nowhere'", "cluster.creds_file: "},
		{servers + "ca_file = '" + noCert + "'", "cluster.ca_file: has no certificate in PEM"},
		{servers + "client_cert_file = 'x'", "cluster.client_cert_file: client_cert_file and client_key_file go together"},
		{servers + "client_key_file = 'x'", "cluster.client_key_file: client_cert_file and client_key_file go together"},
		{servers + "client_cert_file = 'x'\nclient_key_file = 'x'", "cluster.client_cert_file: cannot be used with client_key_file"},
		{servers + "nodes = 3", "cluster.nodes: unknown"},
	} {
		_, err := parseCluster(t, "[cluster]\n"+tt.doc)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.doc, err, tt.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error has a password: %v", err)
		}
	}
}
