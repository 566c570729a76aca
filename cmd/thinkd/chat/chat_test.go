package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/cmd/thinkd/parked"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/door"
)

var plain = look{plain: true}

// told is a conversation after some notifications, each a method and its params.
func told(t *testing.T, pairs ...string) *conversation {
	t.Helper()
	c := newConversation()
	for i := 0; i < len(pairs); i += 2 {
		u, err := decode(pairs[i], json.RawMessage(pairs[i+1]))
		if err != nil {
			t.Fatal(err)
		}
		c.apply(u, time.Time{})
	}
	return c
}

// whole is the transcript without the place of its last thought.
func (c *conversation) whole(width int, l look) []string {
	rows, _ := c.transcript(width, l)
	return rows
}

func TestScrollback(t *testing.T) {
	long := strings.Repeat("one two three four\\n", 12)
	for name, test := range map[string]struct {
		updates []string
		want    []string // printed
		live    []string // still being written
	}{
		"a paragraph waits for its end": {
			[]string{"message_delta", `{"message_id":"m","block":1,"delta":"first\nsec"}`},
			nil, []string{"first", "sec"},
		},
		"and goes with it": {
			[]string{"message_delta", `{"message_id":"m","block":1,"delta":"*first*\n\n- sec"}`},
			[]string{"", "first"}, []string{"• sec"},
		},
		"code goes line by line": {
			[]string{"message_delta", `{"message_id":"m","block":1,"delta":"~~~\nfirst\nsec"}`},
			[]string{"", "──", "first"}, []string{"sec"},
		},
		"a diff of a tool": {
			[]string{"tool_start", `{"call_id":"c","name":"edit"}`, "tool_end", `{"call_id":"c","content":[{"type":"text","text":"--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\nend"}]}`},
			[]string{"", "→ edit", "--- a", "+++ b", "@@ -1 +1 @@", "-x", "+y", "end"}, nil,
		},
		"the end of a block prints the rest": {
			[]string{"message_delta", `{"message_id":"m","block":1,"delta":"first\nsec"}`, "text_end", `{"message_id":"m","block":1,"text":"first\nsecond"}`},
			[]string{"", "first", "second"}, nil,
		},
		"sources and media follow the answer": {
			[]string{"text_end", `{"message_id":"m","block":1,"text":"a","sources":[{"url":"https://e.x/1","title":"One","start":0,"end":1},{"url":"https://e.x/1","title":"One"}]}`,
				"media_end", `{"message_id":"m","block":2,"mime_type":"image/png","size":12}`,
				"message_end", `{"message_id":"m","stop_reason":"end_turn","cited":[{"block":1,"sources":[{"url":"https://e.x/2"}]}]}`},
			[]string{"", "a", "· Sources:", "  - One: https://e.x/1", "· [image/png, 12 bytes]", "· Sources:", "  - https://e.x/2"}, nil,
		},
		"a plan is one line": {
			[]string{"plan", `{"items":[{"content":"Read","status":"completed"},{"content":"Write","status":"in_progress"},{"content":"Test","status":"pending"}]}`, "plan", `{"items":[]}`},
			[]string{"· plan: 1 of 3 completed ·", "  now: Write · /plan shows it", "· the plan is empty"}, nil,
		},
		"tools of the vendor": {
			[]string{"server_tool", `{"message_id":"m","block":1,"call_id":"s","name":"web_search","status":"running","arguments":{"query":"sky"}}`,
				"server_tool", `{"message_id":"m","block":2,"call_id":"s","name":"web_search","status":"done","text":"1 page","sources":[{"url":"https://e.x/1","title":"One"}]}`},
			[]string{"", "→ web_search sky", "1 page", "- One: https://e.x/1"}, nil,
		},
		"thinking waits for its end": {
			[]string{"thinking_start", `{"message_id":"m","block":0}`, "thinking_delta", `{"message_id":"m","block":0,"delta":"Hm, "}`},
			nil, []string{"Hm, "},
		},
		"thinking is folded": {
			[]string{"thinking_end", `{"message_id":"m","block":0,"kind":"summary","duration_ms":1200,"tokens":48,"text":"` + long + `"}`},
			[]string{"", "∴ thought for 1.2 s · 48", "tokens · summary · 12 rows ·", "Ctrl+T unfolds"}, nil,
		},
		"the answer waits for the thinking before it": {
			[]string{"thinking_start", `{"message_id":"m","block":0}`, "message_delta", `{"message_id":"m","block":1,"delta":"a\n"}`},
			nil, []string{"a"},
		},
		"a tool's output": {
			[]string{"tool_start", `{"call_id":"c","name":"read","arguments":{"path":"a.go"}}`, "tool_output", `{"call_id":"c","chunk":"half"}`},
			[]string{"", "→ read a.go"}, []string{"half"},
		},
		"a tool's result takes the place of its output": {
			[]string{"tool_start", `{"call_id":"c","name":"read"}`, "tool_output", `{"call_id":"c","chunk":"half"}`,
				"tool_end", `{"call_id":"c","content":[{"type":"text","text":"all"}],"is_error":true}`},
			[]string{"", "→ read", "error: all"}, nil,
		},
		"a queued prompt is printed when its turn begins": {
			[]string{"prompt", `{"turn_id":"t","disposition":"queued","content":[{"type":"text","text":"later"}]}`},
			nil, nil,
		},
		"and then it is": {
			[]string{"prompt", `{"turn_id":"t","disposition":"queued","content":[{"type":"text","text":"later"}]}`, "turn_start", `{"turn_id":"t"}`},
			[]string{"", "> later"}, nil,
		},
		"a message that is added": {
			[]string{"prompt", `{"turn_id":"t","disposition":"appended","content":[{"type":"text","text":"fact"}]}`, "turn_end", `{"turn_id":"t","stop_reason":"end_turn"}`},
			[]string{"", "> fact (adds)"}, nil,
		},
		"a message that is added when the turn before has ended": {
			[]string{"prompt", `{"turn_id":"t","disposition":"queued","content":[{"type":"text","text":"fact"}]}`, "turn_end", `{"turn_id":"t","stop_reason":"end_turn"}`},
			[]string{"", "> fact (adds)"}, nil,
		},
		"a prompt is folded between words, and its files stand behind it": {
			[]string{"prompt", `{"turn_id":"t","disposition":"started","content":[{"type":"file","name":"a.go"},{"type":"file","name":"b c.md"},{"type":"text","text":"one two three four five six seven\n  eight"}]}`},
			[]string{"", "> one two three four five six", "  seven", "    eight", "  [a.go] [b c.md]"}, nil,
		},
		"of a long prompt the beginning is printed": {
			[]string{"prompt", `{"turn_id":"t","disposition":"steered","content":[{"type":"text","text":"` + strings.Repeat("row\\n", 500) + `end"}]}`},
			append(append([]string{"", "> row"}, slices.Repeat([]string{"  row"}, 11)...), "  … 489 more rows (Ctrl+O) (steers)"), nil,
		},
		"a diff that was approved is printed once": {
			[]string{"turn_start", `{"turn_id":"t"}`, "confirm", `{"confirm_id":"q","message":"Edit?","parts":[{"kind":"diff","name":"a","text":"@@ -1,1 +1,1 @@\n-x\n+y\n"}]}`,
				"confirm_resolved", `{"confirm_id":"q","action":"allow","by":"client","client":"me"}`,
				"tool_start", `{"call_id":"c","name":"edit_file","arguments":{"path":"a","edits":[1]}}`, "tool_end", `{"call_id":"c","content":[{"type":"text","text":"--- a\n+++ b\n@@ -1,1 +1,1 @@\n-x\n+y\n"}]}`,
				"tool_start", `{"call_id":"d","name":"edit_file"}`, "tool_end", `{"call_id":"d","content":[{"type":"text","text":"--- a\n+++ b\n@@ -1,1 +1,1 @@\n-x\n+z\n"}]}`},
			[]string{"", "? Edit?", "  a", "  @@ -1,1 +1,1 @@", "   1      - x", "       1  + y", "· allowed by me", "", "→ edit_file a · edits: [1]", "done, as shown above",
				"", "→ edit_file", "--- a", "+++ b", "@@ -1,1 +1,1 @@", "-x", "+z"}, nil,
		},
		"an end without an end of its blocks": {
			[]string{"turn_start", `{"turn_id":"t"}`, "message_delta", `{"message_id":"m","delta":"cut"}`, "turn_end", `{"turn_id":"t","stop_reason":"limit","limit":"time"}`},
			[]string{"", "cut", "", "error: the turn ended: limit", "(time)"}, nil,
		},
		"a turn that failed, though the answer to the next prompt came before its end": {
			[]string{"turn_start", `{"turn_id":"t2"}`, "turn_end", `{"turn_id":"t1","stop_reason":"error","error":{"code":1,"message":"no key"}}`},
			[]string{"", "error: no key"}, nil,
		},
		"what a retry makes void is not printed": {
			[]string{"message_start", `{"message_id":"m"}`, "thinking_start", `{"message_id":"m","block":0}`, "message_delta", `{"message_id":"m","block":1,"delta":"I write it.\n"}`,
				"retry", `{"attempt":2,"after_ms":1000,"message":"lost","discarded":[0,1]}`, "text_end", `{"message_id":"m","block":2,"text":"again"}`},
			[]string{"· trying again in 1.0 s: lost", "", "again"}, nil,
		},
		"another model answers": {
			[]string{"notice", `{"severity":"warning","kind":"model_substituted","message":"a/big was asked for"}`,
				"message_start", `{"message_id":"m","role":"assistant","served":{"model":"small\u001b","substituted":true}}`, "text_end", `{"message_id":"m","text":"a"}`},
			[]string{"! a/big was asked for", "", "a"}, nil,
		},
		"orders to the terminal are not obeyed": {
			[]string{"text_end", `{"message_id":"m","text":"a\u001b]0;title\u0007b\tc\u202ed"}`},
			[]string{"", "a\uFFFD]0;title\uFFFDb    c\uFFFDd"}, nil,
		},
		"prose is folded between words, code is not": {
			[]string{"text_end", `{"message_id":"m","text":"one two three four five six seven eight\n` + "```" + `\none two three four five six seven eight\n` + "```" + `"}`},
			[]string{"", "one two three four five six", "seven eight", "──", "one two three four five six seven eight", "──"}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := told(t, test.updates...)
			if diff := cmp.Diff(test.want, c.ready(30, 0, plain)); diff != "" {
				t.Errorf("printed (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.live, c.live(30, 20, plain)); diff != "" {
				t.Errorf("live (-want +got):\n%s", diff)
			}
			if again := c.ready(30, 0, plain); again != nil {
				t.Errorf("printed twice: %q", again)
			}
		})
	}
}

