package link_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	"go.uber.org/goleak"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/rpc"
	"github.com/thinkd/thinkd/rpc/auth"
	"github.com/thinkd/thinkd/rpc/cluster/link"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/conntest"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/mem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const model = "anthropic/claude-opus-4-6"

// cluster is nodes in this process over one store.
type cluster struct {
	t     *testing.T
	by    *authority
	store *mem.Store
	model *scripted

	mu     sync.Mutex
	serves map[session.ID]string // by which node; others are where they are asked for
	asked  []session.ID          // to Serving
	nodes  map[string]*node
	gone   map[string]bool
	tokens map[string]auth.Grant // API tokens, by id
	late   time.Duration         // of the clocks of the nodes
	await  time.Duration         // how long requests wait for a session
	moves  map[session.ID]string // where sessions go when they are asked for the third time
}

// node is one of them.
type node struct {
	c        *cluster
	name     string
	address  string
	ahead    time.Duration // of its clock
	identity *link.Identity
	files    link.Files
	group    *agent.Group
	server   *rpc.Server
	edge     *link.Edge
	end      func() // of its links from other nodes
}

// placed is the store as a node has it: it cannot claim a session that another node serves.
type placed struct {
	*mem.Store
	n *node
}

func (p placed) For(o session.Owner) session.Sessions { return placedSessions{p.Store.For(o), p.n} }

type placedSessions struct {
	session.Sessions
	n *node
}

func (p placedSessions) Claim(ctx context.Context, id session.ID) (session.Log, error) {
	c := p.n.c
	c.mu.Lock()
	by := cmp.Or(c.serves[id], p.n.name)
	c.mu.Unlock()
	if by != p.n.name {
		return nil, &session.ElsewhereError{Node: by}
	}
	return p.Sessions.Claim(ctx, id)
}

// scripted runs a script for each call.
type scripted struct {
	calls chan func(ctx context.Context, yield func(provider.Event) bool)
}

func (*scripted) Wire(*provider.Request) (json.RawMessage, error) { return json.RawMessage("{}"), nil }

func (m *scripted) Stream(ctx context.Context, _ *provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		call := <-m.calls
		call(ctx, func(e provider.Event) bool { return yield(e, nil) })
		if ctx.Err() != nil {
			yield(nil, context.Cause(ctx))
		}
	}
}

// says is a call that says one text.
func says(text string) func(context.Context, func(provider.Event) bool) {
	return func(_ context.Context, yield func(provider.Event) bool) {
		_ = yield(provider.Begin{Block: provider.Text{}}) && yield(provider.Delta{Text: text}) && yield(provider.End{Block: provider.Text{Text: text}}) &&
			yield(provider.Stop{Reason: provider.StopEndTurn})
	}
}

// calls is a call of the model that calls a tool.
func calls(name string) func(context.Context, func(provider.Event) bool) {
	return func(_ context.Context, yield func(provider.Event) bool) {
		call := provider.ToolCall{ID: "c1", Name: name, Input: json.RawMessage(`{}`)}
		_ = yield(provider.Begin{Block: provider.ToolCall{ID: "c1", Name: name}}) && yield(provider.End{Block: call}) &&
			yield(provider.Stop{Reason: provider.StopToolUse})
	}
}

