package chat

import (
	"fmt"
	"strings"

	safe "github.com/thinkd/thinkd/cmd/thinkd/printable"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/conn"
)

// An aside is a side question and its answer. The daemon records neither, and sends the answer to this chat only. The screen shows both in
// a box above the input and leaves nothing of them in the scrollback. Plain lines have the answer when it is complete.
type aside struct {
	name     string // ask_id: deltas of earlier questions have another one
	request  int    // id of the request; 0: the answer is complete
	question string
	thinking strings.Builder
	text     strings.Builder
	facts    []string // what the box says about the answer
	failure  string
	prose    prose  // the rows of the text
	kept     string // the session that has the question as its first prompt; empty: none has
	closed   bool   // the box is; the question can still be kept

	at          asideAnswer // selected; empty: nothing is
	up          int         // rows that the view is above the end of the answer
	total, page int         // rows of the answer, and of the view, when it was last drawn
}

// asideAnswer is what a person can do with a box.
type asideAnswer string

const (
	asideClose asideAnswer = "close"
	asideKeep  asideAnswer = "keep"
)

// asideResult is the answer of session/ask.
type asideResult struct {
	Text  string         `json:"text"`
	Stop  string         `json:"stop_reason"`
	Usage provider.Usage `json:"usage"`
	Error *conn.Error    `json:"error"`
}

func (a *aside) grow(kind, delta string) {
	if kind == "thinking" {
		a.thinking.WriteString(safe.Clean(delta))
	} else {
		a.text.WriteString(safe.Clean(delta))
	}
}

// finish takes in the whole answer. The last deltas may be missing.
func (a *aside) finish(r asideResult) {
	a.request = 0
	a.text.Reset()
	a.text.WriteString(safe.Clean(r.Text))
	a.prose = prose{} // it may differ from what came
	switch {
	case r.Error != nil:
		a.failure = r.Error.Message
	case r.Stop != "" && r.Stop != "end_turn":
		a.failure = "the answer ended: " + r.Stop
	}
	if r.Usage.Input > 0 {
		a.facts = append(a.facts, fmt.Sprintf("%d %% of the input was cached", 100*r.Usage.Cached/r.Usage.Input))
	}
	if r.Usage.Cost != nil && r.Usage.Cost.Amount > 0 {
		a.facts = append(a.facts, r.Usage.Cost.String())
	}
}

// fail ends the question without an answer.
func (a *aside) fail(why string) { a.request, a.failure = 0, why }

// head is what the box says about itself.
func (a *aside) head() string {
	return strings.Join(append([]string{"Side question", "not recorded"}, a.facts...), " · ")
}

// press handles a key for the box, and returns what the person has decided, if anything. All other keys go to the input and clear the
// selection.
func (a *aside) press(name string) (handled bool, do asideAnswer) {
	switch name {
	case "esc", "ctrl+c":
		return true, asideClose
	case "pgup":
		a.scroll(a.page)
		return true, ""
	case "pgdown":
		a.scroll(-a.page)
		return true, ""
	case "tab", "shift+tab":
		if a.at != asideClose || a.kept != "" {
			a.at = asideClose
		} else {
			a.at = asideKeep
		}
		return true, ""
	}
	if a.at == "" {
		return false, ""
	}
	switch name {
	case "left":
		a.at = asideClose
	case "right":
		if a.kept == "" {
			a.at = asideKeep
		}
	case "enter":
		return true, a.at
	default:
		a.at = ""
		return false, ""
	}
	return true, ""
}

func (a *aside) scroll(by int) { a.up = min(max(a.up+by, 0), max(a.total-a.page, 0)) }

// rows are those of the answer.
func (a *aside) rows(width int, l look) []string {
	var out []string
	text := a.text.String()
	switch thoughts := strings.TrimSpace(a.thinking.String()); {
	case strings.TrimSpace(text) != "":
		a.prose.update(text, a.request == 0, width, l, false)
		if out = a.prose.all(width); a.request != 0 && len(out) > 0 {
			out[len(out)-1] += "▌"
		}
	case a.request != 0 && thoughts != "":
		out = styled(last(foldAll(thoughts, width), thoughtRows), l.thinking)
	case a.request != 0:
		out = []string{l.dim("waiting for the answer")}
	case a.failure == "":
		out = []string{l.dim("there is no answer")}
	}
	if a.failure != "" {
		out = append(out, styled(foldAll("error: "+a.failure, width), l.failure)...)
	}
	if a.kept != "" {
		out = append(out, styled(foldAll("· "+a.forked(), width), l.dim)...)
	}
	return out
}

// forked says where the question is kept.
func (a *aside) forked() string {
	return fmt.Sprintf("the side question is in a fork, session %s; /sessions opens it", a.kept)
}

// thoughtRows is how much of the thinking a box shows before the answer begins.
const thoughtRows = 3

// view is the box. Its answer has at most room rows: while it grows the last ones, unless the person has scrolled up.
func (a *aside) view(width, room int, l look) []string {
	all := a.rows(width-2, l)
	if grown := len(all) - a.total; a.up > 0 && grown > 0 {
		a.up += grown // what is read stays where it is
	}
	a.total, a.page = len(all), min(len(all), max(room, 1))
	a.scroll(0)
	to := len(all) - a.up
	lines := []string{l.bold(ruled(a.head(), "", width)), "  " + l.dim(line(a.question, width-2))}
	for _, row := range all[to-a.page : to] {
		lines = append(lines, "  "+row)
	}
	hint := "Tab selects one · Esc closes it"
	switch {
	case a.at != "":
		hint = "Enter selects it · letters go to the input"
	case a.page < a.total:
		hint = fmt.Sprintf("rows %d–%d of %d · PgUp PgDn", to-a.page+1, to, a.total)
	case a.request != 0:
		hint = "Tab selects one · Esc cancels it, not the turn"
	}
	var words []string
	for _, one := range []struct {
		id    asideAnswer
		label string
	}{{asideClose, "Close"}, {asideKeep, "Keep as a fork"}} {
		switch {
		case one.id == asideKeep && a.kept != "":
		case one.id == a.at:
			words = append(words, l.selected("▸["+one.label+"]"))
		default:
			words = append(words, "  "+one.label)
		}
	}
	return append(lines, choices(words, hint, width, l)...)
}

// note is the box in one row, while a question about a call takes its place.
func (a *aside) note() string {
	state := "answered"
	switch {
	case a.request != 0:
		state = "the answer is coming"
	case a.failure != "":
		state = "failed"
	}
	return "side question, " + state + " (Esc closes it): " + a.question
}
