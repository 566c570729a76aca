//go:build long

package cluster

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/session/jet/jettest"
)

// TestAudit: requests at one node are in the audit of the other, also those that it has recorded when all servers are away, or just before it is
// killed. The command prints the same. No record is there twice.
func TestAudit(t *testing.T) {
	servers := jettest.Start(t, 3)
	c := begin(t, servers, 3)
	c.more = "[auth]\n"
	behind, proxies := c.behind(servers)
	a, b := behind.start("a"), c.start("b")
	at, bt := a.door(), b.door()
	session := at.NewSession()
	until := func(p *proof.Process, want func([]recorded) bool) (list []recorded) {
		t.Helper()
		for since := time.Now(); ; {
			if list = readAudit(p); want(list) {
				return list
			}
			if time.Since(since) > proof.Patience {
				t.Fatalf("the other node reads %+v", list)
			}
			proof.Moment(50 * time.Millisecond)
		}
	}
	made := func(node, id string) func([]recorded) bool {
		return func(list []recorded) bool {
			return slices.ContainsFunc(list, func(r recorded) bool {
				return r.Node == node && r.Method == "session/new" && r.Made == id
			})
		}
	}
	until(bt, made("a", session))

	for _, p := range proxies {
		p.Refuse()
	}
	const cut = "01KAK2V7M0Q2X4T6V8Y0A2C4E6" // of no session: a request that is refused, and recorded
	refused(t, at.Call("audit/read", map[string]any{}, nil))
	if err := at.Call("session/attach", map[string]any{"session_id": cut}, nil); err == nil {
		t.Error("a session that is not there is attached")
	}
	at.House = a.House
	at.Kill()
	for _, p := range proxies {
		p.Accept()
	}
	out, err := proof.Command(t, c.env, "--data", a.Cmd.Args[2], "--config", a.config, "audit", "export", "--session", cut).CombinedOutput()
	if err != nil || !strings.Contains(string(out), `"node":"a"`) || strings.Count(string(out), "\n") != 1 {
		t.Errorf("the killed node's command prints %s, %v", out, err)
	}
	if list := readAudit(bt); slices.ContainsFunc(list, func(r recorded) bool { return r.Session == cut }) {
		t.Error("a record that no server has got is read at the other node")
	}

	again := a.again()
	until(bt, func(list []recorded) bool {
		return slices.ContainsFunc(list, func(r recorded) bool { return r.Session == cut })
	})
	ends(again) // its last records are sent
	var printed []recorded
	out, err = proof.Command(t, c.env, "--data", b.Cmd.Args[2], "--config", b.config, "audit", "export").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		var r recorded
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		printed = append(printed, r)
	}
	for _, id := range []string{session, cut} {
		n := 0
		for _, r := range printed {
			if r.Node == "a" && (r.Made == id || r.Session == id && id == cut) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d records about %s: %s", n, id, out)
		}
	}
	ends(bt, b)
}

type recorded struct {
	Node, Method string
	Session      string `json:"session_id"`
	Made         string `json:"new_session_id"`
}

// readAudit reads all pages.
func readAudit(p *proof.Process) (list []recorded) {
	for cursor := ""; ; {
		var page struct {
			Records []recorded
			Next    string `json:"next_cursor"`
		}
		p.Must("audit/read", map[string]any{"limit": 7, "cursor": cursor}, &page)
		if list, cursor = append(list, page.Records...), page.Next; cursor == "" {
			return list
		}
	}
}
