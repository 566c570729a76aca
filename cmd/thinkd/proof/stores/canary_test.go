package stores

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/cmd/thinkd/telemetry/otlp/otlptest"
	"github.com/thinkd/thinkd/provider/sim"
)

// kept are sessions by what they keep. Each has canaries of its own: what its models think and say, and what its user says.
var kept = []struct {
	name  string // a word of the prompts
	model string
	other string // another model that the session may call
	words []string

	thinking, rest bool // the canary of thinking, and those of prompts and answers, are in files
}{
	{"full-1", "anthropic/claude-opus-5-5", "openai/gpt-5.5", nil, true, true},
	{"opaque-1", "anthropic/claude-opus-5-5", "openai/gpt-5.5", []string{"thinking_storage", "opaque"}, false, true},
	{"opaque-2", "openai/gpt-5.5", "anthropic/claude-haiku-4-5-20251001", []string{"thinking_storage", "opaque"}, false, true},
	{"none-1", "openai/gpt-5.5", "anthropic/claude-opus-5-5", []string{"thinking_storage", "none"}, false, true},
	{"none-2", "anthropic/claude-opus-5-5", "openai/gpt-5.5", []string{"thinking_storage", "none"}, false, true},
	{"memory-1", "anthropic/claude-opus-5-5", "openai/gpt-5.5", []string{"ephemeral", "true"}, false, false},
}

var nameOf = regexp.MustCompile(`(full|opaque|none|memory)-[0-9]`)

func canary(part, name string) string { return "canary of the " + part + " of " + name }

var canaryRounds = flag.Int("canaryrounds", 2, "how many rounds TestCanaries has; each ends with a kill")

// TestCanaries streams canaries in thinking, text and prompts, with calls of tools, over kills in the middle of thinking that are
// continued, changes of the model, forks, summaries, searches, exports and backups. No byte of what a session does not keep is in any file,
// none of any session is in telemetry, and no vendor refuses a request.
//
// Each round prompts all sessions. The short form takes a fork of every second one, so that two rounds have a fork of each.
func TestCanaries(t *testing.T) {
	t.Parallel()
	c := newCanaries(t)
	built := time.Now() // what comes before is mostly the build of the program
	for round := range *canaryRounds {
		c.start(round)
		for i, k := range kept {
			c.open(i)
			if round > 0 {
				c.p.Must("model/set", map[string]any{"session_id": c.sessions[i], "model_id": []string{k.model, k.other}[round%2]}, nil)
			}
			c.useTool(round, i)
			made := []string{c.sessions[i]}
			if (i+round)%2 == 0 || *canaryRounds > 2 {
				made = append(made, c.fork(round, i))
			}
			for _, id := range made {
				c.read(i, id)
			}
		}
		backup := filepath.Join(c.out, fmt.Sprintf("backup-%d", round))
		if b, err := proof.Command(t, c.env, "--data", c.data, "sessions", "backup", backup).CombinedOutput(); err != nil {
			t.Fatalf("backup: %v: %s", err, b)
		}
		c.kill(round)
		scan(t, fmt.Sprintf("after kill %d", round), c.data, c.out)
	}
	for i, k := range kept {
		if asked := k.thinking || strings.HasPrefix(k.name, "none") || k.name == "memory-1"; asked && c.streamed[i] == 0 {
			t.Errorf("%s: no thinking came to the client: the test shows nothing", k.name)
		}
	}
	if c.continued == 0 {
		t.Error("no turn was continued")
	}
	for _, r := range c.vendor.Refusals() {
		t.Errorf("refused: %+v", r)
	}
	c.scanTelemetry()
	t.Logf("%d rounds, %d turns continued, in %v", *canaryRounds, c.continued, time.Since(built).Round(time.Millisecond))
}

// canaries is the run of TestCanaries.
type canaries struct {
	t         *testing.T
	vendor    *sim.Server
	slow      atomic.Bool   // answers come slowly, so that a kill meets one in the middle
	asked     chan struct{} // a token when such an answer begins
	collector otlptest.Collector
	env       []string
	data, out string

	p         *proof.Process
	sessions  []string
	streamed  []int
	continued int
	killed    int // the session whose turn the last kill cut; -1: none
}

func newCanaries(t *testing.T) *canaries {
	c := &canaries{t: t, asked: make(chan struct{}, 1), data: t.TempDir(), out: t.TempDir(), sessions: make([]string, len(kept)), streamed: make([]int, len(kept)), killed: -1}
	proof.Program(t)
	c.vendor, c.env = proof.Simulator(t, sim.Config{})
	for _, pair := range c.env { // the same stand-in speaks both APIs
		if base, ok := strings.CutPrefix(pair, "ANTHROPIC_BASE_URL="); ok {
			c.env = append(c.env, "OPENAI_API_KEY=sk-of-the-test", "OPENAI_BASE_URL="+base+"/v1")
		}
	}
	c.env = append(c.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+proof.Serve(t, &c.collector), "OTEL_BSP_SCHEDULE_DELAY=1", "OTEL_METRIC_EXPORT_INTERVAL=300")
	c.vendor.ScriptFunc(c.answer)
	return c
}

