package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider/sim"
)

// framed speaks with the daemon in raw frames, one after the other.
type framed struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     *bufio.Reader
	out    io.WriteCloser
	framed bool // with Content-Length headers; else in lines
	stderr lockedBuffer
	seen   []update // notifications that came before an answer
}

func startFramed(t *testing.T, cmd *exec.Cmd, withHeaders bool) *framed {
	t.Helper()
	f := &framed{t: t, cmd: cmd, framed: withHeaders}
	cmd.Stderr = &f.stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	f.in = bufio.NewReader(stdout)
	if f.out, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() }) // it may have ended, which is how it should be
	return f
}

func headers(size int) string {
	return fmt.Sprintf("Content-Length: %d\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n", size)
}

func (f *framed) write(text string) {
	f.t.Helper()
	if _, err := io.WriteString(f.out, text); err != nil {
		f.t.Fatalf("standard input: %v\n%s", err, f.stderr.String())
	}
}

// send writes a message in a frame.
func (f *framed) send(text string) {
	f.t.Helper()
	if f.framed {
		f.write(headers(len(text)) + text)
	} else {
		f.write(text + "\n")
	}
}

// read is the next message; it has to be in the same framing.
func (f *framed) read() message {
	f.t.Helper()
	var body []byte
	var err error
	if !f.framed {
		body, err = f.in.ReadBytes('\n')
	} else {
		var h textproto.MIMEHeader
		if h, err = textproto.NewReader(f.in).ReadMIMEHeader(); err == nil {
			var n int
			if n, err = strconv.Atoi(h.Get("Content-Length")); err == nil {
				body = make([]byte, n)
				_, err = io.ReadFull(f.in, body)
			}
		}
	}
	if err != nil {
		f.t.Fatalf("standard output: %v\n%s", err, f.stderr.String())
	}
	m := message{raw: body}
	if err := json.Unmarshal(body, &m); err != nil {
		f.t.Fatalf("%s: %v", body, err)
	}
	return m
}

// next is the next notification.
func (f *framed) next() update {
	f.t.Helper()
	if len(f.seen) > 0 {
		u := f.seen[0]
		f.seen = f.seen[1:]
		return u
	}
	return f.notification(f.read())
}

func (f *framed) notification(m message) update {
	f.t.Helper()
	u := update{Method: m.Method, Raw: m.Params}
	if m.Method == "" {
		f.t.Fatalf("%s is no notification", m.raw)
	}
	if err := json.Unmarshal(m.Params, &u); err != nil {
		f.t.Fatalf("%s: %v", m.raw, err)
	}
	return u
}

// call sends a request and reads to its answer.
func (f *framed) call(id int, method string, params, result any) {
	f.t.Helper()
	request, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		f.t.Fatal(err)
	}
	f.send(string(request))
	for {
		m := f.read()
		if m.Method != "" {
			f.seen = append(f.seen, f.notification(m))
			continue
		}
		if m.ID == nil || *m.ID != id || m.Error != nil {
			f.t.Fatalf("%s is answered with %s", method, m.raw)
		}
		if err := json.Unmarshal(m.Result, result); err != nil {
			f.t.Fatalf("%s: %v", m.raw, err)
		}
		return
	}
}

// end closes standard input and waits for the process to end well, having said no more.
func (f *framed) end() {
	f.t.Helper()
	f.out.Close()
	if rest, err := io.ReadAll(f.in); err != nil || len(rest) > 0 {
		f.t.Errorf("at its end the daemon says %q (%v)", rest, err)
	}
	if err := f.cmd.Wait(); err != nil {
		f.t.Errorf("the daemon ends with %v\n%s", err, f.stderr.String())
	}
}

