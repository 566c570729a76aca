package load

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/rpc/conn"
)

// TestLargestMessages says what is too much in four ways: 50 MB at once, a frame that announces a gigabyte, values 20,000
// deep, a million keys. Each is answered, over the stdio door and over a WebSocket, and nobody's memory grows by more than four
// messages of the largest size.
func TestLargestMessages(t *testing.T) {
	t.Parallel()
	binary := proof.PlainProgram(t)
	keys := manyKeys(1_000_000)
	call := func(method, params string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":%q,"params":%s}`, method, params)
	}
	for _, c := range []struct {
		name, message string // $ID is a session's
		announced     int    // its size, if not that of message
		kind          string // data.kind of the error; empty: there is none
		code          int
	}{
		{"50 MB", call("session/prompt", `{"session_id":"$ID","text":"`+strings.Repeat("long word ", 5<<20)+`"}`), 0, "too_large", 1007},
		{"a frame of 1 GB", strings.Repeat(" ", 64<<20), 1 << 30, "too_large", 1007},
		{"20,000 deep", call("ping", `{"x":`+strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000)+`}`), 0, "", -32600},
		{"1,000,000 keys", call("ping", keys), 0, "", 0},
		{"1,000,000 keys to keep", call("session/update", `{"session_id":"$ID","metadata":`+keys+`}`), 0, "invalid_params", -32602},
		{"1,000,000 values in a list", call("session/queue", `{"session_id":"$ID","remove":[`+strings.Repeat(`"",`, 1_000_000)+`""]}`), 0, "invalid_params", -32602},
	} {
		for way, send := range map[string]func(*testing.T, string, string, int) proof.Message{"stdio": overStdio, "websocket": overSocket} {
			t.Run(c.name+" over "+way, func(t *testing.T) {
				m := send(t, binary, c.message, c.announced)
				var data struct{ Kind string }
				switch {
				case c.code == 0:
					if m.Error != nil {
						t.Errorf("answered with %s", m.Raw)
					}
				case m.Error == nil || m.Error.Code != c.code:
					t.Errorf("answered with %.200s, want %d", m.Raw, c.code)
				case c.kind != "" && (json.Unmarshal(m.Error.Data, &data) != nil || data.Kind != c.kind):
					t.Errorf("answered with %.200s, want %s", m.Raw, c.kind)
				}
			})
		}
	}
}

// manyKeys is an object with so many different names, as short as they can be.
func manyKeys(n int) string {
	var letters []byte
	for c := byte(' '); c < 0x7f; c++ {
		if c != '"' && c != '\\' {
			letters = append(letters, c)
		}
	}
	b := append(make([]byte, 0, 10*n), '{')
	for i := range n {
		b = append(b, '"')
		for rest := i; ; rest /= len(letters) {
			b = append(b, letters[rest%len(letters)])
			if rest < len(letters) {
				break
			}
		}
		b = append(b, `":0,`...)
	}
	return string(append(b[:len(b)-1], '}'))
}

// bounded wants a process to need no more memory for what do does than four messages.
func bounded(t *testing.T, who string, pid int, do func()) {
	t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0); err != nil { // the peak begins anew (proc_pid_clear_refs(5))
		t.Fatal(err)
	}
	before := proof.MemoryOf(t, pid).Peak
	do()
	more := proof.MemoryOf(t, pid).Peak - before
	t.Logf("%s: %.1f MiB more than %.1f", who, float64(more)/(1<<20), float64(before)/(1<<20))
	proof.Judge(t, more <= 4*8<<20, "%s needs %d bytes more", who, more)
	if more > 16*8<<20 { // whatever the collector was late with
		t.Errorf("%s needs %d bytes more", who, more)
	}
}

func overStdio(t *testing.T, program, text string, announced int) (m proof.Message) {
	data := proof.DataDir(t)
	cmd := proof.Command(t, nil, "--data", data, "stdio")
	cmd.Path, cmd.Args[0] = program, program
	f := proof.StartFramed(t, cmd, true)
	var made struct {
		ID string `json:"session_id"`
	}
	f.Call(1, "session/new", map[string]any{"model_id": "sim/claude"}, &made)
	text = strings.ReplaceAll(text, "$ID", made.ID)
	link, err := proof.GreetDaemon(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	pid := link.Status.PID
	link.Close()
	bounded(t, "the daemon", pid, func() {
		bounded(t, "the door", cmd.Process.Pid, func() {
			f.Write(proof.Headers(max(announced, len(text))))
			f.Write(text)
			m = f.Read()
		})
	})
	return m
}

// overSocket sends one frame, with a mask that changes nothing. A frame that is too large is answered by the close
// alone, which is put into words here.
func overSocket(t *testing.T, program, text string, announced int) (m proof.Message) {
	cmd := proof.Command(t, nil, proof.ServeArgs(t.TempDir())...)
	cmd.Path, cmd.Args[0] = program, program
	s := proof.StartServe(t, cmd)
	defer s.Terminate()
	if strings.Contains(text, "$ID") {
		var made struct {
			ID string `json:"session_id"`
		}
		proof.DialWS(t, s.Base, s.Token, nil).Must("session/new", map[string]any{"model_id": "sim/claude"}, &made)
		text = strings.ReplaceAll(text, "$ID", made.ID)
	}
	at, err := url.Parse(s.Base)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", at.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET /rpc HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: thinkd.v1\r\nAuthorization: Bearer %s\r\n\r\n", at.Host, s.Token)
	in := bufio.NewReader(conn)
	if answer, err := http.ReadResponse(in, nil); err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("the handshake: %v, %v", answer, err)
	}
	bounded(t, "the daemon", cmd.Process.Pid, func() {
		frame := binary.BigEndian.AppendUint64([]byte{0x81, 0x80 | 127}, uint64(max(announced, len(text))))
		conn.Write(append(frame, 0, 0, 0, 0))
		io.WriteString(conn, text) // the daemon may hang up in the middle
		m = readFrame(t, in)
	})
	return m
}

// readFrame reads a text, or a close for too much, which is that error.
func readFrame(t *testing.T, in *bufio.Reader) proof.Message {
	t.Helper()
	head := make([]byte, 2)
	if _, err := io.ReadFull(in, head); err != nil {
		t.Fatal(err)
	}
	size := uint64(head[1])
	if size == 126 {
		var n uint16
		if err := binary.Read(in, binary.BigEndian, &n); err != nil {
			t.Fatal(err)
		}
		size = uint64(n)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(in, body); err != nil {
		t.Fatal(err)
	}
	if head[0] == 0x88 {
		if code := binary.BigEndian.Uint16(body); code != 1009 { // RFC 6455, section 7.4.1
			t.Fatalf("closed with %d %s", code, body[2:])
		}
		return proof.Message{Error: &proof.CallError{Code: int(conn.CodeTooLarge), Data: []byte(`{"kind":"too_large"}`)}, Raw: []byte("close " + strconv.Itoa(1009))}
	}
	m := proof.Message{Raw: body}
	if err := json.Unmarshal(body, &m); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return m
}
