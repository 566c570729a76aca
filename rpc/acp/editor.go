package acp

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/thinkd/thinkd/rpc/acp/blocks"
	"github.com/thinkd/thinkd/rpc/acp/option"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/dispatch"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/rpc/wire"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// Server is what the editors of a daemon have in common. It is safe for concurrent use.
type Server struct {
	config  Config
	table   map[string]method.Method[*Editor]
	editors editors
}

// Config has the dependencies of the server of editors.
type Config struct {
	*service.Config
	Version string // of the program
	Encoder wire.Encoder
	Logout  func() error // removes all keys and logins of providers that are stored

	// Login leads a person through the login to a provider whose status has Login; show is called once, with what the person needs: an
	// address, and a code to enter there, empty if there is none. It ends with ctx.
	Login func(ctx context.Context, provider string, show func(url, code string, expires time.Duration)) error
}

// Editor is a client that speaks ACP.
type Editor struct {
	*dispatch.Client
	service.Caller
	server *Server
	native func(name string) (method.Bound, bool) // the methods of the native protocol
	export func(context.Context, session.ID) (string, error)

	greeted bool   // initialize was called
	name    string // that the client gave itself there

	// What it can do, as it said in initialize. Only methods write it. Every other reader is a goroutine that a later method started.
	can clientCapabilities

	logsIn atomic.Bool // a login is running

	prefix string // of the ids of what we ask: a daemon before us has asked under another one

	mu      sync.Mutex
	last    int
	asked   map[string]chan response // by id; each has room for the answer
	threads map[session.ID]*thread
}

// thread is the session as this client follows it, nil if it does not.
func (e *Editor) thread(id session.ID) *thread {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.threads[id]
}

// Open counts the sessions that the editor has open. It is safe for concurrent use.
func (e *Editor) Open() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.threads)
}

// leave ends what other clients' turns see of this one.
func (e *Editor) leave() {
	e.mu.Lock()
	followed := slices.Collect(maps.Keys(e.threads))
	e.mu.Unlock()
	for _, id := range followed {
		e.server.editors.leave(id, e)
	}
}

// lose is forget for a thread whose session is gone: an editor that stays would keep it for as long. The thread's sender calls it.
func (e *Editor) lose(th *thread) {
	e.server.editors.leave(th.id, e)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.threads[th.id] == th {
		delete(e.threads, th.id)
	}
}

// editors are those that follow a session, in the order in which they came.
type editors struct {
	mu   sync.Mutex
	open map[session.ID][]*Editor
}

// Open returns the number of sessions that at least one editor has open.
func (s *Server) Open() int {
	s.editors.mu.Lock()
	defer s.editors.mu.Unlock()
	return len(s.editors.open)
}

func (l *editors) enter(id session.ID, e *Editor) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = make(map[session.ID][]*Editor)
	}
	l.removeLocked(id, e)
	l.open[id] = append(l.open[id], e)
}

func (l *editors) leave(id session.ID, e *Editor) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.removeLocked(id, e)
}

func (l *editors) removeLocked(id session.ID, e *Editor) {
	var rest []*Editor
	for _, other := range l.open[id] {
		if other != e {
			rest = append(rest, other)
		}
	}
	if l.open[id] = rest; rest == nil {
		delete(l.open, id)
	}
}

// find returns the editor that a session's tools use: an editor whose user waits for the turn comes before one that only looks on, and a
// later one before an earlier one. It returns nil if no editor is able. The agent's goroutine calls it too, so it takes no lock that is held
// while an agent is called.
func (l *editors) find(id session.ID, able func(clientCapabilities) bool) *Editor {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found *Editor
	waits := false
	for _, e := range l.open[id] {
		th := e.thread(id)
		if th == nil || !able(e.can) {
			continue
		}
		if asked := th.waits.Load(); asked || !waits {
			found, waits = e, asked
		}
	}
	return found
}

// thread is a session as an editor follows it.
type thread struct {
	e  *Editor
	id session.ID

	mu      sync.Mutex
	prompts map[session.TurnID]method.Reply // requests of this client that are open
	mine    map[session.TurnID]bool         // turns that this client asked for: it shows their prompts itself
	shown   string                          // the options that were sent last

	compacted method.Reply // of a request for a summary; nil: none is open

	started   map[string]string // ids of calls in ACP that were sent and have no result yet, by the vendor's id
	terminals map[string]string // of the client that run a call, by the vendor's id: an id, or empty once it was released unseen

	waits atomic.Bool // some prompt is open

	// What follows belongs to the sender; begin fills it before.
	tools     map[string]tool.Tool
	dir       string            // of the session
	commands  string            // those that were sent last
	troubles  []string          // errors of servers that are not shown yet
	openedIn  string            // the directory that the client named when it opened the session; empty: none
	pending   []json.RawMessage // notifications without a form, for the next update
	calls     map[string][]*toolCall
	questions map[string]*question // by confirm id, or by the id in spends
	spends    string               // the id of the call as which the question about money was sent; empty: none is open
	provider  string               // of the turn that runs
	texts     map[int]bool         // blocks of text of the message that is being written
	thought   string               // the id of the block, if a thought was the last thing that was sent
	summary   string               // the id of a compaction that was sent and is not over
}

// toolCall is a call that was sent to the client and has no result yet.
type toolCall struct {
	id     string // a vendor's own id comes again in another turn; this one does not
	output string // the end of its output so far
	diffs  []blocks.Tool
	search bool // its result is lines of files
}

// question is a question that the client has before it.
type question struct {
	asked  *request
	cancel context.CancelFunc // ends the wait for the answer
}

// sent keeps the options that the client has now, and reports whether they have changed.
func (th *thread) sent(list []option.Option) bool {
	th.mu.Lock()
	defer th.mu.Unlock()
	return th.toldLocked(list)
}

func (th *thread) toldLocked(list []option.Option) bool {
	text := string(compactJSON(list))
	news := text != th.shown
	th.shown = text
	return news
}

// response is the client's answer to what we asked.
type response struct {
	result json.RawMessage
	err    *conn.Error
}

// request is something that the client is asked.
type request struct {
	e      *Editor
	id     string
	answer chan response
}
