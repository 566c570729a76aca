package chat

import (
	"flag"
	"fmt"
	"html"
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

var pictureFile = flag.String("picture", "", "write a picture of the chat to this SVG file")

// TestChatPicture makes the picture in README.md:
//
//	go test ./cmd/thinkd/proof/chat -run TestChatPicture -picture "$PWD/docs/chat.svg"
func TestChatPicture(t *testing.T) {
	t.Parallel()
	const columns, rows = 80, 70
	p := chatIn(t, proof.DataDir(t), fmt.Sprintf("%dx%d", columns, rows), nil)
	p.shows(idleFoot)
	question := "Which date is later, 2026-03-01 or 2026-02-28?"
	if *pictureFile == "" {
		question += " [[sim: thinking=120 text=60 pace=0]]"
	}
	p.say(question)
	p.holds(`(?s)^∴ thought.*^\*This was the simulator|^∴ thought.*^[A-Z].*\n\n>`)
	p.rests()
	wanted := []string{`class="d"`, "∴ thought", "/models", "sim/claude · thinking high"}
	if *pictureFile == "" { // the thought of the other prompt is longer than the window
		p.press("C-t")
		p.shows(`^∴ thought.* Ctrl\+T folds`)
		wanted = append(wanted, `class="d i"`)
	}
	p.do("send-keys", "-l", "/models")
	// Between two writes of the chat, any part of a view may be missing. One that is left in the scrollback stays there.
	p.until(func() string {
		text := p.text()
		return fmt.Sprintf("%d views\n%s", strings.Count(text, "/help\n"), text)
	}, `(?s)\A1 views\n.*^> /models.*/help$`)
	svg := picture(p.do("capture-pane", "-p", "-e", "-S", "-"), columns)
	for _, want := range wanted {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture has no %q:\n%s", want, svg)
		}
	}
	if strings.Contains(svg, "\x1b") {
		t.Errorf("a sequence was left in the picture:\n%q", svg)
	}
	if *pictureFile != "" {
		if err := os.WriteFile(*pictureFile, []byte(svg), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var styleSequence = regexp.MustCompile(`\x1b\[([0-9;]*)m`)

// picture draws what tmux captured, with the styles that the chat uses: bold, dim, italic, underlined, reverse and six colours.
func picture(capture string, columns int) string {
	lines := strings.Split(strings.TrimRight(capture, "\n"), "\n")
	const cell, row, margin = 8.43, 19, 16
	var b strings.Builder
	width, height := cell*float64(columns)+2*margin, len(lines)*row+2*margin
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" font-family="ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="14">
<style>text{fill:#d8dee9;white-space:pre}.b{font-weight:bold}.d{fill:#8790a0}.i{font-style:italic}.r{fill:#111;font-weight:bold}.e{fill:#f07178}.g{fill:#a5d6a7}.c{fill:#80cbc4}.y{fill:#ffe082}.l{fill:#82aaff}.m{fill:#c792ea}.u{text-decoration:underline}</style>
<rect width="100%%" height="100%%" rx="8" fill="#15181e"/>
`, width, height)
	on := styles{}
	for i, text := range lines {
		fmt.Fprintf(&b, `<text x="%d" y="%d">`, margin, margin+row*i+14)
		on.runs(text, func(run string) {
			fmt.Fprintf(&b, `<tspan class="%s">%s</tspan>`, on.classes(), html.EscapeString(run))
		})
		b.WriteString("</text>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// inStyle is what a capture shows in all of the styles, which may have been set in any order and by earlier lines.
func inStyle(capture string, wanted ...string) string {
	var b strings.Builder
	on := styles{}
	on.runs(capture, func(run string) {
		for _, style := range wanted {
			if !on[style] {
				return
			}
		}
		b.WriteString(run)
	})
	return b.String()
}

// styles are those that are on, by the names that a picture has for them.
type styles map[string]bool

var styleNames = map[string]string{"1": "b", "2": "d", "3": "i", "4": "u", "7": "r", "31": "e", "32": "g", "36": "c", "93": "y", "94": "l", "95": "m"}

// colours are the styles of which only the last one counts.
const colours = "egcylm"

// runs calls yield with each run of text, while the styles are those of the run.
func (on styles) runs(text string, yield func(run string)) {
	for text != "" {
		at := styleSequence.FindStringSubmatchIndex(text)
		run := text
		if at != nil {
			run = text[:at[0]]
		}
		if run != "" {
			yield(run)
		}
		if at == nil {
			break
		}
		for code := range strings.SplitSeq(text[at[2]:at[3]], ";") {
			name := styleNames[code]
			if code == "39" || name != "" && strings.Contains(colours, name) {
				maps.DeleteFunc(on, func(style string, _ bool) bool { return strings.Contains(colours, style) })
			}
			switch {
			case name != "":
				on[name] = true
			case code == "" || code == "0":
				clear(on)
			}
		}
		text = text[at[1]:]
	}
}

func (on styles) classes() string {
	var list []string
	for _, name := range []string{"b", "d", "i", "u", "r", "e", "g", "c", "y", "l", "m"} {
		if on[name] {
			list = append(list, name)
		}
	}
	return strings.Join(list, " ")
}
