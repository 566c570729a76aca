package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/thinkd/thinkd/agent/recall"
	"github.com/thinkd/thinkd/agent/summary"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/agent/transcript"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// summed is a session at a seat, with a strict simulator behind it and a tool that reads.
type summed struct {
	*bench
	id     session.ID
	server *sim.Server
	tools  bool
}

func summedAt(t *testing.T, p placed, compactAt float64) *summed {
	t.Helper()
	h := &host{run: func(_ context.Context, call provider.ToolCall, _ func(string)) provider.ToolResult {
		return said("package a, as the result of " + call.ID + strings.Repeat(", and more of it", 20))
	}}
	server := sim.New(sim.Config{})
	b := seated(t, p, server, func(c *Config) {
		c.CompactAt = compactAt
		c.Hosts = func(session.Owner, session.Session) []toolhost.Host { return []toolhost.Host{h} }
	})
	record := session.Session{Settings: session.Settings{Model: sole{p.row}.ref(), Level: p.level}}
	if p.row.Tools {
		record.Tools = []tool.Tool{{Tool: provider.Tool{Name: "read", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)},
			Host: tool.MCP, Source: "files", Effect: tool.Read}}
	}
	s, err := b.group.For(session.Operator).Create(t.Context(), record)
	if err != nil {
		t.Fatal(err)
	}
	return &summed{b, s.ID, server, p.row.Tools}
}

// say prompts, lets the turn end, and returns the body of its last request.
func (s *summed) say(id session.ID, words string) []byte {
	s.Helper()
	if e := s.turn(id, words); e.End.StopReason != session.StopEndTurn {
		s.Fatalf("%s: %s %+v", words, e.End.StopReason, e.End.Error)
	}
	all := s.server.Requests()
	return all[len(all)-1].Body
}

// work is a turn with two calls of the tool.
func (s *summed) work(id session.ID) []byte {
	if s.tools {
		brief := 10
		s.server.Script(sim.Answer{Tool: "read", Calls: 2, Text: &brief})
	}
	return s.say(id, "Read the two files.")
}

func (s *summed) compact() {
	s.Helper()
	s.server.Script(sim.Answer{Parts: []sim.Part{{Kind: sim.Text, Text: "Files were read."}}})
	over, err := s.agent(s.id).Compact(s.Context())
	if err != nil || over == nil {
		s.Fatalf("compact: %v, %v", over, err)
	}
	if err := <-over; err != nil {
		s.Fatal("the summary: ", err)
	}
}

func (s *summed) refused() {
	s.Helper()
	for _, r := range s.server.Refusals() {
		s.Errorf("refused: %+v", r)
	}
}

func (s *summed) history() []Message {
	list, _, err := s.agent(s.id).History(s.Context(), Page{Limit: 1000})
	if err != nil {
		s.Fatal(err)
	}
	return list
}

// cacheKey differs between two sessions.
var cacheKey = regexp.MustCompile(`"prompt_cache_key":"[^"]*"`)

// The request after an undo has the bytes of one without the summary, on each API.
func TestUndoSendsTheSameBytes(t *testing.T) {
	t.Parallel()
	catalog := registry.Default()
	for _, seat := range seats {
		p := seat.place(t, catalog)
		t.Run(seat.String(), func(t *testing.T) {
			t.Parallel()
			s := summedAt(t, p, 0)
			s.say(s.id, "Which date is later?")
			s.work(s.id)
			s.say(s.id, "And of these three?")
			control, err := s.group.For(session.Operator).Fork(t.Context(), s.id, "")
			if err != nil {
				t.Fatal(err)
			}
			s.compact()
			undone, err := s.agent(s.id).Uncompact(t.Context(), "")
			if err != nil || undone == "" {
				t.Fatal(undone, err)
			}
			want, got := s.say(control.ID, "Go on."), s.say(s.id, "Go on.")
			if want, got = cacheKey.ReplaceAll(want, nil), cacheKey.ReplaceAll(got, nil); !bytes.Equal(want, got) {
				t.Errorf("without a summary\n%s\nafter its undo\n%s", want, got)
			}
			if _, err := s.agent(s.id).Uncompact(t.Context(), ""); err != ErrNotUndoable {
				t.Errorf("undone twice: %v", err)
			}
			if again, err := s.agent(s.id).Uncompact(t.Context(), undone); again != undone || err != nil {
				t.Errorf("the same undo again: %s, %v", again, err)
			}
			s.refused()
		})
	}
}

