package rpc

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/agent/gate"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// spends is a stage with a limit, at which a session is whose first turn has nearly used it up.
func spends(t *testing.T, l gate.Limits, play func(s *stage, d *desk, id string)) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, "say one\n\nsay two\n\nsay three\n\nsay four", 0, "")
		defer s.close()
		s.config.Limits.Spending = l
		s.disconnect()
		s.group.Close()
		s.connect()
		d := s.sit(`{"session":{"notices":{}}}`)
		defer d.stand()
		id := d.newSession()
		if st := d.result("session/set_config_option", fmt.Sprintf(`{"sessionId":%q,"configId":"model","value":"mirror/claude-opus-5-5"}`, id)); !st.Exists() {
			t.Fatal(st)
		}
		d.prompt(id, "one")
		time.Sleep(time.Second)
		play(s, d, id)
	})
}

// A turn at a limit is a question to the editor. A call of claude-opus-5-5 reserves about 0.08 USD, and uses 0.007.
func TestACPSpending(t *testing.T) {
	for _, tc := range []struct {
		limit         session.SpendingLimit
		answer, stop  string
		status, after string
	}{
		{session.LimitDay, `{"outcome":"selected","optionId":"spend"}`, "end_turn", "completed", "asked"},
		{session.LimitDay, `{"outcome":"selected","optionId":"raise"}`, "end_turn", "completed", "end_turn"},
		{session.LimitDay, `{"outcome":"selected","optionId":"end"}`, "cancelled", "failed", "asked"},
		{session.LimitDay, `{"outcome":"cancelled"}`, "cancelled", "failed", "asked"},
	} {
		t.Run(tc.answer, func(t *testing.T) {
			spends(t, gate.Limits{Day: provider.MoneyOf(0.0865)}, func(s *stage, d *desk, id string) {
				from := len(d.got())
				prompt := d.prompt(id, "two")
				time.Sleep(time.Minute)
				q := d.asked().Get("params")
				if got := q.Get("options.#.kind").Raw; got != `["allow_once","allow_always","reject_once"]` {
					t.Errorf("%s", q)
				}
				if text := q.Get("toolCall.content.0.content.text").String(); !strings.HasPrefix(text, "0.0073 USD of 0.086 USD (max_day_cost) are spent or reserved today. The next call may cost up to 0.08") {
					t.Errorf("%s", text)
				}
				other := s.sit(`{}`)
				defer other.stand()
				resume(other, id)
				if other.asked().Get("params.toolCall.toolCallId").String() != q.Get("toolCall.toolCallId").String() {
					t.Error("an editor that comes later is not asked")
				}
				d.permit(tc.answer)
				time.Sleep(time.Second)
				if a, _ := d.answer(prompt); a.Get("result.stopReason").String() != tc.stop {
					t.Errorf("%s", a)
				}
				got := d.story(from)
				if want := "tool_call pending"; !strings.HasPrefix(got[0], want) || got[1] != "session/request_permission" || !strings.Contains(strings.Join(got, ","), "tool_call_update "+tc.status) {
					t.Errorf("%q", got)
				}
				if !strings.Contains(strings.Join(other.story(0), ","), "$/cancel_request") {
					t.Errorf("the other editor is asked for ever: %q", other.story(0))
				}
				last := len(d.got())
				prompt = d.prompt(id, "three")
				time.Sleep(time.Second)
				a, _ := d.answer(prompt)
				if asked := strings.Contains(strings.Join(d.story(last), ","), "request_permission"); asked != (tc.after == "asked") || !asked && a.Get("result.stopReason").String() != tc.after {
					t.Errorf("the next turn: asked %v, %s", asked, a)
				}
			})
		})
	}
}

