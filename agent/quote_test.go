package agent

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

var quoteTurns = flag.Int("quoteturns", 24, "how many random turns TestQuoteHolds quotes")

// quoted is a bench with the simulator behind all models, at their real prices.
type quoted struct {
	*bench
	server *sim.Server
	rand   *rand.Rand
	result int // characters of the next results of tools
}

func newQuoted(t *testing.T, seed uint64) *quoted {
	t.Helper()
	q := &quoted{bench: newBench(t), server: sim.New(sim.Config{NoJournal: true}), rand: rand.New(rand.NewPCG(seed, 1))}
	listener := q.server.Listen()
	catalog, err := registry.New([]registry.Provider{{ID: "anthropic", Vendor: "anthropic"}, {ID: "openai", Vendor: "openai"},
		{ID: "gemini", Vendor: "gemini"}, {ID: "deepseek", Vendor: "deepseek"}, {ID: "ollama", Vendor: "ollama"}, {ID: "sim", Vendor: "sim"}})
	if err != nil {
		t.Fatal(err)
	}
	apis := map[string]provider.Provider{}
	for id, model := range map[string]string{"anthropic": "claude-opus-5-5", "openai": "gpt-6.1-sol", "gemini": "gemini-3.8-flash",
		"deepseek": "deepseek-flash", "ollama": "ollama", "sim": "claude"} {
		apis[id] = opener(t, catalog.Model(id, model))(listener.Transport())
	}
	q.group.Close()
	q.cfg.Limits.Idle = 1000 * time.Hour // sessions stay loaded: a test holds on to the agent
	q.cfg.Catalog, q.cfg.Provider = catalog, func(id string) provider.Provider { return apis[id] }
	q.cfg.Hosts = func(session.Owner, session.Session) []toolhost.Host {
		return []toolhost.Host{&host{run: func(context.Context, provider.ToolCall, func(string)) provider.ToolResult {
			return said(q.words(q.result))
		}}}
	}
	q.start()
	t.Cleanup(func() {
		q.close()
		listener.Close()
	})
	return q
}

// words are so many characters of text that differs each time.
func (q *quoted) words(characters int) string {
	var b strings.Builder
	for b.Len() < characters {
		fmt.Fprintf(&b, "%s ", []string{"clock", "zone", "discount", "returns", "a", "of", "midnight", "NewCart", "the"}[q.rand.IntN(9)])
	}
	return b.String()
}

func (q *quoted) session(model string, level provider.Level) session.ID {
	q.Helper()
	id, name, _ := strings.Cut(model, "/")
	s, err := q.group.For(session.Operator).Create(q.Context(), session.Session{System: q.words(3000),
		Settings: session.Settings{Model: session.ModelRef{Provider: id, ID: name}, Level: level},
		Tools: []tool.Tool{{Tool: provider.Tool{Name: "look", Description: q.words(2000),
			Schema: json.RawMessage(`{"type":"object","properties":{"at":{"type":"string"}}}`)}, Host: tool.MCP, Source: "files", Effect: tool.Read}}})
	if err != nil {
		q.Fatal(err)
	}
	return s.ID
}

func (q *quoted) quote(id session.ID, o session.Override, prompt provider.Blocks) Quote {
	q.Helper()
	got, err := q.agent(id).Quote(q.Context(), o, prompt)
	if err != nil {
		q.Fatal(err)
	}
	return got
}

// prompts sends a prompt, and returns its turn, with the usage of its first call.
func (q *quoted) prompts(id session.ID, prompt provider.Blocks) (Ended, provider.Usage) {
	q.Helper()
	a := q.agent(id)
	r, err := a.Prompt(q.Context(), Prompt{Content: prompt})
	if err != nil {
		q.Fatal(err)
	}
	e, err := a.Wait(q.Context(), r.Turn)
	if err != nil {
		q.Fatal(err)
	}
	view, err := session.Load(q.Context(), q.store, id)
	if err != nil {
		q.Fatal(err)
	}
	for _, m := range view.Turn(r.Turn).Messages {
		if m.End != nil {
			return e, m.End.Usage
		}
	}
	q.Fatalf("the turn has no answer: %+v", e.End)
	return e, provider.Usage{}
}

