package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// refuses is a provider that refuses each request that has a word somewhere, and answers the others.
type refuses struct {
	*fake
	word string
	with provider.Error
}

func (p *refuses) script(req *provider.Request, then script) script {
	if strings.Contains(wordsOf(req.Messages), p.word) {
		pe := p.with
		return events(&pe)
	}
	return then
}

// wordsOf is all that a request says, in one text: media as their type.
func wordsOf(messages []provider.Message) string {
	var b strings.Builder
	var write func(provider.Blocks)
	write = func(list provider.Blocks) {
		for _, block := range list {
			switch block := block.(type) {
			case provider.Text:
				b.WriteString(block.Text + "\n")
			case provider.Media:
				b.WriteString("media " + block.Type + "\n")
			case provider.ToolResult:
				write(block.Blocks)
			}
		}
	}
	for _, m := range messages {
		write(m.Blocks)
	}
	return b.String()
}

// refusing makes every request of the bench that has the word fail.
func (b *bench) refusing(word string, with provider.Error) {
	p := &refuses{fake: b.fake, word: word, with: with}
	b.fake.judge = p.script
}

func (b *bench) leftOut(id session.ID) []session.LeftOut {
	b.Helper()
	v, err := session.Load(b.Context(), b.store, id)
	if err != nil {
		b.Fatal(err)
	}
	return v.LeftOut
}

func (b *bench) last() []provider.Message { return b.fake.requests[len(b.fake.requests)-1].Messages }

func badRequest(text string) provider.Error {
	return provider.Error{API: "fake", Provider: "sim", Kind: provider.KindBadRequest, Status: 400, Message: text}
}

// A prompt that the provider refuses is left out of later requests to this model, also after a restart. It stays in the
// history, and another model gets it.
func TestRefusedPromptIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.close()
		b.refusing("POISON", badRequest("Invalid request."))
		id := b.session("sim/claude", "")
		check(t, "first", string(b.turn(id, "one").End.StopReason), "end_turn")
		sub, _ := b.agent(id).Subscribe(t.Context())
		e := b.turn(id, "POISON")
		check(t, "refused", []any{string(e.End.StopReason), e.End.Error.Message}, []any{"error", "sim: status 400: Invalid request."})
		if told := methods(sub); !slices.Contains(told, "notice suspect_left_out") {
			t.Errorf("told: %q", told)
		}
		check(t, "calls: as it is, and without the answer before", len(b.fake.requests), 3)

		check(t, "next", string(b.turn(id, "two").End.StopReason), "end_turn")
		check(t, "calls", len(b.fake.requests), 4)
		check(t, "sent", wordsOf(b.last()), "one\nSay.\ntwo\n")
		page, _, err := b.agent(id).History(t.Context(), Page{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		check(t, "in the history", []any{page[2].Parts[0].Block, page[2].Refused, page[0].Refused}, []any{provider.Text{Text: "POISON"}, true, false})

		b.over(b.store)
		b.refusing("POISON", badRequest("Invalid request."))
		check(t, "after a restart", string(b.turn(id, "three").End.StopReason), "end_turn")
		check(t, "sent after a restart", wordsOf(b.last()), "one\nSay.\ntwo\nSay.\nthree\n")
		explained, err := b.agent(id).Explain(t.Context(), session.Override{})
		if err != nil || len(explained.LeftOut) != 1 || explained.LeftOut[0].Message != page[2].ID || explained.LeftOut[0].Share != session.NotSent {
			t.Errorf("explained: %+v, %v", explained.LeftOut, err)
		}

		b.fake.judge = nil
		other := session.ModelRef{Provider: "anthropic", ID: "claude-opus-5-5"}
		explained, err = b.agent(id).Explain(t.Context(), session.Override{Model: &other})
		check(t, "explained for another model", []any{len(explained.LeftOut), err}, []any{0, nil})
		if _, err := b.agent(id).Set(t.Context(), Change{Model: &other}); err != nil {
			t.Fatal(err)
		}
		check(t, "on another model", string(b.turn(id, "four").End.StopReason), "end_turn")
		check(t, "sent to another model", wordsOf(b.last()), "one\nSay.\nPOISON\ntwo\nSay.\nthree\nSay.\nfour\n")
	})
}

