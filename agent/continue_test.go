package agent

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

var cutStreams = flag.Int("cutstreams", 7, "how many streams TestContinueAfterEachEvent cuts at each event; at most two for each model of the seats")

// cutter lets an adapter's answers through up to a number of events, and then nothing more until the call is stopped.
type cutter struct {
	provider.Provider
	mu    sync.Mutex
	left  int           // events; negative: all
	reach chan struct{} // closed when there are none left
	asked []*provider.Request
}

func (c *cutter) Stream(ctx context.Context, req *provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		c.mu.Lock()
		c.asked = append(c.asked, req)
		c.mu.Unlock()
		for ev, err := range c.Provider.Stream(ctx, req) {
			if c.cut() {
				<-ctx.Done()
				yield(nil, context.Cause(ctx))
				return
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

func (c *cutter) cut() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.left < 0:
		return false
	case c.left == 0:
		close(c.reach)
		return true
	}
	c.left--
	return false
}

func (c *cutter) let(n int) (reached <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left, c.reach = n, make(chan struct{})
	return c.reach
}

func (c *cutter) Returns(req *provider.Request, b provider.Thinking, late provider.State, calls bool) bool {
	return c.Provider.(provider.Returner).Returns(req, b, late, calls)
}

func (c *cutter) Convert(req *provider.Request) (provider.Conversion, error) {
	return c.Provider.(provider.Converter).Convert(req)
}

// cutFigures counts what happened.
type cutFigures struct {
	streams, cuts, nothing, prefilled, tools int
	actions                                  map[provider.ContinueAction]int
	apis                                     map[string]int // streams of each
}

// each cuts a turn after each of its events.
func (f *cutFigures) each(t *testing.T, p placed, name string, shape [][]sim.Part) {
	t.Helper()
	f.streams++
	f.apis[p.row.API]++
	for n := 0; ; n++ {
		var over bool
		var err error
		synctest.Test(t, func(t *testing.T) { over, err = f.cut(t, p, shape, n) })
		if err != nil {
			t.Fatalf("%s, %s, after %d events: %v", p, name, n, err)
		}
		if over {
			return
		}
	}
}

func (f *cutFigures) log(t *testing.T, what string) {
	var of []string
	for _, api := range slices.Sorted(maps.Keys(f.apis)) {
		of = append(of, fmt.Sprintf("%d of %s", f.apis[api], api))
	}
	t.Logf("%d %s (%s), %d cuts: 0 refusals, %d tools run and none twice, no doubled words, %d texts prefilled, %d cuts with nothing left to continue; blocks: %v",
		f.streams, what, strings.Join(of, ", "), f.cuts, f.tools, f.prefilled, f.nothing, f.actions)
}

// TestContinueAfterEachEvent cuts turns of models of all wire APIs after each event of their streams, and continues them. The
// simulators refuse nothing, no call of a tool runs twice, each text stands once in what models are sent after that, and as much
// thinking goes back as the parts say.
func TestContinueAfterEachEvent(t *testing.T) {
	catalog := registry.Default()
	var list []seat
	for _, api := range []string{"messages", "responses", "chat", "gemini", "ollama", "converse", "cohere"} {
		n := 0
		for _, s := range slices.Concat([]seat{{model: "claude-budget", level: provider.Off}, {model: "deepseek", level: provider.Off}}, seats) {
			if s.place(t, catalog).row.API == api && (n < (*cutStreams+6)/7 || *cutStreams > len(seats)) {
				list = append(list, s)
				n++
			}
		}
	}
	figures := cutFigures{actions: make(map[provider.ContinueAction]int), apis: make(map[string]int)}
	for figures.streams < *cutStreams {
		round := figures.streams
		for i, s := range list {
			if figures.streams == *cutStreams {
				break
			}
			p := s.place(t, catalog)
			shape := (round + i) % len(cutShapes)
			figures.each(t, p, fmt.Sprintf("shape %d", shape), cutShapes[shape])
		}
	}
	figures.log(t, "streams")
	if len(figures.apis) != 7 || figures.prefilled == 0 || figures.tools == 0 || figures.actions[provider.ContinueKept] == 0 || figures.actions[provider.ContinueAgain] == 0 {
		t.Error("the streams do not reach all of these")
	}
}

// cutShapes are turns: the answers to the calls that they make.
var cutShapes = [][][]sim.Part{
	{{{Kind: sim.Thinking, Text: "Both dates count."}, {Kind: sim.Text, Text: "Alpha bravo charlie delta."}}},
	{{{Kind: sim.Thinking, Text: "I should look."}, {Kind: sim.Text, Text: "Echo foxtrot golf."}, {Kind: sim.Call, Name: "look", Input: json.RawMessage(`{"at":"a"}`)}},
		{{Kind: sim.Thinking, Text: "It says so."}, {Kind: sim.Text, Text: "Hotel india juliett."}}},
	{{{Kind: sim.Thinking, Text: "Two of them."}, {Kind: sim.Call, Name: "look", Input: json.RawMessage(`{"at":"b"}`)}, {Kind: sim.Call, Name: "look", Input: json.RawMessage(`{"at":"c"}`)}},
		{{Kind: sim.Text, Text: "Kilo lima mike."}}},
}

// cutTools are the tools that a turn calls. Each takes a place.
func cutTools(shape [][]sim.Part) (list []tool.Tool) {
	names := map[string]bool{"look": true}
	for _, parts := range shape {
		for _, part := range parts {
			if part.Kind == sim.Call {
				names[part.Name] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		list = append(list, tool.Tool{Tool: provider.Tool{Name: name, Description: "look at a place",
			Schema: json.RawMessage(`{"type":"object","properties":{"at":{"type":"string"}},"required":["at"]}`)}, Host: tool.MCP, Source: "files", Effect: tool.Read})
	}
	return list
}

// cut runs a turn up to n events and continues it; over says that the turn has fewer.
func (f *cutFigures) cut(t *testing.T, p placed, shape [][]sim.Part, n int) (over bool, err error) {
	var mu sync.Mutex
	ran := make(map[string]int)
	h := &host{run: func(_ context.Context, call provider.ToolCall, _ func(string)) provider.ToolResult {
		mu.Lock()
		defer mu.Unlock()
		ran[string(call.Input)]++
		return said("seen")
	}}
	server := sim.New(sim.Config{})
	listener := server.Listen()
	defer listener.Close()
	api := &cutter{Provider: p.open(listener.Transport())}
	b := newBench(t)
	defer b.close()
	b.group.Close()
	b.cfg.Catalog, b.cfg.Provider = sole{p.row}, func(string) provider.Provider { return api }
	b.cfg.Hosts = func(session.Owner, session.Session) []toolhost.Host { return []toolhost.Host{h} }
	b.start()
	record := session.Session{Settings: session.Settings{Model: sole{p.row}.ref(), Level: p.level}}
	if p.row.Tools {
		record.Tools = cutTools(shape)
	}
	s, err := b.group.For(session.Operator).Create(t.Context(), record)
	if err != nil {
		return false, err
	}
	for _, parts := range shape {
		answer := sim.Answer{}
		for _, part := range parts {
			if part.Kind == sim.Thinking && !p.thinks() || part.Kind == sim.Call && !p.row.Tools {
				continue
			}
			answer.Parts = append(answer.Parts, part)
		}
		if answer.Parts == nil {
			answer.Parts = []sim.Part{{Kind: sim.Text, Text: "November oscar."}}
		}
		server.Script(answer)
	}
	a := b.agent(s.ID)
	reached := api.let(n)
	r, err := a.Prompt(t.Context(), text("Where is it?"))
	if err != nil {
		return false, err
	}
	ended := make(chan error, 1)
	waited, stop := context.WithCancel(t.Context())
	defer stop()
	testgo.Go(t, func() { _, err := a.Wait(waited, r.Turn); ended <- err }) // ends with the turn
	select {
	case err := <-ended:
		return true, err
	case <-reached:
	}
	synctest.Wait() // what came is in the log
	if _, err := a.Cancel(t.Context(), ""); err != nil {
		return false, err
	}
	if err := <-ended; err != nil {
		return false, err
	}
	server.Script(sim.Answer{Parts: []sim.Part{{Kind: sim.Text, Text: "Papa quebec romeo."}}}, sim.Answer{Parts: []sim.Part{{Kind: sim.Text, Text: "Sierra tango."}}})
	api.let(-1)
	f.cuts++
	before := len(server.Requests())
	dry, err := a.Continue(t.Context(), nil, true)
	if err != nil {
		return false, fmt.Errorf("dry run: %w", err)
	}
	stamp := &session.Stamp{ID: "c", Digest: []byte("c")}
	on, err := a.Continue(t.Context(), stamp, false)
	if err != nil {
		return false, err
	}
	e, err := a.Wait(t.Context(), on.Turn)
	if err != nil || e.End.StopReason != session.StopEndTurn && e.End.StopReason != session.StopToolUse {
		return false, fmt.Errorf("the turn that continues ended: %+v, %w", e.End, err)
	}
	again, err := a.Continue(t.Context(), stamp, false)
	if err != nil || again.Turn != on.Turn || fmt.Sprint(again.Parts) != fmt.Sprint(on.Parts) || fmt.Sprint(dry.Parts) != fmt.Sprint(on.Parts) {
		return false, fmt.Errorf("dry run %+v, first %+v, again %+v, %w", dry, on, again, err)
	}
	if _, err := a.Continue(t.Context(), nil, false); !errors.Is(err, ErrFinished) {
		return false, fmt.Errorf("a finished turn is continued: %v", err)
	}
	if e := b.turn(s.ID, "Thanks. And now?"); e.End.StopReason != session.StopEndTurn {
		return false, fmt.Errorf("the prompt after that: %+v", e.End)
	}
	conversion, err := api.Convert(api.asked[before])
	kept := 0
	for _, part := range on.Parts {
		if part.Type == provider.KindThinking && part.Action == provider.ContinueKept {
			kept++
		}
	}
	went := conversion.Kept + conversion.AsText
	if err != nil || went != kept && (went < kept || p.row.API != "gemini") { // Gemini signs texts and calls as well
		return false, fmt.Errorf("of %+v the request kept %+v, %w", on.Parts, conversion, err)
	}
	return false, f.judge(t.Context(), a, server, before, on, ran)
}

func (f *cutFigures) judge(ctx context.Context, a *Agent, server *sim.Server, before int, on Continued, ran map[string]int) error {
	if refusals := server.Refusals(); len(refusals) > 0 {
		return fmt.Errorf("refused: %+v\n%s", refusals[0], server.Requests()[before].Body)
	}
	for input, n := range ran {
		if f.tools += n; n > 1 {
			return fmt.Errorf("the call with %s ran %d times", input, n)
		}
	}
	for _, part := range on.Parts {
		f.actions[part.Action]++
	}
	if len(on.Parts) == 0 {
		f.nothing++
	}
	history, _, err := a.History(ctx, Page{Limit: 100})
	if err != nil {
		return err
	}
	all := server.Requests()
	resumed, last := string(all[before].Body), partsOfOne.ReplaceAllString(string(all[len(all)-1].Body), "")
	shown := ""
	for _, m := range history {
		for _, p := range m.Parts {
			said, ok := p.Block.(provider.Text)
			if !ok || m.Role != provider.Assistant || m.Turn == history[len(history)-1].Turn {
				continue
			}
			if _, joins := joined(on, m); joins {
				f.prefilled++
				if shown += said.Text; strings.Count(last, shown) != 1 || strings.Contains(resumed, "cut off before its end") {
					return fmt.Errorf("the text %q is not one in\n%s", shown, last)
				}
				continue
			}
			shown = said.Text
			if strings.Count(last, said.Text) != 1 && strings.TrimSpace(said.Text) != "" && len(said.Text) > 3 {
				return fmt.Errorf("the text %q stands %d times in\n%s", said.Text, strings.Count(last, said.Text), last)
			}
		}
	}
	return nil
}

// partsOfOne is what stands between the parts of one text of Gemini's.
var partsOfOne = regexp.MustCompile(`"(,"thoughtSignature":"[^"]*")?\},\{"text":"`)

// joined is the text that a message of the continuing turn is a part of.
func joined(on Continued, m Message) (feed.Joined, bool) {
	if m.Turn != on.Turn || m.Joins == nil {
		return feed.Joined{}, false
	}
	return *m.Joins, true
}