// lengths are random: half of them below the middle one, one in 40 above the far one.
func (q *quoted) length(middle, far float64) int {
	return int(middle * math.Exp(q.rand.NormFloat64()*math.Log(far/middle)/2))
}

// scripts a random turn: some thinking and an answer, often after calls of the tool.
func (q *quoted) scripts(thinks bool) {
	calls := 0
	for q.rand.IntN(5) < 3 && calls < 12 {
		calls++
	}
	q.result = q.length(1500, 9000)
	for i := range calls + 1 {
		var parts []sim.Part
		if thinks {
			parts = append(parts, sim.Part{Kind: sim.Thinking, Text: q.words(q.length(400, 3000))})
		}
		if i < calls {
			parts = append(parts, sim.Part{Kind: sim.Call, Name: "look", ID: fmt.Sprintf("toolu_%d_%d", q.rand.IntN(1e9), i),
				Input: json.RawMessage(fmt.Sprintf(`{"at":%q}`, q.words(q.length(60, 400))))})
		} else {
			parts = append(parts, sim.Part{Text: q.words(q.length(900, 6000))})
		}
		q.server.Script(sim.Answer{Parts: parts})
	}
}

// TestQuoteHolds: the prompt of a quote is within 5 % of what the vendor counts, and the bill of 95 of 100 random turns lies between the
// bounds. Sessions change their model and their level, rest until the cache is cold, and show images.
func TestQuoteHolds(t *testing.T) {
	families := [][]string{
		{"anthropic/claude-opus-5-5", "anthropic/claude-sonnet-5"}, {"anthropic/claude-haiku-4-5-20251001"}, {"openai/gpt-6.1-sol", "openai/gpt-5.6-sol"},
		{"gemini/gemini-3.8-flash"}, {"deepseek/deepseek-flash"}, {"anthropic/claude-opus-5-5", "openai/gpt-6.1-sol", "gemini/gemini-3.8-flash"},
	}
	levels := []provider.Level{provider.Low, provider.Medium, provider.High}
	var all, within, counted, near int
	var off, guessed, width []float64
	below, above := 0, 0
	byModel := map[string][3]int{} // turns, within the bounds, above
	for seed := uint64(0); all < *quoteTurns; seed++ {
		synctest.Test(t, func(t *testing.T) {
			q := newQuoted(t, seed)
			family := families[int(seed)%len(families)]
			id := q.session(family[0], levels[q.rand.IntN(len(levels))])
			for range min(30, max(8, *quoteTurns/len(families)), *quoteTurns-all) {
				time.Sleep(time.Duration(q.length(40, 2400)) * time.Second)
				var change Change
				if q.rand.IntN(12) == 0 {
					change.Level = new(levels[q.rand.IntN(len(levels))])
				}
				if q.rand.IntN(12) == 0 {
					p, name, _ := strings.Cut(family[q.rand.IntN(len(family))], "/")
					change.Model = &session.ModelRef{Provider: p, ID: name}
				}
				st, err := q.agent(id).Set(t.Context(), change)
				if err != nil {
					t.Fatal(err)
				}
				prompt := provider.Blocks{provider.Text{Text: q.words(q.length(200, 4000))}}
				quote := q.quote(id, session.Override{}, prompt)
				q.scripts(st.Decision.Control.Thinking())
				e, first := q.prompts(id, prompt)
				if e.End.StopReason != session.StopEndTurn {
					t.Fatalf("%s: %+v", st.Model.Ref(), e.End.Error)
				}
				if !quote.Next.Known || quote.Next.Cost == nil || e.End.Usage.Cost == nil {
					t.Fatalf("%s: quote %+v, usage %+v", st.Model.Ref(), quote.Next, e.End.Usage)
				}
				all++
				miss := math.Abs(float64(quote.Next.Input-first.Input)) / float64(first.Input)
				if quote.Next.Counted {
					counted++
					off = append(off, miss)
					if miss <= 0.05 {
						near++
					} else if testing.Verbose() {
						t.Logf("seed %d, turn %d, %s: quoted %d tokens, used %d (%+v)", seed, all, st.Model.Ref(), quote.Next.Input, first.Input, quote.Cache)
						view, _ := session.Load(t.Context(), q.store, id)
						for _, turn := range view.Turns[max(0, len(view.Turns)-4):] {
							for _, m := range turn.Messages {
								if m.End != nil {
									t.Logf("   %s %s %d in %d out %d thought", turn.Start.Model.ID, turn.Start.Reasoning.Effective, m.End.Usage.Input, m.End.Usage.Output, *m.End.Usage.Reasoning)
								}
							}
						}
					}
				} else {
					guessed = append(guessed, miss)
				}
				c, paid := quote.Next.Cost, e.End.Usage.Cost.Amount
				width = append(width, c.High.Amount.Units()/max(c.Low.Amount.Units(), 1e-9))
				by := byModel[st.Model.Ref()]
				by[0]++
				switch {
				case paid < c.Low.Amount:
					below++
					if testing.Verbose() {
						t.Logf("%s: paid %v of %v to %v; first call %+v, quoted %+v, %+v", st.Model.Ref(), paid.Units(), c.Low, c.High, first, quote.Next, quote.Cache)
					}
				case paid > c.High.Amount:
					above++
					by[2]++
				default:
					within++
					by[1]++
				}
				byModel[st.Model.Ref()] = by
				if all%1000 == 0 {
					t.Logf("%d turns, of which %d lay between the bounds; %d of %d counted prompts within 5 %%", all, within, near, counted)
				}
			}
		})
	}
	mid := func(list []float64, share float64) float64 {
		if len(list) == 0 {
			return 0
		}
		slices.Sort(list)
		return list[min(int(share*float64(len(list))), len(list)-1)]
	}
	t.Logf("%d turns, of which the vendor had counted an earlier prompt in %d: the quoted prompt was off by %.2f %% (half of them), %.2f %% (99 of 100), %.2f %% at most; %d within 5 %%",
		all, counted, 100*mid(off, 0.5), 100*mid(off, 0.99), 100*mid(off, 1), near)
	t.Logf("%d turns without a count: off by %.1f %% (half of them), %.1f %% at most", len(guessed), 100*mid(guessed, 0.5), 100*mid(guessed, 1))
	t.Logf("the bill lay between low and high in %d of %d turns (%.2f %%), below in %d, above in %d; high was %.1f times low (half of them), %.1f times (9 of 10)",
		within, all, 100*float64(within)/float64(all), below, above, mid(width, 0.5), mid(width, 0.9))
	for model, n := range byModel {
		t.Logf("%s: %d of %d within the bounds, %d above", model, n[1], n[0], n[2])
	}
	if near < counted {
		t.Errorf("%d quoted prompts were off by more than 5 %%", counted-near)
	}
	if outside := all - within; outside > max(all/20, 6) { // of so few turns in CI, chance may take one in eight
		t.Errorf("%d of %d bills lay outside of the bounds", outside, all)
	}
}

