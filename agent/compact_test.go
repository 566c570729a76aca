package agent

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/agent/budget"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/agent/transcript"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/bolt"
	"github.com/thinkd/thinkd/session/tool"
)

// small is a model that thinks, with a window of so many tokens.
func small(window int) sole {
	m := registry.Default().Model("sim", "claude")
	m.Window = window
	return sole{m}
}

// counted answers and has the vendor count.
func countedAnswer(input int, said string) script {
	return events(concat(think("Think."), say(said), []any{provider.Stop{Reason: provider.StopEndTurn, Usage: provider.Usage{Input: input, Output: 10}}})...)
}

// shape is who says what in a request.
func shape(req *provider.Request) (list []string) {
	for _, m := range req.Messages {
		line := string(m.Role)
		for _, b := range m.Blocks {
			switch b := b.(type) {
			case provider.Text:
				line += " " + strings.ReplaceAll(b.Text, "\n", " ")
			case provider.Thinking:
				line += " (thinks)"
			case provider.ToolCall:
				line += " calls"
				if !b.State.IsZero() {
					line += " signed"
				}
			case provider.ToolResult:
				line += " result"
			}
		}
		list = append(list, line)
	}
	return list
}

func notices(sub *feed.Subscription) (kinds []string) {
	for _, line := range methods(sub) {
		if kind, ok := strings.CutPrefix(line, "notice "); ok {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

func compactBench(t *testing.T, at float64, window int, scripts ...script) (*bench, session.ID) {
	b := newBench(t, scripts...)
	b.group.Close()
	b.cfg.Catalog, b.cfg.CompactAt = small(window), at
	b.start()
	return b, b.session("sim/claude", provider.High)
}

// turns leads a turn for each of these words, long enough for a summary to save room.
func (b *bench) turns(id session.ID, words ...string) {
	for _, said := range words {
		b.turn(id, said+strings.Repeat(".", 100))
	}
}

const above = "user The earlier part of this conversation was left out to save room. This is a summary of it:  "

func TestCompact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, id := compactBench(t, 0, 1000)
		defer b.close()
		b.turns(id, "one", "two", "three")
		before := b.turn(id, "four")
		sub, err := b.agent(id).Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b.fake.scripts = []script{answer("", "It was about numbers.")}
		over, err := b.agent(id).Compact(t.Context())
		if err != nil || over == nil {
			t.Fatal(over, err)
		}
		if err := <-over; err != nil {
			t.Fatal(err)
		}
		check(t, "told", methods(sub), []string{"notice compacting", "summary", "notice compacted", "usage"})
		asked := b.fake.requests[4]
		check(t, "tools", len(asked.Tools), 0)
		check(t, "level", asked.Decision.Effective, provider.Off)
		if got := shape(asked); len(got) != 1 || !strings.Contains(got[0], "[user] three...") || strings.Contains(got[0], "four") || strings.Contains(got[0], "Think.") {
			t.Errorf("the summary is made from %q", got)
		}
		b.turn(id, "five")
		b.turn(id, "six")
		check(t, "sent", shape(b.fake.requests[6]), []string{above + "It was about numbers.",
			"user four", "assistant Say.", "user five", "assistant (thinks) Say.", "user six"})
		st, err := b.agent(id).State(t.Context())
		if err != nil || st.Session.Usage.Output == 0 {
			t.Errorf("%+v, %v", st, err)
		}

		// After a restart it is the same, all messages are there, and a fork before the summary has all that was said.
		b.group.Close()
		b.start()
		page, _, err := b.agent(id).History(t.Context(), Page{Limit: 100})
		if err != nil || len(page) != 12 {
			t.Errorf("%d messages, %v", len(page), err)
		}
		b.turn(id, "seven")
		check(t, "after a restart", shape(b.fake.requests[7])[:3], []string{above + "It was about numbers.", "user four", "assistant Say."})
		fork, err := b.group.For(session.Operator).Fork(t.Context(), id, before.Message.ID)
		if err != nil {
			t.Fatal(err)
		}
		b.turn(fork.ID, "other")
		check(t, "a fork before it", len(shape(b.fake.requests[8])), 9)
		if fork, err = b.group.For(session.Operator).Fork(t.Context(), id, ""); err != nil {
			t.Fatal(err)
		}
		b.turn(fork.ID, "other")
		check(t, "a fork after it", shape(b.fake.requests[9])[:2], []string{above + "It was about numbers.", "user four"})

		// A second one takes the first in.
		b.fake.scripts = []script{answer("", "More.")}
		if over, err = b.agent(id).Compact(t.Context()); err != nil || <-over != nil {
			t.Fatal(err)
		}
		if got := shape(b.fake.requests[10]); !strings.Contains(got[0], "[summary of what was before] It was about numbers.") {
			t.Errorf("the second summary is made from %q", got)
		}
	})
}