// A turn that continues another one works on that one's prompt: no trial leaves the prompt out, since then the model would get nothing.
func TestContinueDoesNotTryWithoutThePrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.close()
		b.refusing("POISON", badRequest("Invalid request."))
		id := b.session("sim/claude", "")
		check(t, "refused", string(b.turn(id, "POISON").End.StopReason), "error")
		for range 2 {
			c, err := b.agent(id).Continue(t.Context(), nil, false)
			if err != nil {
				t.Fatal(err)
			}
			e, err := b.agent(id).Wait(t.Context(), c.Turn)
			if err != nil {
				t.Fatal(err)
			}
			check(t, "continued", string(e.End.StopReason), "error")
		}
		for i, req := range b.fake.requests {
			check(t, fmt.Sprint("request ", i), wordsOf(req.Messages), "POISON\n")
		}
	})
}

// A prompt that is left out for good leaves nothing that a turn can continue.
func TestContinueOfAPromptThatIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.close()
		b.refusing("POISON", provider.Error{API: "fake", Provider: "sim", Kind: provider.KindAuth, Status: 401, Message: "no"})
		id := b.session("sim/claude", "")
		check(t, "first", string(b.turn(id, "one").End.StopReason), "end_turn")
		check(t, "without a key", string(b.turn(id, "POISON").End.StopReason), "error")
		b.refusing("POISON", badRequest("Invalid request."))
		c, err := b.agent(id).Continue(t.Context(), nil, false)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.agent(id).Wait(t.Context(), c.Turn); err != nil {
			t.Fatal(err)
		}
		check(t, "left out", len(b.leftOut(id)), 1)
		if c, err := b.agent(id).Continue(t.Context(), nil, false); !errors.Is(err, ErrFinished) {
			t.Errorf("continued: %+v, %v", c, err)
		}
	})
}

// A refused image or result is replaced by a sentence within the turn, which goes on.
func TestRefusedMediaAndResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.close()
		b.refusing("media image/png", badRequest("Could not process image"))
		id := b.session("sim/claude", "")
		b.turn(id, "one")
		a := b.agent(id)
		r, err := a.Prompt(t.Context(), Prompt{Content: provider.Blocks{provider.Text{Text: "look"}, provider.Media{Type: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")}}})
		if err != nil {
			t.Fatal(err)
		}
		e, err := a.Wait(t.Context(), r.Turn)
		check(t, "the turn", []any{string(e.End.StopReason), err}, []any{"end_turn", nil})
		check(t, "calls", len(b.fake.requests), 3)
		want := "one\nSay.\nlook\n[image/png was left out: the provider refused it]\n"
		check(t, "sent", wordsOf(b.last()), want)
		b.turn(id, "two")
		check(t, "sent later", wordsOf(b.last()), want+"Say.\ntwo\n")
		check(t, "calls after all", len(b.fake.requests), 4)
	})
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		poison := func(context.Context, provider.ToolCall, func(string)) provider.ToolResult {
			ran++
			return said("POISON")
		}
		b, id := toolBench(t, &host{run: poison}, calls("t", `{}`))
		defer b.close()
		b.refusing("POISON", badRequest("Content Exists Risk"))
		check(t, "the turn", string(b.turn(id, "one").End.StopReason), "end_turn")
		check(t, "runs", ran, 1)
		check(t, "sent", wordsOf(b.last()), "one\n[the result was left out: the provider refused it]\n")
		b.turn(id, "two")
		check(t, "sent later", wordsOf(b.last()), "one\n[the result was left out: the provider refused it]\nSay.\ntwo\n")
	})
}

