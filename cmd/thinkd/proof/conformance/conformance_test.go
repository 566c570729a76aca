package conformance

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/conformance"
	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/testgo"
)

// A fault changes messages between the daemon and its client, so that the client sees a server that violates a rule.
type fault struct {
	sent     bool // the client's messages are changed; otherwise the daemon's
	second   bool // on the second connection only
	find, to string
}

func server(find, to string) fault { return fault{find: find, to: to} }
func client(find, to string) fault { return fault{sent: true, find: find, to: to} }

// faults has a faulty server for each check.
var faults = map[string]fault{
	"parse-error":            server(`-32700`, `-32600`),
	"jsonrpc-member":         server(`-32600`, `-32603`),
	"unknown-method":         server(`-32601`, `-32600`),
	"ids":                    server(`\\u00fc`, `ü`),
	"null-id":                server(`-32600`, `-32602`),
	"params-object":          server(`-32602`, `-32600`),
	"wrong-type":             server(`"field":"limit"`, `"field":""`),
	"null-member":            client(`"limit":null`, `"limit":"x"`),
	"no-response":            client(`"jsonrpc":"2.0","method":"ping"`, `"jsonrpc":"2.0","id":77,"method":"ping"`),
	"batch":                  server(`"id":3`, `"id":4`),
	"ignored":                server(`"ignored":\["colour"\]`, `"ignored":[]`),
	"strict":                 client(`"strict":true`, `"strict":false`),
	"initialize":             server(`"protocol_version":1`, `"protocol_version":99`),
	"initialize-once":        server(`-32600`, `-32602`),
	"discover":               server(`"openrpc":"[^"]*"`, `"openrpc":""`),
	"cancel-request":         server(`-32800`, `-32603`),
	"session-new":            server(`"requested_effort":"high"`, `"requested_effort":"low"`),
	"unknown-level":          server(`"code":1010`, `"code":1003`),
	"unknown-model":          server(`"code":1003`, `"code":1001`),
	"session-once":           client(`"client_id":"once [^"]*"`, `"title":"x"`),
	"client-id-other-params": client(`,"title":"Other"`, ``),
	"not-found":              server(`"code":1001`, `"code":1002`),
	"session-list":           server(`"sessions":\[\{"session_id":".`, `"sessions":[{"session_id":"7`),
	"session-update":         server(`"title":"Dates"`, `"title":""`),
	"session-delete":         server(`"deleted":true`, `"deleted":false`),
	"detach":                 client(`session/detach`, `ping`),
	"append":                 server(`"disposition":"appended"`, `"disposition":"started"`),
	"response-first":         server(`^(.*"result":\{"turn_id".*)$`, `{"jsonrpc":"2.0","method":"prompt","params":{}}`+"\n$1"),
	"turn":                   server(`"method":"thinking_start"`, `"method":"thinking_begin"`),
	"deltas":                 server(`"delta":"`, `"delta":"x`),
	"decision":               server(`"requested_effort":"low"`, `"requested_effort":"high"`),
	"turn-wait":              server(`("result":.*?"stop_reason":)"end_turn"`, `$1"error"`),
	"history":                server(`"role":"assistant"`, `"role":"model"`),
	"prompt-once":            client(`"client_id":"again",`, ``),
	"reject":                 server(`"code":1002`, `"code":1009`),
	"queue":                  client(`queue/move`, `ping`),
	"queued-runs":            server(`"stop_reason":"end_turn"`, `"stop_reason":"error"`),
	"cancel":                 server(`"stop_reason":"cancelled"`, `"stop_reason":"end_turn"`),
	"two-clients":            {second: true, find: `"text":"`, to: `"text":"x`},
	"no-gap":                 client(`"after_seq":\d+,`, ``),
	"attach-later":           server(`"status":"idle"`, `"status":"running"`),
	"fork":                   client(`"message_id":"[^"]*",`, ``),
	"notifications":          client(`"notifications":\["turn_end"\],`, ``),
	"tool":                   server(`"host":"client"`, `"host":"mcp"`),
	"first-result":           server(`"code":1001`, `"code":1002`),
	"confirm":                server(`"parts":\[[^\]]*\]`, `"parts":[]`),
	"deny":                   server(`"is_error":true`, `"is_error":false`),
	"first-answer":           server(`"accepted":false`, `"accepted":true`),
	"open-call":              server(`"status":"waiting"`, `"status":"running"`),
}

// patience is longer than any check takes on a busy machine. No check of this test waits that long.
const patience = 2 * time.Minute

func TestConformance(t *testing.T) {
	t.Parallel()
	data := proof.DataDir(t)
	for _, c := range conformance.Checks() {
		t.Run(c.Name, func(t *testing.T) {
			if err := c.Run(t.Context(), dial(t, data, fault{find: "^$"}), "sim/claude", patience); err != nil {
				t.Errorf("the daemon: %v", err)
			}
			f, ok := faults[c.Name]
			if !ok {
				t.Fatal("no server fails this check")
			}
			err := c.Run(t.Context(), dial(t, data, f), "sim/claude", patience)
			if err == nil || strings.Contains(err.Error(), "in time") || strings.Contains(err.Error(), "closed the connection") {
				t.Errorf("the faulty server: %v", err)
			}
		})
	}
	if n := len(conformance.Checks()); len(faults) != n {
		t.Errorf("%d faults for %d checks", len(faults), n)
	}
}

// dial starts `thinkd stdio` for each connection, with a fault in between.
func dial(t *testing.T, data string, f fault) conformance.Dial {
	pattern := regexp.MustCompile(f.find)
	var connections atomic.Int32
	return func(ctx context.Context) (io.ReadWriteCloser, error) {
		number := connections.Add(1)
		apply := func(sent bool, line []byte) []byte {
			if sent != f.sent || f.second && number != 2 {
				return line
			}
			return pattern.ReplaceAll(line, []byte(f.to))
		}
		cmd := proof.Command(t, nil, "--data", data, "stdio")
		in, err := cmd.StdinPipe()
		if err != nil {
			return nil, err
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		reader, writer := io.Pipe()
		c := &faulty{reader, in, cmd, apply, make(chan struct{})}
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		testgo.Go(t, func() { // ends with the command, which Close ends
			defer close(c.over)
			lines := bufio.NewReader(out)
			for {
				line, err := lines.ReadBytes('\n')
				if err != nil {
					writer.CloseWithError(err)
					return
				}
				writer.Write(append(apply(false, bytes.TrimSuffix(line, []byte("\n"))), '\n')) // an error: nobody reads any more
			}
		})
		return c, nil
	}
}

type faulty struct {
	*io.PipeReader
	in    io.WriteCloser
	cmd   *exec.Cmd
	apply func(sent bool, line []byte) []byte
	over  chan struct{}
}

func (f *faulty) Write(line []byte) (int, error) {
	_, err := f.in.Write(f.apply(true, line))
	return len(line), err
}

func (f *faulty) Close() error {
	f.PipeReader.Close()
	f.in.Close()
	<-f.over
	return f.cmd.Wait()
}
