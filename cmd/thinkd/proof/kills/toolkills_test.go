package kills

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/testgo"
)

var (
	toolKillsWanted = flag.Int("toolkills", 8, "how many kills TestToolKills makes; with less than 15 it leaves out its first lanes")
	toolKillsSeed   = flag.Uint64("toolkillseed", 0, "the seed of TestToolKills; 0: any")
)

// toolRounds is how many rounds of tools a task has, of toolCalls calls each.
const toolRounds, toolCalls = 8, 2

// TestToolKills gives models of each wire API, and pairs of models that take turns, a task of eight rounds of two calls
// with thinking between them, and kills the daemon between any two of its events. After each kill the turn is interrupted,
// every call has one result, all that was published as stored is there, and a prompt to go on completes the task. No call runs
// twice, and no stand-in for a vendor refuses anything or needs a repaired request.
func TestToolKills(t *testing.T) {
	t.Parallel()
	seed := *toolKillsSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-toolkillseed %d", seed)
	lanes := [][]string{
		{"claude"}, {"gpt"}, {"deepseek"}, {"gemini"}, {"ollama"},
		{"claude", "gpt"}, {"gpt", "gemini"}, {"gemini", "claude"}, {"deepseek", "claude"}, {"claude", "ollama"},
		{"gpt", "deepseek"}, {"ollama", "gemini"}, {"kimi", "grok"}, {"mistral", "gpt"}, {"glm", "minimax"},
	}
	lanes = lanes[max(0, len(lanes)-*toolKillsWanted):] // the last eight have every model
	var sum taskTally
	t.Cleanup(func() {
		t.Logf("%d kills: %d turns of %d were cut off, %d of them while calls ran; %d results were published, %d tasks were completed",
			sum.kills.Load(), sum.cut.Load(), sum.turns.Load(), sum.running.Load(), sum.results.Load(), sum.done.Load())
		if !t.Failed() && *toolKillsWanted >= 100 && (sum.cut.Load() == 0 || sum.running.Load() == 0 || sum.done.Load() == 0) {
			t.Error("the kills do not fall among the calls")
		}
	})
	for n, models := range lanes {
		t.Run(strings.Join(models, "-"), func(t *testing.T) {
			t.Parallel()
			l := &taskLane{t: t, rng: rand.New(rand.NewPCG(seed, uint64(n))), models: models, data: t.TempDir(), sum: &sum,
				effects: filepath.Join(t.TempDir(), "effects")}
			for range max(*toolKillsWanted/len(lanes), 1) {
				l.live(true)
				if t.Failed() {
					t.Fatalf("-toolkillseed %d", seed)
				}
			}
			l.live(false)
		})
	}
}

type taskTally struct{ kills, turns, cut, running, results, done atomic.Int64 }

// taskLane is a data directory with one task after the other on it.
type taskLane struct {
	t       *testing.T
	rng     *rand.Rand
	models  []string
	data    string
	effects string // a file with a line for each call that ran
	sum     *taskTally

	session string // of the task; empty: it is done
	turns   []string

	mu    sync.Mutex
	acked map[string]string // call id → result that was acknowledged
	seen  map[string]bool   // calls that the client was asked to run
}

// live is one life of the daemon: what the last one left is judged, and the task goes on, to a kill or to its end.
func (l *taskLane) live(kill bool) {
	p := proof.Start(l.t, l.data, nil)
	left := toolRounds
	if l.session != "" {
		left -= l.judge(p)
	}
	if l.session == "" {
		l.begin(p)
		left = toolRounds
	} else {
		p.Must("session/attach", map[string]any{"session_id": l.session}, nil)
	}
	if l.t.Failed() {
		p.Kill()
		return
	}
	after := 1 + l.rng.IntN(20*max(left, 1))
	wait := time.Duration(l.rng.IntN(2000)) * time.Microsecond
	stopped := make(chan struct{})
	var client sync.WaitGroup
	client.Go(testgo.Guard(l.t, func() { l.serve(p, stopped) })) // ends with the daemon, or when it is stopped
	turn := l.prompt(p, left)
	seen := 0
	_, err := p.Find(func(u proof.Update) bool {
		if u.Turn == turn {
			seen++
		}
		return kill && seen >= after || proof.Ended(turn)(u)
	})
	if err != nil {
		l.t.Errorf("the turn does not go on: %v\n%s", err, proof.Excerpt(p.Log()))
	}
	if kill {
		proof.Moment(wait)
		p.Kill()
		l.sum.kills.Add(1)
	}
	close(stopped)
	client.Wait()
	l.learn(p, turn)
	if !kill {
		if done := l.judge(p); done < toolRounds {
			l.t.Errorf("%d rounds of the task are done", done)
		}
		p.End()
	}
	p.Forget()
}

