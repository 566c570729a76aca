package replay

import (
	"strings"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/mediatype"
)

// FileName is the name of a file in one line of a bounded length; empty: it has none.
func FileName(name string) string {
	const most = 255
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '`' {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, "_"))
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "")
	}
	return strings.TrimSpace(name)
}

// FileTitle names a text file and its type; empty: it has no name and is plain text.
func FileTitle(b provider.Media) string {
	switch name := FileName(b.Name); {
	case name != "":
		return name + " (" + b.Type + ")"
	case b.Type != mediatype.Plain:
		return "(" + b.Type + ")"
	}
	return ""
}

// FileText is a text file as a text: its name and type, and the file between fences that it does not have itself. A file of plain text
// without a name is only its text. It is for adapters whose API has no form for text files.
func FileText(b provider.Media) string {
	text := strings.ToValidUTF8(string(b.Data), "\uFFFD")
	title := FileTitle(b)
	if title == "" {
		return text
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return "File " + title + ":\n" + fence + "\n" + text + fence
}

// called is the name of a file behind a word for it.
func called(b provider.Media) string {
	if name := FileName(b.Name); name != "" {
		return " " + name
	}
	return ""
}
