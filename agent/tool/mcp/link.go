package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/thinkd/thinkd/agent/tool/mcphttp"
	"github.com/thinkd/thinkd/agent/tool/mcplogin"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/provider"
)

// link is one life of a server.
type link struct {
	config Config
	ctx    context.Context // ends when the server has to end
	stop   context.CancelFunc

	ready   chan struct{} // closed when the server runs, or err says why it does not
	err     error
	program *exec.Cmd // nil: the server is at an address
	stderr  *lines    // of program
	session *mcp.ClientSession
	gone    chan struct{} // closed when run returns

	changed atomic.Bool   // the server says that its list has changed
	listing chan struct{} // a lock on known; a channel, so that waiting for it ends with a context
	known   listing
	prompts atomic.Pointer[[]toolhost.Prompt] // of known; nil: nothing was listed yet

	mu       sync.Mutex
	last     int
	progress map[string]func(string) // of calls that run, by token
}

// newLink returns a link that ends with ctx. It starts nothing.
func newLink(ctx context.Context, c Config) *link {
	l := &link{config: c, ready: make(chan struct{}), gone: make(chan struct{}), listing: make(chan struct{}, 1), progress: make(map[string]func(string))}
	l.ctx, l.stop = context.WithCancel(ctx)
	return l
}

// ended reports whether the link cannot be used any more.
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

// run is the link's whole life. host is the context of newLink. What it starts are goroutines of the group.
func (l *link) run(host context.Context, group *sync.WaitGroup) {
	defer close(l.gone)
	defer l.stop()
	log := l.config.Log.With("server", l.config.Server.Name)
	way, program, release, err := l.config.transport(l.progressed)
	if err != nil {
		l.err = fmt.Errorf("cannot start the program: %w", err)
		log.Warn("an mcp server did not start", "err", err)
		close(l.ready)
		return
	}
	l.program = program
	if program != nil {
		l.stderr, _ = program.Stderr.(*lines)
	}
	end := sync.OnceFunc(func() {
		if err := release(); err != nil {
			log.Warn("an mcp server's processes", "err", err)
		}
	})
	defer end()
	tooLate := time.AfterFunc(startTime, l.stop)
	session, err := l.client().Connect(l.ctx, way, nil)
	if err == nil {
		l.session = session
		_, err = l.current(l.ctx)
	}
	if !tooLate.Stop() && host.Err() == nil {
		err = fmt.Errorf("it was not ready after %s", startTime)
	}
	if err != nil {
		l.err = l.unusable(err)
		log.Warn("an mcp server did not start", "err", l.err)
	}
	close(l.ready)
	if session == nil {
		return
	}
	if err == nil {
		over := make(chan error, 1)
		group.Go(func() { over <- session.Wait() }) // ends with the connection, at the latest by Close below
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

// client is this program as the server sees it. It offers no model and no person to ask.
func (l *link) client() *mcp.Client {
	log := l.config.Log.With("server", l.config.Server.Name)
	can := &mcp.ClientCapabilities{}
	if l.config.Root != "" {
		//lint:ignore SA1019 servers of earlier versions ask for roots, and have no other way to learn the folders
		can.RootsV2 = &mcp.RootCapabilities{}
	}
	c := mcp.NewClient(&mcp.Implementation{Name: "thinkd", Version: l.config.Version}, &mcp.ClientOptions{
		Capabilities: can,
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			l.changed.Store(true) // the list is read when it is needed: a handler must not wait for an answer
			log.Info("the tools of an mcp server changed; sessions keep theirs")
		},
		PromptListChangedHandler:    func(context.Context, *mcp.PromptListChangedRequest) { l.changed.Store(true) },
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { l.progressed(r.Params) },
	})
	if root := l.config.Root; root != "" {
		path := filepath.ToSlash(root)
		if !strings.HasPrefix(path, "/") { // a volume of Windows
			path = "/" + path
		}
		//lint:ignore SA1019 servers of earlier versions ask for roots, and have no other way to learn the folders
		c.AddRoots(&mcp.Root{Name: filepath.Base(root), URI: (&url.URL{Scheme: "file", Path: path}).String()})
	}
	return c
}

// current is what the server offers now. A server that does not answer is stopped.
func (l *link) current(ctx context.Context) (listing, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	select {
	case l.listing <- struct{}{}:
		defer func() { <-l.listing }()
	case <-ctx.Done():
		return listing{}, context.Cause(ctx)
	}
	if l.changed.Swap(false) || l.known.actions == nil {
		known, err := list(ctx, l.session, l.config)
		if err != nil {
			l.changed.Store(true)
			if !errors.Is(ctx.Err(), context.Canceled) { // the caller has not given up
				l.stop()
			}
			return listing{}, l.unusable(err)
		}
		l.known = known
		l.prompts.Store(&known.prompts)
	}
	return l.known, nil
}

// unusable says why the server cannot be asked. It hides the types of err, which would look like errors of a call, except for a missing
// login.
func (l *link) unusable(err error) error {
	if need, ok := errors.AsType[*mcplogin.NeededError](err); ok {
		return need
	}
	if private, ok := errors.AsType[*mcphttp.PrivateError](err); ok {
		return errors.New(private.Error()) // without the library's words around it, which have the address twice
	}
	reason := err.Error()
	if l.program != nil && errors.Is(err, mcp.ErrConnectionClosed) {
		reason = "the program ended before it answered"
	}
	if l.stderr != nil {
		if last := l.stderr.last(); last != "" {
			reason += ": " + last
		}
	}
	return errors.New(reason)
}

var errBroken = errors.New("the connection ended in the call")

// call runs a call, and cancels it when ctx ends.
func (l *link) call(ctx context.Context, run action, input json.RawMessage, progress func(string)) (provider.ToolResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	token := l.expect(progress)
	defer l.forget(token)
	result, err := run(ctx, l.session, input, token)
	if err == nil {
		return result, nil
	}
	if e, refused := errors.AsType[*jsonrpc.Error](err); refused && e.Code != undelivered {
		return provider.ToolResult{}, err
	}
	if l.ctx.Err() != nil || ctx.Err() == nil { // the caller has not cancelled it: the connection is broken
		l.stop()
		if need, ok := errors.AsType[*mcplogin.NeededError](err); ok {
			return provider.ToolResult{}, need
		}
		if !errors.Is(err, mcp.ErrSessionMissing) {
			err = fmt.Errorf("%w: %v", errBroken, err) // %v: it must not look like an error of the server
		}
	}
	return provider.ToolResult{}, err
}

// undelivered is the code of the library's own error for a message without an answer over HTTP.
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

// progressed reports progress of a call as a line. It holds the lock meanwhile, so that nothing is reported about a call that has
// ended.
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
	if report := l.progress[token]; report != nil {
		report(line + "\n")
	}
}
