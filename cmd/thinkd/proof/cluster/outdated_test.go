//go:build long && unix

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session/jet"
	"github.com/thinkd/thinkd/session/jet/archive"
	"github.com/thinkd/thinkd/session/jet/jettest"
)

// outdated is a cluster whose servers 1 and 2 can be put back to an earlier state.
type outdated struct {
	*cluster
	stores  *jettest.Processes
	old     string // their files then
	session string
}

// newOutdated has two prompts in the earlier state, and two more now. The node runs on.
func newOutdated(t *testing.T) (o *outdated, n *node, p *proof.Process) {
	t.Helper()
	o = &outdated{stores: jettest.StartProcesses(t, t.TempDir()), old: t.TempDir()}
	o.cluster = begin(t, o.stores, 3)
	o.vendor.ScriptFunc(func(sim.Request) *sim.Answer { return quick() })
	n = o.start("a")
	p = n.door()
	o.session = p.NewSession()
	o.turns(p, "Old 1.", "Old 2.")
	ends(p, n)
	for i := range 3 {
		o.stores.Shutdown(i)
	}
	for i := range 2 {
		if err := os.CopyFS(filepath.Join(o.old, fmt.Sprint(i)), os.DirFS(o.stores.Dir(i))); err != nil {
			t.Fatal(err)
		}
	}
	o.stores.StartAll()
	n = o.start("a")
	p = n.door()
	attach(t, p, o.session)
	o.turns(p, "New 1.", "New 2.")
	return o, n, p
}

func (o *outdated) turns(p *proof.Process, texts ...string) {
	o.t.Helper()
	for _, text := range texts {
		if end := p.Turn(o.session, text); end.Stop != "end_turn" {
			o.t.Fatalf("the turn of %q ends with %+v", text, end)
		}
	}
}

// putBack kills all servers, and starts two with their earlier files, which elect a leader before the third one is back.
func (o *outdated) putBack() {
	o.t.Helper()
	for i := range 3 {
		o.stores.Kill(i)
	}
	for i := range 2 {
		if err := os.RemoveAll(o.stores.Dir(i)); err != nil {
			o.t.Fatal(err)
		}
		if err := os.CopyFS(o.stores.Dir(i), os.DirFS(filepath.Join(o.old, fmt.Sprint(i)))); err != nil {
			o.t.Fatal(err)
		}
		o.stores.Start(i)
	}
	conns := o.stores.Dial(0, 1)
	for k := range 4 {
		o.stores.Leader(conns, fmt.Sprintf("%s_LOG_%d", o.prefix, k))
	}
	o.stores.Start(2)
}

// ask sends a request about a stream until it is answered: a leader may not be there yet. It reads the answer.
func ask(t *testing.T, conns jet.Conns, subject string, question, answer any) {
	t.Helper()
	data, err := json.Marshal(question)
	if err != nil {
		t.Fatal(err)
	}
	since := time.Now()
	for try := 0; ; try++ {
		m, err := conns.Request(t.Context(), try, &nats.Msg{Subject: subject, Data: data})
		if err == nil {
			err = json.Unmarshal(m.Data, answer)
		}
		if err == nil {
			return
		}
		if time.Since(since) > proof.Patience {
			t.Fatalf("%s: %v", subject, err)
		}
		proof.Moment(50 * time.Millisecond)
	}
}

// follow keeps a second copy until the test ends, and returns when it has all messages of all logs.
func (o *outdated) follow() {
	t := o.t
	t.Helper()
	conns := o.stores.Dial(0, 1, 2)
	f := archive.Follower{Link: conns, Asked: conns, Prefix: o.prefix, Dir: t.TempDir(), Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	ctx, stop := context.WithCancel(t.Context())
	done := testgo.Go(t, func() {
		if err := f.Run(ctx); err != nil {
			t.Logf("the second copy: %v", err) // of the streams that have lost messages
		}
	})
	t.Cleanup(func() {
		stop()
		<-done
	})
	for k := range 4 {
		stream := fmt.Sprintf("%s_LOG_%d", o.prefix, k)
		var info struct {
			State struct {
				Last uint64 `json:"last_seq"`
			} `json:"state"`
		}
		ask(t, conns, "$JS.API.STREAM.INFO."+stream, nil, &info)
		if info.State.Last == 0 {
			continue
		}
		var last struct {
			Message struct{ Subject string } `json:"message"`
		}
		ask(t, conns, "$JS.API.STREAM.MSG.GET."+stream, map[string]uint64{"seq": info.State.Last}, &last)
		for since, has := time.Now(), uint64(0); has < info.State.Last; {
			m, err := conns.Request(t.Context(), 0, &nats.Msg{Subject: o.prefix + ".copy", Data: fmt.Appendf(nil, `{"subject":%q}`, last.Message.Subject)})
			var known struct{ Seq uint64 }
			if err == nil && json.Unmarshal(m.Data, &known) == nil {
				has = known.Seq
			}
			if time.Since(since) > proof.Patience {
				t.Fatalf("the copy has sequence %d of %d of %s: %v", has, info.State.Last, stream, err)
			}
			proof.Moment(20 * time.Millisecond)
		}
	}
}

// refusesLost fails the test unless the node reports that the store has lost messages, and refuses prompts.
func (o *outdated) refusesLost(n *node, p *proof.Process) {
	t := o.t
	t.Helper()
	since := time.Now()
	for !strings.Contains(n.log(), "has lost messages") {
		err := p.Call("session/attach", map[string]any{"session_id": o.session}, nil)
		prompted := p.Call("session/prompt", map[string]any{"session_id": o.session, "text": "After the loss."}, nil)
		if prompted == nil {
			t.Fatalf("a prompt is accepted; attach: %v\n%s", err, proof.Excerpt(n.log()))
		}
		if time.Since(since) > proof.Patience {
			t.Fatalf("the loss is not reported; attach: %v; prompt: %v\n%s", err, prompted, proof.Excerpt(n.log()))
		}
		proof.Moment(100 * time.Millisecond)
	}
	t.Logf("the loss is reported after %v", time.Since(since))
	err := p.Call("session/prompt", map[string]any{"session_id": o.session, "text": "After the report."}, nil)
	t.Logf("a prompt is answered with %v", err)
	if err == nil {
		t.Error("after the report, a prompt is accepted")
	}
}

// TestOutdatedCopies puts two of three servers back to an earlier state, so that prompts are gone that were acknowledged. Nodes report the loss, and
// do not go on with the older log: the owner of the session, which knows more than the store, and after its end a node that asks the second copy.
func TestOutdatedCopies(t *testing.T) {
	t.Run("owner", func(t *testing.T) {
		o, n, p := newOutdated(t)
		o.follow()
		o.putBack()
		o.refusesLost(n, p)
		p.House = n.House
		p.Kill()
	})
	t.Run("another node", func(t *testing.T) {
		o, n, p := newOutdated(t)
		o.follow()
		p.House = n.House
		p.Kill()
		o.putBack()
		b := o.start("b")
		bt := b.door()
		o.refusesLost(b, bt)
		bt.House = b.House
		bt.Kill()
	})
}
