package chat

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// pane is a terminal of tmux, in which the chat runs.
type pane struct {
	t    testing.TB
	tmux []string
	foot string // as it was when something was last said
}

// chatIn runs `thinkd chat` in a terminal of so many columns and rows. Behind it, its status stands there.
func chatIn(t testing.TB, data, size string, env []string, args ...string) *pane {
	t.Helper()
	return runIn(t, data, size, env, append([]string{"chat"}, args...)...)
}

// runIn is chatIn for any command, and for none.
func runIn(t testing.TB, data, size string, env []string, args ...string) *pane {
	t.Helper()
	proof.Needs(t, "tmux")
	dir, err := os.MkdirTemp("", "tmux") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	p := &pane{t: t, tmux: []string{"tmux", "-S", dir + "/s", "-f", "/dev/null"}}
	pidFile := dir + "/pid"
	t.Cleanup(func() {
		p.kill(pidFile)
		exec.Command(p.tmux[0], append(p.tmux[1:], "kill-server")...).Run() // it may have failed to start
		os.RemoveAll(dir)
	})
	chat := proof.Command(t, append(append([]string{"TERM=tmux-256color", "LANG=C.UTF-8"}, proof.NobodyHere...), env...), append([]string{"--data", data}, args...)...)
	width, height, _ := strings.Cut(size, "x")
	// tmux gives TERM to what it starts.
	start := append(p.tmux[1:], "-u", "new-session", "-d", "-x", width, "-y", height, "env")
	start = append(append(start, chat.Env...), "sh", "-c", `trap : INT; sh -c 'echo $$ >"$0"; exec "$@"' "$@"; echo "[status $?]"; exec cat`, "sh", pidFile)
	start = append(append(start, chat.Path), chat.Args[1:]...)
	run := exec.Command("tmux", start...)
	run.Env = chat.Env
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("tmux: %v: %s", err, out)
	}
	return p
}

// kill ends the chat if it still runs, and waits until it is gone: it would start another daemon on a data directory that
// is being removed.
func (p *pane) kill(pidFile string) {
	pid, err := os.ReadFile(pidFile)
	if err != nil {
		return // it did not start
	}
	look := func() string {
		text, _ := exec.Command(p.tmux[0], append(p.tmux[1:], "capture-pane", "-p", "-J", "-S", "-")...).Output()
		return string(text)
	}
	if !statusRow.MatchString(look()) {
		exec.Command("kill", "-KILL", strings.TrimSpace(string(pid))).Run() // it may have ended just now
		p.until(look, statusRow.String())
	}
}

var statusRow = regexp.MustCompile(`\[status \d+\]`) // of a chat that was killed, it stands anywhere

func (p *pane) do(args ...string) string {
	p.t.Helper()
	out, err := exec.Command(p.tmux[0], append(p.tmux[1:], args...)...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return string(out)
}

// screen is what can be seen; text is all, with the scrollback, as it would be copied. Blanks at the end of a row do not
// count: nobody sees them, and a row has them if something longer stood there, which depends on the pace of the stream.
func (p *pane) screen() string { return withoutBlanks(p.do("capture-pane", "-p")) }
func (p *pane) text() string   { return withoutBlanks(p.do("capture-pane", "-p", "-J", "-S", "-")) }

func (p *pane) press(keys ...string) { p.do(append([]string{"send-keys"}, keys...)...) }

// say types a text and sends it.
func (p *pane) say(text string) {
	p.do("send-keys", "-l", text)
	p.send()
}

// send sends what is typed.
func (p *pane) send() {
	p.foot = footRow.FindString(p.screen())
	p.press("Enter")
}

// until waits until look shows what the expression says, and until it does not if the expression begins with !.
func (p *pane) until(look func() string, expression string) string {
	p.t.Helper()
	pattern, absent := strings.CutPrefix(expression, "!")
	re := regexp.MustCompile("(?m)" + pattern)
	for deadline := time.Now().Add(proof.Patience); ; proof.Moment(20 * time.Millisecond) {
		got := look()
		if re.MatchString(got) != absent {
			return got
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("the terminal never shows %q:\n%s", expression, lastLines(got))
		}
	}
}

// becomes waits until the terminal, with its scrollback, has this text.
func (p *pane) becomes(want string) {
	p.t.Helper()
	want = withoutBlanks(want)
	for deadline := time.Now().Add(proof.Patience); ; proof.Moment(20 * time.Millisecond) {
		got := p.text()
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n"))
			p.t.Fatalf("the terminal differs from what it was (-was +is):\n%s", lastLines(diff))
		}
	}
}

