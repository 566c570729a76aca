//go:build long && !windows

package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/session/jet/jettest"
)

// certify writes a CA, and for each node a certificate and a key, and returns where they are.
func certify(t *testing.T, prefix string, nodes ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	var ca *x509.Certificate
	var caKey *ecdsa.PrivateKey
	write := func(name, kind string, der []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i, name := range append([]string{""}, nodes...) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		c := &x509.Certificate{SerialNumber: big.NewInt(int64(i + 1)), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour)}
		if name == "" {
			c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign
			ca, caKey = c, key
		} else {
			c.URIs = []*url.URL{{Scheme: "spiffe", Host: prefix, Path: "/node/" + name}}
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
		}
		der, err := x509.CreateCertificate(rand.Reader, c, ca, &key.PublicKey, caKey)
		if err != nil {
			t.Fatal(err)
		}
		private, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		if name == "" {
			if ca, err = x509.ParseCertificate(der); err != nil {
				t.Fatal(err)
			}
			write("ca.pem", "CERTIFICATE", der)
			continue
		}
		write(name+".pem", "CERTIFICATE", der)
		write(name+".key", "PRIVATE KEY", private)
	}
	return dir
}

// startLinked runs a node with links, and waits until it serves.
func (c *cluster) startLinked(name, certs string) *node {
	c.t.Helper()
	n := c.linked(name, certs)
	n.Ready()
	return n
}

func (c *cluster) linked(name, certs string) *node {
	c.t.Helper()
	urls, err := json.Marshal(c.urls)
	if err != nil {
		c.t.Fatal(err)
	}
	config := proof.WriteConfig(c.t, fmt.Sprintf("[cluster]\nservers = %s\nname = %q\nprefix = %q\nlink_listen = \"127.0.0.1:0\"\nlink_ca_file = %q\nlink_cert_file = %q\nlink_key_file = %q\n",
		urls, name, c.prefix, filepath.Join(certs, "ca.pem"), filepath.Join(certs, name+".pem"), filepath.Join(certs, name+".key")))
	return &node{House: proof.Open(c.t, c.t.TempDir(), c.env, "--config", config, "--idle", "0"), c: c, name: name, config: config}
}

func method(name string) func(proof.Update) bool {
	return func(u proof.Update) bool { return u.Method == name }
}

// TestLinks: viewers on two nodes share a session; a person and a client with a tool are on the node that does not serve it. Then the owner is killed
// in a turn, and later a node through which somebody looks at a session.
func TestLinks(t *testing.T) {
	c := begin(t, jettest.Start(t, 3), 3)
	certs := certify(t, c.prefix, "a", "b")
	a, b := c.startLinked("a", certs), c.startLinked("b", certs)
	at, bt := a.door(), b.door()
	bt.Must("initialize", map[string]any{"client": map[string]any{"name": "remote"}, "capabilities": map[string]any{"confirm": true, "tools": true}}, nil)
	var made struct {
		ID string `json:"session_id"`
	}
	at.Must("session/new", map[string]any{"tools": []map[string]any{{"name": "write", "effect": "edit", "input_schema": map[string]any{"type": "object"}}},
		"tool_policy": map[string]any{"effects": map[string]string{"edit": "ask"}}}, &made)
	since := time.Now()
	bt.Must("session/attach", map[string]any{"session_id": made.ID}, nil)
	t.Logf("the first attach over a link takes %v", time.Since(since))

	c.vendor.Script(sim.Answer{Parts: []sim.Part{{Kind: sim.Call, ID: "toolu_1", Name: "write"}}}, sim.Answer{Parts: []sim.Part{{Kind: sim.Text, Text: "It is written."}}})
	turn := bt.Say(made.ID, "Write it.")
	var question struct {
		ID string `json:"confirm_id"`
	}
	if err := json.Unmarshal(bt.Wait("a question", method("confirm")).Raw, &question); err != nil {
		t.Fatal(err)
	}
	bt.Must("confirm/answer", map[string]any{"session_id": made.ID, "confirm_id": question.ID, "action": "allow"}, nil)
	bt.Wait("a call", method("tool_start"))
	bt.Must("tool/result", map[string]any{"session_id": made.ID, "call_id": "toolu_1", "content": []map[string]any{{"type": "text", "text": "ok"}}}, nil)
	for _, p := range []*proof.Process{at, bt} {
		if end := p.Wait("the end of the turn", proof.Ended(turn)); end.Stop != "end_turn" {
			t.Errorf("the turn ends with %+v", end)
		}
	}

	c.vendor.Script(thinks())
	bt.Say(made.ID, "Think.")
	for _, p := range []*proof.Process{at, bt} {
		p.Wait("thinking", method("thinking_delta"))
	}
	at.House = a.House
	killed := time.Now()
	at.Kill()
	stale := bt.Wait("stale", method("stale"))
	t.Logf("the viewer on the other node hears of the kill after %v: %s", time.Since(killed), stale.Raw)
	_, again := attach(t, bt, made.ID)
	t.Logf("the session is served again %v after the kill, as %q", time.Since(killed), again.Session.Status)
	if end := bt.Turn(made.ID, "Again."); end.Stop != "end_turn" {
		t.Errorf("the turn ends with %+v", end)
	}

	a = c.startLinked("a", certs)
	at = a.door()
	attach(t, at, made.ID)
	c.vendor.Script(sim.Answer{Pace: 50, Parts: []sim.Part{{Kind: sim.Text, Text: strings.Repeat("On it goes. ", 400)}}})
	turn = at.Say(made.ID, "Go on.")
	at.Wait("text", func(u proof.Update) bool { return u.Method == "message_delta" && u.Turn == turn })
	at.House = a.House
	at.Kill() // the edge
	if end := bt.Wait("the end of the turn", proof.Ended(turn)); end.Stop != "end_turn" {
		t.Errorf("the turn ends with %+v", end)
	}
	bt.End()
	b.End()
}

