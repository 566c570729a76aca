package mcp

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session/tool"
)

// link is one life of a server.
type link struct {
	host *Host
	ctx  context.Context // ends when the server is to end
	stop context.CancelFunc

	ready   chan struct{} // closed when it is up, or err says why it is not
	err     error
	program *exec.Cmd // nil: it is at an address
	session *mcp.ClientSession
	gone    chan struct{} // closed when it is over

	other   atomic.Bool   // the server says that its list is another now
	listing chan struct{} // holds one token: who has it may ask for the list
	known   listing       // of who has the token

	mu       sync.Mutex
	last     int
	progress map[string]func(string) // of calls under way, by token
}

func newLink(h *Host) *link {
	l := &link{host: h, ready: make(chan struct{}), gone: make(chan struct{}), listing: make(chan struct{}, 1), progress: make(map[string]func(string))}
	l.ctx, l.stop = context.WithCancel(h.ctx)
	return l
}

// ended reports whether the link is of no use any more.
func (l *link) ended() bool {
	select {
	case <-l.gone:
		return true
	case <-l.ctx.Done():
		return true
	default:
		return false
	}
}

// run is the link's whole life.
func (l *link) run() {
	defer close(l.gone)
	defer l.stop()
	log := l.host.config.Log.With("server", l.host.config.Server.Name)
	way, program, release, err := l.host.transport()
	if err != nil {
		l.err = fmt.Errorf("mcp server %s: %w: %v", l.host.config.Server.Name, errDown, err)
		log.Warn("an mcp server did not start", "err", err)
		close(l.ready)
		return
	}
	l.program = program
	end := sync.OnceFunc(func() {
		if err := release(); err != nil {
			log.Warn("an mcp server's processes", "err", err)
		}
	})
	defer end()
	tooLate := time.AfterFunc(startTime, l.stop)
	session, err := l.host.client(l).Connect(l.ctx, way, nil)
	if err == nil {
		l.session = session
		_, err = l.current(l.ctx)
	}
	if !tooLate.Stop() && l.host.ctx.Err() == nil {
		err = fmt.Errorf("it was not ready after %s", startTime)
	}
	if err != nil {
		l.err = fmt.Errorf("mcp server %s: %w: %v", l.host.config.Server.Name, errDown, err) // no error of a call, whatever it wraps
		log.Warn("an mcp server did not start", "err", err)
	}
	close(l.ready)
	if session == nil {
		return
	}
	if err == nil {
		over := make(chan error, 1)
		l.host.links.Go(func() { over <- session.Wait() }) // ends with the connection, at the latest by Close below
		select {
		case why := <-over:
			log.Warn("an mcp server exited", "err", why)
		case <-l.ctx.Done():
		}
	}
	l.stop() // calls under way end, for which Close would wait
	late := time.AfterFunc(3*endTime, end)
	defer late.Stop()
	if err := session.Close(); err != nil {
		log.Debug("end of an mcp server", "err", err)
	}
}

// client is us as the server sees us. We have no roots, no model and nobody to ask for it.
func (h *Host) client(l *link) *mcp.Client {
	log := h.config.Log.With("server", h.config.Server.Name)
	return mcp.NewClient(&mcp.Implementation{Name: "thinkd", Version: h.config.Version}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			l.other.Store(true) // asked for when it is needed: a handler must not wait for an answer
			log.Info("the tools of an mcp server changed; sessions keep theirs")
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { l.progressed(r.Params) },
	})
}

// listing is what a server offers.
type listing struct {
	tools []tool.Tool
	names map[string]string // the server's, by ours
}

// current is what the server offers now. A server that cannot tell is of no use any more.
func (l *link) current(ctx context.Context) (listing, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	select {
	case l.listing <- struct{}{}:
		defer func() { <-l.listing }()
	case <-ctx.Done():
		return listing{}, context.Cause(ctx)
	}
	if l.other.Swap(false) || l.known.names == nil {
		known, err := l.list(ctx)
		if err != nil {
			l.other.Store(true)
			if !errors.Is(ctx.Err(), context.Canceled) { // it is not our caller who gave up
				l.stop()
			}
			return listing{}, fmt.Errorf("%w: %v", errDown, err) // no error of a call, whatever it wraps
		}
		l.known = known
	}
	return l.known, nil
}

// call runs a call, and takes it back when ctx ends.
func (l *link) call(ctx context.Context, name string, input json.RawMessage, progress func(string)) (provider.ToolResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	token := l.expect(progress)
	defer l.forget(token)
	params := &mcp.CallToolParams{Name: name, Arguments: input}
	params.SetProgressToken(token)
	result, err := l.session.CallTool(ctx, params)
	if err == nil {
		return resultOf(result), nil
	}
	if e, refused := errors.AsType[*jsonrpc.Error](err); refused && e.Code != undelivered {
		return provider.ToolResult{}, err
	}
	if l.ctx.Err() != nil || ctx.Err() == nil { // not taken back by our caller: the connection is of no use any more
		l.stop()
		if !errors.Is(err, mcp.ErrSessionMissing) {
			err = fmt.Errorf("%w: %v", errBroken, err) // no error of the server's, whatever it wraps
		}
	}
	return provider.ToolResult{}, err
}

// undelivered is the code of the library's own error for a message that did not get its answer over HTTP.
const undelivered = -32005

func (l *link) expect(progress func(string)) (token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	token = strconv.Itoa(l.last)
	l.progress[token] = progress
	return token
}

func (l *link) forget(token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.progress, token)
}

// progressed passes a word of the server on, as a line. It holds the lock meanwhile, so that nothing is told of a call
// that is over.
func (l *link) progressed(p *mcp.ProgressNotificationParams) {
	token, _ := p.ProgressToken.(string)
	line := strconv.FormatFloat(p.Progress, 'g', 6, 64)
	if p.Total > 0 {
		line += "/" + strconv.FormatFloat(p.Total, 'g', 6, 64)
	}
	if p.Message != "" {
		line += " " + p.Message
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if tell := l.progress[token]; tell != nil {
		tell(line + "\n")
	}
}

// headers adds the operator's to each request.
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
	// A server that was started again does not know the session, and has to say 404 (specification: transports, session
	// management). The reference implementation for Node says 400.
	if err == nil && answer.StatusCode == http.StatusBadRequest && r.Header.Get("Mcp-Session-Id") != "" {
		answer.StatusCode = http.StatusNotFound
	}
	return answer, err
}

// direct is the usual way out, with TLS as new as we want it.
func direct() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	t.ForceAttemptHTTP2 = true
	return t
}

// maxLine is in bytes, of a server's standard error.
const maxLine = 4 << 10

// lines tells what is written to it line by line; of a long one the beginning. The program's one reader writes to it.
type lines struct {
	tell    func(string)
	pending []byte
	skip    bool // the rest of a line that was told
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
				w.tell(string(bytes.ToValidUTF8(text, []byte("\uFFFD"))))
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