// A refusal that names the model, the endpoint, the account or a parameter leaves nothing out.
func TestRefusalThatIsNotOfTheHistory(t *testing.T) {
	for _, text := range []string{"The requested model is not supported.", "Unsupported parameter: 'top_k'",
		"temperature: Input should be 1", "Your organization must be verified", "tools.3.custom.name: String should match pattern"} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t)
			defer b.close()
			id := b.session("sim/claude", "")
			b.turn(id, "one")
			b.refusing("", badRequest(text))
			check(t, text, string(b.turn(id, "two").End.StopReason), "error")
			check(t, "calls", len(b.fake.requests), 2)
			b.turn(id, "three")
			b.fake.judge = nil
			b.turn(id, "four")
			check(t, "left out", len(b.leftOut(id)), 0)
			check(t, "sent", wordsOf(b.last()), "one\nSay.\ntwo\nthree\nfour\n")
		})
	}
}

// Without an accepted request before it nothing is left out for a refusal, and still the session does not get stuck: the
// next turn tries without the refused one. That holds for every reason in a request that a provider may give.
func TestSecondRefusalIsTriedWithoutTheFirst(t *testing.T) {
	for name, with := range map[string]provider.Error{
		"unknown":   badRequest("Invalid request."),
		"parameter": badRequest("Unsupported parameter: 'messages'."),
		"too long":  {API: "fake", Kind: provider.KindTooLong, Status: 400, Message: "prompt is too long"},
		"model":     badRequest("The requested model is not supported."),
		"template":  {API: "fake", Kind: provider.KindTransport, Status: 500, Message: "Error rendering prompt with jinja template"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				defer b.close()
				b.refusing("POISON", with)
				id := b.session("sim/claude", "")
				check(t, "refused", string(b.turn(id, "POISON").End.StopReason), "error")
				check(t, "left out at first", len(b.leftOut(id)), 0)
				check(t, "next", string(b.turn(id, "two").End.StopReason), "end_turn")
				check(t, "left out", len(b.leftOut(id)), 1)
				check(t, "and next", string(b.turn(id, "three").End.StopReason), "end_turn")
				check(t, "sent", wordsOf(b.last()), "two\nSay.\nthree\n")
			})
		})
	}
}

// A provider that serves nobody for now leaves nothing out, however often it says so: when it serves again, a prompt that it
// refused is there.
func TestProviderThatServesNobody(t *testing.T) {
	for name, with := range map[string]provider.Error{
		"no key":     {API: "fake", Kind: provider.KindAuth, Status: 401},
		"account":    {API: "fake", Kind: provider.KindAuth, Status: 403, Message: "Your organization must be verified"},
		"quota":      {API: "fake", Kind: provider.KindQuota, Status: 429, Message: "The usage limit has been reached"},
		"rate limit": {API: "fake", Kind: provider.KindRateLimit, Status: 429},
		"overloaded": {API: "fake", Kind: provider.KindOverloaded, Status: 529},
		"broken":     {API: "fake", Kind: provider.KindTransport, Status: 502},
	} {
		for _, known := range []bool{true, false} { // whether a request was accepted before
			t.Run(fmt.Sprintf("%s/%v", name, known), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBench(t)
					defer b.close()
					id := b.session("sim/claude", "")
					if known {
						b.turn(id, "zero")
					}
					b.refusing("one", with)
					for _, s := range []string{"one", "two", "three"} {
						check(t, s, string(b.turn(id, s).End.StopReason), "error")
					}
					b.fake.judge = nil
					check(t, "four", string(b.turn(id, "four").End.StopReason), "end_turn")
					check(t, "left out", len(b.leftOut(id)), 0)
					if sent := wordsOf(b.last()); !strings.Contains(sent, "one\ntwo\nthree\nfour\n") {
						t.Errorf("sent: %s", sent)
					}
				})
			})
		}
	}
}