// A summary that was made in a loop of tools can be undone when its turn has ended, and no vendor refuses what is sent then.
func TestUndoOfATurn(t *testing.T) {
	t.Parallel()
	catalog := registry.Default()
	for _, seat := range seats {
		p := seat.place(t, catalog)
		if !p.row.Tools {
			continue
		}
		t.Run(seat.String(), func(t *testing.T) {
			t.Parallel()
			p.row.Window = 40_000
			s := summedAt(t, p, 0.0001) // a summary is due before each call but the first
			brief := 10
			s.server.Script(sim.Answer{Tool: "read", Calls: 2, Text: &brief}, sim.Answer{Parts: []sim.Part{{Kind: sim.Text, Text: "Files were read."}}})
			s.say(s.id, "Read the two files.")
			list, _, err := s.agent(s.id).Summaries(t.Context(), "", 10)
			if err != nil || len(list) != 1 || !list[0].Undoable || list[0].Turn == "" {
				t.Fatalf("%+v, %v", list, err)
			}
			if _, err := s.agent(s.id).Uncompact(t.Context(), list[0].ID); err != nil {
				t.Fatal(err)
			}
			if body := string(s.say(s.id, "Go on.")); strings.Contains(body, "Files were read.") || strings.Count(body, "and more of it") != 40 {
				t.Errorf("sent after the undo: %s", body)
			}
			s.refused()
		})
	}
}

// words are all strings of a JSON value.
func words(t *testing.T, body []byte) (all []string) {
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		t.Fatal(err)
	}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			all = append(all, v)
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(value)
	return all
}

// Over ten summaries every pinned message is in each request, and no vendor refuses any: prompts, answers in a row, and a reply with
// calls of which only the results were pinned.
func TestPinsOverTenSummaries(t *testing.T) {
	t.Parallel()
	catalog := registry.Default()
	kept, all := 0, 0
	t.Cleanup(func() { t.Logf("%d of %d pinned messages were sent behind a summary", kept, all) })
	seen := make(map[string]bool)
	for _, seat := range seats {
		p := seat.place(t, catalog)
		if seen[p.row.API] && !*crossAll && seat.model != "mistral" { // whose rules for the results of calls are the strictest
			continue
		}
		seen[p.row.API] = true
		t.Run(seat.String(), func(t *testing.T) {
			s := summedAt(t, p, 0)
			s.say(s.id, "Never touch the generated files.")
			s.work(s.id)
			s.say(s.id, "Name the first rule.")
			s.say(s.id, "Name the second rule.")
			var texts []string
			pin := func(m Message) {
				if pins, err := s.agent(s.id).Pin(t.Context(), m.ID, true); err != nil || pins.Applies != PinAppliesNow {
					t.Fatal(pins, err)
				}
			}
			list := s.history()
			pin(list[0])
			texts = append(texts, "Never touch the generated files.")
			for _, m := range list[len(list)-4:] {
				if m.Role == provider.Assistant {
					pin(m)
				}
			}
			for _, m := range list {
				if m.Answers != "" {
					pin(m)
					for _, part := range m.Parts {
						texts = append(texts, blockText(part.Block.(provider.ToolResult).Blocks[0]))
					}
				}
			}
			for _, m := range list[len(list)-4:] {
				for _, part := range m.Parts {
					if text, ok := part.Block.(provider.Text); ok && m.Role == provider.Assistant {
						texts = append(texts, text.Text)
					}
				}
			}
			for i := range 10 {
				s.compact()
				body := s.say(s.id, fmt.Sprint("Round ", i))
				sent := words(t, body)
				for _, text := range texts {
					if all++; slices.ContainsFunc(sent, func(s string) bool { return strings.Contains(s, strings.TrimSpace(text)) }) {
						kept++
					} else {
						t.Errorf("after summary %d the request lacks %q: %s", i+1, text, body)
					}
				}
				if !bytes.Contains(body, []byte("Files were read.")) {
					t.Errorf("no summary in %s", body)
				}
			}
			sums, _, err := s.agent(s.id).Summaries(t.Context(), "", 100)
			if err != nil || len(sums) != 10 {
				t.Errorf("%d summaries, %v", len(sums), err)
			}
			s.refused()
		})
	}
}

