package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"os/exec"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/thinkd/thinkd/agent/tool/mcphttp"
	"github.com/thinkd/thinkd/agent/tool/mcplogin"
	"github.com/thinkd/thinkd/agent/tool/process"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
)

// Config is the settings of a [Host].
type Config struct {
	Server  toolhost.Server // must pass its Check
	Name    string          // of the host, see [toolhost.Host]
	Version string          // of this program
	Root    string          // the folder that the server is for, absolute; empty: none is named
	PassEnv []string        // variables of the daemon that a program gets in addition to the usual ones

	Client     http.RoundTripper  // of requests to a server with an address; nil: that of mcphttp.New
	Login      *mcplogin.Login    // to a server with an address; nil: requests have only the headers of Server
	Supervisor process.Supervisor // of the program; nil: it has only a process group
	Log        *slog.Logger
}

// Bounds of a server's life.
const (
	startTime = 60 * time.Second // until it has listed its tools: some servers are fetched from a registry first
	endTime   = time.Second      // until a program exits after the end of its input; then it is killed
)

// transport returns the way to the server, and the program if it is one. The caller must call release after the end. progressed may be called for the
// progress of calls as it arrives; it must not block.
func (c Config) transport(progressed func(*mcp.ProgressNotificationParams)) (way mcp.Transport, program *exec.Cmd, release func() error, err error) {
	s := c.Server
	if s.URL != "" {
		next := c.Client
		if next == nil {
			next = mcphttp.New()
		}
		remote := &mcp.StreamableClientTransport{Endpoint: s.URL, MaxRetries: 2, HTTPClient: &http.Client{
			Transport: &headers{s.Headers, next},
			CheckRedirect: func(*http.Request, []*http.Request) error {
				return http.ErrUseLastResponse // the headers may have a key, which another address must not get
			},
		}}
		if c.Login != nil {
			remote.OAuthHandler = c.Login
		}
		return remote, nil, func() error { return nil }, nil
	}
	cmd := exec.Command(s.Command[0], s.Command[1:]...)
	cmd.Dir, cmd.Env = s.CWD, process.Environ(c.PassEnv, s.Env)
	cmd.Stderr = &lines{report: func(line string) { c.Log.Info("mcp server", "server", s.Name, "stderr", line) }}
	release, err = c.Supervisor.Wrap(cmd)
	return inOrder{&mcp.CommandTransport{Command: cmd, TerminateDuration: endTime}, progressed}, cmd, release, err
}

// inOrder reports the progress of calls while it reads. The library hands notifications to a goroutine of its own, but a result to its call at once. So the
// result of a call would overtake progress that came before it, which then is of no call any more. A connection over HTTP cannot be wrapped like
// this: the library calls methods of it that it does not export. There the last progress of a call can still be lost.
type inOrder struct {
	mcp.Transport
	progressed func(*mcp.ProgressNotificationParams)
}

// Connect implements [mcp.Transport].
func (t inOrder) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return orderedConn{c, t.progressed}, nil
}

type orderedConn struct {
	mcp.Connection
	progressed func(*mcp.ProgressNotificationParams)
}

// Read implements [mcp.Connection]. What it cannot decode is for the library, which refuses it.
func (c orderedConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		m, err := c.Connection.Read(ctx)
		r, ok := m.(*jsonrpc.Request)
		if err != nil || !ok || r.IsCall() || r.Method != "notifications/progress" {
			return m, err
		}
		var p mcp.ProgressNotificationParams
		if json.Unmarshal(r.Params, &p) != nil {
			return m, nil
		}
		c.progressed(&p)
	}
}

// headers adds the operator's headers to each request.
type headers struct {
	add map[string]string
	to  http.RoundTripper
}

func (h *headers) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range h.add {
		r.Header.Set(name, value)
	}
	answer, err := h.to.RoundTrip(r)
	// A server that was restarted does not know the session, and must answer 404 (specification: transports, session
	// management). The reference implementation for Node answers 400.
	if err == nil && answer.StatusCode == http.StatusBadRequest && r.Header.Get("Mcp-Session-Id") != "" {
		answer.StatusCode = http.StatusNotFound
	}
	return answer, err
}

// maxLine is the number of bytes that a line of a server's standard error may have in the log.
const maxLine = 4 << 10

// lines splits what is written to it, and reports each line. Of a long line it reports the beginning. One goroutine writes to it.
type lines struct {
	report  func(string)
	pending []byte
	skip    bool // the rest of a line that was reported
	newest  atomic.Pointer[string]
}

// last is the last line that was reported. Any goroutine may call it.
func (w *lines) last() string {
	if line := w.newest.Load(); line != nil {
		return *line
	}
	return ""
}

func (w *lines) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		line, rest, whole := bytes.Cut(p, []byte("\n"))
		if !w.skip {
			w.pending = append(w.pending, line[:min(len(line), maxLine-len(w.pending))]...)
		}
		if !w.skip && (whole || len(w.pending) == maxLine) {
			if text := bytes.TrimSpace(w.pending); len(text) > 0 {
				line := string(bytes.ToValidUTF8(text, []byte("\uFFFD")))
				w.newest.Store(&line)
				w.report(line)
			}
			w.pending, w.skip = w.pending[:0], true
		}
		if whole {
			w.skip = false
		}
		p = rest
	}
	return n, nil
}
