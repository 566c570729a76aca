package aside

import (
	"encoding/json"
	"fmt"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/session"
)

// ReadBook reads what side questions of sessions used, as builds without a ledger kept it; nil: there is nothing. The error says that
// the text is damaged.
func ReadBook(v durable.Value) (used map[session.ID]provider.Usage, err error) {
	text, err := v.Get()
	if err == nil && text != nil {
		err = json.Unmarshal(text, &used)
	}
	if err != nil {
		return nil, fmt.Errorf("what side questions used is forgotten: %s: %w", v.Name(), err)
	}
	return used, nil
}

// Lines are the lines of a ledger for a book. The day of a line is that on which its session was created, because the book has no days.
func Lines(book map[session.ID]provider.Usage) (lines []session.Line) {
	for id, used := range book {
		lines = append(lines, session.Line{Day: session.DayOf(id.Time()), Ref: session.Ref{ID: id},
			Account: session.Account{Purpose: session.ForAside}, Usage: used})
	}
	return lines
}