// A change of effort that was said in what a summary stands for is said in front of that.
func TestCompactKeepsTheEffort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, id := compactBench(t, 0, 1000)
		defer b.close()
		if row := b.cfg.Catalog.Model("", ""); !row.Thinking.InPlace {
			t.Fatal("the model takes no changes of effort")
		}
		b.turn(id, "one")
		level := provider.Low
		if _, err := b.agent(id).Set(t.Context(), Change{Level: &level}); err != nil {
			t.Fatal(err)
		}
		b.turn(id, "two")
		over, err := b.agent(id).Compact(t.Context())
		if err != nil || <-over != nil {
			t.Fatal(err)
		}
		sub, err := b.agent(id).Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b.turn(id, "three")
		req := b.fake.requests[3]
		check(t, "at the top", req.Opening, provider.High)
		check(t, "in front of the summary", req.Messages[0].Effort, provider.Low)
		check(t, "in front of the prompt", req.Messages[1].Effort, provider.Level(""))
		check(t, "told", notices(sub), []string{noticeCacheLost})
	})
}

func TestCompactComesToNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, id := compactBench(t, 0, 1000)
		defer b.close()
		if over, err := b.agent(id).Compact(t.Context()); over != nil || err != nil {
			t.Errorf("of nothing: %v, %v", over, err)
		}
		b.turn(id, "one")
		log := func() int {
			entries, err := b.store.Entries(t.Context(), id, 0, 1000)
			if err != nil {
				t.Fatal(err)
			}
			return len(entries)
		}
		before := log()
		for _, c := range []struct {
			name   string
			script script
			act    func()
			want   func(error) bool
			grows  int
		}{
			{"the vendor fails", events(&provider.Error{Kind: provider.KindOverloaded}), nil, func(err error) bool {
				pe, ok := errors.AsType[*provider.Error](err)
				return ok && pe.Kind == provider.KindOverloaded
			}, 0},
			{"cut off", events(concat(say("half"), []any{provider.Stop{Reason: provider.StopMaxTokens, Usage: provider.Usage{Input: 5, Output: 5}}})...), nil,
				func(err error) bool { return err != nil && strings.Contains(err.Error(), "incomplete") }, 1},
			{"silent", events(time.Hour), nil, func(err error) bool {
				pe, ok := errors.AsType[*provider.Error](err)
				return ok && pe.Kind == provider.KindStalled
			}, 0},
			{"cancelled", events(time.Minute), func() {
				if ok, err := b.agent(id).Cancel(t.Context(), ""); !ok || err != nil {
					t.Error(ok, err)
				}
			}, Cancelled, 0},
			{"its request cancelled", events(time.Minute), func() {
				if err := b.agent(id).StopCompaction(t.Context()); err != nil {
					t.Error(err)
				}
			}, Cancelled, 0},
		} {
			b.fake.scripts = []script{c.script}
			over, err := b.agent(id).Compact(t.Context())
			if err != nil {
				t.Fatal(c.name, err)
			}
			synctest.Wait()
			if c.act != nil {
				st, err := b.agent(id).State(t.Context())
				check(t, c.name+": status", st.Session.Status, session.Running)
				if _, again := b.agent(id).Compact(t.Context()); !errors.Is(again, ErrBusy) || err != nil {
					t.Errorf("%s: a second one: %v, %v", c.name, again, err)
				}
				c.act()
			}
			if err := <-over; !c.want(err) {
				t.Errorf("%s: %v", c.name, err)
			}
			check(t, c.name+": entries", log()-before, c.grows)
			before += c.grows
		}
		// Prompts wait meanwhile, and the session's end ends it.
		b.fake.scripts = []script{events(time.Minute, &provider.Error{Kind: provider.KindTransport})}
		over, err := b.agent(id).Compact(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r, err := b.agent(id).Prompt(t.Context(), text("two"))
		if err != nil || r.Disposition != feed.Enqueued {
			t.Errorf("%+v, %v", r, err)
		}
		if err := <-over; err == nil {
			t.Error("no error")
		}
		if e, err := b.agent(id).Wait(t.Context(), r.Turn); err != nil || e.End.StopReason != "end_turn" {
			t.Errorf("%+v, %v", e.End, err)
		}
		b.fake.scripts = []script{events(time.Hour)}
		if over, err = b.agent(id).Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.group.Close()
		if err := <-over; !errors.Is(err, feed.ErrClosed) {
			t.Errorf("at the end: %v", err)
		}
	})
}

