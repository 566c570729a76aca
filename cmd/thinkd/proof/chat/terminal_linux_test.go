package chat

import (
	"io"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/testgo"
)

// No command writes to a terminal what a model, a prompt or an argument wants that to obey.
func TestHostileTextToATerminal(t *testing.T) {
	testgo.Cost(t)
	t.Parallel()
	data := proof.DataDir(t)
	p := proof.Start(t, data, nil)
	evil := "\x1b]0;title\x07\x1b[2J\x1b[6n\u009b31m\u202eevil\rfake"
	session := p.NewSession("model_id", "sim/claude", "title", evil)
	turn := p.Say(session, evil+" [[sim: thinking=5 text=20 pace=0]]") // the simulator quotes the prompt
	p.Wait("the end", proof.Ended(turn))
	for _, args := range [][]string{{"sessions", "show", session}, {"sessions", "list"}, {"sessions", "export", session}, {"sessions", "delete", evil}, {"models"},
		{"prompt", "--model", evil, "x"}, {evil}} {
		tty, other := proof.Terminal(t)
		cmd := proof.Command(t, nil, append([]string{"--data", data}, args...)...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = nil, tty, tty
		var out strings.Builder
		read := testgo.Go(t, func() { // ends when the other end is closed: by the command and by us
			_, _ = io.Copy(&out, other) // it ends with EIO
		})
		err := cmd.Run()
		if err := tty.Close(); err != nil {
			t.Error(err)
		}
		<-read
		text := out.String()
		if args[0] == "sessions" && args[1] != "delete" && (err != nil || !strings.Contains(text, "evil")) {
			t.Errorf("%q: %v: %q", args, err, text)
		}
		for _, r := range strings.ReplaceAll(text, "\r\n", "\n") { // the terminal itself adds the returns
			if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r == 0x202e {
				t.Errorf("%q writes %U: %q", args, r, text)
				break
			}
		}
		if strings.Contains(text, "evil\rfake") {
			t.Errorf("%q lets a text hide what is before it", args)
		}
	}
}

// A terminal is asked for its background, and light colours follow the answer. Links have their address as a sequence.
// At the end stands how to continue.
func TestChatSequences(t *testing.T) {
	testgo.Cost(t)
	t.Parallel()
	tty, other := proof.Terminal(t)
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		t.Fatal(err)
	}
	cmd := proof.Command(t, append([]string{"TERM=xterm-256color"}, proof.NobodyHere...), "--data", proof.DataDir(t), "chat")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := other.SetReadDeadline(time.Now().Add(proof.Patience)); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	more := make([]byte, 4096)
	until := func(what string) {
		t.Helper()
		for !strings.Contains(out.String(), what) {
			n, err := other.Read(more)
			if out.Write(more[:n]); err != nil {
				t.Fatalf("the chat ends without %q: %v\n%q", what, err, out.String())
			}
		}
	}
	say := func(text string) {
		t.Helper()
		if _, err := other.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	until("\x1b]11;?")
	say("\x1b]11;rgb:ffff/ffff/ffff\x1b\\")
	until("thinking high")
	say("See [it](https://a.example/x). [[sim: thinking=0 text=90 pace=0]]\r")
	until("\x1b]8;;https://a.example/x")
	until("This was the simulator")
	say("\x04")
	until("thinkd chat --session ")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if text := out.String(); !strings.Contains(text, "4;34m") || strings.Contains(text, "4;94m") {
		t.Errorf("the colours are not those for a light background: %q", text)
	}
}