// TestConversation holds the conversation that protocol.md begins with, from raw lines and from raw Content-Length
// frames, and takes every word of it.
func TestConversation(t *testing.T) {
	t.Parallel()
	for name, withHeaders := range map[string]bool{"lines": false, "content-length": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			vendor, env := simulator(t, sim.Config{})
			vendor.Script(sim.Answer{Parts: []sim.Part{
				{Kind: sim.Thinking, Text: "Compare both dates."}, {Kind: sim.Text, Text: "The second."}}})
			f := startFramed(t, command(t, env, "--data", dataDir(t), "stdio"), withHeaders)

			f.send(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"model_id":"anthropic/claude-opus-5-5","thinking_level":"high"}}`)
			var made struct {
				ID string `json:"session_id"`
				levelAnswer
			}
			answerTo(t, f.read(), 1, &made)
			if made.Level != "high" || made.Preferred != "high" || made.Reasoning.Effective != "high" {
				t.Errorf("session/new: %+v", made)
			}
			f.send(`{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"session_id":"` + made.ID + `","text":"Which date is later?"}}`)
			var receipt struct {
				Turn        string `json:"turn_id"`
				Message     string `json:"message_id"`
				Disposition string `json:"disposition"`
			}
			answerTo(t, f.read(), 2, &receipt) // before the first notification
			if receipt.Disposition != "started" {
				t.Errorf("session/prompt: %+v", receipt)
			}

			var order []string
			thinking, text, next := "", "", uint64(1)
			for u := (update{}); u.Method != "turn_end"; {
				u = f.next()
				first := u.Seq
				if u.FirstSeq != 0 {
					first = u.FirstSeq
				}
				if u.Session != made.ID || first != next || u.TS == 0 || u.Method != "session_update" && u.Turn != receipt.Turn {
					t.Errorf("%s: %s, want number %d", u.Method, u.Raw, next)
				}
				next = u.Seq + 1
				if order = append(order, u.Method); len(order) > 1 && order[len(order)-2] == u.Method {
					order = order[:len(order)-1]
				}
				switch u.Method {
				case "prompt":
					if u.Message != receipt.Message {
						t.Errorf("prompt: %s", u.Raw)
					}
				case "thinking_delta":
					thinking += u.Delta
				case "thinking_end":
					if u.Text != "Compare both dates." || u.Text != thinking || u.Kind != "summary" || !u.Signed || u.Block != 0 {
						t.Errorf("thinking_end after %q: %s", thinking, u.Raw)
					}
				case "message_delta":
					text += u.Delta
				case "text_end":
					if u.Text != "The second." || u.Text != text || u.Block != 1 {
						t.Errorf("text_end after %q: %s", text, u.Raw)
					}
				case "message_end", "turn_end":
					if u.Stop != "end_turn" {
						t.Errorf("%s: %s", u.Method, u.Raw)
					}
				}
			}
			want := []string{"prompt", "turn_start", "message_start", "thinking_start", "thinking_delta", "thinking_end",
				"message_delta", "text_end", "message_end", "usage", "session_update", "turn_end"}
			if !slices.Equal(order, want) {
				t.Errorf("the notifications come as %v,\nwant %v", order, want)
			}

			f.send(`{"jsonrpc":"2.0","id":3,"method":"thinking/set","params":{"session_id":"` + made.ID + `","level":"medium"}}`)
			var set struct {
				levelAnswer
				Applies string `json:"applies"`
			}
			answerTo(t, f.read(), 3, &set)
			if set.Level != "medium" || set.Preferred != "medium" || set.Applies != "now" || set.Reasoning.Effective != "medium" {
				t.Errorf("thinking/set: %+v", set)
			}
			if u := f.next(); u.Method != "session_update" || u.Seq != next {
				t.Errorf("thinking/set is told as %s %s", u.Method, u.Raw)
			}
			f.end()
		})
	}
}

func answerTo(t *testing.T, m message, id int, result any) {
	t.Helper()
	if m.ID == nil || *m.ID != id || m.Error != nil {
		t.Fatalf("request %d is answered with %s", id, m.raw)
	}
	if err := json.Unmarshal(m.Result, result); err != nil {
		t.Fatal(err)
	}
}

// TestForeignLibrary holds a conversation through the JSON-RPC library that Language Server clients use.
func TestForeignLibrary(t *testing.T) {
	t.Parallel()
	const install = "npm ci --prefix testdata/vscode-jsonrpc"
	dir, err := filepath.Abs("../../testdata/vscode-jsonrpc")
	if err != nil {
		t.Fatal(err)
	}
	node, missing := exec.LookPath("node")
	if missing == nil {
		_, missing = os.Stat(filepath.Join(dir, "node_modules", "vscode-jsonrpc"))
	}
	if missing != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%v: run %s", missing, install)
		}
		t.Skipf("no foreign JSON-RPC library here: install node, and run %s at the root of the repository", install)
	}
	daemon := command(t, nil)
	cmd := exec.Command(node, filepath.Join(dir, "conversation.mjs"), daemon.Path, "--data", dataDir(t), "stdio")
	cmd.Env = daemon.Env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "thinking_end") || !strings.Contains(string(out), "turn_end") {
		t.Errorf("the library saw %s", out)
	}
}