// A turn that a client without a person started is a question to the editor, at the limit of what is spent while nobody is there. An
// editor can answer alone, so the answer does not show a person: what was spent stays.
func TestACPSpendingUnattended(t *testing.T) {
	for answer, want := range map[string][2]string{"spend": {"idle", "completed"}, "raise": {"idle", "completed"}, "end": {"idle", "failed"}} {
		t.Run(answer, func(t *testing.T) {
			spends(t, gate.Limits{Unattended: provider.MoneyOf(0.0865)}, func(s *stage, d *desk, id string) {
				from := len(d.got())
				s.result("session/prompt", map[string]any{"session_id": id, "text": "two"})
				time.Sleep(time.Minute)
				q := d.asked().Get("params")
				if text := q.Get("toolCall.content.0.content.text").String(); !strings.HasPrefix(text, "0.0073 USD of 0.086 USD (max_cost_unattended) are spent or reserved since a person last wrote or approved something.") {
					t.Errorf("%s", text)
				}
				if name := q.Get("options.1.name").String(); !strings.HasSuffix(name, " more until a person writes") {
					t.Error(name)
				}
				d.permit(fmt.Sprintf(`{"outcome":"selected","optionId":%q}`, answer))
				time.Sleep(time.Second)
				if got := strings.Join(d.story(from), ","); !strings.Contains(got, "tool_call_update "+want[1]) {
					t.Errorf("%s", got)
				}
				if got := s.result("session/state", map[string]any{"session_id": id}).Get("session.status").String(); got != want[0] {
					t.Error(got)
				}
				if used := s.group.Budgets()[0].Used; used == 0 {
					t.Error("the answer of an editor counts as a person")
				}
			})
		})
	}
}

// A prompt of an editor shows that a person is there, and nothing else does.
func TestACPAttends(t *testing.T) {
	spends(t, gate.Limits{Unattended: provider.MoneyOf(1)}, func(s *stage, d *desk, id string) {
		used := func() float64 { return s.group.Budgets()[0].Used.Units() }
		first := used()
		if first == 0 {
			t.Fatal("nothing was used")
		}
		d.result("session/list", `{}`)
		d.result("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":"`+srv+`/app","mcpServers":[]}`, id))
		d.say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`, id))
		synctest.Wait()
		if got := used(); got != first {
			t.Errorf("without a prompt %v became %v", first, got)
		}
		d.prompt(id, "two")
		time.Sleep(time.Second)
		if got := used(); got != first {
			t.Errorf("of the turn that a person prompted %v was used, not %v", got, first)
		}
	})
}

// An expensive prompt into a cold session is a question with the quote.
func TestACPAskAbove(t *testing.T) {
	for answer, want := range map[string]string{"spend": "end_turn", "compact_first": "end_turn", "end": "cancelled"} {
		t.Run(answer, func(t *testing.T) {
			spends(t, gate.Limits{}, func(s *stage, d *desk, id string) {
				s.result("session/update", map[string]any{"session_id": id, "ask_above": 0.001})
				time.Sleep(10 * time.Minute)
				from := len(d.got())
				prompt := d.prompt(id, "two")
				time.Sleep(time.Minute)
				q := d.asked().Get("params")
				if got := q.Get("options.#.optionId").Raw; got != `["spend","compact_first","end"]` {
					t.Fatalf("%s", q)
				}
				if text := q.Get("toolCall.content.0.content.text").String(); !strings.Contains(text, "more than 0.001 USD (ask_above)") || !strings.Contains(text, "tokens: ") || !strings.Contains(text, "With a summary of 2 earlier messages first: ") {
					t.Errorf("%s", text)
				}
				d.permit(fmt.Sprintf(`{"outcome":"selected","optionId":%q}`, answer))
				time.Sleep(time.Second)
				if a, _ := d.answer(prompt); a.Get("result.stopReason").String() != want {
					t.Errorf("%s", a)
				}
				if summary := strings.Contains(strings.Join(d.story(from), ","), "notice"); summary != (answer == "compact_first") {
					t.Errorf("%q", d.story(from))
				}
			})
		})
	}
}
