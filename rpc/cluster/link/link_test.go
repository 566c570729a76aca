package link_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/rpc/auth"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/session"
)

// Viewers on both nodes see one turn, each in order, and a prompt may come from either.
func TestViewersOnBothNodes(t *testing.T) {
	c := newCluster(t, "a", "b")
	a, b := c.nodes["a"], c.nodes["b"]
	id := b.create("")
	there, here := a.connect(), b.connect()
	there.result("initialize", `{"client":{"name":"remote"},"capabilities":{"confirm":true}}`)
	there.result("session/attach", of(id, ""))
	here.result("session/attach", of(id, ""))
	for round, by := range []*viewer{there, here, there} {
		text := fmt.Sprint("answer ", round)
		c.model.calls <- says(text)
		turn := by.result("session/prompt", of(id, prompt("hello"))).Get("turn_id").String()
		for _, v := range []*viewer{there, here} {
			seq := uint64(0)
			for _, name := range []string{"turn_start", "message_start", "text_end", "turn_end"} {
				m := v.told(name)
				if at := m.Get("params.seq").Uint(); at <= seq {
					t.Errorf("%s has the number %d after %d", name, at, seq)
				} else {
					seq = at
				}
				if of := m.Get("params.turn_id").String(); of != turn {
					t.Errorf("%s is of %s, want %s", name, of, turn)
				}
				if name == "text_end" && m.Get("params.text").String() != text {
					t.Errorf("text: %s", m)
				}
			}
		}
	}
	if history := there.result("session/history", of(id, "")); len(history.Get("messages").Array()) != 6 {
		t.Errorf("history: %s", history)
	}
	if len(c.asked) == 0 {
		t.Error("nobody asked where the session is")
	}
}

// Requests of one client to two nodes and to its own keep their ids and their answers, also if they are answered late or cancelled.
func TestIDs(t *testing.T) {
	c := newCluster(t, "a", "b", "c")
	mine, one, two := c.nodes["a"].create(""), c.nodes["b"].create(""), c.nodes["c"].create("")
	v := c.nodes["a"].connect()
	pieces := make(chan string)
	c.model.calls <- grows(pieces)
	turn := v.result("session/prompt", of(one, prompt("slow"))).Get("turn_id").String()
	waits := v.request("turn/wait", of(one, fmt.Sprintf(`"turn_id":%q`, turn)))
	cancelled := v.request("turn/wait", of(one, fmt.Sprintf(`"turn_id":%q`, turn)))
	for range 3 {
		for _, id := range []session.ID{mine, one, two} {
			if got := v.result("session/state", of(id, "")).Get("session.session_id").String(); got != string(id) {
				t.Errorf("state of %s: %s", id, got)
			}
		}
	}
	v.Send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":%s}}`, cancelled))
	if code := v.answer(cancelled).Get("error.code").Int(); conn.Code(code) != conn.CodeCancelled {
		t.Errorf("a cancelled request has the code %d", code)
	}
	pieces <- "done"
	close(pieces)
	if reason := v.answer(waits).Get("result.stop_reason").String(); reason != "end_turn" {
		t.Errorf("the turn ends with %q", reason)
	}
	v.Send(`{"jsonrpc":"2.0","method":"session/read","params":` + of(two, "") + `}`) // a notification
	if m := v.ask("session/state", `{"session_id":"01KAK2V7M0Q2X4T6V8Y0A2C4E6"}`); conn.Code(m.Get("error.code").Int()) != conn.CodeNotFound {
		t.Errorf("an unknown session: %s", m)
	}
	v.Send(`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"session/state","params":` + of(two, "") + `}]`)
	batch := v.next(func(m gjson.Result) bool { return m.IsArray() })
	if !batch.Get("0.result").Exists() || conn.Code(batch.Get("1.error.code").Int()) != conn.CodeInvalidRequest {
		t.Errorf("batch: %s", batch)
	}
}

