package jet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/thinkd/thinkd/agent/gate"
	"github.com/thinkd/thinkd/agent/stored"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/jet"
	"github.com/thinkd/thinkd/session/jet/jettest"
	"github.com/thinkd/thinkd/session/lease"
	"github.com/thinkd/thinkd/session/storetest"
)

// spender is a node that spends a quota, and has a session of its own.
type spender struct {
	*jet.Store
	*gate.Gate
	n   int
	log session.Log
	sum *gate.Sum
}

var annOf = session.Owner{Tenant: "acme", User: "ann"}

// spend opens a node on a link.
func spend(t *testing.T, link jet.Link, n, replicas int, q gate.Quota) *spender {
	t.Helper()
	store, err := jet.Open(t.Context(), link, jet.Options{Shards: 1, Replicas: replicas, MaxGrowth: 1 << 20, Node: lease.Node(n)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &spender{Store: store, n: n, sum: gate.NewSum(provider.Usage{})}
	s.Gate = gate.New(gate.Limits{}, gate.Quotas{Of: func(session.Owner) gate.Quota { return q },
		Used: func(ctx context.Context, o session.Owner, from, to session.Day) ([]session.Line, error) {
			return store.Ledger().Lines(ctx, &o, from, to)
		}}, time.Now)
	s.Join(s, func(ctx context.Context, today session.Day) (session.Budgets, error) {
		return store.Ledger().Budgets(ctx, today)
	})
	of := store.For(annOf)
	storetest.Create(t, of, session.Session{ID: storetest.ID(n)})
	s.log = storetest.Claim(t, of, storetest.ID(n))
	return s
}

func (s *spender) Nodes() int                  { return 3 }
func (s *spender) Unbroken(time.Duration) bool { return true }

func (s *spender) ChangeBlock(ctx context.Context, pot *session.Owner, change func([]session.Block) (session.Block, error)) (time.Duration, error) {
	return 0, s.Store.ChangeBlock(ctx, pot, change)
}

// call makes a call in the session, as an agent does: the log has the reservation first, and then the use. The error is that of Enter.
func (s *spender) call(t *testing.T, tokens int) error {
	pass, err := s.Enter(t.Context(), s.asks(tokens))
	if err != nil {
		return err
	}
	if _, err := s.log.Append(t.Context(), session.Entry{Turn: storetest.TurnA, Body: pass.Reserved}); err != nil {
		t.Error(err)
	}
	pass.Settle(provider.Usage{Output: tokens})
	_, err = s.log.Append(t.Context(), session.Entry{Turn: storetest.TurnA, Body: session.Retry{Usage: provider.Usage{Output: tokens}}})
	if s.sum.Logged(); err != nil {
		t.Error(err)
	}
	return nil
}

func (s *spender) asks(tokens int) gate.Call {
	return gate.Call{Owner: annOf, Sum: s.sum, Purpose: session.ForTurn, Usage: provider.Usage{Output: tokens}}
}

// used is what the ledger has of the user, at a node that has just started.
func used(t *testing.T, link jet.Link) (tokens int) {
	t.Helper()
	lines, err := openOne(t, link).Ledger().Lines(t.Context(), &annOf, "2000-01-01", "2999-01-01")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		tokens += l.Usage.Output
	}
	return tokens
}

// untilFull makes calls at all nodes in parallel, until each one is refused.
func untilFull(t *testing.T, tokens int, between func(), nodes ...*spender) (calls int) {
	var made atomic.Int32
	var ends []<-chan struct{}
	for _, n := range nodes {
		ends = append(ends, testgo.Go(t, func() {
			for {
				err := n.call(t, tokens)
				if full := (*gate.Exceeded)(nil); errors.As(err, &full) {
					return
				}
				if err != nil && !errors.Is(err, session.ErrReadOnly) {
					t.Error(err)
					return
				}
				if err == nil && made.Add(1)%20 == 0 && between != nil {
					between()
				}
			}
		}))
	}
	for _, end := range ends {
		<-end
	}
	return int(made.Load())
}

// Three nodes race to one quota. They use all of it, except what each may have free, and not more. A call in the block of its node writes no block.
func TestQuotaOfNodes(t *testing.T) {
	t.Parallel()
	link := jettest.Start(t, 1).Dial()
	var changes atomic.Int32
	counted := counting{link, &changes}
	q := gate.Quota{DayTokens: 10_000}
	nodes := []*spender{spend(t, counted, 1, 1, q), spend(t, counted, 2, 1, q), spend(t, counted, 3, 1, q)}
	calls := untilFull(t, 25, nil, nodes...)
	for _, n := range nodes { // two nodes give back what they have free, and the third one uses it
		for range 61 {
			if err := n.Look(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	calls += untilFull(t, 25, nil, nodes[0])
	sum := used(t, link)
	t.Logf("%d calls used %d of %d tokens, with %d changes of blocks", calls, sum, q.DayTokens, changes.Load())
	if sum != 25*calls || sum > q.DayTokens || sum < q.DayTokens-25 {
		t.Errorf("%d calls used %d of %d tokens", calls, sum, q.DayTokens)
	}
	if n := int(changes.Load()); n > calls {
		t.Errorf("%d changes of blocks for %d calls", n, calls)
	}
}

// counting counts the changes of blocks.
type counting struct {
	jet.Link
	changes *atomic.Int32
}

func (c counting) Request(ctx context.Context, try int, m *nats.Msg) (*nats.Msg, error) {
	if strings.HasPrefix(m.Subject, "thinkd.state.") && strings.HasSuffix(m.Subject, ".q.all") {
		c.changes.Add(1)
	}
	return c.Link.Request(ctx, try, m)
}

// losing loses each third answer to a change of a block, after it is stored.
type losing struct {
	jet.Link
	n *atomic.Int32
}

func (l losing) Request(ctx context.Context, try int, m *nats.Msg) (*nats.Msg, error) {
	answer, err := l.Link.Request(ctx, try, m)
	if strings.Contains(m.Subject, ".q.") && l.n.Add(1)%3 == 0 {
		return nil, errors.New("the test lost this")
	}
	return answer, err
}

// Answers are lost, and the store servers elect other leaders meanwhile. Nothing counts twice, and the quota is not exceeded.
func TestQuotaOverLostAnswers(t *testing.T) {
	t.Parallel()
	testgo.Cost(t)
	servers := jettest.Start(t, 3)
	link := servers.Dial()
	lost := losing{link, new(atomic.Int32)}
	q := gate.Quota{DayTokens: 1500}
	nodes := []*spender{spend(t, lost, 1, 3, q), spend(t, lost, 2, 3, q), spend(t, lost, 3, 3, q)}
	calls := untilFull(t, 25, func() {
		for _, stream := range []string{"thinkd_STATE", "thinkd_LOG_0"} {
			if err := servers.StepDown(stream); err != nil {
				t.Log(err) // an election is on the way
			}
		}
	}, nodes...)
	for _, n := range nodes {
		for range 61 {
			if err := n.Look(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	calls += untilFull(t, 25, nil, nodes[2])
	if sum := used(t, link); sum != 25*calls || sum > q.DayTokens || sum < q.DayTokens-25 {
		t.Errorf("%d calls used %d of %d tokens", calls, sum, q.DayTokens)
	}
	if lost.n.Load() < 3 {
		t.Error("no answer was lost")
	}
}

// A node that is gone leaves its block, until the ledger has what its calls used. Then all of it is there for the others, however often that happens. What its
// calls that no log has had reserved counts as used.
func TestBlocksOfNodesThatAreGone(t *testing.T) {
	t.Parallel()
	link := jettest.Start(t, 1).Dial()
	q := gate.Quota{DayTokens: 10_000}
	left := spend(t, link, 1, 1, q)
	for n := 2; n < 12; n++ {
		dead := spend(t, link, n, 1, q)
		if err := dead.call(t, 10); err != nil {
			t.Fatal(err)
		}
		long := dead.asks(500)
		long.Most = provider.Usage{Output: 2000}
		pass, err := dead.Enter(t.Context(), long)
		if err != nil {
			t.Fatal(err)
		}
		if err := dead.Store.Ledger().Hold(t.Context(), session.Ref{Owner: annOf, ID: storetest.ID(n)}, fmt.Sprint("h", n), pass.Reserved); err != nil {
			t.Fatal(err)
		}
		if err := dead.Store.Flush(t.Context(), annOf); err != nil {
			t.Fatal(err)
		}
		gone := func(node lease.Node) bool { return node == lease.Node(n) }
		rest := q.DayTokens - 510*(n-1)
		if _, err := left.Enter(t.Context(), left.asks(rest)); !errors.As(err, new(*gate.Exceeded)) {
			t.Fatalf("a call of all that is left, and the block of a node: %v", err)
		}
		if err := left.SettleHolds(t.Context(), gone); err != nil {
			t.Fatal(err)
		}
		if kept, err := left.DropBlocks(t.Context(), gone); kept || err != nil {
			t.Fatal(kept, err)
		}
		pass, err = left.Enter(t.Context(), left.asks(rest))
		if err != nil {
			t.Fatalf("after %d nodes: %v", n-1, err)
		}
		pass.Leave()
		if err := left.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if sum := used(t, link); sum != 5100 {
		t.Errorf("the calls used 5100 tokens, and the ledger has %d", sum)
	}
	holds, err := left.Store.Ledger().Holds(t.Context())
	if err != nil || len(holds) > 0 {
		t.Errorf("%d reservations, %v", len(holds), err)
	}
}

// keeper is a node at which a user stores something.
type keeper struct {
	*jet.Store
	*stored.Meter
	ref session.Ref
	log session.Log
}

func keep(t *testing.T, link jet.Link, n int, most int64) *keeper {
	t.Helper()
	store, err := jet.Open(t.Context(), link, jet.Options{Shards: 1, Replicas: 1, MaxGrowth: 1 << 20, Node: lease.Node(n)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	k := &keeper{Store: store, ref: session.Ref{Owner: annOf, ID: storetest.ID(n)}}
	k.Meter = stored.New(store, func(session.Owner) int64 { return most }, k)
	storetest.Create(t, store.For(annOf), session.Session{ID: k.ref.ID})
	k.log = storetest.Claim(t, store.For(annOf), k.ref.ID)
	return k
}

func (k *keeper) Nodes() int                  { return 3 }
func (k *keeper) Unbroken(time.Duration) bool { return true }

func (k *keeper) ChangeStored(ctx context.Context, owner session.Owner, change func([]session.Block) (session.Block, error)) (time.Duration, error) {
	return 0, k.Store.ChangeStored(ctx, owner, change)
}

// fill appends entries until the quota is full.
func (k *keeper) fill(t *testing.T) {
	entries := []session.Entry{{Turn: storetest.TurnA, Body: session.Retry{Message: session.MessageID(strings.Repeat("m", 200))}}}
	for {
		release, err := k.Reserve(t.Context(), annOf, stored.Bytes(entries))
		if errors.As(err, new(*stored.Full)) {
			return
		}
		if errors.Is(err, session.ErrReadOnly) { // the answer was lost three times
			continue
		}
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := k.log.Append(t.Context(), entries...); err != nil {
			t.Error(err)
		}
		k.Add(k.ref, stored.Bytes(entries))
		release()
	}
}

// Three nodes store sessions of one user until the quota is full, and answers to changes of blocks are lost. All that the quota has is stored, and not more.
// Each node counts what the others have stored.
func TestStoredBytesOfNodes(t *testing.T) {
	const most = 20_000
	link := losing{jettest.Start(t, 1).Dial(), new(atomic.Int32)}
	nodes := []*keeper{keep(t, link, 1, most), keep(t, link, 2, most), keep(t, link, 3, most)}
	var ends []<-chan struct{}
	for _, k := range nodes {
		ends = append(ends, testgo.Go(t, func() { k.fill(t) })) // awaited below
	}
	for _, end := range ends {
		<-end
	}
	for range 11 {
		for _, k := range nodes {
			if err := k.Look(t.Context()); err != nil && !errors.Is(err, session.ErrReadOnly) {
				t.Fatal(err)
			}
		}
	}
	nodes[2].fill(t)
	for _, k := range nodes {
		sum, _, err := k.Used(t.Context(), annOf)
		if t.Logf("%d of %d bytes are stored", sum, most); sum > most || sum < most-400 || err != nil {
			t.Errorf("a node counts %d bytes of %d, %v", sum, most, err)
		}
	}
	if link.n.Load() < 3 {
		t.Error("no answer was lost")
	}
}

// outdated is a link whose first connection, from a moment on, leads to a leader that knows nothing newer of the values of an owner.
type outdated struct {
	jet.Link
	mu   sync.Mutex
	is   bool
	knew map[string]*nats.Msg
}

func (o *outdated) Request(ctx context.Context, try int, m *nats.Msg) (*nats.Msg, error) {
	if m.Subject != "$JS.API.STREAM.MSG.GET.thinkd_STATE" || !bytes.HasSuffix(m.Data, []byte(`.\u003e"}`)) {
		return o.Link.Request(ctx, try, m)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if known := o.knew[string(m.Data)]; o.is && known != nil && try == 0 {
		return known, nil
	}
	answer, err := o.Link.Request(ctx, try, m)
	if err == nil && !o.is {
		o.knew[string(m.Data)] = answer
	}
	return answer, err
}

// A node reads the blocks from the leader, and the ledger from one that is outdated. It must not miss what has left a block for the ledger in between.
func TestOutdatedLedger(t *testing.T) {
	link := jettest.Start(t, 1).Dial()
	old := &outdated{Link: link, knew: make(map[string]*nats.Msg)}
	q := gate.Quota{DayTokens: 1000}
	a, b := spend(t, old, 1, 1, q), spend(t, link, 2, 1, q)
	if err := a.call(t, 10); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Store.Ledger().Lines(t.Context(), &annOf, "2000-01-01", "2999-01-01"); err != nil {
		t.Fatal(err)
	}
	old.mu.Lock()
	old.is = true
	old.mu.Unlock()
	if err := a.call(t, 100); err != nil { // which must not be missed either, when this node has written its account
		t.Fatal(err)
	}
	if err := a.Store.Flush(t.Context(), annOf); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Enter(t.Context(), a.asks(900)); !errors.As(err, new(*gate.Exceeded)) {
		t.Errorf("a call of 900 tokens of the 890 that are left: %v", err)
	}
	rest := func(n *spender) { // it gives back what is free
		for range 61 {
			if err := n.Look(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	rest(a)
	if err := b.call(t, 500); err != nil {
		t.Fatal(err)
	}
	rest(b)
	if _, err := a.Enter(t.Context(), a.asks(400)); !errors.As(err, new(*gate.Exceeded)) {
		t.Errorf("a call of 400 tokens of the 390 that are left: %v", err)
	}
	if pass, err := a.Enter(t.Context(), a.asks(300)); err != nil {
		t.Error(err)
	} else {
		pass.Leave()
	}
}

// A node marks its session just before it is gone. Its block stays as long as the mark.
func TestMarkedBeforeGone(t *testing.T) {
	link := jettest.Start(t, 1).Dial()
	q := gate.Quota{DayTokens: 1000}
	left, dead := spend(t, link, 1, 1, q), spend(t, link, 2, 1, q)
	if _, err := dead.Enter(t.Context(), dead.asks(600)); err != nil {
		t.Fatal(err)
	}
	var mark uint64
	gone := func(node lease.Node) bool {
		if mark == 0 {
			var err error
			if mark, err = dead.Mark(t.Context(), session.Ref{Owner: annOf, ID: storetest.ID(2)}, 1); err != nil {
				t.Error(err)
			}
		}
		return node == 2
	}
	if kept, err := left.DropBlocks(t.Context(), gone); !kept || err != nil {
		t.Errorf("kept %v, %v", kept, err)
	}
	if _, err := left.Enter(t.Context(), left.asks(500)); !errors.As(err, new(*gate.Exceeded)) {
		t.Errorf("a call into the block of a node with a mark: %v", err)
	}
	if err := left.Unmark(t.Context(), mark); err != nil {
		t.Fatal(err)
	}
	if kept, err := left.DropBlocks(t.Context(), gone); kept || err != nil {
		t.Errorf("without the mark: kept %v, %v", kept, err)
	}
	if _, err := left.Enter(t.Context(), left.asks(500)); err != nil {
		t.Error(err)
	}
}
