package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/jet"
	"github.com/thinkd/thinkd/session/jet/ports"
	"github.com/thinkd/thinkd/session/storetest"
)

// address is one that nobody listens on.
func address(t *testing.T) string {
	t.Helper()
	free, err := ports.Free(1)
	if err != nil {
		t.Fatal(err)
	}
	return free[0]
}

// pair makes a certificate, by an authority or for itself.
type pair struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	path string // of NAME.crt and NAME.key, without the ending
}

func newPair(t *testing.T, dir, name string, by *pair) pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IsCA: by == nil, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	made := pair{template, key, filepath.Join(dir, name)}
	if by == nil {
		by = &made
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by.cert, &key.PublicKey, by.key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for end, block := range map[string]*pem.Block{".crt": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(made.path+end, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return made
}

// TestCluster runs three servers with keys and certificates. Nodes and servers need both.
func TestCluster(t *testing.T) {
	testgo.Cost(t)
	dir := t.TempDir()
	if err := run(t.Context(), []string{"credentials", dir}, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	ca := newPair(t, dir, "ca", nil)
	var listen, cluster []string
	for range 3 {
		listen, cluster = append(listen, address(t)), append(cluster, address(t))
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var ended []<-chan struct{}
	for i := range 3 {
		name := fmt.Sprint("s", i+1)
		own := newPair(t, dir, name, &ca)
		ended = append(ended, testgo.Go(t, func() {
			var log bytes.Buffer
			err := run(ctx, []string{"--name", name, "--dir", filepath.Join(dir, name), "--listen", listen[i], "--cluster-listen", cluster[i], "--routes", strings.Join(cluster, ","),
				"--keys", filepath.Join(dir, "store.keys"), "--tls-cert", own.path + ".crt", "--tls-key", own.path + ".key", "--tls-ca", ca.path + ".crt"}, io.Discard, &log)
			if err != nil {
				t.Errorf("%v\n%s", err, log.String())
			}
		}))
	}
	node := newPair(t, dir, "node", &ca)
	creds, trust, cert := nats.UserCredentials(filepath.Join(dir, "node.creds")), nats.RootCAs(ca.path+".crt"), nats.ClientCert(node.path+".crt", node.path+".key")
	var conns jet.Conns
	for _, a := range listen {
		conn, err := jet.Dial(a, nats.IgnoreDiscoveredServers(), creds, trust, cert)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conns = append(conns, conn)
	}
	s := openStore(t, conns)
	for _, a := range listen {
		asks(t, a, creds, trust, cert)
	}
	storetest.Create(t, s.For(session.Operator), session.Session{ID: storetest.ID(1)})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for what, options := range map[string][]nats.Option{
		"keys":                      {trust, cert},
		"a certificate":             {trust, creds},
		"keys of the same cluster":  {trust, cert, nats.UserCredentials(otherCreds(t))},
		"a certificate that counts": {trust, creds, clientOf(t, newPair(t, t.TempDir(), "other", nil))},
	} {
		if conn, err := nats.Connect(listen[0], options...); err == nil {
			conn.Close()
			t.Errorf("a node without %s is admitted", what)
		}
	}
	stop()
	for _, e := range ended {
		<-e
	}
}

// openStore waits until the servers have a leader: before, they refuse to make streams.
func openStore(t *testing.T, conns jet.Conns) *jet.Store {
	t.Helper()
	for {
		s, err := jet.Open(t.Context(), conns, jet.Options{Shards: 1, MaxGrowth: 1 << 20})
		if err == nil {
			return s
		}
		if !errors.Is(err, session.ErrReadOnly) {
			t.Fatal(err)
		}
		t.Log(err)
	}
}

func otherCreds(t *testing.T) string {
	dir := t.TempDir()
	if err := run(t.Context(), []string{"credentials", dir}, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "node.creds")
}

func clientOf(t *testing.T, p pair) nats.Option { return nats.ClientCert(p.path+".crt", p.path+".key") }

// TestReady: the service manager is notified when clients can connect, and when the server shuts down.
func TestReady(t *testing.T) {
	dir, err := os.MkdirTemp("", "thinkd") // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.ListenPacket("unixgram", filepath.Join(dir, "notify"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	t.Setenv("NOTIFY_SOCKET", filepath.Join(dir, "notify"))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	listen := address(t)
	config := filepath.Join(dir, "store.toml")
	text := fmt.Sprintf("name = 's1'\ndir = %q\nlisten = %q\nlog_level = 'info'\n", filepath.Join(dir, "data"), listen)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	read, log := io.Pipe()
	done := testgo.Go(t, func() {
		if err := run(ctx, []string{"--config", config, "--max-disk", "1GiB", "--log-format", "json"}, io.Discard, log); err != nil {
			t.Error(err)
		}
		log.Close()
	})
	lines := make(chan string, 1000)
	testgo.Go(t, func() {
		for scan := bufio.NewScanner(read); scan.Scan(); {
			lines <- scan.Text()
		}
		close(lines)
	})
	for _, want := range []string{"READY=1", "STOPPING=1"} {
		got := make([]byte, 100)
		n, _, err := l.ReadFrom(got)
		if err != nil || string(got[:n]) != want {
			t.Fatalf("%q, %v; want %q", got[:n], err, want)
		}
		if want == "READY=1" {
			conn, err := nats.Connect(listen)
			if err != nil {
				t.Fatal(err)
			}
			conn.Close()
			asks(t, listen)
			reload(t, config, text, lines)
			asks(t, listen)
			stop()
		}
	}
	<-done
}

// asks asks a server as a node does whether it syncs. Nothing else of the system account is answered.
func asks(t *testing.T, listen string, options ...nats.Option) {
	t.Helper()
	conn, err := nats.Connect(listen, options...)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	subject := "$SYS.REQ.SERVER." + conn.ConnectedServerId() + "."
	reply, err := conn.Request(subject+"JSZ", []byte(`{"config":true}`), time.Minute)
	if err != nil || !bytes.Contains(reply.Data, []byte(`"sync_always":true`)) {
		t.Fatalf("%v, %+v", err, reply)
	}
	for _, other := range []string{"VARZ", "CONNZ", "RELOAD", "KICK"} {
		if reply, err := conn.Request(subject+other, nil, time.Minute); !errors.Is(err, nats.ErrNoResponders) {
			t.Errorf("%s: %v, %+v", other, err, reply)
		}
	}
}

// reload has the process read its config again: one that is wrong, and one that is right.
func reload(t *testing.T, config, text string, lines <-chan string) {
	t.Helper()
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ text, want string }{{text + "name = 'twice'\n", "the server keeps the old one"}, {text, "The config was read again"}} {
		if err := os.WriteFile(config, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := self.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		found := false
		for line := range lines {
			if found = strings.Contains(line, c.want); found {
				break
			}
		}
		if !found {
			t.Errorf("no line with %q", c.want)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.toml")
	good := "name = 'a'\ndir = 'd'\n"
	for _, c := range []struct{ file, flags, want string }{
		{"", "", "name: "},
		{good + "dri = 'x'\n", "", path + ":3: unknown key dri"},
		{good + "routes = 'x'\n", "", path + ":3: "},
		{good + "name =\n", "", path + ":3: "},
		{"name = 'a'\n", "", "dir: missing"},
		{"name = 'a b'\ndir = 'd'\n", "", "name: "},
		{good, "--listen 10.0.0.1:4222", "listen: 10.0.0.1:4222 can be reached from other machines, so it needs keys"},
		{good, "--listen 4222", `listen: "4222" is not an address`},
		{good, "--listen :4222", `listen: ":4222" is not an address`},
		{good, "--keys k --monitor 0.0.0.0:8222", "monitor: "},
		{good, "--routes 127.0.0.1:1", "routes: needs cluster_listen"},
		{good, "--cluster-listen 127.0.0.1:1", "cluster_listen: needs routes"},
		{good, "--cluster-listen 127.0.0.1:1 --routes x", `routes: "x" is not an address`},
		{good, "--tls-cert x", "tls_cert and tls_key: "},
		{good, "--tls-ca x", "tls_ca: "},
		{good, "--max-disk 5GB", `max_disk: "5GB" is not a size`},
		{good, "--max-memory 0MiB", "max_memory: "},
		{good, "--max-disk 999999999TiB", "max_disk: "},
		{good, "x", `"x" is not a flag`},
	} {
		if err := os.WriteFile(path, []byte(c.file), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := readConfig(append([]string{"--config", path}, strings.Fields(c.flags)...), io.Discard)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q %s: %v, want %s", c.file, c.flags, err, c.want)
		}
	}
	if err := os.WriteFile(path, []byte(good+"listen = '127.0.0.1:1'\nmax_memory = '1GiB'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := readConfig([]string{"--listen", "127.0.0.1:2", "--config", path}, io.Discard)
	if err != nil || c.Listen != "127.0.0.1:2" || c.MaxMemory != "1GiB" || c.Cluster != "thinkd" {
		t.Errorf("%+v, %v", c, err)
	}
	for _, args := range [][]string{{"start"}, {"credentials"}, {"verify"}, {"restore"}, {"copy"}, {"copy", "--dir", "d", "--keep", "0s"}, {"restore", "--dir", "d", "--until", "noon"}} {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil {
			t.Errorf("%q is no error", args)
		}
	}
}

// TestPackaged: the config of the package is right, also with the lines that are comments. systemd waits longer for the start than the program.
func TestPackaged(t *testing.T) {
	text, err := os.ReadFile("../../packaging/systemd/store.toml")
	if err != nil {
		t.Fatal(err)
	}
	full := regexp.MustCompile(`(?m)^# (\w+ = )`).ReplaceAllString(strings.Replace(string(text), "listen = ", "# listen: ", 1), "$1")
	for _, text := range []string{string(text), full} {
		path := filepath.Join(t.TempDir(), "c.toml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := readConfig([]string{"--config", path}, io.Discard)
		if err != nil || c.Dir != "/var/lib/thinkd-store" || (c.TLSCA != "") != (text == full) {
			t.Errorf("%+v, %v\n%s", c, err, text)
		}
	}
	unit, err := os.ReadFile("../../packaging/systemd/thinkd-store.service")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^TimeoutStartSec=(\d+)$`).FindSubmatch(unit)
	if found == nil {
		t.Fatal("the unit has no TimeoutStartSec")
	}
	if s, err := strconv.Atoi(string(found[1])); err != nil || time.Duration(s)*time.Second <= startTime {
		t.Errorf("systemd waits %s s, and the program %v", found[1], startTime)
	}
}

// TestPromises: what thinkd relies on is not a setting.
func TestPromises(t *testing.T) {
	c, err := readConfig([]string{"--name", "a", "--dir", t.TempDir(), "--cluster-listen", "127.0.0.1:1", "--routes", "127.0.0.1:1"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	o, err := c.options()
	if err != nil {
		t.Fatal(err)
	}
	if !o.SyncAlways || o.PingInterval != 5*time.Second || o.MaxPingsOut != 2 || o.Cluster.PingInterval != 5*time.Second || o.Cluster.MaxPingsOut != 2 || o.MaxPayload < 1<<20 {
		t.Errorf("sync always %v, ping each %v, at most %d", o.SyncAlways, o.PingInterval, o.MaxPingsOut)
	}
}
