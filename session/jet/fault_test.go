//go:build long

package jet_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/nats-io/nats.go"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/jet"
	"github.com/thinkd/thinkd/session/jet/jettest"
	"github.com/thinkd/thinkd/session/storetest"
)

var (
	faultSeed   = flag.Uint64("faultseed", 0, "TestFaults: repeats a run; 0: a random one")
	faultRounds = flag.Int("faultrounds", 3, "TestFaults: how many sessions several nodes fight for")
)

// faulty is a link that loses messages and answers, each in a place of its own: before the server has the message, after it has stored it, or
// between two later requests, when its sender has given it up.
type faulty struct {
	jet.Link
	mu   sync.Mutex
	r    *rand.Rand
	late []*nats.Msg
	lost map[string]int
}

var errLost = errors.New("the test lost this")

func (f *faulty) Request(ctx context.Context, try int, m *nats.Msg) (*nats.Msg, error) {
	f.mu.Lock()
	place := "not"
	if n := f.r.IntN(100); strings.Contains(m.Subject, ".log.") {
		place = []string{"before", "after", "late", "not"}[min(n/8, 3)]
	} else if n < 4 {
		place = "read"
	}
	f.lost[place]++
	late := f.late
	f.late = nil
	if place == "late" {
		f.late = append(f.late, m)
	}
	f.mu.Unlock()
	if place == "before" || place == "late" || place == "read" {
		return nil, errLost
	}
	answer, err := f.Link.Request(ctx, try, m)
	for _, m := range late { // what it is answered does not matter
		if _, err := f.Link.Request(ctx, try, m); err != nil {
			break
		}
	}
	if place == "after" {
		return nil, errLost
	}
	return answer, err
}

// TestFaults has three nodes that fight for sessions, over lost messages, lost answers, late messages and changes of the leader. No acknowledged entry
// is lost, none is there twice, and what the nodes saw is the history of one log with one holder.
func TestFaults(t *testing.T) {
	testgo.Cost(t)
	seed := *faultSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("repeat with -faultseed %d", seed)
	servers := jettest.Start(t, 3)
	conns := servers.Dial()
	for round := range *faultRounds {
		run := &fight{t: t, servers: servers, prefix: fmt.Sprint("f", round)}
		run.run(conns, rand.New(rand.NewPCG(seed, uint64(round))))
	}
}

// fight is one session that several nodes want.
type fight struct {
	t       *testing.T
	servers *jettest.Servers
	prefix  string

	mu  sync.Mutex
	ops []porcupine.Operation
}

// did is what a node asked for, and got is what it heard.
type did struct {
	kind  string // claim, append, read
	epoch uint64
	value int64
}

type got struct {
	outcome string // ok, fenced, unknown
	epoch   uint64
	pos     uint64
	log     string
}