var blanks = regexp.MustCompile(`(?m) +$`)

func withoutBlanks(text string) string { return blanks.ReplaceAllString(text, "") }

// lastLines bounds what a failure shows of a terminal.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-50):], "\n")
}

func (p *pane) shows(expression string) string { p.t.Helper(); return p.until(p.screen, expression) }
func (p *pane) holds(expression string) string { p.t.Helper(); return p.until(p.text, expression) }

var footRow = regexp.MustCompile(`(?m)^sim/\S+ · th.*`)

// rests waits until no turn runs and the foot counts the last one, where the terminal is wide enough for that. It looks
// again: between two writes of the chat, any part of the screen may be missing.
func (p *pane) rests() {
	p.t.Helper()
	const looks = 5
	for deadline, last, same := time.Now().Add(proof.Patience), "", 0; same < looks; proof.Moment(20 * time.Millisecond) {
		got := p.screen()
		foot := footRow.FindString(got)
		counted := !strings.Contains(foot, "/help") || strings.Contains(foot, " of ") && foot != p.foot
		if foot == "" || !counted || strings.Contains(got, "Esc stops it") || got != last {
			same = 0
		} else {
			same++
		}
		last = got
		if time.Now().After(deadline) {
			p.t.Fatalf("a turn does not end:\n%s", lastLines(got))
		}
	}
}

// ends waits for the end of the chat, which is one in order.
func (p *pane) ends() { p.t.Helper(); p.holds(`^\[status 0\]$`) }

const idleFoot = `^sim/\S+ · thinking \w+ · .*/help`

func TestChatKeys(t *testing.T) {
	t.Parallel()
	data := proof.DataDir(t)
	p := chatIn(t, data, "80x24", nil)
	p.shows(idleFoot)

	// Thinking is there while it comes, dim and italic. Escape ends the turn. The vendor stalls, so that all that it says is
	// there, and the screen depends on nothing that comes later.
	p.say("Which date is later? [[sim: thinking=4000 pace=0 fault=stall after=200]]")
	p.shows(`^thinking · \d+s · Esc stops it`)
	var styled string
	p.until(func() string {
		styled = p.do("capture-pane", "-p", "-e")
		return inStyle(styled, "d", "i")
	}, `\w`)
	if strings.Contains(styled, "│") || strings.Contains(styled, "─") {
		t.Errorf("something stands around the text:\n%s", styled)
	}
	// Another prompt waits.
	p.say("And then? [[sim: thinking=0 text=5 pace=0]]")
	p.shows(`^waits: And then\?`)
	p.press("Escape")
	p.holds(`(?s)^· cancelled.*^> And then\?.*pace=0\]\]\n\n[A-Z]`)
	p.rests()

	// A thought is folded to its head. Control-T unfolds it in place, and folds it again.
	p.say("Think. [[sim: thinking=60 text=10 pace=0]]")
	folded := p.holds(`(?s)^> Think\..*^∴ thought · \d+ rows · Ctrl\+T unfolds\n\n[A-Z].*^>`)
	p.rests()
	rows := count(t, folded, `(\d+) rows · Ctrl\+T unfolds\n\n[A-Z][^∴]*$`)
	p.press("C-t")
	unfolded := p.shows(`^∴ thought · Ctrl\+T folds`)
	_, thought, _ := strings.Cut(unfolded, "Ctrl+T folds\n")
	if got := strings.Count(thought[:strings.Index(thought, "\n\n>")], "\n"); got < rows+1 {
		t.Errorf("of %d rows %d are shown:\n%s", rows, got, unfolded)
	}
	p.press("C-t")
	p.shows(`^∴ thought · \d+ rows · Ctrl\+T unfolds\n\n[A-Z]`)

	// One without room is shown in the reader, which Control-O opens too. The scrollback is as it was.
	p.say("Think more. [[sim: thinking=300 text=10 pace=0]]")
	p.holds(`(?s)^> Think more\..*^∴ thought · \d+ rows · Ctrl\+T unfolds\n\n[A-Z].*^>`)
	p.rests()
	before := p.text()
	for _, key := range []string{"C-t", "C-o"} {
		p.press(key)
		p.shows(`rows \d+ to \d+ of \d+ .* Ctrl\+O goes back`)
		p.press("Home")
		p.shows(`rows 1 to 23 of`)
		p.press(key)
		p.shows(idleFoot)
		p.becomes(before)
	}

	// Two steps to another model; one to another level.
	p.say("/models")
	p.shows(`^\* sim/claude`)
	p.do("send-keys", "-l", "sim gpt-alw")
	p.shows(`^1 of 1 `)
	p.press("Enter")
	p.shows(`^level of sim/gpt-always`)
	p.press("Home", "Enter")
	p.holds(`^· sim/gpt-always, thinking low$`)
	p.shows(`^sim/gpt-always · thinking low`)
	p.say("/thinking")
	p.shows(`^\* low`)
	p.press("Down", "Enter")
	p.holds(`^· sim/gpt-always, thinking medium$`)
	p.say("/thinking huge")
	p.holds(`^error: .*level`)

	// A fork is another session; the first is in the list.
	p.say("/fork")
	p.holds(`^· this is session \w{26}, a fork$`)
	p.say("In the fork. [[sim: thinking=0 text=5 pace=0]]")
	p.holds(`^> In the fork`)
	p.rests()
	p.say("/new")
	p.shows(`^sim/claude · thinking high · /help`)
	p.say("One. [[sim: thinking=0 text=200 pace=0]]")
	p.holds(`^> One\.`)
	p.rests()
	p.say("/compact")
	p.holds(`^· ≡ Summary of \d+ messages`)
	p.say("/sessions")
	p.shows(`^  Which date is later\?.*\n(?s:.*)1 of 3`)
	p.press("End")
	p.shows(`^3 of 3`)
	p.press("Enter")
	p.holds(`^· session \w{26} · Which date is later`)

	// What was typed comes back; Control-C clears it, and leaves.
	p.press("Up")
	p.shows(`^> /sessions`)
	p.press("C-c")
	p.shows(`!^> /sessions`)
	p.press("C-c")
	p.ends()
	p = chatIn(t, data, "80x24", nil)
	p.shows(idleFoot)
	p.press("C-d")
	p.ends()
	if list := listedSessions(t, data); strings.Count(list, "\n") != 3 {
		t.Errorf("a session in which nothing was said stays:\n%s", list)
	}
}

