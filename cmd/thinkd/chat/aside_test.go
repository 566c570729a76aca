package chat

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/door"
)

// requests are those since the last call of it.
func (d *desk) requests() []string {
	asked := d.daemon.asked
	d.daemon.asked = nil
	return asked
}

// sent expects these requests since the last look.
func (d *desk) sent(want ...string) {
	d.Helper()
	if diff := cmp.Diff(want, d.requests()); diff != "" {
		d.Errorf("requests (-want +got):\n%s", diff)
	}
}

// answer answers the last request.
func (d *desk) answer(result string, e *conn.Error) {
	d.reply(d.daemon.sent, result, e)
}

func (d *desk) reply(id int, result string, e *conn.Error) {
	d.Update(received{answer: &door.Answer{ID: id, Result: json.RawMessage(result), Error: e}})
}

// question is the id of its request.
const question = 2

// running is a desk in the middle of a turn, at which a side question was asked.
func running(t *testing.T, width, height int) *desk {
	d := newDesk(t, width, height)
	d.tell("turn_start", map[string]any{"turn_id": "T"})
	d.tell("message_start", map[string]any{"turn_id": "T", "message_id": "m"})
	d.tell("message_delta", map[string]any{"message_id": "m", "block": 0, "delta": "I write it.\nAnd "})
	d.enter("/ask What is WithClock?", false)
	d.sent(`session/ask {"ask_id":"a1","session_id":"S","text":"What is WithClock?"}`)
	return d
}

const asideAnswered = `{"text":"SetNow. It was removed in v3.","stop_reason":"end_turn","usage":{"input_tokens":1000,"cached_tokens":970,"cost":{"amount":0.01,"currency":"USD"}}}`

func (d *desk) shows(want string) {
	d.Helper()
	got := strings.Split(d.content(), "\n")
	for i, row := range got {
		got[i] = strings.TrimRight(row, " ")
	}
	if diff := cmp.Diff(strings.Split(strings.TrimPrefix(want, "\n"), "\n"), got); diff != "" {
		d.Errorf("the screen (-want +got):\n%s", diff)
	}
}

// The answer grows in a box while the turn goes on. The scrollback has nothing of it.
func TestAsideStreams(t *testing.T) {
	d := running(t, 80, 24)
	d.tell("ask_delta", map[string]any{"ask_id": "a1", "kind": "thinking", "delta": "The old\x1b name."})
	if !strings.Contains(d.content(), "  The old\uFFFD name.\n") {
		t.Errorf("the thinking is not shown:\n%s", d.content())
	}
	d.tell("ask_delta", map[string]any{"ask_id": "a0", "kind": "text", "delta": "of another question"})
	d.tell("ask_delta", map[string]any{"ask_id": "a1", "kind": "text", "delta": "SetNow. "})
	d.tell("message_delta", map[string]any{"message_id": "m", "block": 0, "delta": "that."})
	d.ready(80, 0, plain) // what is final goes to the scrollback
	d.shows(`

I write it.
And that.
── Side question · not recorded ───────────────────────────────────────────────
  What is WithClock?
  SetNow.▌
  Close    Keep as a fork        Tab selects one · Esc cancels it, not the turn
answering · 0s · Ctrl+O shows all · Ctrl+S steers

>
/ · thinking · /help`)
	d.reply(question, asideAnswered, nil)
	d.shows(`

I write it.
And that.
── Side question · not recorded · 97 % of the input was cached · 0.0100 USD ───
  What is WithClock?
  SetNow. It was removed in v3.
  Close    Keep as a fork                       Tab selects one · Esc closes it
answering · 0s · Ctrl+O shows all · Ctrl+S steers

>
/ · thinking · /help`)
	d.tell("turn_end", map[string]any{"turn_id": "T", "stop_reason": "end_turn"})
	if text := strings.Join(d.whole(80, plain), "\n"); strings.Contains(text, "SetNow") {
		t.Errorf("the answer is in the conversation:\n%s", text)
	}
}

// Escape and Control-C end the question, and not the turn. What comes later is ignored.
func TestAsideCancel(t *testing.T) {
	for _, name := range []string{"esc", "ctrl+c"} {
		d := running(t, 80, 24)
		d.press(name)
		d.sent("cancel 2")
		d.tell("ask_delta", map[string]any{"ask_id": "a1", "kind": "text", "delta": "late"})
		d.reply(question, "", &conn.Error{Code: conn.CodeCancelled, Message: "cancelled"})
		if d.box() || d.failed || strings.Contains(d.content(), "late") || len(d.items) != 1 {
			t.Errorf("%s: the box is open: %t, %d items\n%s", name, d.box(), len(d.items), d.content())
		}
		d.press(name)
		d.sent(`session/cancel {"session_id":"S","turn_id":"T"}`)
	}
}