func (f *fight) record(client int, in did, call time.Time, out got) {
	end := time.Now().UnixNano()
	if out.outcome == "unknown" { // it may come about at any time, or never
		end = math.MaxInt64
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ops = append(f.ops, porcupine.Operation{ClientId: client + len(f.ops)*100, Input: in, Output: out, Call: call.UnixNano(), Return: end})
	if len(f.ops) == 15 {
		if err := f.servers.StepDown(f.prefix + "_LOG_0"); err != nil {
			f.t.Logf("no change of the leader: %v", err)
		}
	}
}

func (f *fight) open(link jet.Link) *jet.Store {
	f.t.Helper()
	s, err := jet.Open(f.t.Context(), link, jet.Options{Prefix: f.prefix, Shards: 1, MaxGrowth: 1 << 20, Times: jet.Times{GiveUp: 10 * time.Second, Later: time.Second}})
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

func (f *fight) run(conns jet.Conns, r *rand.Rand) {
	t, id := f.t, storetest.ID(1)
	clean := f.open(conns)
	defer clean.Close()
	storetest.Create(t, clean.For(session.Operator), session.Session{ID: id})
	lost := make(map[string]int)
	var fighting []<-chan struct{}
	for node := range 3 {
		link := &faulty{Link: conns, r: rand.New(rand.NewPCG(r.Uint64(), 1)), lost: make(map[string]int)}
		choice := rand.New(rand.NewPCG(r.Uint64(), 2))
		fighting = append(fighting, testgo.Go(t, func() {
			f.node(node, f.open(link), choice)
			f.mu.Lock()
			defer f.mu.Unlock()
			for place, n := range link.lost {
				lost[place] += n
			}
		}))
	}
	for _, done := range fighting {
		<-done
	}
	call := time.Now()
	var log []string
	for _, e := range storetest.Entries(t, clean.For(session.Operator), id) {
		log = append(log, fmt.Sprint(e.Time))
	}
	f.record(99, did{kind: "read"}, call, got{outcome: "ok", log: strings.Join(log, " ")})
	f.check(log, lost)
}

// node claims, and appends until it is fenced or has enough.
func (f *fight) node(n int, s *jet.Store, r *rand.Rand) {
	ctx, id := f.t.Context(), storetest.ID(1)
	of := s.For(session.Operator)
	value := int64(n+1) * 1000
	for range 4 {
		call := time.Now()
		log, err := of.Claim(ctx, id)
		if err != nil {
			f.record(n, did{kind: "claim"}, call, got{outcome: "unknown"})
			continue
		}
		f.record(n, did{kind: "claim"}, call, got{outcome: "ok", epoch: log.Epoch()})
		for range 1 + r.IntN(3) {
			value++
			call, in := time.Now(), did{"append", log.Epoch(), value}
			pos, err := log.Append(ctx, session.Entry{Time: value, Body: session.Setting{}})
			out := got{outcome: "ok", pos: pos}
			switch {
			case errors.Is(err, session.ErrFenced):
				out.outcome = "fenced"
			case err != nil:
				out.outcome = "unknown"
			}
			f.record(n, in, call, out)
			if err != nil {
				break
			}
		}
	}
	if err := s.Close(); err != nil {
		f.t.Logf("close: %v", err)
	}
}

func (f *fight) check(log []string, lost map[string]int) {
	t := f.t
	outcomes := make(map[string]int)
	for _, op := range f.ops {
		in, out := op.Input.(did), op.Output.(got)
		outcomes[in.kind+" "+out.outcome]++
		if in.kind != "append" {
			continue
		}
		at := slices.Index(log, fmt.Sprint(in.value))
		if out.outcome == "ok" && at != int(out.pos)-1 {
			t.Errorf("entry %d was acknowledged at %d, and is at %d", in.value, out.pos, at+1)
		}
		if out.outcome == "fenced" && at >= 0 {
			t.Errorf("entry %d was refused, and is in the log", in.value)
		}
	}
	sorted := slices.Sorted(slices.Values(log))
	if len(slices.Compact(sorted)) != len(log) {
		t.Errorf("an entry is there twice: %v", log)
	}
	t.Logf("%s: %v, lost %v, %d entries", f.prefix, outcomes, lost, len(log))
	f.fill()
	model := &porcupine.NondeterministicModel{
		Init: func() []any { return []any{state{}} },
		Step: func(s, in, out any) []any { return s.(state).step(in.(did), out.(got)) },
	}
	if result := porcupine.CheckOperationsTimeout(model.ToModel(), f.ops, time.Minute); result != porcupine.Ok {
		t.Errorf("%s: no history of one log explains this: %v", f.prefix, result)
		for _, op := range f.ops {
			t.Logf("%d to %d: %+v %+v", op.Call, op.Return, op.Input, op.Output)
		}
	}
}

// fill adds a claim for each epoch that nobody got. A claim whose answer was lost may be stored, and then another claim behind it, before its node reads
// the log and claims again.
func (f *fight) fill() {
	taken := make(map[uint64]bool)
	begin, highest := f.ops[0].Call, uint64(0)
	for _, op := range f.ops {
		begin = min(begin, op.Call)
		if out := op.Output.(got); op.Input.(did).kind == "claim" && out.outcome == "ok" {
			taken[out.epoch], highest = true, max(highest, out.epoch)
		}
	}
	for epoch := range highest {
		if !taken[epoch] {
			f.ops = append(f.ops, porcupine.Operation{ClientId: 1_000_000 + int(epoch), Input: did{kind: "claim"}, Output: got{outcome: "unknown"},
				Call: begin, Return: math.MaxInt64})
		}
	}
}

// state is that of one log, with one holder.
type state struct {
	claims uint64 // so far
	log    string // the values, in order
}

func (s state) len() uint64 { return uint64(len(strings.Fields(s.log))) }

func (s state) step(in did, out got) (after []any) {
	with := state{s.claims, strings.TrimSpace(fmt.Sprint(s.log, " ", in.value))}
	holds := s.claims == in.epoch+1
	switch in.kind + " " + out.outcome {
	case "claim ok":
		if out.epoch == s.claims {
			after = []any{state{s.claims + 1, s.log}}
		}
	case "claim unknown":
		after = []any{s, state{s.claims + 1, s.log}}
	case "append ok":
		if holds && out.pos == s.len()+1 {
			after = []any{with}
		}
	case "append fenced":
		if !holds {
			after = []any{s}
		}
	case "append unknown":
		if after = []any{s}; holds {
			after = append(after, with)
		}
	case "read ok":
		if out.log == s.log {
			after = []any{s}
		}
	}
	return after
}