// TestSummaryUsageAtClose: the log has what a summary used that ends with the agent, as the ledger has.
func TestSummaryUsageAtClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, id := compactBench(t, 0, 1000)
		defer b.close()
		b.turns(id, "one", "two", "three")
		before, err := b.store.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		b.fake.scripts = []script{events(append(say("half"), time.Hour)...)}
		over, err := b.agent(id).Compact(t.Context())
		if err != nil || over == nil {
			t.Fatal(over, err)
		}
		synctest.Wait()
		b.group.Close()
		if err := <-over; !errors.Is(err, feed.ErrClosed) {
			t.Errorf("the summary ended with %v", err)
		}
		after, err := b.store.Get(t.Context(), id)
		if err != nil || after.Usage.Input <= before.Usage.Input {
			t.Errorf("the session used %s before the summary and %s after it, %v", show(before.Usage), show(after.Usage), err)
		}
		if err := sums(t.Context(), b.store, b.local.Ledger(), id, true); err != nil {
			t.Error(err)
		}
	})
}

// Of turns that were refused no model hears any more, so there is nothing of them to summarise.
func TestCompactOfRefusedTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, id := compactBench(t, 0, 1000, events(concat(say("no"), []any{provider.Stop{Reason: provider.StopRefusal}})...))
		defer b.close()
		check(t, "stop", string(b.turn(id, "bad").End.StopReason), "refusal")
		if over, err := b.agent(id).Compact(t.Context()); over != nil || err != nil {
			t.Errorf("of a refused turn: %v, %v", over, err)
		}
		check(t, "requests", len(b.fake.requests), 1)
	})
}

func TestCompactAtThreshold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, id := compactBench(t, 0.8, 1000, countedAnswer(100, "a"), countedAnswer(500, "b"), countedAnswer(790, "c"),
			answer("", "Letters."), countedAnswer(200, "d"), countedAnswer(900, "e"), events(&provider.Error{Kind: provider.KindOverloaded}), countedAnswer(950, "f"))
		defer b.close()
		sub, err := b.agent(id).Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			b.turn(id, fmt.Sprint("ask ", i))
		}
		check(t, "below it", notices(sub), []string(nil))
		b.turn(id, "ask 3")
		check(t, "above it", notices(sub), []string{"compacting", "compacted"})
		check(t, "sent", shape(b.fake.requests[4]), []string{above + "Letters.", "user ask 3"})
		check(t, "the vendor leaves what is summarised whole, and only that", []bool{b.fake.requests[3].Whole, b.fake.requests[4].Whole}, []bool{true, false})
		b.turn(id, "ask 4")
		if e := b.turn(id, "ask 5"); e.End.StopReason != "end_turn" {
			t.Errorf("%+v", e.End)
		}
		check(t, "failed", notices(sub), []string{"compacting", "compaction_failed"})
		check(t, "sent as it was", len(b.fake.requests[len(b.fake.requests)-1].Messages), 6)
	})
}

