//go:build long

package cluster

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/session/jet/jettest"
)

// cluster is store servers, and nodes that share one simulator.
type cluster struct {
	t      *testing.T
	vendor *sim.Server
	env    []string
	urls   []string
	prefix string
	more   string // of the config
}

// urls are addresses of store servers, by number.
type urls interface{ URL(i int) string }

// node is one daemon.
type node struct {
	*proof.House
	c      *cluster
	name   string
	config string
}

func begin(t *testing.T, servers urls, n int) *cluster {
	vendor, env := proof.Simulator(t, sim.Config{})
	c := &cluster{t: t, vendor: vendor, env: env, prefix: "t" + strings.ToLower(strings.NewReplacer("/", "_").Replace(t.Name()))}
	c.prefix = c.prefix[:min(len(c.prefix), 32)]
	for i := range n {
		c.urls = append(c.urls, servers.URL(i))
	}
	return c
}

// behind is the cluster for nodes whose connections are to be cut: a proxy is in front of each server.
func (c *cluster) behind(servers interface{ Address(i int) string }) (other *cluster, proxies []*jettest.Proxy) {
	c.t.Helper()
	copied := *c
	copied.urls = nil
	for i := range c.urls {
		p := jettest.NewProxy(c.t, servers.Address(i))
		proxies, copied.urls = append(proxies, p), append(copied.urls, p.URL())
	}
	return &copied, proxies
}

// thinksAt has the model think for long at prompts that end with a word, and answer all others at once.
func (c *cluster) thinksAt(word string) {
	c.vendor.ScriptFunc(func(r sim.Request) *sim.Answer {
		if strings.HasSuffix(lastText(r.Body), word) {
			a := thinks()
			return &a
		}
		return quick()
	})
}

// ends ends doors and nodes, in this order.
func ends(all ...interface{ End() }) {
	for _, one := range all {
		one.End()
	}
}

// start runs a node, and waits until it serves.
func (c *cluster) start(name string) *node {
	c.t.Helper()
	return c.startBy(name, func(cmd *exec.Cmd) *proof.House { return proof.OpenCommand(c.t, cmd) })
}

// startBy is start for a daemon that is run by open.
func (c *cluster) startBy(name string, open func(*exec.Cmd) *proof.House) *node {
	c.t.Helper()
	urls, err := json.Marshal(c.urls)
	if err != nil {
		c.t.Fatal(err)
	}
	config := proof.WriteConfig(c.t, fmt.Sprintf("[cluster]\nservers = %s\nname = %q\nprefix = %q\ndrain_time = \"1m\"\nmax_open_bytes = 16777216\n%s", urls, name, c.prefix, c.more))
	cmd := proof.Command(c.t, c.env, "--data", c.t.TempDir(), "daemon", "--config", config, "--idle", "0")
	n := &node{House: open(cmd), c: c, name: name, config: config}
	n.Ready()
	return n
}

// again runs a node that has ended, with its data.
func (n *node) again() *node {
	n.c.t.Helper()
	next := &node{House: proof.OpenCommand(n.c.t, proof.Command(n.c.t, n.c.env, n.Cmd.Args[1:]...)), c: n.c, name: n.name, config: n.config}
	next.Ready()
	return next
}

// manager is a service manager, which nodes that start from now on notify.
func (c *cluster) manager() net.Conn {
	c.t.Helper()
	dir, err := os.MkdirTemp("", "thinkd") // t.TempDir may be too long for a socket
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { l.Close() })
	if err := l.SetReadDeadline(time.Now().Add(proof.Patience)); err != nil {
		c.t.Fatal(err)
	}
	c.env = append(slices.Clone(c.env), "NOTIFY_SOCKET="+l.LocalAddr().String())
	return l
}

// door is a client of the node.
func (n *node) door() *proof.Process {
	n.c.t.Helper()
	p := n.Client(n.c.env, "--config", n.config)
	p.House = nil // which ends without it
	return p
}

// log is what the node has written to its log so far.
func (n *node) log() string {
	n.c.t.Helper()
	text, err := os.ReadFile(filepath.Join(n.Cmd.Args[2], proof.LogFileName))
	if err != nil {
		n.c.t.Fatal(err)
	}
	return string(text)
}

// steady fails the test if the node was cut off, or has taken over a session.
func (n *node) steady() {
	n.c.t.Helper()
	for line := range strings.Lines(n.log()) {
		for _, bad := range []string{"contact with the store servers", "session taken over", "cut off"} {
			if strings.Contains(line, bad) {
				n.c.t.Errorf("node %s: %s", n.name, line)
			}
		}
	}
}