// begin makes the session of a new task.
func (l *taskLane) begin(p *proof.Process) {
	var s struct {
		ID string `json:"session_id"`
	}
	p.Must("session/new", map[string]any{"model_id": "sim/" + l.models[0], "thinking_level": "high", "tools": []any{map[string]any{
		"name": "work", "description": "Does a part of the work.", "effect": "edit", "input_schema": map[string]any{"type": "object",
			"properties": map[string]any{"about": map[string]any{"type": "string"}, "round": map[string]any{"type": "integer"}, "part": map[string]any{"type": "integer"}},
			"required":   []string{"about", "round", "part"}}}}}, &s)
	l.session, l.turns = s.ID, nil
	l.acked, l.seen = map[string]string{}, map[string]bool{}
}

// prompt asks for what is left of the task.
func (l *taskLane) prompt(p *proof.Process, left int) string {
	l.t.Helper()
	marker := fmt.Sprintf("[[sim: tool=work rounds=%d calls=%d thinking=20 text=10 pace=2000]]", left, toolCalls)
	if left == 0 {
		marker = "[[sim: thinking=20 text=10 pace=0]]"
	}
	var r struct {
		Turn string `json:"turn_id"`
	}
	p.Must("session/prompt", map[string]any{"session_id": l.session, "text": "Go on with plans, walls, roofs and gardens. " + marker,
		"model_id": "sim/" + l.models[len(l.turns)%len(l.models)]}, &r)
	l.turns = append(l.turns, r.Turn)
	l.sum.turns.Add(1)
	return r.Turn
}

// serve runs calls as the session's client: each leaves a line in the file, and then its result is given.
func (l *taskLane) serve(p *proof.Process, stopped chan struct{}) {
	for at := 0; ; {
		p.Mu.Lock()
		news, list := p.News, p.Updates
		p.Mu.Unlock()
		for ; at < len(list); at++ {
			if list[at].Method == "tool_start" {
				if err := l.work(p, list[at].Raw, at); err != nil {
					return // the kill; anything else shows as a result that is missing
				}
			}
		}
		select {
		case <-news:
		case <-stopped:
			return
		case <-p.Gone:
			return
		}
	}
}

func (l *taskLane) work(p *proof.Process, params json.RawMessage, at int) error {
	var call struct {
		ID   string `json:"call_id"`
		Host string `json:"host"`
	}
	if err := json.Unmarshal(params, &call); err != nil || call.Host != "client" {
		return err
	}
	f, err := os.OpenFile(l.effects, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintf(f, "%s %s\n", l.session, call.ID)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		l.t.Error(err)
		return err
	}
	result := "done: " + call.ID
	l.mu.Lock()
	l.seen[call.ID] = true
	l.mu.Unlock()
	proof.Moment(time.Duration(at%5) * time.Millisecond)
	err = p.Call("tool/result", map[string]any{"session_id": l.session, "call_id": call.ID,
		"content": []any{map[string]any{"type": "text", "text": result}}}, nil)
	if err == nil {
		l.mu.Lock()
		l.acked[call.ID] = result
		l.mu.Unlock()
	}
	return err
}

