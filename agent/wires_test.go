package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sim"
	_ "github.com/thinkd/thinkd/provider/sim/faces"
	"github.com/thinkd/thinkd/registry"
)

// TestRandomWires leads lives like those of the others through the adapters, to models of all five wire APIs and of each dialect,
// with the strict simulator behind them. It refuses thinking that does not come back as it was signed, calls without a result, and whatever else its
// vendors would. Nothing may be refused, and no repair be needed.
func TestRandomWires(t *testing.T) {
	catalog := registry.Default()
	var all []placed
	for _, s := range seats {
		p := s.place(t, catalog)
		if !slices.ContainsFunc(all, func(other placed) bool { return other.row.Ref() == p.row.Ref() && wayOf(other.row) == wayOf(p.row) }) {
			all = append(all, p)
		}
	}
	r := lead(t, func(t *rapid.T) plan { return drawWires(t, all) })
	var asked []string
	for _, api := range slices.Sorted(maps.Keys(r.asked)) {
		asked = append(asked, fmt.Sprintf("%d of %s", r.asked[api], api))
	}
	t.Logf("models were asked: %s; %d results of calls, %d prompts taken in, %d turns continued, %d forks, %d summaries begun, %d undone and %d kept, %d returns", strings.Join(asked, ", "),
		r.given, r.steered, r.continued, r.forks, r.summaries, r.undone, r.kept, r.followed+r.nothing+r.anew)
	if r.enough() && (len(r.asked) < 5 || r.given == 0 || r.steered == 0 || r.continued == 0 || r.summaries == 0 || r.followed+r.nothing+r.anew == 0) {
		t.Error("the plans do not reach all of these")
	}
	if r.lives >= 100 && (r.forks == 0 || r.kept == 0) { // about seven of each in 100 lives
		t.Error("the plans do not reach forks and summaries that are kept")
	}
}

// drawWires is a life with a few of the models, which mostly call tools, and switches from one to another.
func drawWires(t *rapid.T, all []placed) plan {
	p := plan{wounds: make(map[int]wound), lost: make(map[int]bool)}
	for range rapid.IntRange(1, 4).Draw(t, "models") {
		s := rapid.SampledFrom(all).Draw(t, "model")
		if !slices.ContainsFunc(p.seats, func(other placed) bool { return other.row.Ref() == s.row.Ref() }) { // one way for each
			p.seats = append(p.seats, s)
		}
	}
	for range rapid.IntRange(5, 20).Draw(t, "answers") {
		p.answers = append(p.answers, drawAnswer(t, len(p.answers)))
	}
	p.acts = append([]act{{kind: "attach"}, {kind: "prompt", wait: 20 * time.Millisecond}}, drawActs(t, 8, 20, []string{"prompt", "prompt", "prompt",
		"prompt elsewhere", "prompt elsewhere", "prompt with a level", "prompt with a picture", "model", "model", "set", "set", "steer", "steer", "append", "append", "prompt once", "prompt again",
		"run", "run", "run", "run", "run", "run", "allow", "allow", "allow", "deny", "cancel", "cancel", "crash", "close",
		"compact", "compact", "compact", "uncompact", "uncompact", "pin", "pin", "unpin", "fork before", "fork", "attach", "attach slow", "leave", "leave", "come back", "come back", "come back", "read", "compare", "resume", "continue", "continue", "continue"},
		[]int{0, 1, 5, 20, 100, 100, 2000, 10_000})...)
	for range rapid.IntRange(0, 2).Draw(t, "wounds") {
		p.wounds[rapid.IntRange(1, 60).Draw(t, "append")] = wound(rapid.IntRange(int(readOnly), int(killedWritten)).Draw(t, "wound"))
	}
	return p
}

