package chat

import (
	"math/rand/v2"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
)

// named are the keys of Press that are no characters.
var named = map[string]tea.KeyPressMsg{
	"left": {Code: tea.KeyLeft}, "right": {Code: tea.KeyRight}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown},
	"home": {Code: tea.KeyHome}, "end": {Code: tea.KeyEnd}, "ctrl+home": {Code: tea.KeyHome, Mod: tea.ModCtrl}, "ctrl+end": {Code: tea.KeyEnd, Mod: tea.ModCtrl},
	"backspace": {Code: tea.KeyBackspace}, "delete": {Code: tea.KeyDelete}, "ctrl+j": {Code: 'j', Mod: tea.ModCtrl},
	"shift+enter": {Code: tea.KeyEnter, Mod: tea.ModShift}, "ctrl+u": {Code: 'u', Mod: tea.ModCtrl}, "ctrl+k": {Code: 'k', Mod: tea.ModCtrl},
	"ctrl+w": {Code: 'w', Mod: tea.ModCtrl}, "alt+d": {Code: 'd', Mod: tea.ModAlt}, "alt+left": {Code: tea.KeyLeft, Mod: tea.ModAlt},
	"alt+right": {Code: tea.KeyRight, Mod: tea.ModAlt},
}

// typed presses keys: a word in angle brackets is a key, all else is typed.
func (in *input) typed(t *testing.T, keys string) {
	t.Helper()
	for keys != "" {
		if name, rest, ok := strings.Cut(strings.TrimPrefix(keys, "<"), ">"); ok && keys[0] == '<' {
			k, known := named[name]
			if !known || k.String() != name {
				t.Fatalf("the key %s is %s", name, k)
			}
			in.Press(k)
			keys = rest
			continue
		}
		one, _ := ansi.FirstGraphemeCluster(keys, ansi.GraphemeWidth)
		in.Press(tea.KeyPressMsg{Text: one})
		keys = keys[len(one):]
	}
}

// shown is the view with a bar where the cursor is.
func (in *input) shown() string {
	lines := strings.Split(in.View(), "\n")
	c := in.Cursor()
	l := lines[c.Y]
	lines[c.Y] = ansi.Cut(l, 0, c.X) + "|" + ansi.Cut(l, c.X, ansi.StringWidth(l))
	return strings.Join(lines, "\n")
}