// A turn that ends while earlier ones are summarised ends that too, and nothing is left of it.
func TestTurnEndsInCompaction(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(*bench, session.ID)
		stop session.StopReason
	}{
		{"cancelled", func(b *bench, id session.ID) {
			if ok, err := b.agent(id).Cancel(b.Context(), ""); !ok || err != nil {
				b.Error(ok, err)
			}
		}, session.StopCancelled},
		{"out of time", func(*bench, session.ID) { time.Sleep(61 * time.Minute) }, session.StopLimit},
		{"interrupted", func(b *bench, id session.ID) { b.group.Close(); b.start() }, session.StopInterrupted},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var slow []any // a summary that is never at its end, and never silent
				for range 200 {
					slow = append(slow, time.Minute, provider.Alive{})
				}
				b, id := compactBench(t, 0.8, 1000, countedAnswer(900, "a"), events(slow...), answer("", "Letters."), countedAnswer(100, "b"))
				defer b.close()
				b.turn(id, "one")
				r, err := b.agent(id).Prompt(t.Context(), text("two"))
				if err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				steered, err := b.agent(id).Prompt(t.Context(), Prompt{Content: text("three").Content, Steer: true})
				if err != nil || steered.Disposition != feed.Steered {
					t.Errorf("%+v, %v", steered, err)
				}
				if _, err := b.agent(id).Compact(t.Context()); !errors.Is(err, ErrBusy) {
					t.Errorf("another one: %v", err)
				}
				c.end(b, id)
				e, err := b.agent(id).Wait(t.Context(), r.Turn)
				if err != nil || e.End.StopReason != c.stop {
					t.Errorf("%+v, %v", e.End, err)
				}
				if err := b.agent(id).Resume(t.Context()); err != nil {
					t.Fatal(err)
				}
				if e, err = b.agent(id).Wait(t.Context(), steered.Turn); err != nil || e.End.StopReason != "end_turn" {
					t.Errorf("what was to steer it: %+v, %v", e.End, err)
				}
				view, err := session.Load(t.Context(), b.store, id)
				if err != nil || view.Running() != nil || view.Compaction() == nil || view.Compaction().Summary != "Letters." {
					t.Errorf("%+v, %v", view.Compaction(), err)
				}
			})
		})
	}
}

func TestCompactOnOverflow(t *testing.T) {
	tooLong := events(&provider.Error{Kind: provider.KindTooLong, Message: "prompt is too long"})
	for _, c := range []struct {
		name    string
		scripts []script
		stop    string
		notices []string
		message string
	}{
		{"once", []script{tooLong, answer("", "Numbers."), answer("", "on")}, "end_turn", []string{"compacting", "compacted"}, ""},
		{"twice", []script{tooLong, answer("", "Numbers."), tooLong}, "error", []string{"compacting", "compacted"}, "prompt is too long"},
		{"no summary", []script{tooLong, tooLong}, "error", []string{"compacting"}, "prompt is too long; and the earlier messages could not be summarised: prompt is too long"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, id := compactBench(t, 0, 0)
				defer b.close()
				b.turn(id, "one "+strings.Repeat("x", 100_000))
				b.turn(id, "two")
				sub, err := b.agent(id).Subscribe(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				b.fake.scripts = c.scripts
				e := b.turn(id, "three")
				check(t, "stop", string(e.End.StopReason), c.stop)
				check(t, "notices", notices(sub), c.notices)
				if from := shape(b.fake.requests[3])[0]; len(from) > 51_000 || len(from) < 49_000 {
					t.Errorf("the summary is made from %d bytes", len(from))
				}
				if c.message != "" && (e.End.Error == nil || e.End.Error.Kind != string(provider.KindTooLong) || e.End.Error.Message != c.message) {
					t.Errorf("error %+v", e.End.Error)
				}
				// What does not fit by itself is not summarised.
				other := b.session("sim/claude", "")
				b.fake.scripts = []script{tooLong}
				if e := b.turn(other, "too much"); e.End.Error == nil || e.End.Error.Message != "prompt is too long" {
					t.Errorf("a first prompt: %+v", e.End)
				}
			})
		})
	}
}

