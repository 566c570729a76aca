package daemon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/session/mem"
)

// decisionCase is a line of testdata/decisions.txt, where its words are explained.
type decisionCase struct {
	line    string
	model   string
	said    map[string]string
	refused bool
	want    proof.Reasoning
}

// TestDecisions plays the table of decisions: each of its lines is a session with one turn, against strict stand-ins of
// the vendors. The decision is the same in the answer, in turn_start, in turn/wait and in the history, and its wire is
// just what has reached the vendor.
func TestDecisions(t *testing.T) {
	t.Parallel()
	cases := readDecisions(t)
	vendor := sim.New(sim.Config{})
	daemons := decisionDaemons{t, vendor, proof.Serve(t, vendor), map[string]*door.Link{}}
	seen := map[string]int{}
	for _, tc := range cases {
		daemons.play(tc)
		for who, what := range tc.said {
			level, _, _ := strings.Cut(what, "/")
			seen["by "+who]++
			seen["level "+level]++
		}
		seen["fallback "+tc.want.Fallback]++
		seen["reason "+tc.want.Reason]++
		seen["source "+tc.want.Source]++
		seen["control "+daemons.control(tc.model)]++
	}
	for _, r := range vendor.Refusals() {
		if strings.Count(r.Path, "/") > 1 { // else one asks whether a server is there
			t.Errorf("refused: %+v", r)
		}
	}
	for kind, list := range map[string][]string{
		"by":       {"turn", "session", "agent", "inherit", "reasoning", "level", "config", "provider", "fallback", "display"},
		"level":    append(wordsOf(provider.AllLevels()), "none"),
		"fallback": {"downgrade", "off", "provider_default", "error"},
		"reason": {"as_requested", "level_not_supported", "off_not_supported", "off_up_front_only", "no_thinking",
			"unknown_model", "model_default"},
		"source":  {"turn", "session", "agent", "config", "provider", "model", "unset"},
		"control": {"effort", "budget", "toggle", "always", "none", "unknown"},
	} {
		for _, word := range list {
			if seen[kind+" "+word] == 0 {
				t.Errorf("no case of the table has %s %s", kind, word)
			}
		}
	}
	if len(cases) < 120 {
		t.Errorf("the table has %d cases only", len(cases))
	}
	t.Logf("%d cases", len(cases))
}

func wordsOf[T ~string](list []T) (words []string) {
	for _, w := range list {
		words = append(words, string(w))
	}
	return words
}

func readDecisions(t *testing.T) (cases []decisionCase) {
	t.Helper()
	const name = "testdata/decisions.txt"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var model string
	var forms map[string]string
	for i, line := range strings.Split(string(text), "\n") {
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case word == "model":
			model, forms = rest, map[string]string{"nothing": "{}"}
		case word == "wire":
			form, body, _ := strings.Cut(rest, " ")
			forms[form] = body
		default:
			tc, err := readDecision(line, forms)
			if err != nil {
				t.Fatalf("%s:%d: %v", name, i+1, err)
			}
			tc.line, tc.model = fmt.Sprintf("%s:%d: %s: %s", name, i+1, model, line), model
			cases = append(cases, tc)
		}
	}
	return cases
}

func readDecision(line string, forms map[string]string) (tc decisionCase, err error) {
	cells := strings.Split(line, "|")
	tc.said = map[string]string{}
	for _, pair := range strings.Fields(strings.Replace(cells[0], "nothing ", "", 1)) {
		who, what, ok := strings.Cut(pair, "=")
		if !ok {
			return tc, fmt.Errorf("%q says nothing", pair)
		}
		tc.said[who] = what
	}
	if tc.refused = strings.TrimSpace(cells[1]) == "1010"; tc.refused {
		return tc, nil
	}
	if len(cells) != 3 {
		return tc, fmt.Errorf("%d cells", len(cells))
	}
	var levels string
	if _, err := fmt.Sscan(cells[1], &tc.want.Source, &levels, &tc.want.Reason, &tc.want.Fallback); err != nil {
		return tc, err
	}
	tc.want.Requested, tc.want.Effective, _ = strings.Cut(levels, ">")
	form, word, _ := strings.Cut(strings.TrimSpace(cells[2]), " ")
	body, ok := forms[form]
	if !ok {
		return tc, fmt.Errorf("no form %q", form)
	}
	return tc, json.Unmarshal([]byte(strings.Replace(body, "%s", word, 1)), &tc.want.Wire)
}

