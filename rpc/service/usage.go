package service

import (
	"cmp"
	"slices"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// UsageBy says what the rows of a report are grouped by.
type UsageBy string

const (
	UsageByDay      UsageBy = "day"
	UsageByModel    UsageBy = "model"
	UsageByLevel    UsageBy = "level"
	UsageBySession  UsageBy = "session"
	UsageByProvider UsageBy = "provider"
	UsageByPayer    UsageBy = "payer"
	UsageByPurpose  UsageBy = "purpose"
	UsageByUser     UsageBy = "user" // of all users, for the operator
)

// Words lists all of them.
func (UsageBy) Words() []string {
	return provider.Words(UsageByDay, UsageByModel, UsageByLevel, UsageBySession, UsageByProvider, UsageByPayer, UsageByPurpose, UsageByUser)
}

// UsageRow is a row of a report.
type UsageRow struct {
	UsageOf
	Title   string `json:"title,omitempty"`   // of the session
	Deleted bool   `json:"deleted,omitempty"` // the session was deleted

	Calls  int            `json:"calls"`
	Usage  provider.Usage `json:"usage"`
	Missed []CacheMisses  `json:"cache_misses,omitempty"` // the highest cost first
}

// CacheMisses are calls that read less from a vendor's cache than was expected.
type CacheMisses struct {
	Cause provider.CacheCause `json:"cause"`
	session.Misses
}

// UsageOf is what a row is about. It has the members that the report is by and split by, without those that are not known.
type UsageOf struct {
	Day      session.Day     `json:"day,omitempty"`
	Model    string          `json:"model_id,omitempty"` // provider/id
	Level    provider.Level  `json:"thinking_level,omitempty"`
	Session  session.ID      `json:"session_id,omitempty"`
	Provider string          `json:"provider,omitempty"`
	Payer    string          `json:"payer,omitempty"`
	Purpose  session.Purpose `json:"purpose,omitempty"`
	User     string          `json:"user,omitempty"` // absent: the operator
	Tenant   string          `json:"tenant,omitempty"`
}

// fill sets the member of a row that a report by this has.
func (by UsageBy) fill(of *UsageOf, l session.Line) {
	switch by {
	case UsageByDay:
		of.Day = l.Day
	case UsageByModel:
		if l.Model != (session.ModelRef{}) {
			of.Model = l.Model.String()
		}
	case UsageByLevel:
		of.Level = l.Level
	case UsageBySession:
		of.Session = l.Ref.ID
	case UsageByProvider:
		of.Provider = l.Model.Provider
	case UsageByPayer:
		of.Payer = l.Payer
	case UsageByUser:
		of.User, of.Tenant = l.Ref.Owner.User, l.Ref.Owner.Tenant
	case UsageByPurpose:
		of.Purpose = l.Purpose
	}
}

// UsageReport sums lines of a ledger. A row is about what the report is by, and about what it is split by, if that is not empty. Rows by day are
// in the order of the days; others begin with the highest cost. sum has all of them.
func UsageReport(lines []session.Line, by, split UsageBy) (rows []UsageRow, sum UsageRow) {
	at, missed, all := make(map[UsageOf]int), []session.Missed{}, session.Missed{}
	rows = []UsageRow{}
	for _, l := range lines {
		var of UsageOf
		by.fill(&of, l)
		split.fill(&of, l)
		i, ok := at[of]
		if !ok {
			i = len(rows)
			at[of], rows, missed = i, append(rows, UsageRow{UsageOf: of}), append(missed, nil)
		}
		missed[i], all = missed[i].Add(l.Missed), all.Add(l.Missed)
		for _, row := range []*UsageRow{&rows[i], &sum} {
			row.Calls, row.Usage = row.Calls+l.Calls, row.Usage.Add(l.Usage)
		}
	}
	for i, m := range missed {
		rows[i].Missed = newCacheMisses(m)
	}
	sum.Missed = newCacheMisses(all)
	slices.SortStableFunc(rows, func(a, b UsageRow) int {
		var days int
		if by == UsageByDay {
			days = cmp.Compare(a.Day, b.Day)
		}
		return cmp.Or(days, cmp.Compare(costOf(b.Usage), costOf(a.Usage)), cmp.Compare(b.Usage.Input+b.Usage.Output, a.Usage.Input+a.Usage.Output))
	})
	return rows, sum
}

func newCacheMisses(of session.Missed) (list []CacheMisses) {
	for cause, m := range of {
		list = append(list, CacheMisses{cause, m})
	}
	slices.SortFunc(list, func(a, b CacheMisses) int {
		cost := func(m CacheMisses) provider.Money { return costOf(provider.Usage{Cost: m.Cost}) }
		return cmp.Or(cmp.Compare(cost(b), cost(a)), cmp.Compare(b.Tokens, a.Tokens), cmp.Compare(a.Cause, b.Cause))
	})
	return list
}

func costOf(u provider.Usage) provider.Money {
	if u.Cost == nil {
		return 0
	}
	return u.Cost.Amount
}
