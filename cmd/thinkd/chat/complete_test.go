package chat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/cmd/thinkd/files"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/conn"
)

// types gives the screen a text, key by key.
func (d *desk) types(text string) {
	for _, r := range text {
		if r == ' ' {
			d.press("space")
			continue
		}
		d.press(string(r))
	}
}

// calls expects requests of these methods since the last look.
func (d *desk) calls(want ...string) {
	d.Helper()
	var got []string
	for _, one := range d.requests() {
		method, _, _ := strings.Cut(one, " ")
		got = append(got, method)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		d.Errorf("requests (-want +got):\n%s", diff)
	}
}

// sentParams are the params of the only request since the last look.
func (d *desk) sentParams(want string) string {
	d.Helper()
	list := d.requests()
	if len(list) != 1 {
		d.Fatalf("the requests are %q, and not one of %s", list, want)
	}
	method, params, _ := strings.Cut(list[0], " ")
	if method != want {
		d.Errorf("the request is %s, and not %s", method, want)
	}
	return params
}

// below is what the screen shows from the input on.
func (d *desk) below() string {
	text := d.content()
	return text[strings.LastIndex(text, "\n> ")+1:]
}

func (d *desk) has(what string, parts ...string) {
	d.Helper()
	for _, part := range parts {
		if !strings.Contains(d.below(), part) {
			d.Errorf("%s: there is no %q:\n%s", what, part, d.below())
		}
	}
}

func TestCommandMenu(t *testing.T) {
	d := newDesk(t, 80, 24)
	d.types("/")
	d.has("all commands", "▸ /models [MODEL] [LEVEL]  choose", "  /thinking", " of ", "Esc closes")
	d.types("unc")
	d.has("some", "> /unc\n▸ /uncompact  undo", "1 of ")
	d.press("esc")
	if strings.Contains(d.below(), "▸") {
		t.Errorf("Escape does not close the menu:\n%s", d.below())
	}
	d.types("o")
	d.press("enter") // runs what is selected
	d.calls("session/uncompact")
	d.types("/ren")
	d.press("enter") // completes what needs a word
	d.has("a command with a word", "> /rename ")
	d.types("Shop")
	d.press("enter")
	d.calls("session/update")
	d.types("/cost")
	d.press("enter") // as typed
	d.calls("usage/report")
}

func TestWordMenu(t *testing.T) {
	d := newDesk(t, 80, 24)
	d.types("/models m")
	d.calls("models/list")
	d.answer(`{"models":[{"provider":"sim","id":"mini","thinking_levels":["low","high"],"default_thinking_level":"high","supports_thinking":true,"available":true},
		{"provider":"sim","id":"max","thinking_levels":["low"],"available":true},{"provider":"x","id":"m1","available":false}]}`, nil)
	d.has("models", "▸ sim/mini  low high", "  sim/max   does not think", "2 of 2")
	d.press("tab")
	d.has("a model, and its levels", "> /models sim/mini ", "▸ low\n  high  the model's default")
	d.types("h")
	d.has("levels", "▸ high  the model's default")
	d.press("enter")
	d.calls("model/set")
	d.types("/cost ")
	d.press("enter") // nothing was chosen
	d.calls("usage/report")
	d.types("/cost ")
	d.press("down", "enter")
	d.calls("session/quote")
}

// A mention offers the files of the folder. The prompt takes the file along, and a word that is none stays text.
// Ctrl+Z stops the program. What the shell writes meanwhile is below the reader, which covers the screen.
func TestSuspend(t *testing.T) {
	d := newDesk(t, 80, 24)
	cmd := d.pressed(key("ctrl+z"))
	if cmd == nil {
		t.Fatal("nothing happens")
	}
	if _, ok := cmd().(tea.SuspendMsg); !ok {
		t.Errorf("the command gives %T", cmd())
	}
	d.Update(tea.ResumeMsg{})
	d.press("ctrl+o")
	if d.covered {
		t.Error("the screen is drawn again without a need")
	}
	d.Update(tea.ResumeMsg{})
	if !d.covered {
		t.Error("behind the reader, the screen is not drawn again")
	}
}

