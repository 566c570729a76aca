package chat

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/thinkd/thinkd/cmd/thinkd/parked"
	safe "github.com/thinkd/thinkd/cmd/thinkd/printable"
)

// lines is the view for terminals that cannot move their cursor, and for pipes. Each line of input is a prompt, a command, or the
// answer to the last question. Updates are written as they arrive, and nothing is written twice.
type lines struct {
	*talk
	out     io.Writer
	echo    bool         // what is typed stands in the output already
	typed   string       // the last prompt
	offered string       // the list that was written last
	number  int          // of the question that was written last
	confirm string       // its id
	limit   *parked.Turn // the turn whose question was written last
	code    string       // an answer must contain it; each question has a new one, so earlier input cannot match
	newCode func() string
	eof     bool  // the input has ended
	err     error // of the output
}

func (f *lines) put(format string, args ...any) {
	if _, err := fmt.Fprintf(f.out, format, args...); err != nil && f.err == nil {
		f.err = err
	}
}

// write writes what is new.
func (f *lines) write() {
	for f.next < len(f.items) {
		it := f.items[f.next]
		f.writeItem(it)
		if !it.done {
			break
		}
		f.next++
	}
	f.offer()
}

func (f *lines) writeItem(it *item) {
	switch it.kind {
	case thinking, answer, output:
		f.stream(it)
	case said:
		if f.echo && f.typed == it.text() {
			f.typed = ""
			return
		}
		f.put("\n> %s\n", it.text())
	case call:
		f.put("\n[call] %s\n", it.text())
	case warned:
		f.put("[warning: %s]\n", strings.TrimRight(it.text(), "\n"))
	case failure:
		f.put("\nerror: %s\n", it.text())
	case spent: // the question was written
	case asked: // so was this one
		f.put("[%s: %s]\n", visible(it.question.Message), it.head)
	default:
		f.put("[%s]\n", strings.TrimRight(it.text(), "\n"))
	}
}

// stream writes what an item has grown by.
func (f *lines) stream(it *item) {
	text := it.text()
	if !it.begun && (text != "" || it.done) {
		it.begun = true
		f.put("%s", map[kind]string{thinking: "\n[thinking]\n", answer: "\n"}[it.kind])
	}
	if len(text) > it.printed {
		f.put("%s", text[it.printed:])
		it.printed = len(text)
	}
	if !it.done {
		return
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		f.put("\n")
	}
	if it.kind == thinking {
		f.put("[%s]\n", it.head)
	}
}

// offer writes an open question or picker, once.
func (f *lines) offer() {
	var text strings.Builder
	switch {
	case len(f.questions) > 0:
		if q := f.questions[0]; q.Confirm != f.confirm {
			f.confirm, f.code = q.Confirm, f.newCode()
			f.number++
			f.put("%s", f.question(q))
		}
		return
	case f.spending() != nil && f.limit != f.parked:
		f.limit, f.code = f.parked, f.newCode()
		f.number++
		f.put("%s", plainLimit(*f.spending(), f.number, f.code))
		return
	case f.picker != nil:
		fmt.Fprintf(&text, "\n%s: a number, or nothing\n", f.picker.title)
		for i, r := range f.picker.rows {
			fmt.Fprintf(&text, "%s\n", strings.TrimRight(fmt.Sprintf("%3d  %s  %s", i+1, safe.Clean(r.label), safe.Clean(r.detail)), " "))
		}
	}
	if s := text.String(); s != f.offered {
		f.offered = s
		f.put("%s", s)
	}
}

// plainWidth is more than any line has: a terminal or a reader folds lines as it likes.
const plainWidth = 1 << 20