// In the middle of a loop of tools all is summarised but what the user asked, and on each API the loop goes on.
func TestCompactInALoop(t *testing.T) {
	t.Parallel()
	catalog := registry.Default()
	for _, seat := range seats {
		p := seat.place(t, catalog)
		if !p.row.Tools {
			continue
		}
		t.Run(seat.String(), func(t *testing.T) {
			t.Parallel()
			p.row.Window = 4000
			long := "package a" + strings.Repeat(", and more of it", 60) // a summary frees some of it
			h := &host{run: func(context.Context, provider.ToolCall, func(string)) provider.ToolResult { return said(long) }}
			server := sim.New(sim.Config{})
			b := seated(t, p, server, func(c *Config) {
				c.CompactAt = 0.001 // a summary is due before each call but the first
				c.Hosts = func(session.Owner, session.Session) []toolhost.Host { return []toolhost.Host{h} }
			})
			s, err := b.group.For(session.Operator).Create(t.Context(), session.Session{Settings: session.Settings{Model: sole{p.row}.ref(), Level: p.level},
				Tools: []tool.Tool{{Tool: provider.Tool{Name: "read", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)},
					Host: tool.MCP, Source: "files", Effect: tool.Read}}})
			if err != nil {
				t.Fatal(err)
			}
			sub, err := b.agent(s.ID).Subscribe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			summary := sim.Answer{Parts: []sim.Part{{Kind: sim.Text, Text: "A file was read."}}}
			server.Script(sim.Answer{Parts: p.twoCalls()}, summary, sim.Answer{Parts: p.twoCalls()}, summary,
				sim.Answer{Parts: []sim.Part{{Kind: sim.Text, Text: "Both are of package a."}}})
			e := b.turn(s.ID, "Read the two files and say of which package they are.")
			check(t, "stop", string(e.End.StopReason), "end_turn")
			told := slices.DeleteFunc(notices(sub), func(kind string) bool { return !strings.HasPrefix(kind, "compact") })
			check(t, "told", told, []string{"compacting", "compacted", "compacting", "compacted"})
			check(t, "calls that ran", h.runs.Load(), int64(4))
			for _, refusal := range server.Refusals() {
				t.Errorf("refused: %+v", refusal)
			}
			all := server.Requests()
			last := string(all[len(all)-1].Body)
			if !strings.Contains(last, "A file was read.") || !strings.Contains(last, "of which package they are") || strings.Contains(last, "and more of it") {
				t.Errorf("sent at last: %s", last)
			}
		})
	}
}

// A call that is too long after another try at it has shown some thinking: what is summarised ends before the reply that is
// being written, so that its calls and their results are sent.
func TestCompactInAReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &host{run: func(context.Context, provider.ToolCall, func(string)) provider.ToolResult { return said("done") }}
		b, id := toolBench(t, h, calls("first", `{}`), events(append(think("void"), &provider.Error{Kind: provider.KindOverloaded})...),
			events(&provider.Error{Kind: provider.KindTooLong}), answer("", "Numbers."), calls("second", `{}`))
		defer b.close()
		check(t, "stop", string(b.turn(id, "count").End.StopReason), "end_turn")
		sent := b.fake.requests[len(b.fake.requests)-1]
		check(t, "sent at last", shape(sent)[1:], []string{"assistant (thinks) calls", "user result"})
		check(t, "results", b.results(), []string{"second0 done"})
	})
}

var longTurns = flag.Int("turns", 120, "turns of the long conversation")