// grows is a call that says pieces as they come, until the channel is closed or the call ends.
func grows(pieces <-chan string) func(context.Context, func(provider.Event) bool) {
	return func(ctx context.Context, yield func(provider.Event) bool) {
		all := ""
		if !yield(provider.Begin{Block: provider.Text{}}) {
			return
		}
		for {
			select {
			case piece, more := <-pieces:
				if !more {
					_ = yield(provider.End{Block: provider.Text{Text: all}}) && yield(provider.Stop{Reason: provider.StopEndTurn})
					return
				}
				all += piece
				if !yield(provider.Delta{Text: piece}) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// newCluster has the nodes a, b and so on.
func newCluster(t *testing.T, names ...string) *cluster {
	c := &cluster{t: t, by: newAuthority(t), store: mem.New(), model: &scripted{calls: make(chan func(context.Context, func(provider.Event) bool), 16)},
		serves: make(map[session.ID]string), nodes: make(map[string]*node), gone: make(map[string]bool), tokens: make(map[string]auth.Grant), moves: make(map[session.ID]string)}
	for _, name := range names {
		c.start(name)
	}
	return c
}

func (c *cluster) start(name string) *node {
	t := c.t
	n := &node{c: c, name: name}
	n.identity, n.files = c.by.identity(name)
	n.identity.SetClock(n.now)
	catalog, err := registry.New([]registry.Provider{{ID: "anthropic", Vendor: "anthropic"}})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	if n.group, err = agent.NewGroup(context.Background(), agent.Config{Store: placed{c.store, n}, Catalog: catalog, Log: log,
		Provider: func(string) provider.Provider { return c.model }}); err != nil {
		t.Fatal(err)
	}
	config := link.Config{Nodes: view{c, n}, Identity: n.identity, Run: 1, Limit: 32 << 20, Wait: c.await, Log: log, Now: n.now}
	n.edge = link.NewEdge(config)
	n.server = rpc.NewServer(rpc.Config{Router: n.edge, Config: service.Config{Log: log, Sessions: service.AgentsOf(n.group), Catalog: n.group.Config().Catalog,
		Settings: new(registry.Settings), Providers: func() []service.ProviderStatus { return nil },
		DefaultModel: func(session.Owner) session.ModelRef {
			return session.ModelRef{Provider: "anthropic", ID: "claude-opus-4-6"}
		}}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n.address = l.Addr().String()
	owner := &link.Owner{Config: config, Confirm: c.token, Serve: n.server.ServeLink}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	testgo.Go(t, func() { ended <- owner.Run(ctx, l) }) // awaited by end
	n.end = sync.OnceFunc(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the links of %s: %v", name, err)
		}
	})
	c.mu.Lock()
	c.nodes[name] = n
	c.mu.Unlock()
	t.Cleanup(func() {
		n.end()
		n.edge.Close()
		n.group.Close()
	})
	return n
}

func (n *node) now() time.Time {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	return time.Now().Add(n.c.late + n.ahead)
}

// setClock has the clock of a node jump.
func (n *node) setClock(ahead time.Duration) {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	n.ahead = ahead
}

// wait has an hour pass on the clocks of the nodes.
func (c *cluster) wait() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.late += time.Hour
}

func (c *cluster) token(id string) (auth.Grant, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g, ok := c.tokens[id]
	return g, ok
}

// move has a node serve a session.
func (c *cluster) move(id session.ID, to string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.serves[id] = to
}

// take has a node claim a session from the one that serves it, which notices that when it is to store something.
func (c *cluster) take(id session.ID, by *node) {
	c.t.Helper()
	from := c.nodes[c.serves[id]]
	c.move(id, by.name)
	if err := by.group.Open(c.t.Context(), session.Ref{Owner: session.Operator, ID: id}); err != nil {
		c.t.Fatal(err)
	}
	err := from.group.For(session.Operator).Do(c.t.Context(), id, func(a *agent.Agent) error {
		_, err := a.Set(c.t.Context(), agent.Change{Title: new("renamed")})
		return err
	})
	if _, elsewhere := errors.AsType[*session.ElsewhereError](err); !elsewhere {
		c.t.Fatalf("%s changes a session that %s has: %v", from.name, by.name, err)
	}
}

func (c *cluster) setGone(name string, gone bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone[name] = gone
}

// view is the cluster as one node sees it.
type view struct {
	c *cluster
	n *node
}

func (v view) Serving(_ context.Context, _ method.Principal, id session.ID) (link.Node, string, bool, error) {
	v.c.mu.Lock()
	defer v.c.mu.Unlock()
	v.c.asked = append(v.c.asked, id)
	if to, ok := v.c.moves[id]; ok && len(v.c.asked) == 3 {
		v.c.serves[id] = to
	}
	name := cmp.Or(v.c.serves[id], v.n.name)
	if name == v.n.name {
		return link.Node{}, "", true, nil
	}
	return link.Node{Name: name, Run: 1}, v.c.nodes[name].address, false, nil
}

func (v view) Present(n link.Node) bool {
	v.c.mu.Lock()
	defer v.c.mu.Unlock()
	return n.Run == 1 && v.c.nodes[n.Name] != nil && !v.c.gone[n.Name]
}

// patience is how long a client waits for a message that does not come.
const patience = 2 * time.Minute

// viewer is a client of a node.
type viewer struct {
	*conntest.Peer
	t     *testing.T
	ids   int
	heard []gjson.Result // and not taken yet
}

func (n *node) connect() *viewer {
	return n.connectWith(func(pipe net.Conn) error { return n.server.Serve(context.Background(), pipe) })
}

func (n *node) connectWith(serve func(net.Conn) error) *viewer {
	v := &viewer{Peer: conntest.Connect(n.c.t, serve), t: n.c.t}
	if err := v.Conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		n.c.t.Fatal(err)
	}
	n.c.t.Cleanup(func() { v.Conn.Close() })
	return v
}

// as connects a client with a grant.
func (n *node) as(l *auth.Lease) *viewer {
	return n.connectWith(func(pipe net.Conn) error {
		return n.server.ServeFrames(l.Context(), l, conn.NewByteFrames(pipe, n.server.MessageBytes()))
	})
}

// editor connects a client that speaks ACP.
func (n *node) editor() *viewer {
	return n.connectWith(func(pipe net.Conn) error {
		lease := auth.NewLease(context.Background(), auth.Grant{Principal: method.Operator(), Valid: context.Background()}, nil)
		defer lease.Close()
		return n.server.ServeEditor(context.Background(), lease, conn.NewByteFrames(pipe, n.server.EditorMessageBytes()))
	})
}

// ask sends a request and returns its answer.
func (v *viewer) ask(name, params string) gjson.Result {
	v.t.Helper()
	return v.answer(v.request(name, params))
}

// request sends a request and returns its id.
func (v *viewer) request(name, params string) string {
	v.t.Helper()
	v.ids++
	id := fmt.Sprintf("%q", fmt.Sprint("r", v.ids))
	v.Send(conntest.Request(id, name, params))
	return id
}

// answer is that to a request.
func (v *viewer) answer(id string) gjson.Result {
	v.t.Helper()
	return v.next(func(m gjson.Result) bool { return !m.Get("method").Exists() && m.Get("id").Raw == id })
}

// told is the next notification or request of a name.
func (v *viewer) told(name string) gjson.Result {
	v.t.Helper()
	return v.next(func(m gjson.Result) bool { return m.Get("method").String() == name })
}

// next is the first message that is wanted and was not taken yet.
func (v *viewer) next(want func(gjson.Result) bool) gjson.Result {
	v.t.Helper()
	if i := slices.IndexFunc(v.heard, want); i >= 0 {
		m := v.heard[i]
		v.heard = slices.Delete(v.heard, i, i+1)
		return m
	}
	for {
		m := gjson.Parse(v.Receive())
		if want(m) {
			return m
		}
		v.heard = append(v.heard, m)
	}
}

// result is ask where nothing goes wrong.
func (v *viewer) result(name, params string) gjson.Result {
	v.t.Helper()
	a := v.ask(name, params)
	if !a.Get("result").Exists() {
		v.t.Fatalf("%s: %s", name, a.Raw)
	}
	return a.Get("result")
}

// of are params that name a session.
func of(id session.ID, more string) string {
	if more != "" {
		more = "," + more
	}
	return fmt.Sprintf(`{"session_id":%q%s}`, id, more)
}

func prompt(text string) string {
	return fmt.Sprintf(`"content":[{"type":"text","text":%q}]`, text)
}

// create makes a session that a node serves.
func (n *node) create(more string) session.ID {
	n.c.t.Helper()
	v := n.connect()
	id := session.ID(v.result("session/new", fmt.Sprintf(`{"model_id":%q%s}`, model, more)).Get("session_id").String())
	n.c.move(id, n.name)
	if err := v.HangUp(); err != nil {
		n.c.t.Fatal(err)
	}
	return id
}