// A prompt for the turn that runs is taken in after the results of tools. The tool gives its result once the prompt is stored.
func TestChatSteers(t *testing.T) {
	t.Parallel()
	data := proof.DataDir(t)
	tool, session := chatTool(t, data, "allow")
	p := chatIn(t, data, "80x24", nil, "--session", session)
	p.shows(idleFoot)
	p.say("Count. [[sim: tool=work thinking=0 text=5 pace=0]]")
	started := tool.Wait("the call", func(u proof.Update) bool { return u.Method == "tool_start" })
	p.do("send-keys", "-l", "Rather the first. [[sim: thinking=0 text=5 pace=0]]")
	p.press("C-s")
	p.shows(`^waits: Rather the first\.`)
	finish(tool, session, started, "counted")
	p.holds(`(?s)^counted.*^> Rather the first\. .* \(steers\)`)
	p.rests()
}

// chatTool is a client with a tool, and a session that has it under a rule.
func chatTool(t *testing.T, data, rule string) (tool *proof.Process, session string) {
	t.Helper()
	tool = proof.Door(t, data, nil)
	var s struct {
		ID string `json:"session_id"`
	}
	tool.Must("session/new", map[string]any{"model_id": "sim/claude", "tools": []any{map[string]any{"name": "work", "title": "Work hard"}},
		"tool_policy": map[string]any{"names": map[string]any{"work": rule}}}, &s)
	return tool, s.ID
}

// finish gives the result of a call that started.
func finish(p *proof.Process, session string, started proof.Update, text string) {
	p.T.Helper()
	call := regexp.MustCompile(`"call_id":"([^"]+)"`).FindSubmatch(started.Raw)[1]
	p.Must("tool/result", map[string]any{"session_id": session, "call_id": string(call), "content": []any{map[string]any{"type": "text", "text": text}}}, nil)
}