// A box takes Tab, Enter and the keys that scroll. All others go to the input.
func TestAsideKeys(t *testing.T) {
	keep := `session/ask {"keep":true,"session_id":"S","text":"What is WithClock?"}`
	for name, tt := range map[string]struct {
		keys []string
		want []string
		open bool
	}{
		"Tab and Enter close it":           {[]string{"tab", "enter"}, nil, false},
		"Tab, Tab and Enter keep it":       {[]string{"tab", "tab", "enter"}, []string{keep}, true},
		"the arrow keys select as well":    {[]string{"tab", "right", "left", "right", "enter"}, []string{keep}, true},
		"Enter selects nothing":            {[]string{"enter"}, nil, true},
		"a letter takes the selection":     {[]string{"tab", "a", "enter"}, []string{`session/prompt {"session_id":"S","text":"a"}`}, true},
		"a second Tab comes back to Close": {[]string{"tab", "tab", "tab", "enter"}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := running(t, 80, 24)
			d.reply(question, asideAnswered, nil)
			d.press(tt.keys...)
			d.sent(tt.want...)
			if d.box() != tt.open {
				t.Errorf("the box is open: %t\n%s", d.box(), d.content())
			}
		})
	}
}

// A kept question is in a fork, once. The chat stays where it is, and the box says where the fork is.
func TestAsideKeep(t *testing.T) {
	d := running(t, 80, 24)
	d.press("tab", "tab", "enter")
	d.sent(`session/ask {"keep":true,"session_id":"S","text":"What is WithClock?"}`)
	d.answer(`{"session_id":"F","turn_id":"U"}`, nil)
	if d.id != "S" || !strings.Contains(d.content(), "  · the side question is in a fork, session F; /sessions opens it\n") || strings.Contains(d.content(), "Keep as a fork") {
		t.Errorf("session %s\n%s", d.id, d.content())
	}
	d.enter("/keep", false)
	d.sent()
	d.press("tab", "tab", "enter")
	if d.sent("cancel 2"); d.box() {
		t.Errorf("the box is open:\n%s", d.content())
	}
}

// The box shows the end of a long answer, and scrolls. It leaves room for the answer of the turn.
func TestAsideScrolls(t *testing.T) {
	d := running(t, 80, 24)
	var long strings.Builder
	for i := range 40 {
		long.WriteString(strings.Repeat("x", i+1) + "\n")
	}
	d.tell("ask_delta", map[string]any{"ask_id": "a1", "kind": "text", "delta": long.String()})
	first := func() int { return strings.Count(strings.Split(d.content(), "WithClock?\n  ")[1], "x") } // a sum that moves with the view
	end := first()
	if !strings.Contains(d.content(), "rows 33–40 of 40 · PgUp PgDn") || !strings.Contains(d.content(), "\nAnd\n") {
		t.Errorf("the end is not shown:\n%s", d.content())
	}
	d.press("pgup", "pgup")
	middle := first()
	d.tell("ask_delta", map[string]any{"ask_id": "a1", "kind": "text", "delta": "one more\n"})
	if first() != middle || middle >= end {
		t.Errorf("what is read moves:\n%s", d.content())
	}
	d.press("pgdown", "pgdown", "pgdown")
	if !strings.Contains(d.content(), "one more▌") {
		t.Errorf("the end is not shown again:\n%s", d.content())
	}
	if n := d.screen.rows(); n > 24 {
		t.Errorf("the view has %d rows", n)
	}
}

// A question about a call takes the place of the box, which becomes one row. Escape then closes the box, and not the turn.
func TestAsideBehindCard(t *testing.T) {
	d := running(t, 80, 24)
	d.ask("Q", commandPart("git status"), nil)
	if !strings.Contains(d.content(), "side question, the answer is coming (Esc closes it): What is WithClock?\n") || strings.Contains(d.content(), "Keep as a fork") {
		t.Errorf("the card does not take the place of the box:\n%s", d.content())
	}
	d.wait(time.Second)
	d.press("tab", "enter")
	d.sent(`confirm/answer {"action":"allow","confirm_id":"Q","session_id":"S"}`)
	d.press("esc")
	d.sent("cancel 2")
}

