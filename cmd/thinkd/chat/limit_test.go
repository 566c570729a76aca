package chat

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/rpc/conn"
)

// spending is the question of a limit.
func spending(limit string) map[string]any {
	return map[string]any{"turn_id": "T", "why": "budget", "since": 1, "resumes": "on_request",
		"spending": map[string]any{"limit": limit, "used": 9.8, "most": 10, "next": 0.4}}
}

// atLimit is a desk at which a turn is parked at a limit.
func atLimit(t *testing.T, width, height int, limit string) *desk {
	d := newDesk(t, width, height)
	d.tell("turn_start", map[string]any{"turn_id": "T"})
	d.tell("turn_parked", spending(limit))
	return d
}

// top are the first rows of the view.
func (d *desk) top(n int) string {
	return strings.Join(strings.Split(d.content(), "\n")[:n], "\n")
}

func TestLimitFrames(t *testing.T) {
	d := atLimit(t, 80, 24, "max_day_cost")
	d.wait(time.Second)
	const asks = `── Spend more today? ──────────────────────────────────────────────────────────
  Spent today: 9.80 of 10.00 USD (max_day_cost). The next call probably costs
  0.40 USD. The turn waits; nothing is lost.
  Allow this call    Raise today's limit…    End the turn       Tab selects one
waiting for you · Tab selects the question · Esc stops the turn
> `
	if diff := cmp.Diff(asks, d.top(6)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	d.press("tab", "tab", "enter", "down")
	if diff := cmp.Diff(`── Raise the limit of 10.00 USD ───────────────────────────────────────────────
▸ by 0.20 USD, to 10.20 USD
  by 2.00 USD, to 12.00 USD
  by 10.00 USD, to 20.00 USD
  Raised until the day ends (UTC). The turn resumes.
  ↑ ↓ select · Enter raises · Esc goes back · /raise USD takes any amount`, d.top(6)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	d = atLimit(t, 40, 24, "max_cost_unattended")
	d.press("x")
	if diff := cmp.Diff(`── Spend more? ────────────────────────
  Spent since a person last wrote or
  approved something: 9.80 of 10.00 USD
  (max_cost_unattended). The next call
  probably costs 0.40 USD. The turn
  waits; nothing is lost.
 (Allow this call)
 (Raise the limit…)
  End the turn
  The input has text.`, d.top(10)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	d = atLimit(t, 80, limitRows-1, "max_day_cost")
	if got := d.content(); strings.Contains(got, "Spend more") || !strings.Contains(got, "‖ parked · waits for a person to allow more · Esc ends it · /resume") {
		t.Errorf("a low window shows:\n%s", got)
	}
}

// Nothing is answered by accident, and each answer goes to the daemon once.
func TestLimitKeys(t *testing.T) {
	resume := func(more string) string { return `turn/resume {` + more + `"session_id":"S","turn_id":"T"}` }
	for name, tc := range map[string]struct {
		keys []string
		want []string
	}{
		"enter alone":            {[]string{"enter", "enter"}, nil},
		"letters":                {[]string{"a", "1", "enter"}, []string{`session/prompt {"session_id":"S","text":"a1"}`}},
		"allow":                  {[]string{"tab", "enter", "enter", "tab", "enter"}, []string{resume("")}},
		"a raise that is chosen": {[]string{"tab", "right", "enter", "down", "down", "enter"}, []string{resume(`"raise":2,`)}},
		"a raise that is not":    {[]string{"tab", "tab", "enter", "enter"}, nil},
		"back from the raises":   {[]string{"tab", "tab", "enter", "down", "esc", "esc", "enter"}, nil},
		"end":                    {[]string{"shift+tab", "enter"}, []string{`session/cancel {"session_id":"S","turn_id":"T"}`}},
		"a letter deselects":     {[]string{"tab", "x", "enter"}, []string{`session/prompt {"session_id":"S","text":"x"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			d := atLimit(t, 80, 24, "max_day_cost")
			d.press("tab", "enter") // too early
			d.wait(time.Second)
			d.press(tc.keys...)
			d.sent(tc.want...)
		})
	}
	d := atLimit(t, 80, 24, "max_day_cost")
	d.press("x")
	d.wait(time.Second)
	d.press("tab", "tab", "tab")
	if d.limit.at != endTurn {
		t.Errorf("with text in the input, Tab selects %q", d.limit.at)
	}
}

// An expensive prompt is sent, sent behind a summary, or not sent. Nothing is raised.
func TestExpensivePrompt(t *testing.T) {
	cost := func(low, high float64) map[string]any {
		return map[string]any{"low": map[string]any{"amount": low}, "high": map[string]any{"amount": high}}
	}
	parked := map[string]any{"turn_id": "T", "why": "budget", "since": 1, "resumes": "on_request", "spending": map[string]any{"limit": "ask_above", "used": 0, "most": 2, "next": 3.1,
		"quote": map[string]any{"cost": cost(1.2, 3.1), "compact_first": map[string]any{"messages": 38, "cost": cost(0.35, 0.5)}}}}
	begin := func(width int) *desk {
		d := newDesk(t, width, 24)
		d.tell("turn_start", map[string]any{"turn_id": "T"})
		d.tell("turn_parked", parked)
		d.wait(time.Second)
		return d
	}
	if diff := cmp.Diff(`── Send an expensive prompt? ──────────────────────────────────────────────────
  The turn may cost up to 3.10 USD, more than 2.00 (ask_above). The provider
  may no longer have the conversation in its cache. Expected: about 1.20 to
  3.10 USD. With a summary of 38 messages first: about 0.35 to 0.50 USD. The
  turn waits; nothing is lost.
  Send it    Compact first    End the turn                      Tab selects one`, begin(80).top(6)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for answer, keys := range map[string][]string{
		`turn/resume {"session_id":"S","turn_id":"T"}`:                      {"tab", "enter"},
		`turn/resume {"compact_first":true,"session_id":"S","turn_id":"T"}`: {"tab", "tab", "enter"},
		`session/cancel {"session_id":"S","turn_id":"T"}`:                   {"shift+tab", "enter"},
	} {
		d := begin(80)
		d.press(keys...)
		d.sent(answer)
	}
	d := begin(80)
	d.enter("/raise 3", false)
	d.sent()
	if got := plainLimit(*d.spending(), 1, "k8"); !strings.HasSuffix(got, "Type \"allow k8\", \"compact k8\", \"end k8\" and Enter. Other text is a prompt.\n") {
		t.Error(got)
	}
}

// An answer that fails can be given again. A turn that parks again asks again. What was asked and answered stays in the scrollback.
func TestLimitAgain(t *testing.T) {
	d := atLimit(t, 80, 24, "max_day_cost")
	d.wait(time.Second)
	d.press("tab", "enter")
	d.requests()
	d.answer("", &conn.Error{Message: "busy"})
	d.press("tab", "tab", "enter", "down", "enter")
	d.sent(`turn/resume {"raise":0.2,"session_id":"S","turn_id":"T"}`)
	d.answer(`{"turn_id":"T"}`, nil)
	d.tell("turn_resumed", map[string]any{"turn_id": "T", "by": "client"})
	if d.limit != nil {
		t.Error("the card is there after its answer")
	}
	d.tell("turn_parked", spending("max_day_cost"))
	d.press("tab", "enter") // of the question before
	d.sent()
	d.tell("turn_end", map[string]any{"turn_id": "T", "stop_reason": "cancelled"})
	want := []string{"", "error: busy",
		"", "? Spend more today? Spent today: 9.80 of 10.00 USD (max_day_cost). The next call probably costs 0.40 USD.", "· raised the limit by 0.20 USD", "· the turn resumes",
		"", "? Spend more today? Spent today: 9.80 of 10.00 USD (max_day_cost). The next call probably costs 0.40 USD.", "· cancelled"}
	if diff := cmp.Diff(want, d.whole(200, plain)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A side question hides the card until it is closed.
func TestLimitBehindBox(t *testing.T) {
	d := atLimit(t, 80, 24, "max_day_cost")
	d.screen.askAside("Why?")
	d.wait(time.Second)
	if got := d.content(); strings.Contains(got, "Spend more") || !strings.Contains(got, "Side question") {
		t.Errorf("%s", got)
	}
	d.closeAside()
	d.wait(time.Second)
	if got := d.content(); !strings.Contains(got, "Spend more") {
		t.Errorf("%s", got)
	}
}

// A terminal that cannot move its cursor gets the question once, with words that answer it.
func TestPlainLimit(t *testing.T) {
	d := &recorded{}
	k := newTalk(time.Now, nil)
	k.connected(d)
	k.id, d.asked = "S", nil
	var out strings.Builder
	f := &lines{talk: k, out: &out, newCode: func() string { return "k8" }}
	for range 2 {
		f.apply(update{Method: "turn_start", Turn: "T"}, time.Time{})
		u, err := decode("turn_parked", []byte(`{"turn_id":"T","why":"budget","resumes":"on_request","spending":{"limit":"max_day_cost","used":9.8,"most":10,"next":0.4}}`))
		if err != nil {
			t.Fatal(err)
		}
		f.apply(u, time.Time{})
		f.write()
		f.write()
		for _, text := range []string{"allow", "allow k9", "raise k8", "raise k8 much", "/raise -1"} {
			f.read(text)
		}
		f.read("raise k8 2.5")
		f.read("allow k8")
		f.read("end k8")
		f.read("/raise $3")
		f.apply(update{Method: "turn_resumed", Turn: "T"}, time.Time{})
		f.write()
		f.read("/raise 3")
	}
	asked := strings.Join(d.asked[:len(d.asked)/2], "\n")
	want := strings.Join([]string{`session/prompt {"session_id":"S","text":"allow"}`, `session/prompt {"session_id":"S","text":"allow k9"}`, `session/prompt {"session_id":"S","text":"raise k8"}`,
		`turn/resume {"raise":2.5,"session_id":"S","turn_id":"T"}`, `turn/resume {"session_id":"S","turn_id":"T"}`, `session/cancel {"session_id":"S","turn_id":"T"}`,
		`turn/resume {"raise":3,"session_id":"S","turn_id":"T"}`}, "\n")
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	once := `
[question 1] Spend more today? Spent today: 9.80 of 10.00 USD (max_day_cost). The next call probably costs 0.40 USD. The turn waits; nothing is lost.
Type "allow k8", "raise k8 0.20" (by that many USD, until the day ends (UTC)), "end k8" and Enter. Other text is a prompt.
`
	if !strings.HasPrefix(out.String(), once) || strings.Count(out.String(), "[question") != 2 || !strings.Contains(out.String(), "[the turn resumes]") {
		t.Errorf("output:\n%s", out.String())
	}
}

// /cost says what the session and all sessions cost, and what the next prompt would.
func TestCostCommand(t *testing.T) {
	d := newDesk(t, 80, 24)
	d.enter("/cost", false)
	usage := `"usage":{"input_tokens":1,"output_tokens":1,"cost":{"amount":0.412,"currency":"USD"}}`
	d.sent(`usage/report {"by":"model","session_id":"S"}`)
	d.answer(`{"by":"model","rows":[{"model_id":"sim/claude","calls":2,`+usage+`}],"total":{"calls":2,`+usage+`}}`, nil)
	d.sent(`usage/report {"by":"level","session_id":"S"}`)
	d.answer(`{"by":"level","rows":[{"thinking_level":"high","calls":2,`+usage+`}],"total":{"calls":2,`+usage+`}}`, nil)
	d.sent(`usage/report {"by":"day","from":"2026-11-21","to":"2026-11-21"}`)
	d.answer(`{"by":"day","rows":[],"total":{"calls":5,`+usage+`},"budgets":[{"limit":"max_day_cost","used":0.5,"most":10,"next":0}]}`, nil)
	d.sent(`session/quote {"session_id":"S"}`)
	d.answer(`{"model":{"provider":"sim","id":"claude"},"cache":"cold","prompt":null,"cost":{"low":{"amount":0.2},"high":{"amount":0.4}}}`, nil)
	want := `· This session: 0.41 USD in 2 calls
    sim/claude: 0.41 USD, 2 calls
    thinking high: 0.41 USD, 2 calls
  Today (UTC), all sessions: 0.41 USD in 5 calls
  Spent today: 0.50 of 10.00 USD (max_day_cost)
  Next prompt with sim/claude: about 0.20 to 0.40 USD, cache cold.`
	if diff := cmp.Diff(want, strings.Join(d.whole(200, plain), "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	d.enter("/cost sim/gpt", false)
	d.sent(`session/quote {"model_id":"sim/gpt","session_id":"S"}`)
}