// A pin counts from the next summary on, so that what models are sent changes nowhere else.
func TestPinAppliesWithTheNextSummary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, id := compactBench(t, 0, 1000)
		defer b.close()
		b.turn(id, "one")
		b.turn(id, "two")
		list, _, err := b.agent(id).History(t.Context(), Page{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		compact := func() {
			b.fake.scripts = []script{answer("", "Numbers.")}
			over, err := b.agent(id).Compact(t.Context())
			if err != nil || <-over != nil {
				t.Fatal(err)
			}
		}
		compact()
		pins, err := b.agent(id).Pin(t.Context(), list[0].ID, true)
		check(t, "applies", []any{pins.Applies, err}, []any{PinAppliesNext, nil})
		b.turn(id, "three")
		check(t, "before the next summary", shape(b.fake.requests[3])[:2], []string{above + "Numbers.", "user three"})
		b.group.Close() // the content of what is released is in the log only
		b.start()
		compact()
		b.turn(id, "four")
		check(t, "behind it", shape(b.fake.requests[5]), []string{"user " + pinnedAbove, "user one", above + "Numbers.", "user four"})
		pins, err = b.agent(id).Pin(t.Context(), list[0].ID, false)
		check(t, "applies", []any{pins.Applies, len(pins.Pinned), err}, []any{PinAppliesNext, 0, nil})
		compact()
		b.turn(id, "five")
		check(t, "unpinned", shape(b.fake.requests[7]), []string{above + "Numbers.", "user five"})
		// What is not whole cannot be pinned, and neither can what is not there.
		if _, err := b.agent(id).Pin(t.Context(), session.NewMessageID(), true); err != ErrNoMessage {
			t.Errorf("no message: %v", err)
		}
		b.fake.scripts = []script{events(time.Hour)}
		r, err := b.agent(id).Prompt(t.Context(), text("slow"))
		if err != nil {
			t.Fatal(err)
		}
		waits, err := b.agent(id).Prompt(t.Context(), text("waits"))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, err := b.agent(id).Pin(t.Context(), waits.Message, true); err != session.ErrUnfinished {
			t.Errorf("in the queue: %v", err)
		}
		if _, err := b.agent(id).Pin(t.Context(), r.Message, true); err != nil {
			t.Errorf("the running prompt: %v", err)
		}
		if _, err := b.agent(id).Uncompact(t.Context(), ""); err != ErrBusy {
			t.Errorf("undo in a turn: %v", err)
		}
	})
}

const pinnedAbove = "The earlier part of this conversation was left out to save room, except the following messages, which are kept word for word. A summary of the rest follows them."

var plantedFacts = flag.Int("facts", 30, "how many facts TestRecallFindsEachFact plants in ten parts, and asks recall for")