// decisionDaemons are daemons over one stand-in, by the operator's level, which only a config says.
type decisionDaemons struct {
	t       *testing.T
	vendor  *sim.Server
	address string
	links   map[string]*door.Link
}

func (d decisionDaemons) link(level string) *door.Link {
	if link := d.links[level]; link != nil {
		return link
	}
	doc := proof.StandInConfig(d.address)
	if level != "" {
		doc = fmt.Sprintf("thinking_level = %q\n", level) + doc
	}
	p := Options{LogTo: io.Discard, Getenv: proof.StandInEnvironment, ConfigPath: proof.WriteConfig(d.t, doc), LogLevel: "warn", LogFormat: "text"}
	opened, err := p.open(d.t.Context(), mem.New())
	if err != nil {
		d.t.Fatal(err)
	}
	d.links[level] = linked(d.t, opened)
	return d.links[level]
}

// control is how a model's thinking is controlled, as models/list tells.
func (d decisionDaemons) control(model string) string {
	id, name, _ := strings.Cut(model, "/")
	var list struct {
		Models []struct {
			ID       string
			Thinking struct{ Control string }
		}
	}
	if err := d.link("").Call("models/list", map[string]any{"provider": id}, &list); err != nil {
		d.t.Fatal(err)
	}
	for _, m := range list.Models {
		if m.ID == name {
			return m.Thinking.Control
		}
	}
	return "unknown"
}

// stated is LEVEL/POLICY as reasoning of the protocol, with a mode or without.
func stated(text, mode string) map[string]any {
	effort, fallback, _ := strings.Cut(text, "/")
	return present("override_mode", mode, "effort", effort, "fallback", fallback)
}

func (d decisionDaemons) play(tc decisionCase) {
	t, link := d.t, d.link(tc.said["config"])
	t.Helper()
	vendorID, _, _ := strings.Cut(tc.model, "/")
	must := func(method string, params, result any) {
		t.Helper()
		if err := link.Call(method, params, result); err != nil {
			t.Fatalf("%s\n%s: %v", tc.line, method, err)
		}
	}
	defaults := map[string]any{"provider": vendorID}
	if what, ok := tc.said["provider"]; ok {
		defaults["reasoning_defaults"] = stated(what, "")
	}
	must("providers/set", defaults, nil)
	begin := present("model_id", tc.model, "thinking_level", tc.said["session"], "fallback", tc.said["fallback"], "display", tc.said["display"])
	for who, mode := range map[string]string{"agent": "custom", "inherit": "inherit", "reasoning": "", "level": ""} {
		what, ok := tc.said[who]
		if !ok {
			continue
		}
		agent := map[string]any{"agent": who}
		if who == "level" {
			agent["thinking_level"] = what
		} else {
			agent["reasoning"] = stated(what, mode)
		}
		must("agents/set", agent, nil)
		begin["agent"] = who
	}
	turn := tc.said["turn"]
	var made struct {
		ID        string `json:"session_id"`
		Reasoning proof.Reasoning
	}
	err := link.Call("session/new", begin, &made)
	if tc.refused && turn == "" {
		d.isRefusal(tc, err)
		return
	}
	if err != nil {
		t.Errorf("%s\nsession/new: %v", tc.line, err)
		return
	}
	if diff := cmp.Diff(tc.want, made.Reasoning); turn == "" && diff != "" {
		t.Errorf("%s\nsession/new (-want +got):\n%s", tc.line, diff)
	}
	var started proof.Reasoning
	over := false
	link.Notify = func(n door.Notification) error {
		over = over || n.Method == "turn_end"
		if n.Method != "turn_start" {
			return nil
		}
		return json.Unmarshal(n.Params, &struct{ Reasoning *proof.Reasoning }{&started})
	}
	params := present("session_id", made.ID, "text", "Which? [[sim: thinking=1 text=1 pace=0]]", "thinking_level", turn)
	var receipt struct {
		Turn string `json:"turn_id"`
	}
	if err := link.Call("session/prompt", params, &receipt); err != nil || tc.refused {
		d.isRefusal(tc, err)
		return
	}
	for !over {
		n, err := link.Next()
		if err == nil {
			err = link.Notify(n)
		}
		if err != nil {
			t.Fatalf("%s\n%v", tc.line, err)
		}
	}
	var ended struct {
		Stop      string `json:"stop_reason"`
		Error     any
		Reasoning proof.Reasoning
	}
	must("turn/wait", map[string]any{"session_id": made.ID, "turn_id": receipt.Turn}, &ended)
	if ended.Stop != "end_turn" {
		t.Errorf("%s\nthe turn ends with %s: %v", tc.line, ended.Stop, ended.Error)
		return
	}
	var history struct {
		Messages []struct{ Reasoning *proof.Reasoning }
	}
	must("session/history", map[string]any{"session_id": made.ID}, &history)
	told := map[string]proof.Reasoning{"turn_start": started, "turn/wait": ended.Reasoning}
	if n := len(history.Messages); n != 2 || history.Messages[1].Reasoning == nil {
		t.Errorf("%s\nthe history has %d messages: %+v", tc.line, n, history)
	} else {
		told["session/history"] = *history.Messages[1].Reasoning
	}
	for where, got := range told {
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s\n%s (-want +got):\n%s", tc.line, where, diff)
		}
	}
	looks := func(r sim.Request) bool { return len(r.Body) == 0 || r.Path == "/api/show" } // for a server, and for what it has
	requests := slices.DeleteFunc(d.vendor.Requests(), looks)
	if diff := cmp.Diff(tc.want.Wire, any(sentThinking(bodyOf(t, requests[len(requests)-1])))); diff != "" {
		t.Errorf("%s\nthe vendor got (-want +got):\n%s", tc.line, diff)
	}
}

