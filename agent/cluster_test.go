package agent

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/agent/gate"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// blocks is a cluster in which another node has a block of the limits for all sessions.
type blocks struct {
	mu          sync.Mutex
	mine, other session.Block
	slow        chan struct{} // changes wait until it is closed; nil: they do not
}

func (*blocks) Nodes() int                  { return 2 }
func (*blocks) Unbroken(time.Duration) bool { return true }

func (*blocks) Successor(context.Context, session.Ref) string { return "other" }

func (*blocks) Changes(context.Context, session.Owner) (map[session.ID]uint64, error) {
	return nil, nil
}

func (*blocks) ChangeStored(_ context.Context, _ session.Owner, change func([]session.Block) (session.Block, error)) (time.Duration, error) {
	_, err := change(nil)
	return 0, err
}

func (b *blocks) ChangeBlock(_ context.Context, pot *session.Owner, change func([]session.Block) (session.Block, error)) (time.Duration, error) {
	b.mu.Lock()
	other, slow := b.other, b.slow
	b.mu.Unlock()
	if slow != nil {
		<-slow
	}
	mine, err := change([]session.Block{other})
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil && pot == nil {
		b.mine = mine
	}
	return 0, err
}

func (b *blocks) reserved() provider.Money {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mine.Cost
}

// TestBlockOfNode: a turn waits while another node has the rest of a limit. Once the log has what its call used, the node gives its block back.
func TestBlockOfNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := spendBench(t, gate.Limits{})
		defer b.close()
		b.group.Close()
		all := &blocks{other: session.Block{Day: session.DayOf(time.Now()), Cost: provider.MoneyOf(0.9)}}
		b.cfg.Cluster, b.cfg.Limits.Spending = all, limitOf(session.LimitDay, 1)
		b.start()
		b.spent(2000, 2000)
		id := b.session("shop/large", "")
		r := b.prompted(id, text("one"))
		time.Sleep(10 * busyPause)
		check(t, "calls while another node has the rest", b.asked(), 0)
		all.mu.Lock()
		all.other = session.Block{}
		all.mu.Unlock()
		check(t, "the turn", b.outcome(id, r.Turn).End.StopReason, session.StopEndTurn)
		check(t, "what is spent", b.budget().Used, provider.MoneyOf(0.1))
		time.Sleep(2 * giveBackTime)
		if left := all.reserved(); left > provider.MoneyOf(0.01) {
			t.Errorf("%v stay reserved", left.Units())
		}
		time.Sleep(time.Minute)
		check(t, "what is reserved at rest", all.reserved(), provider.Money(0))
		if a := b.asks(id, "why?", func(provider.BlockKind, string) {}); a.Err != nil {
			t.Fatal(a.Err)
		}
		time.Sleep(time.Minute)
		check(t, "what is reserved after a side question", all.reserved(), provider.Money(0))
		check(t, "what is spent", b.budget().Used, provider.MoneyOf(0.2))
	})
}

// A cancel that arrives while a longer answer waits for a larger block ends the model call at once.
func TestCancelDuringReservation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := make(chan struct{})
		b, _ := newShared(t, until(stopped, concat([]any{time.Second}, say(strings.Repeat("word", 3*allowance)))...))
		defer b.close()
		b.group.Close()
		all := new(blocks)
		b.cfg.Catalog, b.cfg.Cluster, b.cfg.Limits.Spending = shop(t), all, limitOf(session.LimitDay, 1)
		b.start()
		id := b.session("shop/large", "")
		r := b.prompted(id, text("x"))
		slow := make(chan struct{})
		all.mu.Lock()
		all.slow = slow
		all.mu.Unlock()
		time.Sleep(2 * time.Second)
		acknowledged := cancelNow(t, b.agent(id), r.Turn, stopped)
		close(slow)
		<-acknowledged
		check(t, "the turn", b.outcome(id, r.Turn).End.StopReason, session.StopCancelled)
	})
}