// drawAnswer is what a model does: it thinks and says a little, or calls tools, and now and then something goes wrong.
func drawAnswer(t *rapid.T, n int) sim.Answer {
	words := func(name string, of ...int) *int { return new(rapid.SampledFrom(of).Draw(t, name)) }
	a := sim.Answer{Thinking: words("thinking", 0, 5, 15, 40), Text: words("text", 0, 1, 10, 30), Blocks: rapid.IntRange(0, 3).Draw(t, "blocks"),
		Redacted: rapid.IntRange(0, 9).Draw(t, "redacted") == 0, Pace: rapid.SampledFrom([]float64{-1, -1, 1000, 100, 10, 1}).Draw(t, "pace"),
		Rounds: 1000}
	a.Tool = rapid.SampledFrom([]string{"", "", "read", "read", "write", "fetch", "fetch", "shell", "none"}).Draw(t, "tool")
	a.Calls = rapid.IntRange(0, 3).Draw(t, "calls")
	switch rapid.IntRange(0, 9).Draw(t, "poison") { // what vendors refuse to see in a history
	case 0:
		a.Tool = rapid.SampledFrom([]string{"read_file<|channel|>commentary", "functions.read", "read the file", strings.Repeat("read", 50), "1st", " ", "lis\u00e9z"}).Draw(t, "invented")
	case 1:
		a.Says = rapid.SampledFrom([]string{"\n\n", " ", "\t\n", "\u200b"}).Draw(t, "spaces")
	case 2:
		a.CallID = fmt.Sprintf(rapid.SampledFrom([]string{"call_" + strings.Repeat("0123456789", 5) + "%d", strings.Repeat("x", 116) + "%d", "functions.read:%d"}).Draw(t, "id"), n)
	}
	switch rapid.IntRange(0, 11).Draw(t, "end") {
	case 0:
		a.Stop = rapid.SampledFrom([]string{"max_tokens", "max_tokens", "refusal"}).Draw(t, "stop")
		a.After = words("after", 0, 1, 3, 8, 20)
	case 1, 2:
		a.Fault = rapid.SampledFrom([]sim.Fault{sim.FaultRateLimit, sim.FaultSpendCap, sim.FaultOverloaded, sim.FaultServer, sim.FaultTimeout,
			sim.FaultConflict, sim.FaultBadRequest, sim.FaultAuth, sim.FaultTooLarge, sim.FaultTooLarge, sim.FaultTooLarge, sim.FaultStall, sim.FaultHTML, sim.FaultJSON, sim.FaultEmpty,
			sim.FaultNoise, sim.FaultWhole, sim.FaultGzip}).Draw(t, "fault")
	case 3, 4:
		a.Fault = rapid.SampledFrom([]sim.Fault{sim.FaultOverloaded, sim.FaultServer, sim.FaultCut, sim.FaultCut, sim.FaultEnd, sim.FaultStall}).Draw(t, "break")
		a.After = words("after", 0, 1, 2, 5, 8, 20)
	}
	return a
}

// wires is a provider whose models are spoken to by their adapters, with the simulator behind all of them. What is asked is
// kept as by the fake.
type wires struct {
	*fake
	server   *sim.Server
	listener *sim.Listener
	line     *http.Transport
	adapters map[way]provider.Provider
}

// placing is a catalog in which the models of a life are spoken to as their seats say.
type placing struct {
	Catalog
	seats []placed
}

func (c placing) Model(providerID, name string) provider.Model {
	for _, s := range c.seats {
		if s.row.Provider == providerID && s.row.ID == name {
			return s.row
		}
	}
	return c.Catalog.Model(providerID, name)
}

// way is how a model is spoken to.
type way struct{ api, dialect string }

func wayOf(m provider.Model) way { return way{m.API, m.Dialect} }

func wire(p plan, f *fake) *wires {
	w := &wires{fake: f, server: sim.New(sim.Config{}), adapters: make(map[way]provider.Provider)}
	w.listener = w.server.Listen()
	w.line = w.listener.Transport()
	for _, s := range p.seats {
		if way := wayOf(s.row); w.adapters[way] == nil {
			w.adapters[way] = s.open(w.line)
		}
	}
	w.server.Script(p.answers...)
	return w
}

func (w *wires) Stream(ctx context.Context, req *provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		w.mu.Lock()
		w.requests = append(w.requests, req)
		w.mu.Unlock()
		w.distinct(req, w.judged(w.adapters[wayOf(req.Model)].Stream(ctx, req)))(yield)
	}
}

func (w *wires) Wire(req *provider.Request) (json.RawMessage, error) {
	return w.adapters[wayOf(req.Model)].Wire(req)
}

func (w *wires) Convert(req *provider.Request) (provider.Conversion, error) {
	return w.adapters[wayOf(req.Model)].(provider.Converter).Convert(req)
}

func (w *wires) Returns(req *provider.Request, b provider.Thinking, late provider.State, calls bool) bool {
	return w.adapters[wayOf(req.Model)].(provider.Returner).Returns(req, b, late, calls)
}

func (w *wires) Cache(before json.RawMessage, req *provider.Request) (provider.CacheState, string) {
	return provider.CacheOf(w.adapters[wayOf(req.Model)], before, req)
}

// end judges what came to the vendors.
func (w *wires) end(returns *returns) error {
	if err := w.listener.Close(); err != nil {
		return err
	}
	w.line.CloseIdleConnections()
	if refusals := w.server.Refusals(); len(refusals) > 0 {
		r := refusals[0]
		var last []byte
		for _, req := range w.server.Requests() {
			if req.Path == r.Path && req.Status == r.Status {
				last = req.Body
			}
		}
		return fmt.Errorf("refused: %+v; the last of these was\n%s", r, last)
	}
	if returns.asked == nil {
		returns.asked = make(map[string]int)
	}
	for _, req := range w.requests {
		if len(req.Repairs) > 0 {
			return fmt.Errorf("a request to %s was sent with the repairs %q", req.Model.Ref(), req.Repairs)
		}
		returns.asked[req.Model.API]++
	}
	return nil
}