func part(q Quote, part provider.PromptPart) (tokens int) {
	for _, p := range q.Next.Parts {
		if p.Part == part {
			tokens += p.Tokens
		}
	}
	return tokens
}

// addsUp checks that the parts have the sum of the whole, and that each token is read, written or paid.
func addsUp(t *testing.T, what string, q Quote) {
	t.Helper()
	tokens := 0
	for _, p := range q.Next.Parts {
		tokens += p.Tokens
		check(t, what+": read, written and paid of "+string(p.Part), p.Read+p.Write+p.Paid, p.Tokens)
	}
	check(t, what+": the sum of the parts", tokens, q.Next.Input)
}

func TestQuoteParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuoted(t, 7)
		ask := func() provider.Blocks { return provider.Blocks{provider.Text{Text: q.words(800)}} }
		id := q.session("anthropic/claude-opus-5-5", provider.High)
		first := q.quote(id, session.Override{}, ask())
		addsUp(t, "a new session", first)
		check(t, "counted in a new session", first.Next.Counted, false)
		check(t, "a comparison with a compaction of nothing", first.Compact == nil, true)
		if part(first, provider.PartTools) == 0 || part(first, provider.PartSystem) < 500 || part(first, provider.PartTurns) == 0 {
			t.Errorf("parts of a new session: %+v", first.Next.Parts)
		}
		for range 6 {
			q.scripts(true)
			q.prompts(id, ask())
		}
		st, err := q.agent(id).State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		warm := q.quote(id, session.Override{}, ask())
		addsUp(t, "a warm session", warm)
		check(t, "state", warm.Cache.State, provider.CacheKept)
		check(t, "warm until, of the session and of the quote", st.Session.WarmUntil(), warm.WarmUntil)
		left := time.Until(time.UnixMilli(warm.WarmUntil))
		if left <= 4*time.Minute || left > 5*time.Minute {
			t.Errorf("it is warm for %v", left)
		}
		if warm.Next.Read < warm.Next.Input*8/10 || warm.Next.Write == 0 || warm.Next.Paid != 0 {
			t.Errorf("a warm prompt: %+v", warm.Next)
		}
		if c := warm.Compact; c == nil || c.Messages == 0 || c.Summary == nil || c.Next.Cost == nil || c.Next.Input >= warm.Next.Input {
			t.Errorf("compared with a compaction: %+v", c)
		}
		page, _, err := q.group.For(session.Operator).List(t.Context(), session.Query{Limit: 1})
		if err != nil || len(page) != 1 {
			t.Fatal(page, err)
		}
		check(t, "warm until, in the list", page[0].WarmUntil(), warm.WarmUntil)

		time.Sleep(left)
		cold := q.quote(id, session.Override{}, ask())
		check(t, "state after its time", cold.Cache.State, provider.CacheCold)
		check(t, "read after its time", cold.Next.Read, 0)
		if cold.Next.Cost.Low.Amount < 3*warm.Next.Cost.Low.Amount {
			t.Errorf("cold costs at least %v, warm %v", cold.Next.Cost.Low, warm.Next.Cost.Low)
		}
		q.scripts(true)
		_, sub, err := q.agent(id).Attach(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		e, _ := q.prompts(id, ask())
		var told talked
		told.read(sub)
		sub.Close()
		check(t, "what turn_start said", fmt.Sprint(told.said), "[cold]")
		check(t, "the end of the turn", e.End.StopReason, session.StopEndTurn)

		over, err := q.agent(id).Compact(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := <-over; err != nil {
			t.Fatal(err)
		}
		compacted := q.quote(id, session.Override{}, ask())
		addsUp(t, "after a compaction", compacted)
		check(t, "state after a compaction", compacted.Cache.State, provider.CacheLost)
		if part(compacted, provider.PartSummary) == 0 || compacted.WarmUntil != 0 {
			t.Errorf("after a compaction: %+v", compacted)
		}
	})
}