func (d decisionDaemons) isRefusal(tc decisionCase, err error) {
	d.t.Helper()
	refused, ok := errors.AsType[*conn.Error](err)
	if !tc.refused || !ok || refused.Code != conn.CodeLevel {
		d.t.Errorf("%s\nanswered with %v", tc.line, err)
	}
}

// The log of a call has the decision, with the same words as turn_start, and what was sent.
func TestDecisionIsLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	t.Run("turn", func(t *testing.T) { // it ends with the daemon, so that nobody writes any more
		p := Options{LogTo: &log, Getenv: proof.Environment("OLLAMA_HOST=" + proof.Nobody), LogLevel: "debug", LogFormat: "json",
			ConfigPath: proof.WriteConfig(t, "thinking_level = \"max\"")}
		d, err := p.open(t.Context(), mem.New())
		if err != nil {
			t.Fatal(err)
		}
		s := newConversation(t, linked(t, d), "sim/gemini")
		s.say("Which? [[sim: thinking=1 text=1 pace=0]]")
	})
	type record struct {
		Message   string `json:"msg"`
		Model     string
		Session   string
		Turn      string
		Reasoning struct {
			Source, Reason, Fallback, Wire string
			Requested                      string `json:"requested_effort"`
			Effective                      string `json:"effective_effort"`
		}
	}
	var calls []record
	for line := range strings.Lines(log.String()) {
		var r record
		if err := json.Unmarshal([]byte(line), &r); err == nil && r.Message == "model call" {
			calls = append(calls, r)
		}
	}
	if len(calls) != 1 || calls[0].Session == "" || calls[0].Turn == "" {
		t.Fatalf("the log has %+v, want one call of a session's turn", calls)
	}
	want := record{Message: "model call", Model: "sim/gemini", Session: calls[0].Session, Turn: calls[0].Turn}
	want.Reasoning.Source, want.Reasoning.Requested, want.Reasoning.Effective = "config", "max", "high"
	want.Reasoning.Reason, want.Reasoning.Fallback = "level_not_supported", "downgrade"
	want.Reasoning.Wire = `{"generationConfig":{"thinkingConfig":{"thinkingLevel":"HIGH","includeThoughts":true}}}`
	if diff := cmp.Diff(want, calls[0]); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
}

// sentThinking is what of a body is about thinking, in any vendor's words.
func sentThinking(body map[string]any) map[string]any {
	ours := []string{"thinking", "output_config", "reasoning", "reasoning_effort", "enable_thinking", "thinking_budget", "preserve_thinking",
		"include_reasoning", "reasoning_format", "reasoning_split", "prompt_mode", "think"}
	sent := maps.Clone(body)
	maps.DeleteFunc(sent, func(member string, _ any) bool { return !slices.Contains(ours, member) })
	if config, ok := body["generationConfig"].(map[string]any); ok && config["thinkingConfig"] != nil {
		sent["generationConfig"] = map[string]any{"thinkingConfig": config["thinkingConfig"]}
	}
	return sent
}