// A thought of the last turn stays on the screen with what follows it, as long as there is room, so that it can be folded in place. It goes to
// the scrollback in the form that it has.
func TestFoldThought(t *testing.T) {
	d := newDesk(t, 80, 16)
	shows := func(what, pattern string) {
		t.Helper()
		if !regexp.MustCompile(`(?s)` + pattern).MatchString(d.content()) {
			t.Errorf("%s:\n%s", what, d.content())
		}
	}
	printed := func() string {
		text := strings.Join(d.waitingToPrint, "\n")
		d.waitingToPrint, d.printing = nil, false
		return text
	}
	d.tell("turn_start", map[string]any{"turn_id": "T"})
	d.tell("thinking_end", map[string]any{"message_id": "m", "block": 0, "kind": "full", "duration_ms": 6200, "text": "First.\nSecond.\nThird."})
	d.tell("text_end", map[string]any{"message_id": "m", "block": 1, "text": "Answer."})
	if text := printed(); text != "" {
		t.Errorf("the thought is in the scrollback: %q", text)
	}
	shows("it is not folded", `∴ thought for 6.2 s · 3 rows · Ctrl\+T unfolds\n\nAnswer\.`)
	d.press("ctrl+t")
	shows("it is not unfolded", `∴ thought for 6.2 s · Ctrl\+T folds\nFirst\.\nSecond\.\nThird\.\n\nAnswer\.`)
	d.press("ctrl+t")
	shows("it is not folded again", `3 rows · Ctrl\+T unfolds\n\nAnswer`)
	d.tell("turn_end", map[string]any{"turn_id": "T", "stop_reason": "end_turn"})
	if text := printed(); text != "" {
		t.Errorf("the thought leaves the screen with the end of its turn: %q", text)
	}
	d.tell("prompt", map[string]any{"turn_id": "U", "disposition": "started", "content": []any{map[string]any{"type": "text", "text": "Next"}}})
	if text := printed(); !strings.Contains(text, "unfolds\n\nAnswer.\n\n> Next") {
		t.Errorf("the next prompt does not print it: %q", text)
	}
	d.press("ctrl+t") // the reader
	shows("the text is on the screen", `^[^∴]*$`)
	if view := d.View().Content; !d.View().AltScreen || !strings.HasPrefix(ansi.Strip(view), "\n∴ thought for 6.2 s\nFirst.") {
		t.Errorf("the transcript is not open at the thought:\n%s", view)
	}
	d.press("ctrl+t")
	d.tell("thinking_end", map[string]any{"message_id": "n", "block": 0, "kind": "full", "text": "Fourth."})
	d.tell("text_end", map[string]any{"message_id": "n", "block": 1, "text": strings.Repeat("row\n", 20)})
	if text := printed(); !strings.Contains(text, "∴ thought · 1 row · Ctrl+T unfolds\n\nrow") {
		t.Errorf("what has no room is not printed: %q", text)
	}
}