// learn takes in what the client of one process received.
func (l *taskLane) learn(p *proof.Process, turn string) {
	open, over := 0, false
	for _, u := range p.Seen() {
		switch u.Method {
		case "tool_start":
			open++
		case "tool_end":
			open--
			l.sum.results.Add(1)
		case "notice":
			if u.Kind == "history_repaired" || u.Kind == "thinking_dropped_by_provider" {
				l.t.Errorf("turn %s: %s", u.Turn, u.Raw)
			}
		case "turn_end":
			if u.Turn == turn && u.Stop != "end_turn" {
				l.t.Errorf("turn %s: %s", u.Turn, u.Raw)
			}
			if over = u.Turn == turn; over && u.Stop == "end_turn" {
				l.sum.done.Add(1)
			}
		}
	}
	if !over {
		l.sum.cut.Add(1)
	}
	if open > 0 {
		l.sum.running.Add(1)
	}
}

// toolMessage is a message as the history has it.
type toolMessage struct {
	ID, Role string
	Turn     string `json:"turn_id"`
	Content  []struct {
		Type    string
		CallID  string `json:"call_id"`
		Failed  bool   `json:"is_error"`
		Signed  bool
		Text    string
		Content []struct{ Text string }
	}
}

// judge holds the history against what clients know, and counts the rounds that are done. A task that is done makes
// place for the next.
func (l *taskLane) judge(p *proof.Process) (rounds int) {
	l.t.Helper()
	for i, turn := range l.turns {
		var end struct {
			Stop string `json:"stop_reason"`
		}
		p.Must("turn/wait", map[string]any{"session_id": l.session, "turn_id": turn}, &end)
		if end.Stop != "interrupted" && (end.Stop != "end_turn" || i < len(l.turns)-1) {
			l.t.Errorf("turn %d ended with %s", i, end.Stop)
		}
	}
	var page struct{ Messages []toolMessage }
	p.Must("session/history", map[string]any{"session_id": l.session, "limit": 1000}, &page)
	found := map[string]string{}
	for i, m := range page.Messages {
		var calls, results []string
		whole := true
		for _, b := range m.Content {
			if b.Type == "tool_call" {
				calls = append(calls, b.CallID)
			}
		}
		if len(calls) == 0 {
			continue
		}
		if i+1 < len(page.Messages) {
			for _, b := range page.Messages[i+1].Content {
				if b.Type != "tool_result" || len(b.Content) != 1 {
					continue
				}
				results = append(results, b.CallID)
				found[b.CallID] = b.Content[0].Text
				whole = whole && !b.Failed
				if b.Failed != strings.HasPrefix(b.Content[0].Text, "interrupted: ") {
					l.t.Errorf("call %s: %v %s", b.CallID, b.Failed, b.Content[0].Text)
				}
			}
		}
		if fmt.Sprint(calls) != fmt.Sprint(results) {
			l.t.Errorf("message %d calls %v, and the results are of %v", i, calls, results)
		}
		if whole && len(calls) == toolCalls {
			rounds++
		}
	}
	for id, result := range l.acked {
		if found[id] != result {
			l.t.Errorf("the result of %s was acknowledged as %q, and is %q", id, result, found[id])
		}
	}
	for id := range l.seen {
		if found[id] == "" || strings.HasSuffix(found[id], "this call was not run") {
			l.t.Errorf("call %s ran, and the history says %q", id, found[id])
		}
	}
	l.once()
	if last := len(l.turns) - 1; last >= 0 && rounds >= toolRounds {
		var end struct {
			Stop string `json:"stop_reason"`
		}
		p.Must("turn/wait", map[string]any{"session_id": l.session, "turn_id": l.turns[last]}, &end)
		if end.Stop == "end_turn" {
			l.session = ""
		}
	}
	return min(rounds, toolRounds)
}

// once: no call has left two lines.
func (l *taskLane) once() {
	text, err := os.ReadFile(l.effects)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		l.t.Error(err)
	}
	ran := map[string]bool{}
	for line := range bytes.Lines(text) {
		if ran[string(line)] {
			l.t.Errorf("this call ran twice: %s", line)
		}
		ran[string(line)] = true
	}
}
