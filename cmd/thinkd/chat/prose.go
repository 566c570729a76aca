package chat

import (
	"github.com/thinkd/thinkd/cmd/thinkd/chat/markdown"
)

// prose is a text in Markdown, as rows of a width. It renders each part of the text once, when it comes.
type prose struct {
	stream *markdown.Stream
	width  int
	taken  int      // bytes of the text
	whole  bool     // the text is
	rows   []string // finished: nothing changes them any more

	open   []string // the rows behind them
	openAt int      // taken, when they were rendered
}

// update takes in what a text has grown by. Without rows that must stay, a change of width begins anew.
func (p *prose) update(text string, whole bool, width int, l look, keep bool) {
	if width = max(width, 1); p.stream == nil || !keep && (p.width != width || p.taken > len(text)) {
		*p = prose{stream: markdown.New(width, l.styles()), width: width}
	}
	if p.width != width {
		p.stream.SetWidth(width)
		p.width, p.openAt = width, -1
	}
	if len(text) > p.taken {
		p.stream.Write(text[p.taken:])
		p.taken = len(text)
	}
	if whole && !p.whole {
		p.stream.Close()
		p.whole = true
	}
	if rows := p.stream.Take(); len(rows) > 0 {
		p.rows, p.openAt = append(p.rows, rows...), -1
	}
}

// unfinished are the rows behind those that are finished.
func (p *prose) unfinished() []string {
	if p.openAt != p.taken || p.whole {
		p.open, p.openAt = nil, p.taken
		if !p.whole {
			p.open = p.stream.Open()
		}
	}
	return p.open
}

// all are all rows, folded where a terminal would fold them.
func (p *prose) all(width int) (out []string) {
	for _, list := range [][]string{p.rows, p.unfinished()} {
		for _, row := range list {
			out = append(out, rows(row, width)...)
		}
	}
	return out
}