// numbers are the newest numbers of updates that a viewer got, by session, over all its connections.
type numbers map[string]uint64

// take fails the test if a number of the viewer's next connection is not above all before.
func (last numbers) take(t *testing.T, p *proof.Process) {
	t.Helper()
	for _, u := range p.Seen() {
		if u.Session == "" || u.Seq == 0 || u.Method == "stale" {
			continue
		}
		if first := cmp.Or(u.FirstSeq, u.Seq); first <= last[u.Session] {
			t.Errorf("session %s: %s has the numbers %d to %d after %d", u.Session, u.Method, first, u.Seq, last[u.Session])
		}
		last[u.Session] = u.Seq
	}
}

// thinks is an answer that takes about half a minute.
func thinks() sim.Answer {
	return sim.Answer{Pace: 5, Parts: []sim.Part{{Kind: sim.Thinking, Text: strings.Repeat("Both count. ", 2000)}}}
}

// open is how many sessions of all nodes have an open turn.
func (n *node) open() int {
	n.c.t.Helper()
	out, err := proof.Command(n.c.t, n.c.env, "--data", n.Cmd.Args[2], "cluster", "status", "--json").Output()
	var status struct {
		Open    int
		Contact bool
	}
	if err == nil {
		err = json.Unmarshal(out, &status)
	}
	if err != nil || !status.Contact {
		n.c.t.Fatalf("cluster status: %s, %v", out, err)
	}
	return status.Open
}

// refused is the error of a call, which is to be one that a client may repeat.
func refused(t *testing.T, err error) (kind, node string) {
	t.Helper()
	failed := (*proof.CallError)(nil)
	var data struct {
		Kind, Node string
		Retry      int `json:"retry_after_ms"`
	}
	if !errors.As(err, &failed) || failed.Code != 1006 || json.Unmarshal(failed.Data, &data) != nil {
		t.Fatalf("the call is answered with %v", err)
	}
	return data.Kind, data.Node
}

// attach attaches as soon as the node may serve the session, and returns how long that took, and the answer.
func attach(t *testing.T, p *proof.Process, session string) (took time.Duration, a attached) {
	t.Helper()
	for since := time.Now(); ; {
		err := p.Call("session/attach", map[string]any{"session_id": session}, &a)
		if err == nil {
			return time.Since(since), a
		}
		refused(t, err)
		if time.Since(since) > proof.Patience {
			t.Fatalf("the session cannot be attached: %v", err)
		}
		proof.Moment(50 * time.Millisecond)
	}
}

type attached struct {
	Session struct{ Status string }
}

// onceEach fails the test if a prompt did not go to the model exactly once.
func (c *cluster) onceEach(t *testing.T, prompts ...string) {
	t.Helper()
	for _, text := range prompts {
		if n := c.asked(text); n != 1 {
			t.Errorf("%d requests with %q", n, text)
		}
	}
}

// asked counts the requests to the model in which a prompt is the last message.
func (c *cluster) asked(text string) (n int) {
	for _, r := range c.vendor.Requests() {
		var body struct {
			Messages []struct {
				Role    string
				Content json.RawMessage
			}
		}
		if json.Unmarshal(r.Body, &body) != nil {
			continue
		}
		last := slices.IndexFunc(body.Messages, func(m struct {
			Role    string
			Content json.RawMessage
		}) bool {
			return m.Role == "user" && strings.Contains(string(m.Content), text)
		})
		if last >= 0 && last == len(body.Messages)-1 {
			n++
		}
	}
	return n
}

// TestNodes: two nodes show the same sessions, and one of them serves each. A session goes where its client asks when its node has not loaded it.
func TestNodes(t *testing.T) {
	c := begin(t, jettest.Start(t, 3), 3)
	a, b := c.start("a"), c.start("b")
	at, bt := a.door(), b.door()
	session := at.NewSession()
	if end := at.Turn(session, "Hello."); end.Stop != "end_turn" {
		t.Fatalf("the turn ends with %+v", end)
	}
	kind, by := refused(t, bt.Call("session/attach", map[string]any{"session_id": session}, nil))
	if kind != "elsewhere" || by != "a" {
		t.Errorf("the session is refused as %q, by %q", kind, by)
	}
	var list struct {
		Sessions []struct {
			ID string `json:"session_id"`
		}
	}
	bt.Must("session/list", map[string]any{}, &list)
	if len(list.Sessions) != 1 || list.Sessions[0].ID != session {
		t.Errorf("the other node lists %+v", list.Sessions)
	}
	at.End()
	a.End() // its sessions leave
	if took, _ := attach(t, bt, session); took > 2*time.Second {
		t.Errorf("a planned move takes %v", took)
	}
	if end := bt.Turn(session, "Again."); end.Stop != "end_turn" {
		t.Errorf("the turn ends with %+v", end)
	}
	bt.End()
	b.End()
}