// A tool of a client and an approval by a person go through the other node.
func TestToolsAndApprovals(t *testing.T) {
	c := newCluster(t, "a", "b")
	a, b := c.nodes["a"], c.nodes["b"]
	id := b.create(`,"tools":[{"name":"write","effect":"edit","title":"Write a file"}],"tool_policy":{"effects":{"edit":"ask"}}`)
	runs, asks := a.connect(), a.connect()
	runs.result("session/attach", of(id, ""))
	asks.result("initialize", `{"client":{"name":"person"},"capabilities":{"confirm":true}}`)
	asks.result("session/attach", of(id, ""))
	c.model.calls <- calls("write")
	c.model.calls <- says("done")
	runs.result("session/prompt", of(id, prompt("write it")))
	question := asks.told("confirm").Get("params")
	asks.result("confirm/answer", of(id, fmt.Sprintf(`"confirm_id":%q,"action":"allow"`, question.Get("confirm_id").String())))
	call := runs.told("tool_start").Get("params")
	runs.result("tool/result", of(id, fmt.Sprintf(`"call_id":%q,"content":[{"type":"text","text":"written"}]`, call.Get("call_id").String())))
	if end := asks.told("turn_end"); end.Get("params.stop_reason").String() != "end_turn" {
		t.Errorf("end: %s", end)
	}
}

// An editor on another node prompts, is asked for permission, and gets the end of its turn.
func TestEditor(t *testing.T) {
	c := newCluster(t, "a", "b")
	id := c.nodes["b"].create(`,"tools":[{"name":"write","effect":"edit","title":"Write a file"}],"tool_policy":{"effects":{"edit":"ask"}}`)
	runs := c.nodes["b"].connect()
	runs.result("session/attach", of(id, ""))
	e := c.nodes["a"].editor()
	e.result("initialize", `{"protocolVersion":1,"clientInfo":{"name":"editor","version":"1"}}`)
	e.result("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":"/","mcpServers":[]}`, id))
	c.model.calls <- calls("write")
	c.model.calls <- says("done")
	prompted := e.request("session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":"write it"}]}`, id))
	permission := e.told("session/request_permission")
	e.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"outcome":{"outcome":"selected","optionId":"allow"}}}`, permission.Get("id").Raw))
	call := runs.told("tool_start").Get("params")
	runs.result("tool/result", of(id, fmt.Sprintf(`"call_id":%q,"content":[{"type":"text","text":"written"}]`, call.Get("call_id").String())))
	if end := e.answer(prompted); end.Get("result.stopReason").String() != "end_turn" {
		t.Errorf("end: %s", end)
	}
}

// When the owner of a session is gone, requests in flight fail and viewers get stale. They can attach at another node.
func TestOwnerGone(t *testing.T) {
	for _, how := range []string{"its process ends", "it hangs"} {
		t.Run(how, func(t *testing.T) {
			c := newCluster(t, "a", "b")
			a, b := c.nodes["a"], c.nodes["b"]
			id := b.create("")
			v := a.connect()
			seq := v.result("session/attach", of(id, "")).Get("seq").Uint()
			pieces := make(chan string)
			c.model.calls <- grows(pieces)
			turn := v.result("session/prompt", of(id, prompt("slow"))).Get("turn_id").String()
			waits := v.request("turn/wait", of(id, fmt.Sprintf(`"turn_id":%q`, turn)))
			pieces <- "half"
			seq = max(seq, v.told("message_delta").Get("params.seq").Uint())
			if how == "it hangs" {
				c.setGone("b", true)
			} else {
				b.end()
			}
			failed := v.answer(waits)
			if conn.Code(failed.Get("error.code").Int()) != conn.CodeClosing {
				t.Errorf("in flight: %s", failed)
			}
			stale := v.told("stale").Get("params")
			if stale.Get("session_id").String() != string(id) || stale.Get("after_seq").Uint() != seq {
				t.Errorf("stale: %s, want after %d", stale, seq)
			}
			b.group.Close()
			c.move(id, "a")
			again := v.result("session/attach", of(id, fmt.Sprintf(`"after_seq":%d`, seq)))
			if again.Get("session.session_id").String() != string(id) {
				t.Errorf("attached again: %s", again)
			}
		})
	}
}

// When an owner is gone, an editor gets a text in each session that it follows there, or the error of its pending prompt. Its next prompt follows the
// session again.
func TestOwnerOfEditorGone(t *testing.T) {
	c := newCluster(t, "a", "b")
	a, b := c.nodes["a"], c.nodes["b"]
	quiet, waits := b.create(""), b.create("")
	e := a.editor()
	e.result("initialize", `{"protocolVersion":1,"clientInfo":{"name":"editor","version":"1"}}`)
	for _, id := range []session.ID{quiet, waits} {
		e.result("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":"/","mcpServers":[]}`, id))
	}
	pieces := make(chan string)
	c.model.calls <- grows(pieces)
	prompted := e.request("session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":"slow"}]}`, waits))
	pieces <- "half"
	notice := func(id session.ID) func(m gjson.Result) bool {
		return func(m gjson.Result) bool {
			return m.Get("params.sessionId").String() == string(id) && strings.Contains(m.Get("params.update.content.text").String(), "has ended, or cannot be reached")
		}
	}
	b.end()
	if failed := e.answer(prompted); !failed.Get("error").Exists() {
		t.Errorf("the prompt that waited: %s", failed)
	}
	e.next(notice(quiet))
	b.group.Close()
	c.move(quiet, "a")
	c.model.calls <- says("done")
	if end := e.result("session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":"again"}]}`, quiet)); end.Get("stopReason").String() != "end_turn" {
		t.Errorf("the next prompt: %s", end)
	}
	if slices.ContainsFunc(e.heard, notice(waits)) {
		t.Error("the session whose prompt failed also gets a text")
	}
}

