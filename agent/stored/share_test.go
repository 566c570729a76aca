package stored

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
)

// pot is what the nodes of a test have together: the store, and a block each.
type pot struct {
	store  session.Store
	mu     sync.Mutex
	blocks map[*peer]session.Block
	seq    int                   // of the blocks
	shown  map[session.ID]uint64 // changes that all nodes see
}

// peer is one of three nodes. It is a Cluster.
type peer struct {
	*Meter
	of     *pot
	broken atomic.Bool  // it was out of contact
	err    error        // of the next change, which is stored all the same
	dirty  []session.ID // under the lock of the pot: sessions with appends that other nodes do not see yet
}

// peers are three nodes of a user who may store most bytes.
func peers(t *testing.T, most int64) (p *pot, list []*peer) {
	p = &pot{store: store(t), blocks: make(map[*peer]session.Block), shown: make(map[session.ID]uint64)}
	for range 3 {
		n := &peer{of: p}
		n.Meter = New(p.store, func(session.Owner) int64 { return most }, n)
		list = append(list, n)
	}
	return p, list
}

func (*peer) Nodes() int                    { return 3 }
func (n *peer) Unbroken(time.Duration) bool { return !n.broken.Load() }

func (n *peer) Changes(context.Context, session.Owner) (map[session.ID]uint64, error) {
	p := n.of
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range n.dirty {
		p.shown[id]++
	}
	n.dirty = nil
	list := make(map[session.ID]uint64)
	for id, change := range p.shown {
		list[id] = change
	}
	return list, nil
}

func (n *peer) ChangeStored(_ context.Context, _ session.Owner, change func([]session.Block) (session.Block, error)) (time.Duration, error) {
	p := n.of
	for {
		p.mu.Lock()
		at := p.seq
		var others []session.Block
		for other, b := range p.blocks {
			if other != n {
				others = append(others, b)
			}
		}
		p.mu.Unlock()
		b, err := change(others)
		if err != nil {
			return 0, err
		}
		p.mu.Lock()
		if p.seq != at {
			p.mu.Unlock()
			continue
		}
		p.seq++
		p.blocks[n] = b
		p.mu.Unlock()
		err, n.err = n.err, nil
		n.broken.Store(false)
		return 0, err
	}
}

func (p *pot) changes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seq
}