func TestFold(t *testing.T) {
	for text, want := range map[string][]string{
		"":                            {""},
		"short":                       {"short"},
		"exactly ten":                 {"exactly", "ten"},
		"a verylongwordthatdoesntfit": {"a", "verylongwordthatdoesntfit"},
		"verylongwordthatdoesntfit a": {"verylongwordthatdoesntfit", "a"},
		"  - item of a list":          {"  - item", "of a list"},
		"日本語 日本語 日本":                  {"日本語", "日本語", "日本"},
	} {
		if diff := cmp.Diff(want, fold(text, 10)); diff != "" {
			t.Errorf("fold(%q) (-want +got):\n%s", text, diff)
		}
	}
}

// What is printed above the view takes as many rows as bubbletea counts, and never ends in the last column.
func TestFoldBehind(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", "·"},
		{"one", "· one"},
		{"one two three four five", "· one two three four|  five"},
		{"a\n\nb", "· a||  b"},
		{"  one two three four five", "·   one two three|  four five"},
		{"name  one two three four", "· name  one two|        three four"},
		{"a long name here  one two", "· a long name here|  one two"}, // no room behind that column
		{"verylongwordwithoutanyblank", "· verylongwordwithoutanyblank"},
		{"日本語 日本語 日本語", "· 日本語 日本語|  日本語"},
	} {
		if got := strings.Join(foldBehind("· ", tt.text, 20), "|"); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestCalled(t *testing.T) {
	for arguments, want := range map[string]string{
		"":                                   "tool",
		"{}":                                 "tool",
		"null":                               "tool null",
		"[1]":                                "tool [1]",
		`{"command":"go test"}`:              "tool go test",
		`{"path":"a","edits":[{"old":"x"}]}`: `tool a · edits: [{"old":"x"}]`,
		`{"max":3,"path":"a"}`:               "tool max: 3 · path: a",
		`{"path":"a\nb","content":"c","path":""}`: "tool a\nb · content: c · path:",
		`{"path":"a`: `tool {"path":"a`,
		`{"path"`:    `tool {"path"`,
	} {
		if got := called("tool", json.RawMessage(arguments)); got != want {
			t.Errorf("%s: %q, want %q", arguments, got, want)
		}
	}
}

func TestPrintable(t *testing.T) {
	for _, text := range []string{"", "ab", strings.Repeat("x", 10), strings.Repeat("x", 25), strings.Repeat("x", 30),
		"123456789日本", strings.Repeat("日", 12), look{}.thinking(strings.Repeat("y", 20))} {
		var all strings.Builder
		for _, l := range printable(text, 10) {
			w := ansi.StringWidth(l)
			if w > 0 && w%10 == 0 {
				t.Errorf("%q ends in the last column", l)
			}
			if folded := len(rows(l, 10)); folded != w/10+1 {
				t.Errorf("%q takes %d rows, and is counted as %d", l, folded, w/10+1)
			}
			all.WriteString(strings.TrimSuffix(l, " "))
		}
		if all.String() != text {
			t.Errorf("%q became %q", text, all.String())
		}
	}
}

func TestPicker(t *testing.T) {
	p := &picker{title: "model", rows: []row{{label: "sim/claude"}, {label: "sim/gpt", disabled: true}, {label: "sim/gemini"}}}
	p.move(-1)
	if p.at != 0 {
		t.Errorf("above the first row is %d", p.at)
	}
	p.narrow("SIM g")
	if got := p.left(); !cmp.Equal(got, []int{1, 2}) || p.at != 1 {
		t.Errorf("narrowed to %v, at %d", got, p.at)
	}
	p.move(5)
	if p.at != 2 {
		t.Errorf("below the last row is %d", p.at)
	}
	p.narrow("nothing such")
	if v := p.view(40, 5, plain); len(v) != 2 {
		t.Errorf("an empty picker is %q", v)
	}
	for height := 3; height < 9; height++ {
		p.narrow("")
		if v := p.view(40, height, plain); len(v) > max(height, 3) {
			t.Errorf("in %d rows the picker takes %d", height, len(v))
		}
	}
}

// A session that a cluster cannot serve for a while is followed again, as often as it is refused with a time.
func TestFollowAgain(t *testing.T) {
	d, clock := &recorded{}, time.Unix(1000, 0)
	k := newTalk(func() time.Time { return clock }, nil)
	k.connected(d)
	k.id, k.seq = "s", 7
	refused := &conn.Error{Code: conn.CodeClosing, Message: "this node is cut off from the store servers", Data: map[string]any{"kind": "cut_off", "retry_after_ms": 1000.0}}
	k.notified(update{Method: "stale", Session: "s"})
	for range 3 {
		k.answered(door.Answer{ID: d.sent, Error: refused})
		before := d.sent
		if k.followAgain(); d.sent != before {
			t.Error("the session is followed again at once")
		}
		clock = clock.Add(time.Second)
		if k.followAgain(); d.sent != before+1 || !strings.HasPrefix(d.asked[before], `session/attach {"after_seq":7,`) {
			t.Fatalf("after a second: %q", d.asked)
		}
	}
	k.answered(door.Answer{ID: d.sent, Result: json.RawMessage(`{"session":{"session_id":"s","status":"idle"},"seq":9,"updates":[]}`)})
	asked := d.sent
	clock = clock.Add(time.Hour)
	if k.followAgain(); d.sent != asked || !k.again.IsZero() || k.failed {
		t.Errorf("followed, and then: %q", d.asked[asked:])
	}
	notes := 0
	for _, it := range k.items {
		if strings.Contains(it.text(), "trying again") {
			notes++
		}
	}
	if notes != 1 {
		t.Errorf("%d notes", notes)
	}
}

// recorded is a daemon that takes requests and says nothing.
type recorded struct {
	asked []string
	sent  int // how many requests there were: the id of the last one
}

func (d *recorded) Send(method string, params any) (int, error) {
	text, err := json.Marshal(params)
	d.asked = append(d.asked, method+" "+string(text))
	d.sent++
	return d.sent, err
}

func (d *recorded) Cancel(id int) error {
	d.asked = append(d.asked, fmt.Sprint("cancel ", id))
	return nil
}

func (d *recorded) Receive() (door.Notification, *door.Answer, error) {
	return door.Notification{}, nil, io.EOF
}
func (d *recorded) Close() error { return nil }

func TestEnter(t *testing.T) {
	for text, want := range map[string]string{
		"hello":             `session/prompt {"session_id":"S","text":"hello"}`,
		"//help":            `session/prompt {"session_id":"S","text":"/help"}`,
		"/etc/passwd, eh?":  `session/prompt {"session_id":"S","text":"/etc/passwd, eh?"}`,
		"/steer left":       `session/prompt {"session_id":"S","text":"left","when_busy":"steer"}`,
		"/thinking high":    `thinking/set {"level":"high","session_id":"S"}`,
		"/models":           `models/list null`,
		"/sessions dates":   `session/list {"limit":200,"query":"dates"}`,
		"/fork":             `session/fork {"session_id":"S"}`,
		"/compact":          `session/compact {"session_id":"S"}`,
		"/uncompact":        `session/uncompact {"session_id":"S"}`,
		"/summary":          `session/summaries {"limit":1,"session_id":"S"}`,
		"/pin":              `session/history {"limit":40,"session_id":"S"}`,
		"/continue":         `session/continue {"session_id":"S"}`,
		"/resume":           `session/queue {"resume":true,"session_id":"S"}`,
		"/unqueue":          `session/queue {"remove":["B"],"session_id":"S"}`,
		"/edit other words": `queue/update {"session_id":"S","text":"other words","turn_id":"B"}`,
		"/edit":             "",
		"/first":            `queue/move {"before":"A","session_id":"S","turn_id":"B"}`,
		"/nothing":          "",
		"  ":                "",
	} {
		d := &recorded{}
		k := newTalk(time.Now, nil)
		k.connected(d)
		k.id, d.asked = "S", nil
		k.queue = []waiting{{Turn: "A"}, {Turn: "B"}}
		k.enter(text, false)
		if got := strings.Join(d.asked, "; "); got != want {
			t.Errorf("%q asks %q, want %q", text, got, want)
		}
	}
}

// An answer that the daemon never gives, a refusal and a write that fails are not lost.
func TestRefusal(t *testing.T) {
	k := newTalk(time.Now, nil)
	d := &recorded{}
	k.connected(d)
	k.id = "S"
	k.setLevel("huge")
	k.answered(door.Answer{ID: d.sent, Error: &conn.Error{Message: "no such level", Data: map[string]any{"candidates": []any{"low", "high"}}}})
	if diff := cmp.Diff([]string{"", "error: no such level (low, high)"}, k.ready(40, 0, plain)); diff != "" {
		t.Error(diff)
	}
	k.daemon = &broken{}
	k.say("x", false)
	if k.broken == nil {
		t.Error("a write that failed is forgotten")
	}
}

type broken struct{ recorded }

func (*broken) Send(string, any) (int, error) { return 0, errors.New("broken pipe") }

// The last line says which model answers in place of another, and who pays, until another model is chosen.
func TestFootNamesAnsweringModel(t *testing.T) {
	updates := []string{"turn_start", `{"turn_id":"t","payer":{"kind":"key","name":"KEY"}}`, "message_start", `{"message_id":"m","served":{"model":"small-0","substituted":true}}`}
	c := told(t, updates...)
	if c.other != "small-0" || c.payer != (payer{"key", "KEY"}) {
		t.Errorf("%q, %+v", c.other, c.payer)
	}
	c = told(t, append(updates, "message_end", `{"message_id":"m","served":{"model":"big-1"}}`)...)
	if c.other != "" {
		t.Errorf("after the right model: %q", c.other)
	}
	c = told(t, append(updates, "session_update", `{"model":{"provider":"a","id":"b"}}`)...)
	if c.other != "" || c.payer != (payer{}) {
		t.Errorf("after a change: %q, %+v", c.other, c.payer)
	}
}

// A summary is one line, which /summary opens. /pin pins the selected message, or unpins it.
func TestSummary(t *testing.T) {
	d := newDesk(t, 200, 24)
	d.tell("notice", map[string]any{"severity": "info", "kind": "compacting", "message": "4 earlier messages are being summarised"})
	sum := map[string]any{"summary_id": "Y", "messages": 38, "text": "Goal: dates.\nOpen: tests.", "model_id": "openai/gpt-5.4-mini", "tokens_before": 181000, "tokens_after": 9000,
		"pinned": []string{"M"}, "usage": map[string]any{"cost": map[string]any{"amount": 0.15, "currency": "USD"}}}
	d.tell("summary", sum)
	d.tell("notice", map[string]any{"severity": "info", "kind": "compacted", "message": "models get a summary"})
	head := "≡ Summary of 38 messages · 181k to 9.0k tokens · openai/gpt-5.4-mini · 0.1500 USD"
	want := []string{"· 4 earlier messages are being summarised", "· " + head + " · /summary shows it, /uncompact undoes it until the next prompt"}
	if diff := cmp.Diff(want, d.whole(400, plain)); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
	d.enter("/summary", false)
	d.requests()
	sum["undoable"] = true
	list, err := json.Marshal(map[string]any{"summaries": []any{sum}})
	if err != nil {
		t.Fatal(err)
	}
	d.answer(string(list), nil)
	text := strings.Join(d.whole(400, plain), "\n")
	for _, part := range []string{head + "\n", "Goal: dates.\n", "Open: tests.\n", "Pinned messages that stay whole: 1\n", "/uncompact undoes it"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q lacks %q", text, part)
		}
	}
	d.tell("summary_undone", map[string]any{"summary_id": "Y"})
	if text := strings.Join(d.whole(400, plain), "\n"); !strings.Contains(text, "the summary was undone") {
		t.Errorf("%q", text)
	}

	d.enter("/pin", false)
	d.requests()
	d.answer(`{"messages":[{"id":"A","role":"user","content":[{"type":"text","text":"one"}],"pinned":true},{"id":"B","role":"assistant","content":[{"type":"text","text":"two"}]}]}`, nil)
	if !strings.Contains(d.content(), "user, pinned") {
		t.Errorf("the list:\n%s", d.content())
	}
	d.press("up")
	d.press("enter")
	d.sent(`message/unpin {"message_id":"A","session_id":"S"}`)
	d.answer(`{"pinned":[],"applies":"next_summary"}`, nil)
	if text := strings.Join(d.whole(400, plain), "\n"); !strings.Contains(text, "unpinned, from the next summary on: one") {
		t.Errorf("%q", text)
	}
}