func TestInput(t *testing.T) {
	for _, c := range []struct{ name, keys, want string }{
		{"nothing", "<left><right><up><down><backspace><delete><ctrl+u><ctrl+k><ctrl+w><alt+d>", "> |"},
		{"typing in the middle", "helo<left>l<home>a <end>!", "> a hello!|"},
		{"taking out", "abcd<left><left><backspace><delete>", "> a|d"},
		{"a character of many parts", "a👩‍👩‍👧e\u0301ß<left><left><backspace>", "> a|e\u0301ß"},
		{"wide ones", "日本語<left><left>x", "> 日x|本語"},
		{"lines", "one<ctrl+j>two<shift+enter>three<up><left>", "> one\n> tw|o\n> three"},
		{"lines that are joined", "one<ctrl+j>two<home><backspace>", "> one|two"},
		{"lines that are joined by their end", "one<ctrl+j>two<up><end><delete>", "> one|two"},
		{"words", "one two  three<ctrl+w>x<alt+left><alt+left><alt+d>", "> one |  x"},
		{"the end of a word", "one two<home><alt+right>x", "> onex| two"},
		{"the start of a line goes", "one<ctrl+j>two three<alt+left><ctrl+u>", "> one\n> |three"},
		{"and then the line", "one<ctrl+j>two<ctrl+u><ctrl+u>", "> one|"},
		{"the end of a line goes", "one two<ctrl+j>three<ctrl+home><alt+right><ctrl+k>", "> one|\n> three"},
		{"and then what follows is joined", "one<ctrl+j>three<up><end><ctrl+k>", "> one|three"},
		{"folded between words", "one two three four", "> one two \n> three four|"},
		{"folded in a word", "abcdefghijklmno", "> abcdefghij\n> klmno|"},
		{"full to the margin", "abcdefghij", "> abcdefghij|"},
		{"folded before a wide one", "abcdefghi日本", "> abcdefghi\n> 日本|"},
		{"through folded rows, at one column", "abcdefghijkl<ctrl+j>mn<ctrl+j>opqrstu<left><left><up><up><up>", "> abcde|fghij\n> kl\n> mn\n> opqrstu"},
		{"the last column of a folded row", "abcdefghijklmnopqrst<up>", "> abcdefghi|j\n> klmnopqrst"},
		{"scrolled to the end", "1<ctrl+j>2<ctrl+j>3<ctrl+j>4<ctrl+j>5", "> 2\n> 3\n> 4\n> 5|"},
		{"and back", "1<ctrl+j>2<ctrl+j>3<ctrl+j>4<ctrl+j>5<up><up><up><up>", "> 1|\n> 2\n> 3\n> 4"},
		{"no row is empty that need not be", "1<ctrl+j>2<ctrl+j>3<ctrl+j>4<ctrl+j>5<backspace><backspace>", "> 1\n> 2\n> 3\n> 4|"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := newInput()
			in.SetSize(len(mark)+10, 4)
			in.typed(t, c.keys)
			if diff := cmp.Diff(c.want, in.shown()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What is pasted keeps its lines, whichever way they end, and has nothing that a terminal would obey.
func TestInputPaste(t *testing.T) {
	in := newInput()
	in.typed(t, "ad<left>")
	in.Paste("b\r\n\tc\rd\x1b[31m\n")
	if diff := cmp.Diff("ab\n        c\nd\uFFFD[31m\nd", in.Value()); diff != "" {
		t.Error(diff)
	}
	if in.OnFirstLine() || !in.OnLastLine() {
		t.Error("the cursor is not before the last character")
	}
	in.SetValue("x\ny")
	if in.OnFirstLine() || !in.OnLastLine() || in.Value() != "x\ny" {
		t.Errorf("%q", in.Value())
	}
}

// Whatever is pressed, at whatever size, the text is what the rows have, they fit, and the cursor is among them.
func TestInputRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var keys []tea.KeyPressMsg
	for _, k := range named {
		keys = append(keys, k)
	}
	for _, text := range []string{"a", "b", " ", "日", "👩‍👩‍👧", "e\u0301", "\u0301", "\u200b"} {
		keys = append(keys, tea.KeyPressMsg{Text: text}, tea.KeyPressMsg{Text: text}, tea.KeyPressMsg{Text: text})
	}
	for range 300 {
		in := newInput()
		width, most := 1+r.IntN(20), 1+r.IntN(4)
		in.SetSize(width, most)
		for range 60 {
			k := keys[r.IntN(len(keys))]
			in.Press(k)
			var text strings.Builder
			for i, row := range in.rows() {
				if i > 0 && in.text[row.from-1].ends() {
					text.WriteByte('\n')
				}
				text.WriteString(in.of(row))
			}
			if diff := cmp.Diff(in.Value(), text.String()); diff != "" {
				t.Fatalf("%s: %s", k, diff)
			}
			lines := strings.Split(in.View(), "\n")
			for _, l := range lines {
				if w := ansi.StringWidth(l); w > max(width, len(mark)+2) {
					t.Fatalf("%s: %q is %d wide, of %d", k, l, w, width)
				}
			}
			if c := in.Cursor(); len(lines) != in.Height() || len(lines) > most || c.Y < 0 || c.Y >= len(lines) || c.X > ansi.StringWidth(lines[c.Y]) {
				t.Fatalf("%s: %d lines of %d, the cursor is at %d, %d", k, len(lines), most, c.X, c.Y)
			}
		}
	}
}