// question returns the whole call, and how to answer.
func (f *lines) question(q update) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n[question %d] %s %s.\n", f.number, visible(cmp.Or(q.Message, "The model wants to use a tool.")), q.origin())
	if n := q.hidden(); n > 0 {
		fmt.Fprintf(&b, "Warning: %s\n", unprinted(n))
	}
	rows := callRows(q, plainWidth, look{plain: true})
	for _, r := range rows {
		b.WriteString(r.text + "\n")
	}
	end := "1 row"
	if len(rows) != 1 {
		end = fmt.Sprintf("%d rows", len(rows))
	}
	fmt.Fprintf(&b, "[end of question %d: %s]\n", f.number, end)
	words := []string{fmt.Sprintf(`"deny %s"`, f.code)}
	if slices.Contains(q.Actions, "allow") {
		words = append([]string{fmt.Sprintf(`"allow %s"`, f.code)}, words...)
		for i, g := range q.Grants {
			words = append(words, fmt.Sprintf(`"always %s %d" (until this session ends: %s)`, f.code, i+1, visible(g.Text)))
		}
	}
	for i, g := range q.Denials {
		words = append(words, fmt.Sprintf(`"never %s %d" (denied until this session ends: %s)`, f.code, i+1, visible(g.Text)))
	}
	fmt.Fprintf(&b, "Type %s and Enter. Other text is a prompt.\n", strings.Join(words, ", "))
	return b.String()
}

// ruled parses an answer: a word, the code of the question, and the number of a grant or the reason for a denial.
func (f *lines) ruled(words []string) bool {
	q := f.questions[0]
	if len(words) < 2 || words[1] != f.code || q.Confirm != f.confirm {
		return false
	}
	can := slices.Contains(q.Actions, "allow")
	switch {
	case words[0] == "deny":
		ruling := map[string]any{"action": "deny"}
		if len(words) > 2 {
			ruling["reason"] = ansi.Truncate(strings.Join(words[2:], " "), maxReason, "…")
		}
		f.rule(q.Confirm, ruling)
	case words[0] == "allow" && can && len(words) == 2:
		f.rule(q.Confirm, map[string]any{"action": "allow"})
	case words[0] == "always" && can && len(words) == 3:
		return f.standing("allow", q.Grants, words[2])
	case words[0] == "never" && len(words) == 3:
		return f.standing("deny", q.Denials, words[2])
	default:
		return false
	}
	return true // a second answer does not count
}

// standing answers with one of the standing approvals or denials of the question, by its number.
func (f *lines) standing(action string, list []grant, number string) bool {
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(list) {
		return false
	}
	f.rule(f.questions[0].Confirm, map[string]any{"action": action, "grant": list[n-1].ID})
	return true
}

// allowed parses the answer to the question of a limit: a word, the code of the question, and an amount.
func (f *lines) allowed(words []string) bool {
	if len(words) < 2 || words[1] != f.code || f.limit != f.parked {
		return false
	}
	switch {
	case words[0] == "raise" && len(words) == 3:
		f.raise(words[2])
	case words[0] == "allow" && len(words) == 2:
		f.allowance(decision{})
	case words[0] == "compact" && len(words) == 2 && f.spending() != nil && f.spending().CompactFirst() != nil:
		f.allowance(decision{compact: true})
	case words[0] == "end" && len(words) == 2:
		f.allowance(decision{end: true})
	default:
		return false
	}
	return true
}

// randomCode is a letter and two digits.
func randomCode() string {
	var b [2]byte
	rand.Read(b[:]) // it never fails
	return fmt.Sprintf("%c%02d", "abcdefghkmnpqrstuvwxyz"[int(b[0])%22], int(b[1])%100)
}

// read takes a line.
func (f *lines) read(text string) {
	word := strings.TrimSpace(text)
	switch {
	case len(f.questions) > 0 && f.ruled(strings.Fields(word)):
	case f.spending() != nil && f.allowed(strings.Fields(word)):
	case f.picker != nil:
		p := f.picker
		f.picker = nil
		if n, err := strconv.Atoi(word); err == nil && n > 0 && n <= len(p.rows) {
			if p.rows[n-1].disabled {
				f.note("%s: %s", p.rows[n-1].label, p.rows[n-1].detail)
			} else {
				p.choose(n - 1)
			}
		}
	default:
		f.typed = word
		f.enter(text, false)
	}
}

// idle reports whether all requests are done and no turn runs.
func (f *lines) idle() bool {
	return f.turn == "" && len(f.answers) == 0 && len(f.asked) == 0
}

// when returns the input after the response to the last line: the next line may answer what that response offers. A person need not
// wait for the answer to a side question.
func (f *lines) when(input <-chan string) <-chan string {
	pending := len(f.answers)
	if f.echo && f.aside != nil && f.aside.request != 0 {
		pending--
	}
	if pending > 0 {
		return nil
	}
	return input
}