// A parked turn is announced once, with its time in the line of state. /resume resumes it, Escape ends it.
func TestParked(t *testing.T) {
	d := newDesk(t, 200, 24)
	now := d.now()
	later := func(by time.Duration) int64 { return now.Add(by).UnixMilli() }
	d.tell("turn_start", map[string]any{"turn_id": "T"})
	park := map[string]any{"turn_id": "T", "why": "quota", "since": later(0), "until": later(time.Hour), "resumes": "automatically", "error": map[string]any{"code": 1004, "message": "anthropic: status 429"}}
	d.tell("turn_parked", park)
	park["until"] = later(2 * time.Hour)
	d.tell("turn_parked", park)
	told := parked.Turn{Why: "quota", Since: later(0), Until: later(time.Hour), Resumes: "automatically", Error: &conn.Error{Message: "anthropic: status 429"}}
	want := []string{"", "‖ " + told.Text(now) + " /resume resumes it now, /resume MODEL with another model; /cancel ends it."}
	if diff := cmp.Diff(want, d.whole(400, plain)); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
	told.Until = later(2 * time.Hour)
	if state := "‖ parked · " + told.When(now) + " · Esc ends it · /resume\n"; !strings.Contains(d.content(), state) {
		t.Errorf("the state is not %q:\n%s", state, d.content())
	}
	d.enter("/resume", false)
	d.enter("/resume openai/gpt-6.1-sol", false)
	d.press("esc")
	d.sent(`turn/resume {"session_id":"S","turn_id":"T"}`, `turn/resume {"model_id":"openai/gpt-6.1-sol","session_id":"S","turn_id":"T"}`, `session/cancel {"session_id":"S","turn_id":"T"}`)
	d.tell("turn_resumed", map[string]any{"turn_id": "T", "by": "client"})
	want = append(want, "· the turn resumes")
	if diff := cmp.Diff(want, d.whole(400, plain)); diff != "" || !strings.Contains(d.content(), "working · 0s") {
		t.Errorf("printed (-want +got):\n%s\n%s", diff, d.content())
	}

	// For an approval, the question is enough.
	d.tell("turn_parked", map[string]any{"turn_id": "T", "why": "approval", "since": later(0), "resumes": "on_request"})
	d.ask("Q", commandPart("git status"), nil)
	if out := d.whole(400, plain); len(out) != len(want) || !strings.Contains(d.content(), "waiting for you") {
		t.Errorf("printed %q\n%s", out, d.content())
	}
	d.tell("turn_end", map[string]any{"turn_id": "T", "stop_reason": "end_turn"})
	d.enter("/resume", false)
	d.sent(`session/read {"session_id":"S"}`, `session/queue {"resume":true,"session_id":"S"}`)

	// A chat that attaches shows a parked turn below its messages.
	c := newConversation()
	var a attached
	if err := json.Unmarshal([]byte(`{"session":{"session_id":"S"},"messages":[],"open":{"turn_id":"T","parked":{"why":"client","since":1,"resumes":"on_request"},"messages":[{"id":"m","role":"user","content":[{"type":"text","text":"Later."}]}]}}`), &a); err != nil {
		t.Fatal(err)
	}
	if err := c.attach(a, now); err != nil {
		t.Fatal(err)
	}
	if out := c.ready(400, 0, plain); len(out) != 4 || out[1] != "> Later." || !strings.HasPrefix(out[3], "‖ Parked since ") || c.parked == nil {
		t.Errorf("attached: %q", out)
	}

	// What happened next to the messages is shown in its place.
	c, a = newConversation(), attached{}
	if err := json.Unmarshal([]byte(`{"session":{"session_id":"S"},"messages":[{"id":"m","turn_id":"T","role":"user","content":[{"type":"text","text":"Now."}]},{"id":"n","turn_id":"T","role":"assistant","content":[{"type":"text","text":"Yes."}]}],
		"steps":[{"turn_id":"T","after":"m","ts":2,"fell_back":{"from":{"provider":"a","id":"b","thinking_level":"low"},"to":{"provider":"c","id":"d","thinking_level":"low"},"why":"auth","error":{"code":1004,"message":"a: no key"}}},
		{"turn_id":"T","after":"m","ts":3,"parked":{"why":"budget","since":2,"resumes":"on_request","spending":{"limit":"ask_above","most":1,"next":2}},"by":"client"},
		{"turn_id":"T","after":"m","ts":4,"parked":{"why":"approval","since":3,"resumes":"on_request"}},
		{"turn_id":"T","after":"n","ts":5,"parked":{"why":"quota","since":4,"resumes":"automatically"}}]}`), &a); err != nil {
		t.Fatal(err)
	}
	if err := c.attach(a, now); err != nil {
		t.Fatal(err)
	}
	out := strings.Join(c.ready(400, 0, plain), "\n")
	order := []string{"> Now.", "! a failed: no key. This turn runs on c/d, thinking low.", "the prompt was expensive.", "Yes.", "the provider takes no more requests for now."}
	for _, text := range order {
		_, rest, ok := strings.Cut(out, text)
		if !ok {
			t.Fatalf("no %q behind the one before it: %q", text, out)
		}
		out = rest
	}
}

