package mem

import (
	"maps"
	"slices"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// books are what a ledger keeps.
type books struct {
	lines    map[entryOf]*session.Line
	totals   map[session.Ref]provider.Usage
	holds    []session.Hold
	imported []string
	budgets  session.Budgets
}

// entryOf is which line a charge belongs to.
type entryOf struct {
	day session.Day
	ref session.Ref
	session.Account
}

// add takes in a charge.
func (b *books) add(c session.Charge) {
	b.budgets = b.budgets.Apply(c)
	if c.Calls > 0 {
		b.addLine(c.Line)
	}
}

// forget removes what an owner has used and reserved.
func (b *books) forget(owner session.Owner) {
	maps.DeleteFunc(b.lines, func(at entryOf, _ *session.Line) bool { return at.ref.Owner == owner })
	maps.DeleteFunc(b.totals, func(ref session.Ref, _ provider.Usage) bool { return ref.Owner == owner })
	b.holds = slices.DeleteFunc(b.holds, func(h session.Hold) bool { return h.Ref.Owner == owner })
}

func (b *books) addLine(l session.Line) {
	at := entryOf{l.Day, l.Ref, l.Account}
	if b.lines[at] == nil {
		b.lines[at] = &session.Line{Day: l.Day, Ref: l.Ref, Account: l.Account}
	}
	line := b.lines[at]
	line.Calls, line.Usage, line.Missed = line.Calls+l.Calls, line.Usage.Add(l.Usage), line.Missed.Add(l.Missed)
	b.totals[l.Ref] = b.totals[l.Ref].Add(l.Usage)
}