// count is the number that an expression finds in a text.
func count(t *testing.T, text, expression string) int {
	t.Helper()
	found := regexp.MustCompile(expression).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("there is no %q:\n%s", expression, lastLines(text))
	}
	n, err := strconv.Atoi(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func listedSessions(t *testing.T, data string) string {
	t.Helper()
	out, err := proof.Command(t, proof.NobodyHere, "--data", data, "sessions", "list").Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// A question is answered by Tab and Enter. Letters go to the input, also those that were letters of an answer once.
func TestChatQuestion(t *testing.T) {
	t.Parallel()
	data := proof.DataDir(t)
	tool, session := chatTool(t, data, "ask")
	p := chatIn(t, data, "80x24", nil, "--session", session)
	p.shows(idleFoot)
	reach := func() { proof.Moment(600 * time.Millisecond) } // until Tab reaches the question
	for _, test := range []struct {
		keys []string
		want string
	}{
		{[]string{"Tab", "Right", "Right", "Enter"}, `"action":"deny"`},
		{[]string{"Tab", "Enter"}, `"action":"allow","by"`},
		{[]string{"Tab", "Tab", "Enter", "Down", "Enter"}, `"grant":{`},
	} {
		p.say("Use it. [[sim: tool=work thinking=0 text=3 pace=0]]")
		p.shows(`Tab selects one$`)
		tool.Forget()
		p.press("a", "y", "1")
		p.shows(`^> ay1`)
		p.press("BSpace", "BSpace", "BSpace")
		p.shows(`Tab selects one$`)
		reach()
		p.press(test.keys...)
		resolved := tool.Wait("the verdict", func(u proof.Update) bool { return u.Method == "confirm_resolved" })
		if !strings.Contains(string(resolved.Raw), test.want) {
			t.Errorf("%q answer %s", test.keys, resolved.Raw)
		}
		if test.want != `"action":"deny"` {
			started := tool.Wait("the call", func(u proof.Update) bool { return u.Method == "tool_start" })
			finish(tool, session, started, fmt.Sprintf("done by %d keys", len(test.keys)))
			p.holds(fmt.Sprintf(`^done by %d keys`, len(test.keys)))
		}
		p.rests()
	}
	p.say("/grants")
	p.shows(`^grants: Enter revokes`)
	p.press("Enter")
	p.holds(`^· revoked: All calls of work`)
}

func TestChatSizes(t *testing.T) {
	t.Parallel()
	p := chatIn(t, proof.DataDir(t), "40x12", nil)
	p.shows(idleFoot)
	p.say("Say it. [[sim: thinking=60 text=90 pace=0]]")
	p.holds(`(?s)^> Say it.*^∴ thought.*^─+$.*^sim/claude`)
	p.rests()
	for row := range strings.Lines(p.do("capture-pane", "-p", "-S", "-")) {
		if row != strings.TrimRight(row, " \n")+"\n" {
			t.Errorf("a blank at the end of %q", row)
		}
	}
	for _, size := range []string{"100x30", "23x8", "60x20"} {
		width, height, _ := strings.Cut(size, "x")
		p.do("resize-window", "-x", width, "-y", height)
		p.do("send-keys", "-l", size+" [[sim: thinking=0 text=5 pace=0]]")
		if width == "23" { // the prompt fits in a row, or does not, only in a window of the new size
			p.shows(`^> 23x8 \[\[sim: *$`)
		} else {
			p.shows(`^> ` + size + ` .*pace=0\]\]$`)
		}
		p.send()
		p.holds(`(?s)^> ` + size + ` .{0,60}pace=0\]\]\n\n[A-Z0-9]`)
		p.rests()
		if got := p.screen(); strings.Count(got, "sim/claude · th") != 1 {
			t.Errorf("at %s the foot stands there more than once, or not at all:\n%s", size, got)
		}
	}
}

// A window that changes its size while an answer arrives shows each row once, and none is torn. The vendor stalls at the end, so that the
// turn still runs on a slow machine. Right after a resize the screen stays torn until the chat writes it again: the test waits for that.
func TestChatResize(t *testing.T) {
	t.Parallel()
	p := chatIn(t, proof.DataDir(t), "80x24", nil)
	p.shows(idleFoot)
	p.say("Compare rivers and lakes. [[sim: thinking=30 text=300 pace=40 fault=stall after=330]]")
	p.shows(`· Esc stops it`)
	for _, size := range []string{"60x24", "47x20", "90x30", "33x24", "70x24"} {
		width, height, _ := strings.Cut(size, "x")
		p.do("resize-window", "-x", width, "-y", height)
		proof.Moment(20 * time.Millisecond)
	}
	got := p.shows(`\nThis was the simulator: it keeps every rule of the wire and\nunderstands nothing\.\n.* · Esc stops it .*\n\n>\nsim/claude · th.*\n*\z`)
	if strings.Count(got, "sim/claude · th") != 1 || strings.Count(got, "Esc stops it") != 1 {
		t.Errorf("parts of earlier views are left:\n%s", got)
	}
	for row := range strings.Lines(got) {
		if strings.Count(got, row) > 1 && len(row) > 20 {
			t.Errorf("%q is there twice:\n%s", row, got)
		}
	}
}

// Without colour, what is dim and what is italic stays so.
func TestChatColour(t *testing.T) {
	t.Parallel()
	data := proof.DataDir(t)
	for _, test := range []struct {
		env   []string
		wants bool
	}{{nil, true}, {[]string{"NO_COLOR=1"}, false}} {
		p := chatIn(t, data, "80x24", test.env)
		p.shows(idleFoot)
		p.say("/nothing")
		p.holds(`^error: unknown command /nothing`)
		styled := p.do("capture-pane", "-p", "-e")
		if red := regexp.MustCompile(`\x1b\[[0-9;]*[34][1-7]m`).MatchString(styled); red != test.wants {
			t.Errorf("with %v there is colour: %v\n%q", test.env, red, styled)
		}
		if !strings.Contains(styled, "\x1b[2m") {
			t.Errorf("with %v nothing is dim", test.env)
		}
		p.press("C-d")
		p.ends()
	}
}

// A terminal that cannot move its cursor gets lines, and no sequences.
func TestChatDumb(t *testing.T) {
	t.Parallel()
	p := chatIn(t, proof.DataDir(t), "60x24", []string{"TERM=dumb"})
	p.say("Hello. [[sim: thinking=10 text=10 pace=0]]")
	p.holds(`(?s)^\[thinking\]\n.*^\[thought`)
	p.say("/thinking")
	p.holds(`^level of thinking: a number, or nothing$`)
	p.holds(`^  2  low`)
	p.say("2")
	p.holds(`^\[sim/claude, thinking low\]$`)
	p.say("Again. [[sim: thinking=2000 pace=0 fault=stall after=20]]")
	p.holds(`(?s)Again.*^\[thinking\]\n`)
	p.say("/cancel")
	p.holds(`^\[cancelled\]$`)
	if styled := p.do("capture-pane", "-p", "-e"); strings.Contains(styled, "\x1b") {
		t.Errorf("a style on a dumb terminal: %q", styled)
	}
	p.say("/quit")
	p.ends()
}

// A side question is answered in a box while the turn goes on, and leaves nothing in the scrollback. Escape and Control-C end the
// question. After the end of the turn, the chat says that the turn can be continued.
func TestChatAside(t *testing.T) {
	t.Parallel()
	data := proof.DataDir(t)
	p := chatIn(t, data, "80x24", nil)
	p.shows(idleFoot)
	p.say("Write. [[sim: thinking=0 text=300 pace=0 fault=stall after=100]]")
	p.shows(`^answering · \d+s · Esc stops it`)
	p.say("/ask Which one? [[sim: thinking=0 text=20 pace=0]]")
	p.shows(`^── Side question · not recorded · \d+ % of the input was cached ─+\n  Which one\?.*\n(?:  .*\n)+  Close    Keep as a fork +Tab selects one`)
	p.shows(`^answering · \d+s · Ctrl\+O`)
	p.press("Escape")
	p.shows(`!Side question`)
	p.shows(`^answering · \d+s · Esc stops it`)
	for _, key := range []string{"Escape", "C-c"} {
		p.say("/ask Stalled? [[sim: thinking=0 text=30 pace=0 fault=stall after=5]]")
		p.shows(`^  \S.*▌\n  Close    Keep as a fork +Tab selects one · Esc cancels it, not the turn$`)
		p.press(key)
		p.shows(`!Side question`)
		p.shows(`^answering · \d+s · Esc stops it`)
	}
	p.say("/ask Kept? [[sim: thinking=0 text=20 pace=0]]")
	p.shows(`^── Side question · not recorded · \d+ %`)
	p.press("Tab", "Tab")
	p.shows(`▸\[Keep as a fork\]`)
	p.press("Enter")
	p.shows(`^  · the side question is in a fork, session \w{26};\n  /sessions opens it\n  Close  `)
	p.press("Escape")
	p.shows(`!Side question`)
	p.press("Escape")
	p.holds(`(?s)^· the side question is in a fork.*^· cancelled\n· /continue goes on from here \(kept: 1 text\)\. Nothing runs until\s+then`)
	p.rests()
	if text := p.text(); strings.Contains(text, "Which one?") || strings.Contains(text, "Stalled?") {
		t.Errorf("the scrollback has a side question:\n%s", lastLines(text))
	}
	if list := listedSessions(t, data); strings.Count(list, "\n") != 2 {
		t.Errorf("the sessions are not the first one and its fork:\n%s", list)
	}
}

// The menus complete commands, models, levels and files. A file goes along with the prompt that mentions it. The editor gives the prompt, the
// session goes to a file, and the next chat continues it.
func TestChatMenus(t *testing.T) {
	t.Parallel()
	data, out := proof.DataDir(t), filepath.Join(t.TempDir(), "out.md")
	p := chatIn(t, data, "80x24", []string{"EDITOR=sed -i s/three/four/"})
	p.shows(idleFoot)
	p.do("send-keys", "-l", "/mod")
	p.shows(`(?s)^> /mod\n▸ /models \[MODEL\] \[LEVEL\].*^  \d of \d+ · Tab completes · Enter runs · Esc closes$`)
	p.press("Tab")
	p.do("send-keys", "-l", "gpt-alw")
	p.shows(`^▸ sim/gpt-always .*low`)
	p.press("Tab")
	p.do("send-keys", "-l", "lo")
	p.shows(`^▸ low`)
	p.press("Enter")
	p.holds(`^· sim/gpt-always, thinking low$`)
	p.do("send-keys", "-l", "Two or three @terminal_lin")
	p.shows(`^▸ terminal_linux_test\.go +\d\.\d KB$`)
	p.press("Enter")
	p.shows(`^> Two or three @terminal_linux_test\.go`)
	p.press("C-g")
	p.shows(`^> Two or four @terminal_linux_test\.go`)
	p.do("send-keys", "-l", " [[sim: thinking=0 text=5 pace=0]]")
	p.send()
	p.holds(`(?s)^> Two or four @terminal_linux_test\.go.*^  \[terminal_linux_test\.go\].*^[A-Z]`)
	p.rests()
	p.say("/rename Two")
	p.holds(`^· the title is "Two"$`)
	p.say("/copy")
	p.holds(`^· the (?:terminal was asked to copy|last answer was copied)`)
	p.say("/export " + out)
	p.holds(`^· exported to `)
	p.press("C-d")
	p.holds(`(?s)^To continue: thinkd chat --session \w{26}$.*^\[status 0\]$`)
	if text, err := os.ReadFile(out); err != nil || !strings.Contains(string(text), "Two or four") {
		t.Errorf("%v: %s", err, text)
	}
	p = chatIn(t, data, "80x24", nil, "--continue")
	p.holds(`(?s)^· session \w{26} · Two$.*^> Two or four .*^  \[terminal_linux_test\.go\]`)
	p.say("/search four")
	p.shows(`^\* Two  .*×`)
	p.press("Escape")
	p.shows(`!^sessions with`)
	p.say("/delete")
	p.shows(`^  Delete it`)
	p.press("Down", "Enter")
	p.holds(`^· deleted; this is a new session$`)
	p.press("C-d")
	p.ends()
	if list := listedSessions(t, data); strings.Contains(list, "Two") {
		t.Errorf("the session is still there:\n%s", list)
	}
}

// A parked turn says until when it waits. It resumes on request, and Escape ends it.
func TestChatParked(t *testing.T) {
	t.Parallel()
	data := proof.DataDir(t)
	other := proof.Door(t, data, nil)
	var s struct {
		ID string `json:"session_id"`
	}
	other.Must("session/new", map[string]any{"model_id": "sim/claude"}, &s)
	p := chatIn(t, data, "80x24", nil, "--session", s.ID)
	p.shows(idleFoot)
	for _, text := range []string{"Later", "Never"} {
		other.Must("session/prompt", map[string]any{"session_id": s.ID, "text": text + ". [[sim: thinking=0 text=5 pace=0]]", "not_before": time.Now().Add(100 * time.Hour).UnixMilli()}, nil)
		p.shows(`^‖ parked · resumes automatically at \d{4}-\d\d-\d\d \d\d:\d\d · Esc ends it · /resume$`)
		p.holds(`(?s)^> ` + text + `\..*^‖ Parked since \d\d:\d\d: the prompt is for a later time\. It resumes`)
		if text == "Later" {
			p.say("/resume")
			p.holds(`(?s)^· the turn resumes.*^· the answers come from.*^[A-Z].*^>`)
		} else {
			p.press("Escape")
			p.holds(`^· cancelled`)
		}
		p.shows(`!^‖ parked`)
	}
}

// At a limit of all sessions, the turn asks. Each answer is given with keys, and /cost says what was spent.
func TestChatLimit(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(config, []byte(`limits.max_day_cost = 0.21
[[providers.sim.models]]
id = "claude"
price = { input = 10, output = 50, cached_input = 1, cache_write = 12.5 }
`), 0o600); err != nil {
		t.Fatal(err)
	}
	p := chatIn(t, proof.DataDir(t), "80x24", nil, "--config", config, "--model", "sim/claude")
	p.shows(idleFoot)
	asks := func(text string) {
		p.say(text + " [[sim: thinking=0 text=5 pace=0]]")
		p.shows(`^── Spend more today\? ─+$`)
		proof.Moment(600 * time.Millisecond) // until Tab reaches the question
	}
	p.say("Apples? [[sim: thinking=0 text=200 pace=0]]")
	p.rests()

	asks("Pears?")
	p.shows(`^  Spent today: 0\.\d+ of 0\.21 USD \(max_day_cost\)\. The next call probably costs\s+0\.2\d USD\. The turn waits; nothing is lost\.$`)
	p.shows(`^waiting for you · Tab selects the question · Esc stops the turn$`)
	p.press("Tab")
	p.shows(`^▸\[Allow this call\]`)
	p.press("Enter")
	p.holds(`(?s)^\? Spend more today\?.*^· the turn resumes`)
	p.rests()

	asks("Plums?") // it was one call
	p.press("Tab", "Tab", "Enter")
	p.shows(`^── Raise the limit of 0\.21 USD ─+$`)
	p.press("Down")
	p.shows(`^▸ by 0\.\d+ USD, to 0\.\d+ USD$`)
	p.press("Enter")
	p.holds(`(?s)^> Plums\?.*^· the turn resumes`)
	p.holds(`^· raised the limit by 0\.\d+ USD$`)
	p.rests()

	p.say("/cost")
	p.holds(`(?s)^· This session: 0\.\d+ USD in 3 calls$.^    sim/claude: 0\.\d+ USD, 3 calls$.^    thinking \w+: 0\.\d+ USD, 3 calls$.^  Today \(UTC\), all sessions: 0\.\d+ USD in 3 calls$.^  Spent today: 0\.\d+ of 0\.\d+ USD \(max_day_cost\)$.^  Next prompt with sim/claude: about \d+\.\d+ to \d+\.\d+\s+USD`)
	asks("Dates?")
	p.press("BTab", "Enter")
	p.holds(`^· cancelled`)
}

// The daemon may die under a chat: the next one takes over, and what was said stays.
func TestChatOutlivesDaemon(t *testing.T) {
	t.Parallel()
	data := proof.DataDir(t)
	h := proof.Open(t, data, proof.NobodyHere)
	h.Ready()
	p := chatIn(t, data, "80x24", nil)
	p.shows(idleFoot)
	p.say("Long. [[sim: thinking=4000 pace=0 fault=stall after=200]]")
	p.shows(`^thinking · (?:[2-9]|\d\d|\d+m\d+)s`) // what came a second ago is on disk
	h.Kill()
	p.holds(`^· the connection was lost; attached again`)
	p.holds(`^error: the turn ended: interrupted`)
	p.say("On. [[sim: thinking=0 text=10 pace=0]]")
	p.holds(`(?s)^> On\..*^\S`)
	p.rests()
	p.press("C-d")
	p.ends()
	if err := proof.Quit(data); err != nil {
		t.Error(err)
	}
}