// Each planted fact is found by recall after ten summaries, also after a restart.
func TestRecallFindsEachFact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, id := compactBench(t, 0, 100_000)
		defer b.close()
		none, err := b.agent(id).Recall(t.Context(), recall.Query{Words: "harbour"})
		if err != nil || !strings.Contains(none, "No summary") {
			t.Errorf("%q, %v", none, err)
		}
		const rounds = 10
		facts := *plantedFacts
		code := func(n int) string { return fmt.Sprintf("HX%dQ", n*7919%100_003) }
		for round := range rounds {
			for n := round * facts / rounds; n < (round+1)*facts/rounds; n++ {
				planted := fmt.Sprintf("%s The code of harbour %d is %s. %s", strings.Repeat("The weather was fair. ", n%7), n, code(n), strings.Repeat("Ships came and went. ", n%5))
				if n%3 == 0 { // the model says it
					b.fake.scripts = []script{answer("hm", planted)}
					planted = "Which harbour is next?"
				}
				b.turn(id, planted)
			}
			b.turn(id, strings.Repeat("Nothing else happened. ", 2000)) // so that no fact is in what stays
			b.fake.scripts = []script{answer("", "Harbours have codes.")}
			over, err := b.agent(id).Compact(t.Context())
			if err != nil || <-over != nil {
				t.Fatal(err)
			}
		}
		b.group.Close()
		b.start()
		found, first := 0, 0
		for n := range facts {
			got, err := b.agent(id).Recall(t.Context(), recall.Query{Words: fmt.Sprintf("What is the code of harbour %d?", n)})
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(got, code(n)+".") {
				found++
			} else {
				t.Errorf("harbour %d: %.400s", n, got)
			}
			if parts := strings.SplitN(got, "message_id ", 3); len(parts) > 1 && strings.Contains(parts[1], code(n)+".") {
				first++
			}
		}
		sums, _, err := b.agent(id).Summaries(t.Context(), "", 100)
		t.Logf("%d of %d facts were found behind %d summaries, %d of them first (%v)", found, facts, len(sums), first, err)
	})
}

// TestRandomSummaryLoops leads turns with many calls of tools through small windows, with vendors that count in their own ways, long
// summaries, and much that cannot be freed: behind a summary that frees less than a tenth there is no other one before the next
// prompt.
func TestRandomSummaryLoops(t *testing.T) {
	runs, summaries, futile, loops := 0, 0, 0, 0
	testgo.Check(t, func(r *rapid.T) {
		runs++
		window := rapid.IntRange(400, 6000).Draw(r, "window")
		at := rapid.SampledFrom([]float64{0.1, 0.5, 0.8}).Draw(r, "compact at")
		factor := rapid.SampledFrom([]int{2, 4, 4, 8}).Draw(r, "characters per token")
		overhead := rapid.SampledFrom([]int{0, 0, window / 2, window}).Draw(r, "overhead")
		sizes := rapid.SliceOfN(rapid.IntRange(0, 3000), 4, 40).Draw(r, "sizes")
		rounds := rapid.SliceOfN(rapid.IntRange(0, 8), 1, 4).Draw(r, "rounds")
		pin := rapid.Bool().Draw(r, "pin")
		synctest.Test(t, func(t *testing.T) {
			next := 0
			size := func() string { next++; return strings.Repeat("word ", sizes[next%len(sizes)]/5+1) }
			left := 0
			b, _ := compactBench(t, at, window)
			defer b.close()
			b.fake.judge = func(req *provider.Request, _ script) script {
				usage := provider.Usage{Input: overhead + transcript.Weight(req)/factor, Output: 5}
				switch {
				case req.System == transcript.AskSummary:
					return events(append(say(size()), provider.Stop{Reason: provider.StopEndTurn, Usage: usage})...)
				case left > 0:
					left--
					return events(concat(think("hm"), []any{provider.End{Index: 1, Block: provider.ToolCall{ID: fmt.Sprint("call", next, left), Name: "look", Input: json.RawMessage(fmt.Sprintf(`{"n":%d}`, left))}},
						provider.Stop{Reason: provider.StopToolUse, Usage: usage}})...)
				}
				return events(concat(say("done"), []any{provider.Stop{Reason: provider.StopEndTurn, Usage: usage}})...)
			}
			h := &host{run: func(context.Context, provider.ToolCall, func(string)) provider.ToolResult { return said(size()) }}
			b.group.Close()
			b.cfg.Hosts = func(session.Owner, session.Session) []toolhost.Host { return []toolhost.Host{h} }
			b.start()
			s, err := b.group.For(session.Operator).Create(t.Context(), session.Session{Settings: session.Settings{Model: session.ModelRef{Provider: "sim", ID: "claude"}, Level: provider.High},
				Tools: []tool.Tool{{Tool: provider.Tool{Name: "look", Schema: json.RawMessage(`{"type":"object"}`)}, Host: tool.MCP, Source: "files", Effect: tool.Read}}})
			if err != nil {
				t.Fatal(err)
			}
			for i, n := range rounds {
				left = n
				e := b.turn(s.ID, fmt.Sprint("prompt ", i, size()))
				if e.End.StopReason != session.StopEndTurn {
					t.Errorf("%+v", e.End)
				}
				if pin {
					list, _, err := b.agent(s.ID).History(t.Context(), Page{Limit: 2})
					if err != nil {
						t.Fatal(err)
					}
					if _, err := b.agent(s.ID).Pin(t.Context(), list[0].ID, true); err != nil {
						t.Fatal(err)
					}
				}
			}
			entries, err := b.store.Entries(t.Context(), s.ID, 0, 100_000)
			if err != nil {
				t.Fatal(err)
			}
			made, little, again := loopsIn(entries)
			summaries, futile, loops = summaries+made, futile+little, loops+again
		})
		if loops > 0 {
			r.Fatalf("%d summaries were made in vain", loops)
		}
	})
	t.Logf("%d runs: %d summaries, %d of them freed less than a tenth, %d loops", runs, summaries, futile, loops)
	if runs >= 200 && (summaries == 0 || futile == 0) {
		t.Error("the runs do not reach this")
	}
}

