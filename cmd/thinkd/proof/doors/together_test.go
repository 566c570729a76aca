package doors

import (
	"fmt"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// heardBy is wsClient.heard for an editor: growth joined per block, all else by its number.
func heardBy(p *proof.Process) map[string]string {
	text := make(map[string]string)
	for _, u := range p.Seen() {
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
	data, env := proof.DataDir(t), vendorOf(t)
	one := proof.Door(t, data, env)
	one.Must("ping", nil, nil)
	pid := proof.TheDaemon(t, data).PID
	s := proof.StartServe(t, proof.Command(t, env, proof.ServeArgs(data)...))
	if st := proof.TheDaemon(t, data); st.PID != pid || st.Listen != s.Base {
		t.Errorf("the daemon is %d and listens at %q, want %d and %q", st.PID, st.Listen, pid, s.Base)
	}
	two := proof.Door(t, data, env)
	var hello struct{ Listen string }
	if two.Must("initialize", map[string]any{}, &hello); hello.Listen != s.Base {
		t.Errorf("initialize says that the daemon listens at %q, want %q", hello.Listen, s.Base)
	}
	browsers := []*proof.WsClient{proof.DialWS(t, s.Base, s.Token, nil), proof.DialWS(t, s.Base, s.Token, nil)}

	id := one.NewSession("model_id", proof.VendorModel, "thinking_level", "medium")
	two.Attach(id)
	for _, b := range browsers {
		b.Must("session/attach", map[string]any{"session_id": id}, nil)
	}
	turn := two.Say(id, proof.Recital{Tag: "r", Thinking: 50, Blocks: 2, Words: 50}.Prompt())
	for _, p := range []*proof.Process{one, two} {
		p.Wait("the end", proof.Ended(turn))
		proof.CheckDense(t, "an editor", p.Seen(), id, 0)
	}
	want := heardBy(one)
	if len(want) < 5 {
		t.Errorf("an editor heard only %d things", len(want))
	}
	seen := []map[string]string{heardBy(two)}
	for _, b := range browsers {
		b.TurnEnd()
		_, text := b.Heard()
		seen = append(seen, text)
	}
	for i, text := range seen {
		if diff := cmp.Diff(want, text); diff != "" {
			t.Errorf("client %d against the first editor (-want +got):\n%s", i+1, diff)
		}
	}

	second := proof.Command(t, env, proof.ServeArgs(data)...)
	out, err := second.CombinedOutput()
	if err == nil || !strings.Contains(string(out), s.Base) {
		t.Errorf("a second serve: %v, %q; want a refusal that names %s", err, out, s.Base)
	}
	s.Terminate()
	one.Must("ping", nil, nil)
	for _, b := range browsers {
		if code, _ := b.Closed(); code != 1001 {
			t.Errorf("a browser's connection ends with %d", code)
		}
	}
	st := proof.TheDaemon(t, data)
	for deadline := time.Now().Add(proof.Patience); st.Listen != "" && time.Now().Before(deadline); st = proof.TheDaemon(t, data) {
		proof.Moment(time.Millisecond) // it hears of serve's end by the end of the connection
	}
	if st.PID != pid || st.Listen != "" {
		t.Errorf("after serve has ended the daemon is %d and listens at %q", st.PID, st.Listen)
	}
	one.End()
	two.End()
}

// The daemon that listens for serve is killed: serve takes its place, at the same address with the same token.
func TestServeTakesTheDaemonsPlace(t *testing.T) {
	t.Parallel()
	data, env := proof.DataDir(t), vendorOf(t)
	editor := proof.Door(t, data, env)
	editor.Must("ping", nil, nil)
	s := proof.StartServe(t, proof.Command(t, env, proof.ServeArgs(data)...))
	killDaemon(t, data)
	afresh(editor)
	address, err := url.Parse(s.Base)
	if err != nil {
		t.Fatal(err)
	}
	listens := func() bool {
		link, err := proof.GreetDaemon(t.Context(), data)
		if err != nil {
			return false
		}
		defer link.Close()
		return link.Status.Listen == "http://"+address.Host+"/"
	}
	for deadline := time.Now().Add(proof.Patience); !listens(); proof.Moment(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("serve does not listen again")
		}
	}
	b := proof.DialWS(t, s.Base, s.Token, nil)
	b.Must("ping", struct{}{}, nil)
	editor.End()
	if err := s.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.Cmd.Wait()
	s.Ended = true
}
