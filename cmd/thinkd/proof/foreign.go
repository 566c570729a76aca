package proof

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/textproto"
	"os/exec"
	"strconv"
	"testing"

	"github.com/thinkd/thinkd/rpc/conntest"
)

// Framed speaks with the daemon in raw frames, one after the other.
type Framed struct {
	T      *testing.T
	Cmd    *exec.Cmd
	In     *bufio.Reader
	Out    io.WriteCloser
	framed bool // with Content-Length headers; else in lines
	Stderr conntest.Log
	seen   []Update // notifications that came before an answer
}

func StartFramed(t *testing.T, cmd *exec.Cmd, withHeaders bool) *Framed {
	t.Helper()
	f := &Framed{T: t, Cmd: cmd, framed: withHeaders}
	cmd.Stderr = &f.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	f.In = bufio.NewReader(stdout)
	if f.Out, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() }) // it may have ended, which is how it should be
	return f
}

func Headers(size int) string {
	return fmt.Sprintf("Content-Length: %d\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n", size)
}

func (f *Framed) Write(text string) {
	f.T.Helper()
	if _, err := io.WriteString(f.Out, text); err != nil {
		f.T.Fatalf("standard input: %v\n%s", err, f.Stderr.String())
	}
}

// Send writes a message in a frame.
func (f *Framed) Send(text string) {
	f.T.Helper()
	if f.framed {
		f.Write(Headers(len(text)) + text)
	} else {
		f.Write(text + "\n")
	}
}

// Read is the next message; it has to be in the same framing.
func (f *Framed) Read() Message {
	f.T.Helper()
	var body []byte
	var err error
	if !f.framed {
		body, err = f.In.ReadBytes('\n')
	} else {
		var h textproto.MIMEHeader
		if h, err = textproto.NewReader(f.In).ReadMIMEHeader(); err == nil {
			var n int
			if n, err = strconv.Atoi(h.Get("Content-Length")); err == nil {
				body = make([]byte, n)
				_, err = io.ReadFull(f.In, body)
			}
		}
	}
	if err != nil {
		f.T.Fatalf("standard output: %v\n%s", err, f.Stderr.String())
	}
	m := Message{Raw: body}
	if err := json.Unmarshal(body, &m); err != nil {
		f.T.Fatalf("%s: %v", body, err)
	}
	return m
}

// Next is the next notification.
func (f *Framed) Next() Update {
	f.T.Helper()
	if len(f.seen) > 0 {
		u := f.seen[0]
		f.seen = f.seen[1:]
		return u
	}
	return f.notification(f.Read())
}

func (f *Framed) notification(m Message) Update {
	f.T.Helper()
	u := Update{Method: m.Method, Raw: m.Params}
	if m.Method == "" {
		f.T.Fatalf("%s is no notification", m.Raw)
	}
	if err := json.Unmarshal(m.Params, &u); err != nil {
		f.T.Fatalf("%s: %v", m.Raw, err)
	}
	return u
}

// Call sends a request and reads to its answer.
func (f *Framed) Call(id int, method string, params, result any) {
	f.T.Helper()
	request, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		f.T.Fatal(err)
	}
	f.Send(string(request))
	for {
		m := f.Read()
		if m.Method != "" {
			f.seen = append(f.seen, f.notification(m))
			continue
		}
		if m.ID == nil || *m.ID != id || m.Error != nil {
			f.T.Fatalf("%s is answered with %s", method, m.Raw)
		}
		if err := json.Unmarshal(m.Result, result); err != nil {
			f.T.Fatalf("%s: %v", m.Raw, err)
		}
		return
	}
}

// End closes standard input and waits for the process to end well, having said no more.
func (f *Framed) End() {
	f.T.Helper()
	f.Out.Close()
	if rest, err := io.ReadAll(f.In); err != nil || len(rest) > 0 {
		f.T.Errorf("at its end the daemon says %q (%v)", rest, err)
	}
	if err := f.Cmd.Wait(); err != nil {
		f.T.Errorf("the daemon ends with %v\n%s", err, f.Stderr.String())
	}
}