// answer thinks and says the canaries of the session whose name the request has last.
func (c *canaries) answer(r sim.Request) *sim.Answer {
	names := nameOf.FindAllString(string(r.Body), -1)
	if len(names) == 0 {
		return nil
	}
	name := names[len(names)-1]
	thought, said := strings.Repeat(canary("thinking", name)+". ", 40), canary("text", name)+"."
	a := &sim.Answer{Parts: []sim.Part{{Kind: sim.Thinking, Text: thought}, {Kind: sim.Text, Text: said}}}
	last := r.Body[max(0, bytes.LastIndex(r.Body, []byte("Round"))):]
	switch {
	case c.slow.Load():
		a.Pace = 20 // also where the text of thinking is left out
		select {
		case c.asked <- struct{}{}:
		default: // there is one
		}
	case bytes.Contains(last, []byte("list the files")) && !bytes.Contains(last, []byte("result-of-the-tool")):
		a.Parts = append(a.Parts, sim.Part{Kind: sim.Call, Name: "list_files"})
	}
	return a
}

// start runs the daemon. The turn that the last kill cut is continued, unless the session ended with the daemon.
func (c *canaries) start(round int) {
	c.p = proof.Start(c.t, c.data, c.env, "--log-level", "debug")
	if c.killed < 0 || kept[c.killed].name == "memory-1" {
		return
	}
	var on struct {
		Turn string `json:"turn_id"`
	}
	of := map[string]any{"session_id": c.sessions[c.killed]}
	c.p.Must("session/attach", of, nil)
	if err := c.p.Call("session/continue", of, &on); err != nil {
		if refused, _ := errors.AsType[*proof.CallError](err); refused == nil || refused.Code != 1001 {
			c.t.Fatalf("%s: session/continue: %v", kept[c.killed].name, err)
		}
		return // the turn had ended before the kill
	}
	c.continued++
	if end := c.p.Wait("the end of the continued turn", proof.Ended(on.Turn)); end.Stop != "end_turn" {
		c.t.Fatalf("round %d: %s: the continued turn ends with %s: %v", round, kept[c.killed].name, end.Stop, end.Error)
	}
}

// open makes a session, or attaches to it.
func (c *canaries) open(i int) {
	k := kept[i]
	if c.sessions[i] != "" && k.name != "memory-1" {
		c.p.Must("session/attach", map[string]any{"session_id": c.sessions[i]}, nil)
		return
	}
	params := map[string]any{"model_id": k.model, "thinking_level": "high", "display": "summarized", "tools": []any{map[string]any{
		"name": "list_files", "description": "Lists files.", "input_schema": map[string]any{"type": "object"}}}}
	for w := 0; w+1 < len(k.words); w += 2 {
		if params[k.words[w]] = k.words[w+1]; k.words[w+1] == "true" {
			params[k.words[w]] = true
		}
	}
	var made struct {
		ID string `json:"session_id"`
	}
	c.p.Must("session/new", params, &made)
	c.sessions[i] = made.ID
}

// useTool is a turn with a call of a tool.
func (c *canaries) useTool(round, i int) {
	k, id := kept[i], c.sessions[i]
	turn := c.p.Say(id, fmt.Sprintf("Round %d of %s, %s: list the files.", round, k.name, canary("prompt", k.name)))
	begun := c.p.Wait("a call", func(u proof.Update) bool {
		return u.Turn == turn && (u.Method == "tool_start" || u.Method == "turn_end")
	})
	var call struct {
		ID string `json:"call_id"`
	}
	if err := json.Unmarshal(begun.Raw, &call); err != nil || call.ID == "" {
		c.t.Fatalf("%s, round %d: no call: %s %s %v", k.name, round, begun.Method, begun.Stop, begun.Error)
	}
	c.p.Must("tool/result", map[string]any{"session_id": id, "call_id": call.ID,
		"content": []any{map[string]any{"type": "text", "text": "result-of-the-tool"}}}, nil)
	if end := c.p.Wait("the end", proof.Ended(turn)); end.Stop != "end_turn" {
		c.t.Fatalf("%s: the turn ends with %s: %v", k.name, end.Stop, end.Error)
	}
}