// What the model said itself may be the reason, or a prompt that was taken into a loop of tools.
func TestRefusedRepliesAndSteering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, answer("Think.", "POISON"))
		defer b.close()
		b.refusing("POISON", badRequest("Invalid request."))
		id := b.session("sim/claude", "")
		b.turn(id, "one")
		check(t, "the turn after", string(b.turn(id, "two").End.StopReason), "end_turn")
		check(t, "sent", wordsOf(b.last()), "one\ntwo\n")
	})
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		waits := func(context.Context, provider.ToolCall, func(string)) provider.ToolResult {
			<-hold
			return said("file")
		}
		b, id := toolBench(t, &host{run: waits}, calls("t", `{}`))
		defer b.close()
		b.refusing("POISON", badRequest("Invalid request."))
		a := b.agent(id)
		r, err := a.Prompt(t.Context(), text("one"))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		steering := text("POISON")
		steering.Steer = true
		if _, err := a.Prompt(t.Context(), steering); err != nil {
			t.Fatal(err)
		}
		close(hold)
		e, err := a.Wait(t.Context(), r.Turn)
		check(t, "the turn", []any{string(e.End.StopReason), err}, []any{"error", nil})
		check(t, "next", string(b.turn(id, "two").End.StopReason), "end_turn")
		check(t, "sent", wordsOf(b.last()), "one\ntwo\n")
	})
}

// A level that the last accepted request did not have may be the reason, so nothing is left out for the first refusal.
func TestRefusalAfterAChangeOfLevel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.close()
		id := b.session("sim/claude", provider.Low)
		b.turn(id, "one")
		high := provider.High
		if _, err := b.agent(id).Set(t.Context(), Change{Level: &high}); err != nil {
			t.Fatal(err)
		}
		b.refusing("two", badRequest("Invalid request."))
		check(t, "refused", string(b.turn(id, "two").End.StopReason), "error")
		check(t, "left out", len(b.leftOut(id)), 0)
		check(t, "next", string(b.turn(id, "three").End.StopReason), "end_turn")
		check(t, "sent", wordsOf(b.last()), "one\nSay.\nthree\n")
	})
}

// So it is with another address of the provider: what the host there takes is not known.
func TestRefusalAfterAChangeOfAddress(t *testing.T) {
	for _, moved := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t)
			defer b.close()
			at := "one.example.com/v1"
			b.group.Close()
			b.cfg.Address = func(string) string { return at }
			b.start()
			id := b.session("sim/claude", "")
			b.turn(id, "one")
			b.group.Close() // it is configured anew
			if moved {
				at = "two.example.com/v1"
			}
			b.start()
			b.refusing("two", badRequest("Invalid request."))
			check(t, "refused", string(b.turn(id, "two").End.StopReason), "error")
			want := 1
			if moved {
				want = 0
			}
			check(t, "left out", len(b.leftOut(id)), want)
			check(t, "next", string(b.turn(id, "three").End.StopReason), "end_turn")
			check(t, "sent", wordsOf(b.last()), "one\nSay.\nthree\n")
		})
	}
}

// A summary that the provider refuses holds up nothing, and what is left out is not in what a summary is made from.
func TestRefusedSummary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.close()
		id := b.session("sim/claude", "")
		b.turn(id, "one")
		b.refusing("POISON", badRequest("Invalid request."))
		b.turn(id, "POISON")
		for _, s := range []string{"two", "three", "four"} {
			check(t, s, string(b.turn(id, s).End.StopReason), "end_turn")
		}
		over, err := b.agent(id).Compact(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		check(t, "the summary", <-over, nil)
		if from := wordsOf(b.last()); strings.Contains(from, "POISON") || !strings.Contains(from, "two") {
			t.Errorf("summarised: %s", from)
		}
		check(t, "next", string(b.turn(id, "five").End.StopReason), "end_turn")
		b.refusing("[summary of", badRequest("Invalid request."))
		for _, s := range []string{"six", "seven", "eight"} {
			b.turn(id, s)
		}
		if over, err = b.agent(id).Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-over; err == nil || !strings.Contains(err.Error(), "Invalid request.") {
			t.Errorf("the refused summary: %v", err)
		}
		check(t, "after a refused summary", string(b.turn(id, "nine").End.StopReason), "end_turn")
	})
}
