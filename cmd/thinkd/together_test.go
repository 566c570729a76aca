package main

import (
	"fmt"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// heardBy is wsClient.heard for an editor: growth joined per block, all else by its number.
func heardBy(p *process) map[string]string {
	text := make(map[string]string)
	for _, u := range p.seen() {
		if u.Delta != "" {
			text[fmt.Sprintf("%s %s %d", u.Method, u.Message, u.Block)] += u.Delta
		} else {
			text[fmt.Sprintf("%s %d", u.Method, u.Seq)] = string(u.Raw)
		}
	}
	return text
}

// Two editors and two browsers on one data directory see one session: each update once, under the same number. The
// daemon is the editors', and serve has it listen.
func TestEditorsAndBrowsersSeeOneSession(t *testing.T) {
	t.Parallel()
	data, env := dataDir(t), vendorOf(t)
	one := door(t, data, env)
	one.must("ping", nil, nil)
	pid := theDaemon(t, data).PID
	s := startServe(t, command(t, env, serveArgs(data)...))
	if st := theDaemon(t, data); st.PID != pid || st.Listen != s.base {
		t.Errorf("the daemon is %d and listens at %q, want %d and %q", st.PID, st.Listen, pid, s.base)
	}
	two := door(t, data, env)
	var hello struct{ Listen string }
	if two.must("initialize", map[string]any{}, &hello); hello.Listen != s.base {
		t.Errorf("initialize says that the daemon listens at %q, want %q", hello.Listen, s.base)
	}
	browsers := []*wsClient{dialWS(t, s.base, s.token, nil), dialWS(t, s.base, s.token, nil)}

	id := one.newSession("model_id", vendorModel, "thinking_level", "medium")
	two.attach(id)
	for _, b := range browsers {
		b.must("session/attach", map[string]any{"session_id": id}, nil)
	}
	turn := two.say(id, recital{Tag: "r", Thinking: 50, Blocks: 2, Words: 50}.prompt())
	for _, p := range []*process{one, two} {
		p.wait("the end", ended(turn))
		checkDense(t, "an editor", p.seen(), id, 0)
	}
	want := heardBy(one)
	if len(want) < 5 {
		t.Errorf("an editor heard only %d things", len(want))
	}
	seen := []map[string]string{heardBy(two)}
	for _, b := range browsers {
		b.turnEnd()
		_, text := b.heard()
		seen = append(seen, text)
	}
	for i, text := range seen {
		if diff := cmp.Diff(want, text); diff != "" {
			t.Errorf("client %d against the first editor (-want +got):\n%s", i+1, diff)
		}
	}

	second := command(t, env, serveArgs(data)...)
	out, err := second.CombinedOutput()
	if err == nil || !strings.Contains(string(out), s.base) {
		t.Errorf("a second serve: %v, %q; want a refusal that names %s", err, out, s.base)
	}
	s.terminate()
	one.must("ping", nil, nil)
	for _, b := range browsers {
		if code, _ := b.closed(); code != 1001 {
			t.Errorf("a browser's connection ends with %d", code)
		}
	}
	st := theDaemon(t, data)
	for deadline := time.Now().Add(patience); st.Listen != "" && time.Now().Before(deadline); st = theDaemon(t, data) {
		moment(time.Millisecond) // it hears of serve's end by the end of the connection
	}
	if st.PID != pid || st.Listen != "" {
		t.Errorf("after serve has ended the daemon is %d and listens at %q", st.PID, st.Listen)
	}
	one.end()
	two.end()
}

// The daemon that listens for serve is killed: serve takes its place, at the same address with the same token.
func TestServeTakesTheDaemonsPlace(t *testing.T) {
	t.Parallel()
	data, env := dataDir(t), vendorOf(t)
	editor := door(t, data, env)
	editor.must("ping", nil, nil)
	s := startServe(t, command(t, env, serveArgs(data)...))
	killDaemon(t, data)
	editor.afresh()
	address, err := url.Parse(s.base)
	if err != nil {
		t.Fatal(err)
	}
	listens := func() bool {
		link, err := greet(t.Context(), data)
		if err != nil {
			return false
		}
		defer link.Close()
		return link.Status.Listen == "http://"+address.Host+"/"
	}
	for deadline := time.Now().Add(patience); !listens(); moment(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("serve does not listen again")
		}
	}
	b := dialWS(t, s.base, s.token, nil)
	b.must("ping", struct{}{}, nil)
	editor.end()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.cmd.Wait()
	s.ended = true
}
