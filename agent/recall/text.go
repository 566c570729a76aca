package recall

import (
	"fmt"
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/thinkd/thinkd/provider"
)

// textOf is all of a message that is searched and quoted.
func textOf(blocks provider.Blocks) string {
	var b strings.Builder
	write := func(format string, args ...any) {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, format, args...)
	}
	for _, block := range blocks {
		switch block := block.(type) {
		case provider.Text:
			write("%s", block.Text)
		case provider.ToolCall:
			write("[calls %s] %s%s", block.Name, block.Input, block.Invalid)
		case provider.ToolResult:
			write("[result] %s", textOf(block.Blocks))
		case provider.Media:
			write("[%s]", block.Type)
		case provider.ServerTool:
			write("%s", block.Plain(block.Input))
		case provider.Thinking, provider.Opaque: // never leave the log
		}
	}
	return b.String()
}

// wordsOf yields the words of a text in lower case, each with its place. A word is letters and digits.
func wordsOf(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		from := -1
		for i, r := range text {
			in := unicode.IsLetter(r) || unicode.IsDigit(r)
			if in && from < 0 {
				from = i
			}
			if !in && from >= 0 {
				if !yield(from, strings.ToLower(text[from:i])) {
					return
				}
				from = -1
			}
		}
		if from >= 0 {
			yield(from, strings.ToLower(text[from:]))
		}
	}
}

// part is at most limit bytes of a text, from about byte from on: no character is cut.
func part(text string, from, limit int) (piece string, begin, end int) {
	begin = min(max(from, 0), len(text))
	for begin < len(text) && !utf8.RuneStart(text[begin]) {
		begin++
	}
	end = min(begin+limit, len(text))
	for end > begin && end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[begin:end], begin, end
}