// A second question takes the place of the first. Another session has none.
func TestAsideReplaced(t *testing.T) {
	d := running(t, 80, 24)
	d.enter("/ask Another?", false)
	d.sent("cancel 2", `session/ask {"ask_id":"a2","session_id":"S","text":"Another?"}`)
	d.reply(question, asideAnswered, nil)
	if strings.Contains(d.content(), "SetNow") {
		t.Errorf("the answer to the first question is shown:\n%s", d.content())
	}
	d.reply(question+1, "", &conn.Error{Message: "4 side questions of this session run"})
	if !strings.Contains(d.content(), "  error: 4 side questions of this session run\n") {
		t.Errorf("the refusal is not shown:\n%s", d.content())
	}
	d.enter("/new", false)
	d.answer(`{"session_id":"N"}`, nil)
	if d.box() || d.id != "N" {
		t.Errorf("session %s has the box:\n%s", d.id, d.content())
	}
	d.requests()
	d.enter("/keep", false)
	d.sent()
}

// A connection that is lost ends the question, and says so.
func TestAsideLost(t *testing.T) {
	d := running(t, 80, 24)
	d.dial = func() {}
	d.Update(gone{io.EOF})
	d.Update(connection{daemon: d.daemon})
	if !strings.Contains(d.content(), "  error: the connection was lost; ask again\n") {
		t.Errorf("the question goes on:\n%s", d.content())
	}
}

// Plain lines have the answer as a whole. A person can cancel it; in a pipe the next line waits for it.
func TestAsideInLines(t *testing.T) {
	for _, echo := range []bool{false, true} {
		d := &recorded{}
		var out strings.Builder
		f := &lines{talk: newTalk(time.Now, nil), out: &out, echo: echo}
		f.connected(d)
		f.answered(door.Answer{ID: 1})
		f.id, d.asked = "S", nil
		f.read("/ask What?")
		if next := make(chan string); (f.when(next) != nil) != echo {
			t.Errorf("echo %t: the input waits: %t", echo, !echo)
		}
		f.answered(door.Answer{ID: 2, Result: json.RawMessage(asideAnswered)})
		f.read("/keep")
		f.answered(door.Answer{ID: 3, Result: json.RawMessage(`{"session_id":"F"}`)})
		f.read("/ask Again?")
		f.read("/cancel")
		f.write()
		want := []string{`session/ask {"session_id":"S","text":"What?"}`, `session/ask {"keep":true,"session_id":"S","text":"What?"}`, `session/ask {"session_id":"S","text":"Again?"}`, "cancel 4"}
		if diff := cmp.Diff(want, d.asked); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		text := "\n> What?\n\nSetNow. It was removed in v3.\n[Side question · not recorded · 97 % of the input was cached · 0.0100 USD · /keep asks it again in a fork]\n" +
			"[the side question is in a fork, session F; /sessions opens it]\n\n> Again?\n"
		if diff := cmp.Diff(text, out.String()); diff != "" {
			t.Errorf("echo %t: output (-want +got):\n%s", echo, diff)
		}
	}
}

// After a turn that was cut off, the chat asks the daemon whether it can go on, and says so. It does not start anything.
func TestContinueHint(t *testing.T) {
	parts := `{"continues":"T","parts":[{"type":"thinking","action":"requested_again"},{"type":"text","action":"kept"},{"type":"text","action":"kept"},{"type":"tool_call","action":"dropped"}]}`
	for name, tt := range map[string]struct {
		stop    string
		waits   bool // another prompt does
		refused bool
		want    string
	}{
		"cancelled":          {"cancelled", false, false, "· /continue goes on from here (kept: 2 texts; thought again: 1 thought; dropped: 1 tool call). Nothing runs until then."},
		"cut off at a limit": {"max_tokens", false, false, "· /continue goes on from here"},
		"cannot go on":       {"error", false, true, ""},
		"ended well":         {"end_turn", false, false, ""},
		"the next one runs":  {"cancelled", true, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, 200, 24)
			d.tell("turn_start", map[string]any{"turn_id": "T"})
			if tt.waits {
				d.tell("queue_update", map[string]any{"queue": []waiting{{"U", "next"}}})
			}
			d.tell("turn_end", map[string]any{"turn_id": "T", "stop_reason": tt.stop})
			asked := d.requests()
			const read = `session/read {"session_id":"S"}`
			if tt.want != "" || tt.refused {
				if diff := cmp.Diff([]string{read, `session/continue {"dry_run":true,"session_id":"S"}`}, asked); diff != "" {
					t.Fatalf("requests (-want +got):\n%s", diff)
				}
				var e *conn.Error
				if tt.refused {
					e = &conn.Error{Message: "nothing to continue"}
				}
				d.answer(parts, e)
			} else if len(asked) != 1 || asked[0] != read {
				t.Errorf("it asks %q", asked)
			}
			text := strings.Join(d.whole(200, plain), "\n")
			if got := strings.Contains(text, "/continue"); got != (tt.want != "") || !strings.Contains(text, tt.want) || strings.Contains(text, "nothing to continue") {
				t.Errorf("it says %q, want %q", text, tt.want)
			}
			d.requests()
		})
	}
}