// TestDrainWithClients: while a turn keeps a draining node running, its clients go on over links in the sessions that have left it.
func TestDrainWithClients(t *testing.T) {
	c := begin(t, jettest.Start(t, 3), 3)
	certs := certify(t, c.prefix, "a", "b")
	a, b := c.startLinked("a", certs), c.startLinked("b", certs)
	at, bt := a.door(), b.door()
	busy, idle, other := at.NewSession(), at.NewSession(), at.NewSession()
	c.vendor.Script(thinks())
	at.Say(busy, "Think.")
	at.Wait("thinking", method("thinking_delta"))
	if err := a.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{idle, other} {
		at.Wait("stale", func(u proof.Update) bool { return u.Method == "stale" && u.Session == id })
	}
	attach(t, bt, other) // it has an owner by then
	for _, id := range []string{idle, other} {
		took, _ := attach(t, at, id)
		t.Logf("a session that has left the node is served over a link after %v", took)
		if end := at.Turn(id, "Hello."); end.Stop != "end_turn" {
			t.Errorf("the turn ends with %+v", end)
		}
	}
	at.Must("session/cancel", map[string]any{"session_id": busy}, nil)
	at.Kill()
	if err := a.Gone(); err != nil {
		t.Errorf("the node ends with %v\n%s", err, proof.Excerpt(a.Stderr.String()))
	}
	bt.End()
	b.End()
}

// TestHungNodes stops the node with a session, without an end of its connections. Viewers at another node hear of it, and go on there. Then the node
// in between hangs: the session goes on.
func TestHungNodes(t *testing.T) {
	c := begin(t, jettest.Start(t, 3), 3)
	certs := certify(t, c.prefix, "a", "b")
	a, b := c.startLinked("a", certs), c.startLinked("b", certs)
	at, bt := a.door(), b.door()
	session := at.NewSession()
	bt.Must("session/attach", map[string]any{"session_id": session}, nil)
	hang := func(n *node, s syscall.Signal) {
		t.Helper()
		if err := n.Cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	hang(a, syscall.SIGSTOP)
	hung := time.Now()
	bt.Wait("stale", method("stale"))
	t.Logf("the viewer on the other node hears of the hung node after %v", time.Since(hung))
	attach(t, bt, session)
	t.Logf("the session is served again after %v", time.Since(hung))
	hang(a, syscall.SIGCONT)
	if end := bt.Turn(session, "Hello."); end.Stop != "end_turn" {
		t.Errorf("the turn ends with %+v", end)
	}
	attach(t, at, session) // over a link, once the node that hung is in contact
	hang(a, syscall.SIGSTOP)
	if end := bt.Turn(session, "Again."); end.Stop != "end_turn" {
		t.Errorf("the turn ends with %+v", end)
	}
	hang(a, syscall.SIGCONT)
	at.End()
	a.End()
	bt.End()
	b.End()
}