// TestKilledOwner kills the owner while a model thinks. Another node closes the turn without a client. What was acknowledged is there, and runs once.
func TestKilledOwner(t *testing.T) {
	c := begin(t, jettest.Start(t, 3), 3)
	c.vendor.Script(thinks())
	a, b := c.start("a"), c.start("b")
	at := a.door()
	session := at.NewSession()
	at.Say(session, "First.")
	at.Wait("thinking", func(u proof.Update) bool { return u.Method == "thinking_delta" })
	var turns []string
	for _, text := range []string{"Second.", "Third."} {
		turns = append(turns, at.Say(session, text))
	}
	at.House = a.House
	at.Kill()

	bt := b.door()
	killed := time.Now()
	for status := ""; status != "held"; { // nobody asks for the session
		var list struct{ Sessions []struct{ Status string } }
		bt.Must("session/list", map[string]any{}, &list)
		if status = list.Sessions[0].Status; time.Since(killed) > proof.Patience {
			t.Fatalf("the status of the session stays %q", status)
		}
		proof.Moment(20 * time.Millisecond)
	}
	t.Logf("the turn is closed %v after the kill", time.Since(killed))
	attach(t, bt, session)
	var q struct {
		Queue []json.RawMessage
		Held  bool
	}
	bt.Must("session/queue", map[string]any{"session_id": session}, &q)
	if !q.Held || len(q.Queue) != 2 {
		t.Errorf("the queue after the kill: %+v", q)
	}
	bt.Must("session/queue", map[string]any{"session_id": session, "resume": true}, nil)
	for _, turn := range turns {
		if end := bt.Wait("the end of a turn", proof.Ended(turn)); end.Stop != "end_turn" {
			t.Errorf("a turn of the queue ends with %+v", end)
		}
	}
	c.onceEach(t, "First.", "Second.", "Third.")
	bt.End()
	b.End()
}

// TestDrain drains a node with a running turn and a queue, and without a client. The turn ends there, and the queue runs at the other node.
func TestDrain(t *testing.T) {
	c := begin(t, jettest.Start(t, 3), 3)
	c.vendor.Script(sim.Answer{Pace: 5, Parts: []sim.Part{{Kind: sim.Text, Text: strings.Repeat("One. ", 50)}}})
	notified := c.manager()
	a, b := c.start("a"), c.start("b")
	at := a.door()
	var sessions []string
	for range 20 {
		sessions = append(sessions, at.NewSession())
	}
	busy := sessions[0]
	first := at.Say(busy, "First.")
	at.Wait("text", func(u proof.Update) bool { return u.Method == "message_delta" })
	for _, text := range []string{"Second.", "Third."} {
		at.Say(busy, text)
	}
	at.Kill() // the client alone

	out, err := proof.Command(t, c.env, "--data", a.Cmd.Args[2], "cluster", "drain").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "1 running turn") {
		t.Fatalf("drain: %v\n%s", err, out)
	}
	for heard := false; !heard; { // a drain takes longer than other ends of a service
		text := make([]byte, 100)
		n, err := notified.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		heard = string(text[:n]) == "EXTEND_TIMEOUT_USEC=75000000"
	}
	drained := time.Now()
	if err := a.Gone(); err != nil {
		t.Errorf("the node ends with %v\n%s", err, proof.Excerpt(a.Stderr.String()))
	}
	for c.asked("Third.") == 0 {
		if time.Since(drained) > proof.Patience {
			t.Fatal("the queue does not run")
		}
		proof.Moment(20 * time.Millisecond)
	}
	bt := b.door()
	attach(t, bt, busy)
	history, err := bt.History(busy)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range history {
		if m.Turn == first && m.Incomplete != "" {
			t.Errorf("a message of the turn that ran is %s", m.Incomplete)
		}
	}
	for _, session := range sessions[1:] {
		if took, _ := attach(t, bt, session); took > 2*time.Second {
			t.Errorf("a session that was not in use is served after %v", took)
		}
	}
	c.onceEach(t, "First.", "Second.", "Third.")
	bt.End()
	b.End()
}