// TestLongConversation is of many turns. What models are sent stays under the window, every message is in the history,
// and memory does not grow with what was said.
func TestLongConversation(t *testing.T) {
	turns := *longTurns
	const window = 16_000 // a fifth of it has to hold an answer
	p := seat{model: "claude", level: provider.High}.place(t, registry.Default())
	p.row.Window = window
	store, err := bolt.Open(t.TempDir(), bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	b := seated(t, p, sim.New(sim.Config{NoJournal: true}), func(c *Config) { c.CompactAt, c.Store = 0.8, store })
	id := b.session("sim/claude", provider.High)
	sub, err := b.agent(id).Subscribe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	compacted, highest := 0, 0
	var heap []uint64
	var asked []string
	for i := range turns {
		words := fmt.Sprintf("Question %d: which date is later?", i)
		asked = append(asked, words)
		e := b.turn(id, words)
		if e.End.StopReason != "end_turn" {
			t.Fatalf("turn %d: %+v", i, e.End)
		}
		if c := e.Message.End.Usage.Context; c.Used > highest {
			highest = c.Used
		}
		for _, kind := range notices(sub) {
			if kind == "compacted" {
				compacted++
			}
		}
		if i%(turns/4) == turns/4-1 {
			runtime.GC()
			runtime.GC() // what a pool held goes with the second
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			t.Logf("after %d turns: heap %.1f MB, %d compactions, at most %d of %d tokens", i+1, float64(m.HeapAlloc)/1e6, compacted, highest, window)
			heap = append(heap, m.HeapAlloc)
		}
	}
	if highest > window || compacted == 0 {
		t.Errorf("at most %d of %d tokens, %d compactions", highest, window, compacted)
	}
	const perTurn = 4 << 10 // a turn holds twice as much before it is let go of
	if grown := int64(heap[3]) - int64(heap[0]); grown > int64(turns/4*3*perTurn) {
		t.Errorf("the heap grew by %d bytes in %d turns", grown, turns/4*3)
	}
	var shown []string
	at := Page{FromStart: true, Limit: 100}
	for more := true; more; {
		var page []Message
		if page, more, err = b.agent(id).History(t.Context(), at); err != nil {
			t.Fatal(err)
		}
		for _, m := range page {
			switch {
			case m.Role == provider.User:
				shown = append(shown, m.Parts[0].Block.(provider.Text).Text)
			case len(m.Parts) < 2 || provider.StateOf(m.Parts[0].Block).IsZero():
				t.Fatalf("a reply lost its thinking: %+v", m)
			}
			at.After = m.ID
		}
	}
	check(t, "the history's prompts", shown, asked)

	// A fork of what was let go of, and the end of an old turn.
	page, _, err := b.agent(id).History(t.Context(), Page{FromStart: true, Limit: 6})
	if err != nil {
		t.Fatal(err)
	}
	fork, err := b.group.For(session.Operator).Fork(t.Context(), id, page[5].ID)
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := b.agent(fork.ID).History(t.Context(), Page{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	texts := func(list []Message) (all []string) {
		for _, m := range list {
			all = append(all, string(m.ID)+fmt.Sprint(m.Parts))
		}
		return all
	}
	check(t, "the fork's history", texts(again), texts(page))
	if e, err := b.agent(id).Wait(t.Context(), page[0].Turn); err != nil || e.End.Usage.Output == 0 || e.Message.ID != page[1].ID {
		t.Errorf("the end of an old turn: %+v, %v", e, err)
	}
}

// On each API the vendor's own words for a conversation that does not fit lead to a summary, and the turn goes on.
func TestOverflowOfEachAPI(t *testing.T) {
	t.Parallel()
	catalog := registry.Default()
	for _, model := range []seat{{model: "claude-budget", level: provider.Medium}, {model: "gpt-open", level: provider.Low}, {model: "gemini", level: provider.High},
		{model: "ollama", level: provider.On}, {model: "deepseek", level: provider.Max}} {
		t.Run(model.String(), func(t *testing.T) {
			t.Parallel()
			p := model.place(t, catalog)
			if p.row.API == "ollama" { // its window is what the adapter asks for, the row's at most
				p.row.Window, p.row.NumCtx = 16_384, 16_384
			}
			server := sim.New(sim.Config{})
			b := seated(t, p, server, nil)
			id := b.session(sole{p.row}.ref().String(), p.level)
			sub, err := b.agent(id).Subscribe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			half := strings.Repeat("word ", p.row.Window*budget.PerToken*6/10/len("word "))
			for i := range 2 {
				brief := 20
				server.Script(sim.Answer{Text: &brief})
				if e := b.turn(id, fmt.Sprint("Part ", i, " ", half)); e.End.StopReason != "end_turn" {
					t.Fatalf("part %d: %s %+v", i, e.End.StopReason, e.End.Error)
				}
			}
			told := slices.DeleteFunc(notices(sub), func(kind string) bool { return !strings.HasPrefix(kind, "compact") })
			check(t, "told", told, []string{"compacting", "compacted"})
			check(t, "refusals", len(server.Refusals()), 1)
		})
	}
}

// A model that repeats itself for ever makes no summary: the turns stay as they are, and the memory too.
func TestSummaryWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, id := compactBench(t, 0, 1000)
		defer b.close()
		b.turn(id, "one")
		b.turn(id, "two")
		said := 0
		b.fake.scripts = []script{func(_ context.Context, yield func(provider.Event, error) bool) {
			for ok := yield(provider.Begin{Index: 0, Block: provider.Thinking{}}, nil); ok; said += 1000 {
				ok = yield(provider.Delta{Index: 0, Text: strings.Repeat("x", 1000)}, nil)
			}
		}}
		over, err := b.agent(id).Compact(t.Context())
		if err != nil || over == nil {
			t.Fatal(over, err)
		}
		if e, ok := errors.AsType[*provider.Error](<-over); !ok || e.Kind != provider.KindBadRequest {
			t.Errorf("it ends with %v", e)
		}
		if said > transcript.MaxSummary+2000 {
			t.Errorf("it was heard for %d bytes", said)
		}
		check(t, "the session goes on", string(b.turn(id, "three").End.StopReason), "end_turn")
		check(t, "with all that was said", len(b.fake.requests[3].Messages), 5)
	})
}