// begin makes a session of ann's, without a record to speak of.
func (n *peer) begin(t *testing.T) (session.ID, session.Log) {
	t.Helper()
	record := session.Session{ID: session.NewID(), Status: session.Idle}
	if err := n.of.store.For(ann).Create(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	log, err := n.of.store.For(ann).Claim(t.Context(), record.ID)
	if err != nil {
		t.Fatal(err)
	}
	return record.ID, log
}

// put stores a text without a reservation, and returns what it takes. Other nodes see it later.
func (n *peer) put(t *testing.T, id session.ID, log session.Log, text string) int64 {
	t.Helper()
	entries := prompt(text)
	if _, err := log.Append(t.Context(), entries...); err != nil {
		t.Error(err)
	}
	n.of.mu.Lock()
	n.dirty = append(n.dirty, id)
	n.of.mu.Unlock()
	n.Add(session.Ref{Owner: ann, ID: id}, Bytes(entries))
	return Bytes(entries)
}

func prompt(text string) []session.Entry {
	return []session.Entry{{Turn: session.NewTurnID(), Body: session.Prompt{Message: session.NewMessageID(), Content: provider.Blocks{provider.Text{Text: text}}}}}
}

// fits reserves bytes and gives them back.
func (n *peer) fits(t *testing.T, bytes int64) bool {
	t.Helper()
	release, err := n.Reserve(t.Context(), ann, bytes)
	if _, full := errors.AsType[*Full](err); full {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	release()
	return true
}

// rest has all nodes give back what they do not need.
func rest(t *testing.T, list ...*peer) {
	t.Helper()
	for _, n := range list {
		for range restLooks {
			if err := n.Look(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Three nodes store at the same time. Together they store what the quota has, except what each may have to spare, and never more.
func TestNodes(t *testing.T) {
	const most = 200_000
	each := Bytes(prompt(strings.Repeat("x", 300)))
	p, list := peers(t, most)
	var sum atomic.Int64
	fill := func(n *peer, id session.ID, log session.Log) {
		for {
			release, err := n.Reserve(context.Background(), ann, each)
			if err != nil {
				if _, full := errors.AsType[*Full](err); !full {
					t.Error(err)
				}
				return
			}
			if now := sum.Add(n.put(t, id, log, strings.Repeat("x", 300))); now > most {
				t.Errorf("%d bytes are stored of %d", now, most)
			}
			release()
		}
	}
	var ends []<-chan struct{}
	for _, n := range list {
		id, log := n.begin(t)
		ends = append(ends, testgo.Go(t, func() { fill(n, id, log) })) // awaited below
	}
	for _, end := range ends {
		<-end
	}
	if slack := int64(3*most/100) + 3*each; sum.Load() < most-slack {
		t.Errorf("the nodes refuse although %d of %d bytes are free", most-sum.Load(), most)
	}
	rest(t, list...)
	for n, b := range p.blocks {
		if b.Bytes != 0 {
			t.Errorf("a node at rest keeps %d bytes, and has appended %d", b.Bytes, n.users[ann].share.appended)
		}
	}
	id, log := list[2].begin(t)
	fill(list[2], id, log)
	if sum.Load() < most-each {
		t.Errorf("the last node refuses although %d of %d bytes are free", most-sum.Load(), most)
	}
	for _, n := range list {
		if used, ok, err := n.Used(t.Context(), ann); used != sum.Load() || !ok || err != nil {
			t.Errorf("a node counts %d, %v, %v; %d bytes are stored", used, ok, err, sum.Load())
		}
	}
}

// A request that fits into the block reads and writes nothing. What a turn stores beyond the block counts for the other nodes after the next look.
func TestBlock(t *testing.T) {
	const most = 100_000
	p, list := peers(t, most)
	one, other := list[0], list[1]
	id, log := one.begin(t)
	if !one.fits(t, 500) {
		t.Fatal("an empty quota is full")
	}
	before := p.changes()
	for range 10 {
		if !one.fits(t, 500) {
			t.Fatal("the block is full")
		}
	}
	if n := p.changes() - before; n != 0 {
		t.Errorf("%d changes for requests that fit into the block", n)
	}
	stored := one.put(t, id, log, strings.Repeat("x", 60_000))
	if err := one.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	if free := most - stored; other.fits(t, free+1) || !other.fits(t, free-2*most/100) {
		t.Errorf("the other node has not %d bytes free", free)
	}
	rest(t, one)
	if !other.fits(t, most-stored) {
		t.Error("the other node does not get what is given back")
	}
}

// A session that is deleted at one node makes room at all.
func TestDeletedElsewhere(t *testing.T) {
	const most = 50_000
	p, list := peers(t, most)
	id, log := list[0].begin(t)
	list[0].put(t, id, log, strings.Repeat("x", most))
	rest(t, list[0])
	if list[1].fits(t, 1) {
		t.Error("a full quota has room")
	}
	if err := p.store.For(ann).Delete(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	p.shown[id]++ // the store keeps a trace of it
	p.mu.Unlock()
	if !list[1].fits(t, most) {
		t.Error("what was deleted counts")
	}
}

// After a change whose result is unknown, or a loss of contact, a node does not rely on its block.
func TestUnknownBlock(t *testing.T) {
	p, list := peers(t, 50_000)
	n := list[0]
	n.err = errors.New("no server answers")
	if _, err := n.Reserve(t.Context(), ann, 10_000); err == nil || errors.As(err, new(*Full)) {
		t.Errorf("the error of the change is %v", err)
	}
	if b := p.blocks[n].Bytes; b < 10_000 {
		t.Errorf("the block that is stored has %d bytes", b)
	}
	if err := n.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	if b := p.blocks[n].Bytes; b > 500 {
		t.Errorf("after a look the block has %d bytes", b)
	}
	if !n.fits(t, 100) {
		t.Error("the quota is full")
	}
	before := p.changes()
	n.broken.Store(true)
	if !n.fits(t, 100) || p.changes() == before {
		t.Error("a block from before a loss of contact is relied on")
	}
}