// TestQuotePins quotes a compaction with the messages that it keeps: the input behind the real one is as it was quoted.
func TestQuotePins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuoted(t, 11)
		id := q.session("anthropic/claude-opus-5-5", provider.High)
		var long session.MessageID
		for i := range 6 {
			q.scripts(true)
			size := 800
			if i == 1 {
				size = 40_000
			}
			e, _ := q.prompts(id, provider.Blocks{provider.Text{Text: q.words(size)}})
			if i == 1 {
				view, err := session.Load(t.Context(), q.store, id)
				if err != nil {
					t.Fatal(err)
				}
				long = view.Turn(e.Turn).Messages[0].ID
			}
		}
		prompt := provider.Blocks{provider.Text{Text: q.words(800)}}
		without := q.quote(id, session.Override{}, prompt)
		if _, err := q.agent(id).Pin(t.Context(), long, true); err != nil {
			t.Fatal(err)
		}
		with := q.quote(id, session.Override{}, prompt)
		if without.Compact == nil || with.Compact == nil {
			t.Fatalf("nothing to summarise: %+v, %+v", without, with)
		}
		more := with.Compact.Next.Input - without.Compact.Next.Input
		over, err := q.agent(id).Compact(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := <-over; err != nil {
			t.Fatal(err)
		}
		after := q.quote(id, session.Override{}, prompt)
		t.Logf("quoted %d tokens behind a summary, %d with a pinned message, and %d behind the summary that was made", without.Compact.Next.Input, with.Compact.Next.Input, after.Next.Input)
		if more < 6000 || more > 14_000 { // of 40,000 characters
			t.Errorf("the pinned message adds %d tokens", more)
		}
		if diff := after.Next.Input - with.Compact.Next.Input; diff < -1500 || diff > 1500 { // the length of a summary is a guess
			t.Errorf("the real compaction has %d tokens more than quoted", diff)
		}
	})
}