// A chat that attaches says how earlier turns ended, as it did when they ended.
func TestHistoryHasEnds(t *testing.T) {
	c := newConversation()
	var a attached
	if err := json.Unmarshal([]byte(`{"session":{"session_id":"S"},"messages":[
		{"id":"a","turn_id":"T","role":"user","content":[{"type":"text","text":"One."}],"turn_end":{"stop_reason":"error","error":{"code":1004,"message":"a: no key"}}},
		{"id":"b","turn_id":"U","role":"user","content":[{"type":"text","text":"Two."}]},
		{"id":"c","turn_id":"U","role":"assistant","content":[{"type":"text","text":"Half an"}],"incomplete":"cancelled","turn_end":{"stop_reason":"limit","limit":"time"}},
		{"id":"d","turn_id":"V","role":"user","content":[{"type":"text","text":"Three."}]},
		{"id":"e","turn_id":"V","role":"assistant","content":[{"type":"text","text":"Half"}],"incomplete":"cancelled","turn_end":{"stop_reason":"cancelled"}}]}`), &a); err != nil {
		t.Fatal(err)
	}
	if err := c.attach(a, time.Now()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, line := range c.ready(400, 0, plain) {
		if line = strings.TrimSpace(line); line != "" {
			got = append(got, line)
		}
	}
	want := []string{"> One.", "error: a: no key", "> Two.", "Half an", "error: the turn ended: limit (time)", "> Three.", "Half", "· cancelled"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
