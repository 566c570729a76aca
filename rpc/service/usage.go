package service

import (
	"cmp"
	"slices"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// UsageBy says what a report has a row for.
type UsageBy string

const (
	UsageByDay      UsageBy = "day"
	UsageByModel    UsageBy = "model"
	UsageByLevel    UsageBy = "level"
	UsageBySession  UsageBy = "session"
	UsageByProvider UsageBy = "provider"
	UsageByPayer    UsageBy = "payer"
	UsageByPurpose  UsageBy = "purpose"
)

// Words lists all of them.
func (UsageBy) Words() []string {
	return provider.Words(UsageByDay, UsageByModel, UsageByLevel, UsageBySession, UsageByProvider, UsageByPayer, UsageByPurpose)
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

// UsageOf is what a row is about. It has the member that the report is by, and none if that is not known.
type UsageOf struct {
	Day      session.Day     `json:"day,omitempty"`
	Model    string          `json:"model_id,omitempty"` // provider/id
	Level    provider.Level  `json:"thinking_level,omitempty"`
	Session  session.ID      `json:"session_id,omitempty"`
	Provider string          `json:"provider,omitempty"`
	Payer    string          `json:"payer,omitempty"`
	Purpose  session.Purpose `json:"purpose,omitempty"`
}

func (by UsageBy) of(l session.Line) UsageOf {
	switch by {
	case UsageByModel:
		if l.Model == (session.ModelRef{}) {
			return UsageOf{}
		}
		return UsageOf{Model: l.Model.String()}
	case UsageByLevel:
		return UsageOf{Level: l.Level}
	case UsageBySession:
		return UsageOf{Session: l.Ref.ID}
	case UsageByProvider:
		return UsageOf{Provider: l.Model.Provider}
	case UsageByPayer:
		return UsageOf{Payer: l.Payer}
	case UsageByPurpose:
		return UsageOf{Purpose: l.Purpose}
	}
	return UsageOf{Day: l.Day}
}

// UsageReport sums lines of a ledger. Rows by day are in the order of the days; others begin with the highest cost. sum has all of them.
func UsageReport(lines []session.Line, by UsageBy) (rows []UsageRow, sum UsageRow) {
	at, missed, all := make(map[UsageOf]int), []session.Missed{}, session.Missed{}
	rows = []UsageRow{}
	for _, l := range lines {
		of := by.of(l)
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
		if by == UsageByDay {
			return cmp.Compare(a.Day, b.Day)
		}
		return cmp.Or(cmp.Compare(costOf(b.Usage), costOf(a.Usage)), cmp.Compare(b.Usage.Input+b.Usage.Output, a.Usage.Input+a.Usage.Output))
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