// TestQuoteUnknown: what is not known is not a number.
func TestQuoteUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuoted(t, 8)
		words := provider.Blocks{provider.Text{Text: q.words(400)}}
		for _, tc := range []struct {
			model         string
			priced, cache bool
		}{{"anthropic/claude-opus-5-5", true, true}, {"anthropic/claude-of-tomorrow", false, true}, {"gemini/gemini-3.8-flash", true, false}, {"ollama/ollama", false, false}} {
			id := q.session(tc.model, provider.Low)
			quote := q.quote(id, session.Override{}, words)
			check(t, tc.model+": what is sent is known", quote.Next.Known, true)
			check(t, tc.model+": the cost is known", quote.Next.Cost != nil, tc.priced)
			check(t, tc.model+": the cache is known", quote.Next.Cached, tc.cache)
			check(t, tc.model+": warm until", quote.WarmUntil, int64(0))
		}
		q.cfg.Provider = func(string) provider.Provider { return nil }
		q.group.Close()
		q.start()
		none := q.quote(q.session("anthropic/claude-opus-5-5", provider.Low), session.Override{}, words)
		check(t, "without a provider", none.Next.Known || none.Next.Cost != nil || none.Compact != nil, false)
	})
}

// TestQuoteOther: a quote for another model measures what that model would be sent, without the thinking that it does not get.
func TestQuoteOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuoted(t, 9)
		id := q.session("anthropic/claude-opus-5-5", provider.High)
		thought := 0
		for range 4 {
			q.server.Script(sim.Answer{Parts: []sim.Part{{Kind: sim.Thinking, Text: q.words(6000)}, {Text: q.words(300)}}})
			e, _ := q.prompts(id, provider.Blocks{provider.Text{Text: q.words(300)}})
			thought += *e.End.Usage.Reasoning
		}
		prompt := provider.Blocks{provider.Text{Text: q.words(300)}}
		own := q.quote(id, session.Override{}, prompt)
		gpt := session.ModelRef{Provider: "openai", ID: "gpt-6.1-sol"}
		other := q.quote(id, session.Override{Model: &gpt, Level: provider.Low}, prompt)
		check(t, "the other model", other.Model.Ref(), "openai/gpt-6.1-sol")
		check(t, "its level", other.Decision.Effective, provider.Low)
		check(t, "its cache", other.Cache.State, provider.CacheLost)
		check(t, "counted by the other model", other.Next.Counted, false)
		t.Logf("%d tokens of thinking; for the own model %d tokens, for the other %d (%d to %d)", thought, own.Next.Input, other.Next.Input, other.Next.Low, other.Next.High)
		if own.Next.Input-other.Next.Input < thought*8/10 {
			t.Errorf("the own model is sent %d tokens, the other %d, without %d of thinking", own.Next.Input, other.Next.Input, thought)
		}
		if _, err := q.agent(id).Set(t.Context(), Change{Model: &gpt}); err != nil {
			t.Fatal(err)
		}
		q.server.Script(sim.Answer{Parts: []sim.Part{{Text: q.words(300)}}})
		_, used := q.prompts(id, prompt)
		if used.Input < other.Next.Low || used.Input > other.Next.High {
			t.Errorf("the other model used %d tokens, quoted with %d to %d", used.Input, other.Next.Low, other.Next.High)
		}
		level := q.quote(id, session.Override{Level: provider.High}, prompt)
		check(t, "another level", level.Decision.Effective, provider.High)
	})
}