func TestFileMenu(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"cart.go", "cart test.go"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("package cart"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := newDesk(t, 80, 24)
	d.folder = dir
	d.contents = func(text string) (provider.Blocks, error) {
		return files.Attached(files.Mentioned(text, dir), text)
	}
	d.types("Compare @ca")
	d.Update(d.listFiles()()) // in a program the first @ does
	d.has("files", "▸ cart test.go  12 B", "  cart.go       12 B", "2 of 2 · Tab or Enter inserts the path")
	d.press("enter")
	d.has("a name with a blank", `> Compare @"cart test.go" `)
	d.types("and @cart.")
	d.press("tab")
	d.types("@nobody")
	d.press("enter")
	sent := d.sentParams("session/prompt")
	if !strings.Contains(sent, `"name":"cart test.go"`) || !strings.Contains(sent, `"name":"cart.go"`) || !strings.Contains(sent, `"text":"Compare @\"cart test.go\" and @cart.go @nobody"`) {
		t.Errorf("sent: %s", sent)
	}
	d.types("No file. @nobody")
	d.press("enter")
	if sent := d.sentParams("session/prompt"); strings.Contains(sent, "content") {
		t.Errorf("sent: %s", sent)
	}
	if err := os.WriteFile(filepath.Join(dir, "empty"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d.types("@empty")
	d.press("esc", "enter")
	if text := strings.Join(d.whole(200, plain), "\n"); !strings.Contains(text, "error: not sent: ") || !strings.Contains(text, "empty is empty") {
		t.Errorf("the error is not shown: %s", text)
	}
	d.calls()
}

// A pasted path of an image becomes a mention, and other text stays as it is.
func TestPaste(t *testing.T) {
	image := filepath.Join(t.TempDir(), "a b.png")
	if err := os.WriteFile(image, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := newDesk(t, 200, 24)
	d.Update(tea.PasteMsg{Content: strings.ReplaceAll(image, " ", `\ `)})
	d.has("a path", `> @"`+image+`" `)
	d.Update(tea.PasteMsg{Content: "/tmp/none.png"})
	d.has("a text", `" /tmp/none.png`)
	d.Update(imagePasted{file: "/tmp/thinkd-1.png"})
	d.has("an image of the clipboard", "@/tmp/thinkd-1.png ")
}

// The bell rings once for each question.
func TestBell(t *testing.T) {
	d := newDesk(t, 80, 24)
	if d.ring() != nil {
		t.Error("it rings without a question")
	}
	d.questions = []update{{Confirm: "a"}}
	if d.ring() == nil || d.ring() != nil {
		t.Error("it does not ring once for a question")
	}
	d.questions[0].Confirm = "b"
	if d.ring() == nil {
		t.Error("it does not ring for the next question")
	}
}

func TestDeleteAsks(t *testing.T) {
	d := newDesk(t, 80, 24)
	d.types("/delete")
	d.press("enter", "enter") // keeps it
	d.calls()
	d.types("/delete")
	d.press("enter", "down", "enter")
	d.calls("session/delete")
	d.answer(`{}`, nil)
	d.calls("session/new")
}

func TestExport(t *testing.T) {
	d := newDesk(t, 80, 24)
	got := map[string]string{}
	d.save = func(file, text string) error { got[file] = text; return nil }
	d.types("/export x.md")
	d.press("enter")
	d.calls("session/export")
	d.answer(`{"text":"one ","next_cursor":"2"}`, nil)
	d.calls("session/export")
	d.answer(`{"text":"two"}`, nil)
	if got["x.md"] != "one two" {
		t.Errorf("%q", got)
	}
	file := filepath.Join(t.TempDir(), "new")
	if err := saveNew(file, "a"); err != nil {
		t.Error(err)
	}
	if err := saveNew(file, "b"); err == nil {
		t.Error("a file is overwritten")
	}
}

func TestContinueLast(t *testing.T) {
	d := newDesk(t, 80, 24)
	d.continueIn("/srv/shop")
	if sent := d.sentParams("session/list"); !strings.Contains(sent, `"cwd":"/srv/shop"`) {
		t.Error(sent)
	}
	d.answer(`{"sessions":[{"session_id":"T"}]}`, nil)
	d.calls("session/attach")
	d.continueIn("/srv/none")
	d.calls("session/list")
	d.answer(`{"sessions":[]}`, nil)
	d.calls("session/new")
}

// The chat shows a guest the owner of the session and the guest's access.
func TestSharedSession(t *testing.T) {
	for access, want := range map[string]string{"read": "ann shares this session with you for reading", "write": "you can send prompts, which count as theirs", "": "session T · Sky"} {
		d := newDesk(t, 160, 24)
		d.follow("T", 0)
		d.calls("session/attach")
		owner := map[bool]string{true: `,"owner":"ann","access":"` + access + `"`}[access != ""]
		d.answer(`{"session":{"session_id":"T","title":"Sky","status":"idle"`+owner+`},"seq":1,"messages":[]}`, nil)
		if got := strings.Join(d.whole(160, look{plain: true}), "\n"); !strings.Contains(got, want) || strings.Contains(got, "shares this session") != (access != "") {
			t.Errorf("%q: %s", access, got)
		}
	}
}

// What is entered before the answer to /new goes to the new session. Sent at once, it went to the session that the person had left, and
// the chat waited for ever for the end of a turn that it did not see.
func TestEnteredBeforeTheSessionChanges(t *testing.T) {
	d := newDesk(t, 80, 24)
	for _, text := range []string{"/new", "/models sim/gpt", "Hello."} {
		d.enter(text, false)
	}
	d.calls("session/new")
	d.answer(`{"session_id":"NEXT"}`, nil)
	d.sent(`session/detach {"session_id":"S"}`, `model/set {"model_id":"sim/gpt","session_id":"NEXT"}`, `session/prompt {"session_id":"NEXT","text":"Hello."}`)
}

func TestEnteredBeforeTheSessionDoesNotChange(t *testing.T) {
	for name, fail := range map[string]func(d *desk){
		"refused": func(d *desk) { d.answer("", &conn.Error{Message: "the disk is full"}) },
		"lost":    func(d *desk) { d.Update(connection{daemon: d.daemon}) },
	} {
		d := newDesk(t, 80, 24)
		d.enter("/fork", false)
		d.enter("Hello.", false)
		fail(d)
		if sent := strings.Join(d.requests(), "\n"); strings.Contains(sent, "session/prompt") {
			t.Errorf("%s: the prompt goes to the session that was left: %s", name, sent)
		}
		if got := strings.Join(d.waitingToPrint, "\n"); !strings.Contains(got, "error: not sent, because no other session was opened: Hello.") {
			t.Errorf("%s: the chat shows\n%s", name, got)
		}
	}
}

// An answer stays on the screen as long as its thinking can be folded there. When another session is opened, it goes to the scrollback.
func TestAnswerStaysWhenTheSessionChanges(t *testing.T) {
	d := newDesk(t, 80, 24)
	d.tell("turn_start", map[string]any{"turn_id": "T"})
	d.tell("message_start", map[string]any{"turn_id": "T", "message_id": "m"})
	d.tell("thinking_start", map[string]any{"message_id": "m", "block": 0})
	d.tell("thinking_delta", map[string]any{"message_id": "m", "block": 0, "delta": "Hm."})
	d.tell("thinking_end", map[string]any{"message_id": "m", "block": 0})
	d.tell("message_delta", map[string]any{"message_id": "m", "block": 1, "delta": "It is Tuesday."})
	d.tell("message_end", map[string]any{"message_id": "m"})
	d.tell("turn_end", map[string]any{"turn_id": "T", "stop_reason": "end_turn"})
	if got := strings.Join(d.waitingToPrint, "\n"); strings.Contains(got, "Tuesday") {
		t.Fatalf("the thought cannot be folded: it is printed already\n%s", got)
	}
	d.enter("/new", false)
	d.answer(`{"session_id":"NEXT"}`, nil)
	if got := strings.Join(d.waitingToPrint, "\n"); strings.Count(got, "It is Tuesday.") != 1 {
		t.Errorf("the answer is not printed once:\n%s", got)
	}
}

func TestThemes(t *testing.T) {
	for _, test := range []struct {
		env         map[string]string
		light, sure bool
		colour      bool
	}{
		{map[string]string{"NO_COLOR": "1", "COLORFGBG": "0;15"}, false, true, false},
		{map[string]string{"COLORFGBG": "0;15"}, true, true, true},
		{map[string]string{"COLORFGBG": "15;default;0"}, false, true, true},
		{map[string]string{"COLORFGBG": "x"}, false, false, true},
		{nil, false, false, true},
	} {
		l, sure := guessLook(func(name string) string { return test.env[name] })
		if l.light != test.light || sure != test.sure || l.colour != test.colour {
			t.Errorf("%v: %+v, %v", test.env, l, sure)
		}
	}
	for _, theme := range Themes {
		if l, ok := lookOf(theme); !ok || l.colour != (theme != "plain") || l.light != (theme == "light") || l.styles().Addresses != l.colour {
			t.Errorf("%s: %+v, %v", theme, l, ok)
		}
	}
	if _, ok := lookOf("pink"); ok {
		t.Error("there is a theme pink")
	}
	if strings.Contains(look{colour: true, light: true}.warning("x"), "[33m") {
		t.Error("yellow on a light background")
	}
}

// A session can be continued with another model or level. Until the daemon has set them, no prompt can go to the session.
func TestContinueWithAnotherModel(t *testing.T) {
	for _, test := range []struct {
		begin  map[string]any
		method string
		params string
	}{
		{map[string]any{"model_id": "sim/gpt", "cwd": "/srv"}, "model/set", `{"model_id":"sim/gpt","session_id":"T"}`},
		{map[string]any{"model_id": "sim/gpt", "thinking_level": "low"}, "model/set", `{"model_id":"sim/gpt","session_id":"T","thinking_level":"low"}`},
		{map[string]any{"thinking_level": "low"}, "thinking/set", `{"level":"low","session_id":"T"}`},
	} {
		d := newDesk(t, 80, 24)
		d.id, d.begin = "", test.begin
		d.reopen("T")
		if sent := d.sentParams(test.method); sent != test.params {
			t.Errorf("%s %s, want %s", test.method, sent, test.params)
		}
		d.say("hello", false)
		if d.calls(); len(d.daemon.asked) > 0 {
			t.Errorf("sent before the session was open: %v", d.daemon.asked)
		}
	}
	d := newDesk(t, 80, 24)
	d.id, d.begin = "", map[string]any{"model_id": "sim/gpt"}
	d.reopen("T")
	d.answer(`{"session_id":"T","model":{"provider":"sim","id":"gpt"},"thinking_level":"high","applies":"now"}`, nil)
	d.calls("model/set", "session/attach")
	d.answer(`{"session":{"session_id":"T","model":{"provider":"sim","id":"gpt"},"thinking_level":"high"},"messages":[]}`, nil)
	var said strings.Builder
	for _, it := range d.items {
		said.WriteString(it.text() + "\n")
	}
	if !strings.Contains(said.String(), "sim/gpt, thinking high\n") {
		t.Error(said.String())
	}
}