// fork makes a fork, summarises it, and prompts it.
func (c *canaries) fork(round, i int) string {
	k := kept[i]
	var forked struct {
		ID string `json:"session_id"`
	}
	c.p.Must("session/fork", map[string]any{"session_id": c.sessions[i]}, &forked)
	c.p.Must("session/attach", map[string]any{"session_id": forked.ID}, nil)
	var compacted struct {
		Compacted bool `json:"compacted"`
	}
	if c.p.Must("session/compact", map[string]any{"session_id": forked.ID}, &compacted); !compacted.Compacted {
		c.t.Errorf("%s: nothing was summarised", k.name)
	}
	if end := c.p.Turn(forked.ID, fmt.Sprintf("Round %d of %s in a fork, %s.", round, k.name, canary("prompt", k.name))); end.Stop != "end_turn" {
		c.t.Fatalf("%s: the fork ends with %s: %v", k.name, end.Stop, end.Error)
	}
	return forked.ID
}

// read looks at what clients can read of a session.
func (c *canaries) read(i int, id string) {
	k := kept[i]
	thinking := k.thinking || !k.rest // a session in memory keeps all, while it is there
	var exported struct{ Text string }
	c.p.Must("session/export", map[string]any{"session_id": id, "format": "markdown", "thinking": true}, &exported)
	if !strings.Contains(exported.Text, canary("text", k.name)) || strings.Contains(exported.Text, canary("thinking", k.name)) != thinking {
		c.t.Errorf("%s: the export has %s", k.name, proof.Excerpt(exported.Text))
	}
	var summaries json.RawMessage
	c.p.Must("session/summaries", map[string]any{"session_id": id}, &summaries)
	if bytes.Contains(summaries, []byte(canary("thinking", k.name))) {
		c.t.Errorf("%s: the summaries are %s", k.name, summaries)
	}
	for part, want := range map[string]bool{"thinking": thinking, "text": true, "prompt": true} {
		var r struct{ Found []struct{ Hits int } }
		c.p.Must("session/search", map[string]any{"session_id": id, "text": canary(part, k.name), "in": []string{"title", "prompt", "thought", "answer", "tool"}}, &r)
		if (len(r.Found) > 0) != want {
			c.t.Errorf("%s: a search for its %s finds %+v, want some: %v", k.name, part, r.Found, want)
		}
	}
}

// kill ends the daemon in the middle of a model's thinking.
func (c *canaries) kill(round int) {
	c.killed = []int{1, 3, 4, 0, 2, 5}[round%len(kept)]
	k := kept[c.killed]
	c.slow.Store(true)
	c.p.Say(c.sessions[c.killed], fmt.Sprintf("Round %d of %s, %s: think slowly.", round, k.name, canary("prompt", k.name)))
	select {
	case <-c.asked:
	case <-time.After(proof.Patience):
		c.t.Fatalf("%s: no model is called", k.name)
	}
	if *canaryRounds > 2 {
		proof.Moment(time.Duration(rand.New(rand.NewPCG(uint64(round), 3)).IntN(900)) * time.Millisecond)
	}
	for _, u := range c.p.Seen() {
		for j, k := range kept {
			if strings.Contains(u.Delta+u.Text, canary("thinking", k.name)) {
				c.streamed[j]++
			}
		}
	}
	c.p.Kill()
	c.slow.Store(false)
	select {
	case <-c.asked: // it was called again
	default:
	}
}

// scanTelemetry looks for the canaries of all sessions in what the daemon sent to the collector.
func (c *canaries) scanTelemetry() {
	taken, faults := c.collector.Requests()
	bytes := 0
	for _, r := range taken {
		bytes += len(r.Body)
		if strings.Contains(r.Body, "canary of the") {
			c.t.Errorf("telemetry at %s has a canary: %s", r.Path, proof.Excerpt(r.Body))
		}
	}
	if len(c.collector.Spans()) == 0 || len(faults) > 0 {
		c.t.Errorf("%d requests of telemetry with %d spans, refused %v", len(taken), len(c.collector.Spans()), faults)
	}
	c.t.Logf("telemetry: %d requests, %d bytes", len(taken), bytes)
}

// scan looks for canaries in the raw bytes of all files.
func scan(t *testing.T, when string, dirs ...string) {
	t.Helper()
	var all []byte
	files := 0
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			files++
			text, err := os.ReadFile(path)
			all = append(append(all, 0), text...)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range kept {
		for part, want := range map[string]bool{"thinking": k.thinking, "text": k.rest, "prompt": k.rest} {
			if n := bytes.Count(all, []byte(canary(part, k.name))); (n > 0) != want {
				t.Errorf("%s: %d canaries of the %s of %s in %d files, want some: %v", when, n, part, k.name, files, want)
			}
		}
	}
	t.Logf("%s: %d files, %d bytes", when, files, len(all))
}