// loopsIn counts the summaries of a log, those that freed less than a tenth, and those that came behind such a one without a prompt in
// between. What the vendor counted counts more than the estimate in the entry.
func loopsIn(entries []session.Entry) (made, futile, loops int) {
	var last *session.Compaction
	little, counted := false, false
	for _, e := range entries {
		switch body := e.Body.(type) {
		case session.TurnStart, session.Steered:
			last, little = nil, false
		case session.MessageEnd:
			if last != nil && last.Counted && !counted && body.Usage.Input > 0 {
				counted, little = true, summary.Futile(last.Before, body.Usage.Input)
			}
		case session.Compaction:
			if body.Upto == "" {
				continue
			}
			if made++; little {
				loops++
			}
			last, counted, little = &body, false, summary.Futile(body.Before, body.After)
			if little {
				futile++
			}
		}
	}
	return made, futile, loops
}

// An agent's compact_model writes the summaries; without a provider for it, the session's model does.
func TestCompactModel(t *testing.T) {
	for name, known := range map[string]bool{"configured": true, "without a provider": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				defer b.close()
				b.group.Close()
				b.cfg.Provider = func(id string) provider.Provider {
					if id == "anthropic" && !known {
						return nil
					}
					return b.fake
				}
				b.start()
				other := session.ModelRef{Provider: "anthropic", ID: "claude-haiku-4-5"}
				s, err := b.group.For(session.Operator).Create(t.Context(), session.Session{Settings: session.Settings{Model: session.ModelRef{Provider: "sim", ID: "claude"},
					Agent: session.AgentChoice{Name: "a", CompactModel: other}}})
				if err != nil {
					t.Fatal(err)
				}
				b.turn(s.ID, "one")
				over, err := b.agent(s.ID).Compact(t.Context())
				if err != nil || <-over != nil {
					t.Fatal(err)
				}
				want := "sim/claude"
				if known {
					want = other.String()
				}
				sums, _, err := b.agent(s.ID).Summaries(t.Context(), "", 1)
				if err != nil || len(sums) != 1 || sums[0].Log.Model.String() != want || b.fake.requests[1].Model.Ref() != want {
					t.Errorf("%+v, %v", sums, err)
				}
				b.turn(s.ID, "two")
				check(t, "the session's model", b.fake.requests[2].Model.Ref(), "sim/claude")
			})
		})
	}
}