// TestStopped stops the owner while a model thinks, and lets it go on after another node has closed the turn. The owner appends nothing, publishes
// nothing, and ends the call.
func TestStopped(t *testing.T) {
	c := begin(t, jettest.Start(t, 3), 3)
	c.vendor.Script(thinks())
	a, b := c.start("a"), c.start("b")
	at, bt := a.door(), b.door()
	session := at.NewSession()
	turn := at.Say(session, "First.")
	at.Wait("thinking", func(u proof.Update) bool { return u.Method == "thinking_delta" })
	if err := a.Cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	took, _ := attach(t, bt, session)
	t.Logf("a hung node is taken over after %v", took)
	if took > 10*time.Second {
		t.Errorf("the takeover takes %v", took)
	}
	before, err := bt.History(session)
	if err != nil {
		t.Fatal(err)
	}
	heard := len(at.Seen())
	if err := a.Cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	at.Wait("stale", func(u proof.Update) bool { return u.Method == "stale" && u.Session == session })
	for _, u := range at.Seen()[heard:] {
		if u.Method == "thinking_delta" || u.Turn == turn {
			t.Errorf("after it was stopped, the node publishes %s", u.Raw)
		}
	}
	if kind, by := refused(t, at.Call("session/attach", map[string]any{"session_id": session}, nil)); kind != "cut_off" && by != "b" {
		t.Errorf("refused as %q, by %q", kind, by)
	}
	after, err := bt.History(session)
	if err != nil || len(after) != len(before) {
		t.Errorf("%d messages, and %d before the old owner went on, %v", len(after), len(before), err)
	}
	c.onceEach(t, "First.")
	ends(at, bt, a, b)
}

// TestAllKilled kills all nodes, with an open turn each, and starts a new one. It closes the turns, although nobody asks for the sessions.
func TestAllKilled(t *testing.T) {
	c := begin(t, jettest.Start(t, 3), 3)
	c.vendor.ScriptFunc(func(sim.Request) *sim.Answer {
		a := thinks()
		return &a
	})
	var sessions []string
	for _, name := range []string{"a", "b"} {
		n := c.start(name)
		p := n.door()
		session := p.NewSession()
		sessions = append(sessions, session)
		p.Say(session, "First.")
		p.Wait("thinking", func(u proof.Update) bool { return u.Method == "thinking_delta" })
		p.House = n.House
		p.Kill()
	}
	began := time.Now()
	b := c.start("b") // the name of one of them
	if open := b.open(); open != 2 {
		t.Errorf("at first %d sessions are open", open)
	}
	for b.open() > 0 {
		if time.Since(began) > proof.Patience {
			t.Fatal("sessions stay open")
		}
		proof.Moment(20 * time.Millisecond)
	}
	took := time.Since(began)
	t.Logf("all are closed %v after the start", took)
	if took > 30*time.Second {
		t.Errorf("that takes %v", took)
	}
	p := b.door()
	for _, session := range sessions {
		if _, a := attach(t, p, session); a.Session.Status != "idle" {
			t.Errorf("session %s is %s", session, a.Session.Status)
		}
	}
	p.End()
	b.End()
}

// TestCutOff cuts the owner from two of three servers while a model thinks. It publishes nothing more, another node takes the session over, and after a
// while the owner ends the call and sends its clients away.
func TestCutOff(t *testing.T) {
	servers := jettest.Start(t, 3)
	c := begin(t, servers, 3)
	c.vendor.Script(thinks())
	behind, proxies := c.behind(servers)
	a, b := behind.start("a"), c.start("b")
	at, bt := a.door(), b.door()
	session := at.NewSession()
	at.Say(session, "First.")
	at.Wait("thinking", func(u proof.Update) bool { return u.Method == "thinking_delta" })
	for _, p := range proxies[:2] {
		p.Refuse()
	}
	took, _ := attach(t, bt, session)
	t.Logf("a node that is cut off is taken over after %v", took)
	if took > 10*time.Second {
		t.Errorf("the takeover takes %v", took)
	}
	heard := len(at.Seen())
	if kind, _ := refused(t, at.Call("session/attach", map[string]any{"session_id": session}, nil)); kind != "cut_off" {
		t.Errorf("the node that is cut off refuses as %q", kind)
	}
	at.Wait("stale", func(u proof.Update) bool { return u.Method == "stale" && u.Session == session })
	for _, u := range at.Seen()[heard:] {
		if u.Method == "thinking_delta" {
			t.Errorf("a node that is cut off publishes %s", u.Raw)
		}
	}
	c.onceEach(t, "First.")
	bt.End()
	b.End()
	at.House = a.House
	at.Kill()
}