// TestQuoteImages: images that the vendor has counted are a part of the count.
func TestQuoteImages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuoted(t, 10)
		id := q.session("anthropic/claude-opus-5-5", provider.Low)
		image := provider.Media{Type: "image/png", Data: append([]byte("\x89PNG\r\n\x1a\n"), q.words(5000)...)}
		for range 3 {
			q.server.Script(sim.Answer{Parts: []sim.Part{{Text: q.words(600)}}})
			q.prompts(id, provider.Blocks{provider.Text{Text: q.words(100)}, image})
		}
		prompt := provider.Blocks{provider.Text{Text: q.words(500)}}
		quote := q.quote(id, session.Override{}, prompt)
		addsUp(t, "images", quote)
		check(t, "there are media", part(quote, provider.PartMedia) > 0, true)
		q.server.Script(sim.Answer{Parts: []sim.Part{{Text: q.words(600)}}})
		if _, used := q.prompts(id, prompt); math.Abs(float64(used.Input-quote.Next.Input)) > 0.05*float64(used.Input) {
			t.Errorf("quoted with %d tokens, used %d", quote.Next.Input, used.Input)
		}
	})
}

// TestQuoteRunning: a turn that runs is a part of what is quoted, and nothing of it changes.
func TestQuoteRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuoted(t, 11)
		id := q.session("anthropic/claude-opus-5-5", provider.Low)
		q.server.Script(sim.Answer{Parts: []sim.Part{{Text: q.words(600)}}})
		q.prompts(id, provider.Blocks{provider.Text{Text: q.words(300)}})
		before := q.quote(id, session.Override{}, nil)
		release := make(chan struct{})
		q.cfg.Hosts = func(session.Owner, session.Session) []toolhost.Host {
			return []toolhost.Host{&host{run: func(context.Context, provider.ToolCall, func(string)) provider.ToolResult {
				<-release
				return said(q.words(200))
			}}}
		}
		q.group.Close()
		q.start()
		q.server.Script(sim.Answer{Parts: []sim.Part{{Kind: sim.Call, Name: "look", Input: json.RawMessage(`{"at":"cart"}`)}}}, sim.Answer{Parts: []sim.Part{{Text: q.words(600)}}})
		a := q.agent(id)
		r, err := a.Prompt(t.Context(), Prompt{Content: provider.Blocks{provider.Text{Text: q.words(2000)}}})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		during := q.quote(id, session.Override{}, nil)
		check(t, "running", during.Running, true)
		addsUp(t, "during a turn", during)
		if during.Next.Input < before.Next.Input+400 || during.Next.Cost == nil || during.Compact != nil {
			t.Errorf("before the turn %d tokens, during it %+v", before.Next.Input, during)
		}
		close(release)
		if e, err := a.Wait(t.Context(), r.Turn); err != nil || e.End.StopReason != session.StopEndTurn {
			t.Fatal(e.End, err)
		}
	})
}

// TestCacheUse: a turn says what its calls read from the vendor's cache, and why it was less than expected.
func TestCacheUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuoted(t, 12)
		turn := func(id session.ID) session.CacheUse {
			q.scripts(false)
			e, _ := q.prompts(id, provider.Blocks{provider.Text{Text: q.words(2000)}})
			if e.End.Cache == nil {
				return session.CacheUse{}
			}
			return *e.End.Cache
		}
		missed := func(use session.CacheUse) (causes []provider.CacheCause) {
			for _, m := range use.Misses {
				if causes = append(causes, m.Cause); m.Tokens <= 0 || m.Why == "" {
					t.Errorf("a miss: %+v", m)
				}
			}
			return causes
		}
		id := q.session("openai/gpt-5.6-sol", provider.Low)
		turn(id)
		if use := turn(id); use.Expected == 0 || use.Read < use.Expected*8/10 || use.Misses != nil {
			t.Errorf("with a warm cache: %+v", use)
		}
		q.group.Close() // what is expected is in the log
		q.start()
		time.Sleep(31 * time.Minute)
		check(t, "after the vendor's time", fmt.Sprint(missed(turn(id))), "[expired]")
		set := func(c Change) {
			t.Helper()
			if _, err := q.agent(id).Set(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		set(Change{Level: new(provider.High)})
		check(t, "at another level", fmt.Sprint(missed(turn(id))), "[level]")
		set(Change{Model: &session.ModelRef{Provider: "anthropic", ID: "claude-opus-5-5"}})
		check(t, "with another model", fmt.Sprint(missed(turn(id))), "[model]")
		over, err := q.agent(id).Compact(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := <-over; err != nil {
			t.Fatal(err)
		}
		check(t, "after a summary", fmt.Sprint(missed(turn(id))), "[summary]")
	})
}