// When another node claims the session that an editor follows, the editor gets a text in the session and an error for its pending prompt, whether it is
// connected to the owner or to another node. Its next prompt goes to the new owner.
func TestSessionOfEditorMoves(t *testing.T) {
	for name, at := range map[string]string{"the editor is at the owner": "b", "the editor is at the new owner": "a", "the editor is at neither": "c"} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, "a", "b", "c")
			b := c.nodes["b"]
			quiet, waits := b.create(""), b.create("")
			e := c.nodes[at].editor()
			e.result("initialize", `{"protocolVersion":1,"clientInfo":{"name":"editor","version":"1"}}`)
			for _, id := range []session.ID{quiet, waits} {
				e.result("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":"/","mcpServers":[]}`, id))
			}
			pieces := make(chan string)
			c.model.calls <- grows(pieces)
			prompted := e.request("session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":"slow"}]}`, waits))
			pieces <- "half"
			for _, id := range []session.ID{waits, quiet} {
				c.take(id, c.nodes["a"])
				e.next(func(m gjson.Result) bool {
					return m.Get("params.sessionId").String() == string(id) && strings.Contains(m.Get("params.update.content.text").String(), "Another node serves the session.")
				})
			}
			failed := e.answer(prompted).Get("error")
			if failed.Get("data.kind").String() != "elsewhere" || failed.Get("data.retryable").Bool() {
				t.Errorf("the pending prompt: %s", failed)
			}
			for _, id := range []session.ID{waits, quiet} {
				c.model.calls <- says("done")
				if end := e.result("session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":"again"}]}`, id)); end.Get("stopReason").String() != "end_turn" {
					t.Errorf("the next prompt: %s", end)
				}
			}
		})
	}
}

// A node that cannot be reached is an error that says so, and that nothing was done.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "a", "b")
	id := c.nodes["b"].create("")
	c.nodes["b"].end()
	v := c.nodes["a"].connect()
	e := v.ask("session/state", of(id, "")).Get("error")
	if conn.Code(e.Get("code").Int()) != conn.CodeClosing || e.Get("data.kind").String() != "unreachable" || e.Get("data.retry_after_ms").Int() == 0 {
		t.Errorf("error: %s", e)
	}
}

// A request waits while its session goes to another node: from a node that was killed to the edge, or to a third node. At the address of the killed node
// nobody may answer, a proxy that hangs up, or another program that has got the port.
func TestWaitsForMove(t *testing.T) {
	t.Parallel()
	answers := func(answer string) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		done := testgo.Go(t, func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return // the listener is closed below
				}
				_, _ = io.WriteString(c, answer) // the node may have hung up
				_ = c.Close()
			}
		})
		t.Cleanup(func() {
			_ = l.Close()
			<-done
		})
		return l.Addr().String()
	}
	for name, k := range map[string]struct{ to, address string }{
		"to a":            {"a", ""},
		"to c":            {"c", ""},
		"hung up":         {"c", answers("")},
		"another program": {"c", answers("HTTP/1.1 400 Bad Request\r\n\r\n")},
	} {
		to := k.to
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.await = time.Minute
			for _, name := range []string{"a", "b", "c"} {
				c.start(name)
			}
			id := c.nodes["b"].create("")
			c.nodes["b"].end()
			c.nodes["b"].group.Close()
			c.nodes["b"].address = cmp.Or(k.address, c.nodes["b"].address)
			c.moves[id], c.asked = to, nil
			v := c.nodes["a"].connect()
			if got := v.result("session/attach", of(id, "")).Get("session.session_id").String(); got != string(id) {
				t.Errorf("attached to %s", got)
			}
			c.model.calls <- says("done")
			v.result("session/prompt", of(id, prompt("hello")))
			v.told("turn_end")
		})
	}
}

// Links need a certificate of the cluster with the name of a node that is present.
func TestCertificates(t *testing.T) {
	t.Parallel()
	other := newAuthority(t)
	for _, k := range []struct {
		name  string
		on    string // whose certificate is changed
		by    *authority
		until time.Duration
		uri   string
		ok    bool
	}{
		{"a renewed certificate", "b", nil, time.Hour, nodeURI("b"), true},
		{"the name of another node", "b", nil, time.Hour, nodeURI("a"), false},
		{"another authority", "b", other, time.Hour, nodeURI("b"), false},
		{"a renewed certificate of the edge", "a", nil, time.Hour, nodeURI("a"), true},
		{"a name of no node", "a", nil, time.Hour, nodeURI("x"), false},
		{"another authority of the edge", "a", other, time.Hour, nodeURI("a"), false},
	} {
		t.Run(k.name, func(t *testing.T) {
			c := newCluster(t, "a", "b")
			id := c.nodes["b"].create("")
			n := c.nodes[k.on]
			by := k.by
			if by == nil {
				by = c.by
			}
			by.write(n.files, time.Now().Add(k.until), k.uri)
			if err := n.identity.Reload(); (err == nil) != k.ok {
				t.Fatalf("reload: %v", err)
			}
			if !k.ok {
				if err := n.identity.Force(); err != nil { // as a node that does not look
					t.Fatal(err)
				}
			}
			v := c.nodes["a"].connect()
			got := v.ask("session/state", of(id, ""))
			if k.ok && !got.Get("result").Exists() || !k.ok && got.Get("error.data.kind").String() != "unreachable" {
				t.Errorf("state: %s", got)
			}
		})
	}
}

// The owner of a session ends the connection of a client whose grant expires, and takes renewals and narrower rights.
func TestExpiry(t *testing.T) {
	c := newCluster(t, "a", "b")
	id := c.nodes["b"].create("")
	p := method.Operator()
	grants := map[string]auth.Grant{
		"narrow": {Principal: method.Principal{Name: p.Name, Rights: []method.Right{method.Audit}}, Valid: context.Background(), Expires: time.Now().Add(50 * time.Minute)},
	}
	lease := auth.NewLease(t.Context(), auth.Grant{Principal: p, Valid: context.Background(), Expires: time.Now().Add(time.Hour)},
		func(token string) (auth.Grant, error) { return grants[token], nil })
	defer lease.Close()
	v := c.nodes["a"].as(lease)
	v.result("session/attach", of(id, ""))
	v.result("auth/renew", `{"token":"narrow"}`)
	if e := v.ask("session/state", of(id, "")).Get("error"); conn.Code(e.Get("code").Int()) != conn.CodeForbidden {
		t.Errorf("with narrower rights: %s", e)
	}
	c.wait() // the edge looks at another clock, so the other node alone ends it
	if err := <-v.Served; !errors.Is(err, conn.ErrExpired) {
		t.Errorf("served until %v", err)
	}
}

// The clock of the owner jumps. It serves a client whose grant has not expired by that clock, and otherwise no link, until the clock is right again. The client
// keeps its connection, which its own node lets in, and the sessions of other nodes.
func TestClockOfOwner(t *testing.T) {
	c := newCluster(t, "a", "b")
	b, own := c.nodes["b"], c.nodes["a"].create("")
	id := b.create("")
	lease := auth.NewLease(t.Context(), auth.Grant{Principal: method.Operator(), Valid: context.Background(), Expires: time.Now().Add(time.Hour)}, nil)
	defer lease.Close()
	v := c.nodes["a"].as(lease)
	for _, ahead := range []time.Duration{0, 5 * time.Minute, -5 * time.Minute, -30 * time.Minute} {
		b.setClock(ahead)
		v.result("session/attach", of(id, ""))
	}
	b.setClock(2 * time.Hour)
	v.told("stale")
	if got := v.ask("session/state", of(id, "")); got.Get("error.data.kind").String() != "unreachable" || !got.Get("error.data.retry_after_ms").Exists() {
		t.Errorf("the clock of the owner is ahead: %s", got)
	}
	v.result("session/state", of(own, ""))
	b.setClock(-24 * time.Hour) // before its certificate, and that of a
	if got := v.ask("session/state", of(id, "")); got.Get("error.data.kind").String() != "unreachable" {
		t.Errorf("the clock of the owner is behind: %s", got)
	}
	b.setClock(0)
	v.result("session/attach", of(id, ""))
}

// The owner of a session ends the connection when it knows that the token is revoked, and refuses one that it does not know.
func TestRevocation(t *testing.T) {
	c := newCluster(t, "a", "b")
	p := method.Principal{Name: "ann", Owner: session.Owner{User: "ann"}, Rights: []method.Right{method.Use}}
	valid, revoke := context.WithCancelCause(context.Background())
	g := auth.Grant{Principal: p, Valid: context.Background(), ID: "one"}
	c.tokens["one"] = auth.Grant{Principal: p, Valid: valid, ID: "one"}
	lease := auth.NewLease(t.Context(), g, nil)
	defer lease.Close()
	on := c.nodes["b"].as(lease)
	id := session.ID(on.result("session/new", fmt.Sprintf(`{"model_id":%q}`, model)).Get("session_id").String())
	c.move(id, "b")
	v := c.nodes["a"].as(lease)
	v.result("session/attach", of(id, ""))
	stranger := c.nodes["a"].as(auth.NewLease(t.Context(), auth.Grant{Principal: p, Valid: context.Background(), ID: "two"}, nil))
	if e := stranger.ask("session/state", of(id, "")).Get("error"); e.Get("data.kind").String() != "unreachable" {
		t.Errorf("an unknown token: %s", e)
	}
	revoke(conn.ErrRevoked)
	if err := <-v.Served; !errors.Is(err, conn.ErrRevoked) {
		t.Errorf("served until %v", err)
	}
}

// Asked over a link about the session of another user, or of another tenant, each method answers what it answers about a session that does not exist,
// and does nothing.
func TestForeignSession(t *testing.T) {
	c := newCluster(t, "a", "b")
	id, none := c.nodes["b"].create(`,"title":"mine"`), session.NewID()
	mine := c.nodes["b"].connect()
	before := mine.result("session/attach", of(id, ""))
	examples, err := os.ReadFile("../../examples.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, stranger := range []session.Owner{{User: "eve"}, {Tenant: "acme"}, {Tenant: "acme", User: "eve"}} {
		lease := auth.NewLease(t.Context(), auth.Grant{Principal: method.Principal{Name: "eve", Owner: stranger, Rights: []method.Right{method.Use, method.Settings}}, Valid: context.Background()}, nil)
		defer lease.Close()
		v := c.nodes["a"].as(lease)
		asked := 0
		for block := range strings.SplitSeq(string(examples), "\n\n") {
			name, lines, _ := strings.Cut(block, "\n")
			for line := range strings.Lines(lines) {
				params, ok := strings.CutPrefix(strings.TrimSpace(line), "→ ")
				if old := gjson.Get(params, "session_id").String(); ok && old != "" {
					asked++
					about := func(id session.ID) string {
						a := v.ask(name, strings.ReplaceAll(params, old, string(id)))
						return strings.ReplaceAll(a.Get("result").Raw+a.Get("error").Raw, string(id), "ID")
					}
					if got, want := about(id), about(none); got != want || got == "" {
						t.Errorf("%s %s\nabout another's session: %s\nabout none:              %s", name, params, got, want)
					}
				}
			}
		}
		if asked < 30 {
			t.Errorf("only %d requests", asked)
		}
	}
	if after := mine.result("session/attach", of(id, "")); after.Raw != before.Raw {
		t.Errorf("the session was %s\nand is %s", before, after)
	}
}

// A viewer on the other node that reads nothing holds up nobody. What waits for it is bounded: it gets stale, or its connection ends because it has
// taken nothing for too long, and it attaches again.
func TestSlowRemoteViewer(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "a", "b")
	id := c.nodes["b"].create("")
	slow, other, here := c.nodes["a"].connect(), c.nodes["a"].connect(), c.nodes["b"].connect()
	for _, v := range []*viewer{slow, other, here} {
		v.result("session/attach", of(id, ""))
	}
	const count, size = 12, 1 << 19
	pieces := make(chan string)
	c.model.calls <- grows(pieces)
	here.result("session/prompt", of(id, prompt("much")))
	// The others read all the time, since who takes nothing for 10 s is cut off. They take each piece before the next comes.
	took := make(chan bool, 2*count+2)
	for _, v := range []*viewer{other, here} {
		ended := testgo.Go(t, func() { took <- v.reads(size, func() { took <- true }) }) // ends with the turn or the connection
		defer func() {
			v.Conn.Close()
			<-ended
		}()
	}
	both := func() {
		for range 2 {
			if !<-took {
				t.FailNow()
			}
		}
	}
	for range count {
		pieces <- strings.Repeat("x", size)
		both()
	}
	close(pieces)
	both()
	got := 0
	for stale := false; !stale; {
		text, err := slow.Next()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // on a busy machine: it has taken nothing for 10 s
			slow = c.nodes["a"].connect()
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		m := gjson.Parse(text)
		got += len(m.Get("params.delta").String())
		stale = m.Get("method").String() == "stale"
	}
	t.Logf("%d of %d bytes waited for the viewer", got, count*size)
	if got > 8*size { // about 2 MiB in queues, and what the kernel has
		t.Errorf("%d of %d bytes waited for a viewer that reads nothing", got, count*size)
	}
	if status := slow.result("session/attach", of(id, "")).Get("session.status").String(); status != "idle" {
		t.Errorf("attached again, it finds the session %s", status)
	}
}

// reads reads to the end of the turn, and reports whether it came. It calls piece after so many bytes of text, and again after as many more.
func (v *viewer) reads(size int, piece func()) bool {
	for n := 0; ; {
		text, err := v.Next()
		if err != nil {
			v.t.Error(err)
			return false
		}
		m := gjson.Parse(text)
		switch m.Get("method").String() {
		case "message_delta":
			before := n / size
			n += len(m.Get("params.delta").String())
			if n/size > before {
				piece()
			}
		case "turn_end":
			return true
		}
	}
}

// Certificates and their authority are replaced while a turn runs. A link ends when the authority of its certificate counts no more, and the viewer
// goes on over another one.
func TestRotation(t *testing.T) {
	c := newCluster(t, "a", "b")
	id := c.nodes["b"].create("")
	v := c.nodes["a"].connect()
	v.result("session/attach", of(id, ""))
	pieces := make(chan string)
	c.model.calls <- grows(pieces)
	v.result("session/prompt", of(id, prompt("go on")))
	seq, text := uint64(0), ""
	hear := func() {
		m := v.told("message_delta").Get("params")
		if at := m.Get("seq").Uint(); at <= seq {
			t.Errorf("the number %d after %d", at, seq)
		} else {
			seq = at
		}
		text += m.Get("delta").String()
	}
	pieces <- "one "
	hear()
	next := newAuthority(t)
	reload := func(change func(name string, n *node)) {
		for name, n := range c.nodes {
			change(name, n)
		}
		for name, n := range c.nodes {
			if err := n.identity.Reload(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	reload(func(_ string, n *node) { put(t, n.files.CA, "CERTIFICATE", c.by.cert.Raw, next.cert.Raw) })
	pieces <- "two "
	hear()
	reload(func(name string, n *node) { next.write(n.files, time.Now().Add(time.Hour), nodeURI(name)) })
	pieces <- "three "
	hear()
	if len(v.heard) > 0 && strings.Contains(fmt.Sprint(v.heard), `"stale"`) {
		t.Errorf("the link has ended: %s", v.heard)
	}
	reload(func(_ string, n *node) { put(t, n.files.CA, "CERTIFICATE", next.cert.Raw) })
	if after := v.told("stale").Get("params.after_seq").Uint(); after != seq {
		t.Errorf("stale after %d, want %d", after, seq)
	}
	v.result("session/attach", of(id, fmt.Sprintf(`"after_seq":%d`, seq)))
	pieces <- "four"
	hear()
	close(pieces)
	if end := v.told("text_end").Get("params.text").String(); end != text || text != "one two three four" {
		t.Errorf("the viewer has %q of %q", text, end)
	}
}

// A link ends when the certificate of the other node expires.
func TestCertificateExpires(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "a", "b")
	n := c.nodes["b"]
	c.by.write(n.files, time.Now().Add(time.Hour), nodeURI("b"))
	if err := n.identity.Reload(); err != nil {
		t.Fatal(err)
	}
	id := n.create("")
	v := c.nodes["a"].connect()
	v.result("session/attach", of(id, ""))
	c.wait()
	v.told("stale")
	if got := v.ask("session/state", of(id, "")); got.Get("error.data.kind").String() != "unreachable" {
		t.Errorf("state: %s", got)
	}
}

// What does not introduce itself as a node does is cut off, and the links of others go on.
func TestStrangers(t *testing.T) {
	c := newCluster(t, "a", "b")
	id := c.nodes["b"].create("")
	for _, sent := range []string{"GET / HTTP/1.1\r\n\r\n", "Content-Length: 5\r\n\r\nH{}xx", strings.Repeat("x", 100<<10)} {
		s, err := net.Dial("tcp", c.nodes["b"].address)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.SetDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		_, _ = s.Write([]byte(sent)) // the node may hang up first
		if got, err := io.Copy(io.Discard, s); got > 100 || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%.20q: %d bytes, %v", sent, got, err)
		}
		s.Close()
	}
	v := c.nodes["a"].connect()
	v.result("session/state", of(id, ""))
}