// A summary is a model call: a budget that has no room for it forbids it, and what it used counts for its turn, also if it
// is cancelled.
func TestSummaryIsInTheBudget(t *testing.T) {
	long := strings.Repeat("word ", 400) // 500 tokens by the estimate
	fill := func(b *bench, id session.ID) {
		for range 4 {
			b.turn(id, long)
		}
	}
	for _, test := range []struct {
		name   string
		limits Limits
		script script
		ends   string
		told   string // kind of notice
	}{
		{"no room before a call", Limits{TurnBudget: budget.Limit{Tokens: 1000}}, answer("", "never asked"), "limit tokens", "compaction_failed"},
		{"room", Limits{TurnBudget: budget.Limit{Tokens: 100_000}}, answer("", "All of it."), "end_turn", "compacted"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, id := compactBench(t, 0, 2000)
				defer b.close()
				fill(b, id)
				b.group.Close()
				b.cfg.Limits, b.cfg.CompactAt = test.limits, 0.1
				b.fake.scripts = []script{test.script}
				b.start()
				sub, err := b.agent(id).Subscribe(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				calls := len(b.fake.requests)
				e := b.turn(id, long)
				check(t, "ends", strings.TrimSpace(string(e.End.StopReason)+" "+e.End.Limit), test.ends)
				if told := notices(sub); !slices.Contains(told, test.told) {
					t.Errorf("told %q", told)
				}
				if test.ends != "end_turn" {
					check(t, "calls", len(b.fake.requests), calls)
					return
				}
				check(t, "calls", len(b.fake.requests), calls+2)
				check(t, "used", []int{e.End.Usage.Input, e.End.Usage.Output}, []int{20, 10})
				st, err := b.agent(id).State(t.Context())
				check(t, "of the session", []any{st.Session.Usage.Input, err}, []any{(4 + 2) * 10, nil})
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		b, id := compactBench(t, 0, 2000)
		defer b.close()
		fill(b, id)
		b.group.Close()
		b.cfg.CompactAt = 0.1
		b.fake.scripts = []script{events(concat(say("All of it")[:2], []any{time.Hour})...)}
		b.start()
		a := b.agent(id)
		r, err := a.Prompt(t.Context(), text("go on"))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, err := a.Cancel(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		e, err := a.Wait(t.Context(), r.Turn)
		if err != nil || e.End.Usage.Input < 1000 || e.End.Usage.Output != 3 || !e.End.Usage.Estimated {
			t.Errorf("a cancelled summary of a turn: %+v, %v", e.End.Usage, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		b, id := compactBench(t, 0, 2000)
		defer b.close()
		fill(b, id)
		b.fake.scripts = []script{events(concat(say("All of it")[:2], []any{time.Hour})...)}
		a := b.agent(id)
		over, err := a.Compact(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, err := a.Cancel(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		if err := <-over; !Cancelled(err) {
			t.Errorf("the summary: %v", err)
		}
		st, err := a.State(t.Context())
		if err != nil || st.Session.Usage.Input < 40+1000 || st.Session.Usage.Output != 4*5+3 {
			t.Errorf("a cancelled summary between turns: %+v, %v", st.Session.Usage, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		b, id := compactBench(t, 0, 2000)
		defer b.close()
		fill(b, id)
		b.group.Close()
		b.cfg.Limits = Limits{SessionBudget: budget.Limit{Tokens: 1000}}
		b.start()
		_, err := b.agent(id).Compact(t.Context())
		if pe, ok := errors.AsType[*provider.Error](err); !ok || pe.Kind != provider.KindQuota {
			t.Errorf("a summary beyond the session's budget: %v", err)
		}
	})
}
