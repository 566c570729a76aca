package storetest

import (
	"context"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// ledgerTests are about the ledger of a store.
var ledgerTests = []struct {
	name string
	run  func(*testing.T, session.Store)
}{
	{"ledger follows the log", testLedger},
	{"ledger keeps deleted sessions", testLedgerDelete},
	{"ledger of calls that no log has", testHolds},
	{"ledger and what people did", testBudgets},
	{"ledger of several owners", testLedgerOwners},
	{"ledger imports once", testImport},
	{"ledger of what caches did not have", testMissed},
}

const (
	dayA = session.Day("2026-11-22")
	dayB = session.Day("2026-11-23")
)

// Used is a usage of so many tokens of output and USD.
func Used(output int, usd float64) provider.Usage {
	return provider.Usage{Output: output, Cost: &provider.Cost{Amount: provider.MoneyOf(usd), Currency: provider.USD}}
}

// Reserved is a reservation for a call of a turn.
func Reserved(turn session.TurnID, day session.Day, level provider.Level, usd float64) session.Entry {
	return session.Entry{Time: 2500, Turn: turn, Body: session.Reserved{Day: day, Model: session.ModelRef{Provider: "sim", ID: "claude"}, Level: level,
		Payer: &session.Payer{Payer: provider.Payer{Kind: provider.PaidByKey, Name: "SIM_KEY"}, Account: "x"}, Purpose: session.ForTurn, Usage: Used(100, usd)}}
}

// costs is the end of a message that took so much.
func costs(turn session.TurnID, message session.MessageID, u provider.Usage) session.Entry {
	return session.Entry{Time: 4000, Turn: turn, Body: session.MessageEnd{Message: message, StopReason: "end_turn", Usage: u}}
}

// line is a line of the sample's account.
func line(day session.Day, ref session.Ref, level provider.Level, calls int, u provider.Usage) session.Line {
	return session.Line{Day: day, Ref: ref, Calls: calls, Usage: u, Account: session.Account{Model: session.ModelRef{Provider: "sim", ID: "claude"},
		Level: level, Payer: "SIM_KEY", Purpose: session.ForTurn}}
}

func lines(t *testing.T, s session.Store, owner *session.Owner, from, to session.Day) []session.Line {
	t.Helper()
	list, err := s.Ledger().Lines(t.Context(), owner, from, to)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func total(t *testing.T, s session.Store, ref session.Ref) provider.Usage {
	t.Helper()
	u, err := s.Ledger().Total(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func budgets(t *testing.T, s session.Store, today session.Day) session.Budgets {
	t.Helper()
	b, err := s.Ledger().Budgets(t.Context(), today)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func testLedger(t *testing.T, s session.Store) {
	id, ref := ID(1), session.Ref{ID: ID(1)}
	of := s.For(session.Operator)
	Create(t, of, session.Session{ID: id})
	log := Claim(t, of, id)
	Equal(t, "nothing was used", lines(t, s, nil, dayA, dayB), []session.Line(nil))
	AddTo(t, log, Said(TurnA, "x"), Started(TurnA), Reserved(TurnA, dayA, "high", 0.5))
	record, err := of.Get(t.Context(), id)
	if err != nil || record.Reserved == nil || record.Reserved.Usage.Output != 100 {
		t.Errorf("the record has the reservation %+v, %v", record.Reserved, err)
	}
	Equal(t, "reserved is not used", lines(t, s, nil, dayA, dayB), []session.Line(nil))
	AddTo(t, log, costs(TurnA, MsgA, Used(10, 0.25)), Reserved(TurnA, dayA, "high", 0.5))
	AddTo(t, log, session.Entry{Turn: TurnA, Body: session.Retry{Message: MsgB, Discarded: []int{}, Usage: Used(1, 0.125)}})
	AddTo(t, log, costs(TurnA, MsgB, Used(1000, 1))) // without a reservation: an older build wrote such logs
	AddTo(t, log, Reserved(TurnA, dayB, "low", 0.5), session.Entry{Turn: TurnA, Body: session.Settled{Usage: Used(5, 2)}})
	AddTo(t, log, Reserved(TurnA, dayB, "low", 0.5), session.Entry{Turn: TurnA, Body: session.Compaction{Usage: Used(2, 0.5), InTurn: true}})
	AddTo(t, log, Reserved(TurnA, dayB, "low", 0.5), Ended(TurnA))
	if record, err = of.Get(t.Context(), id); err != nil || record.Reserved != nil {
		t.Errorf("after the turn, the record has the reservation %+v, %v", record.Reserved, err)
	}
	want := []session.Line{line(dayA, ref, "high", 2, Used(11, 0.375)), line(dayB, ref, "low", 2, Used(7, 2.5))}
	Equal(t, "used", lines(t, s, nil, dayA, dayB), want)
	Equal(t, "on the first day", lines(t, s, nil, "2026-11-01", dayA), want[:1])
	Equal(t, "on the second day", lines(t, s, nil, dayB, dayB), want[1:])
	Equal(t, "the session in all", total(t, s, ref), Used(18, 2.875))
	Equal(t, "budgets", budgets(t, s, dayB), session.Budgets{Day: provider.MoneyOf(2.5), Unattended: provider.MoneyOf(2.875)})
}

func testLedgerDelete(t *testing.T, s session.Store) {
	id, ref := ID(1), session.Ref{ID: ID(1)}
	of := s.For(session.Operator)
	Create(t, of, session.Session{ID: id})
	Add(t, of, id, Said(TurnA, "x"), Started(TurnA), Reserved(TurnA, dayA, "high", 0.5), costs(TurnA, MsgA, Used(10, 0.25)))
	if err := s.Ledger().Hold(t.Context(), ref, "a", Reserved(TurnA, dayA, "high", 1).Body.(session.Reserved)); err != nil {
		t.Fatal(err)
	}
	if err := of.Delete(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if err := s.Ledger().Settle(t.Context(), ref, "a", Used(1, 1), nil); err != nil {
		t.Fatal(err)
	}
	Equal(t, "the deleted session", lines(t, s, nil, dayA, dayA), []session.Line{line(dayA, ref, "high", 2, Used(11, 1.25))})
	Equal(t, "its total", total(t, s, ref), provider.Usage{})
}

func testHolds(t *testing.T, s session.Store) {
	ctx, ledger, ref := t.Context(), s.Ledger(), session.Ref{ID: ID(1)}
	Create(t, s.For(session.Operator), session.Session{ID: ID(1)})
	r := Reserved("", dayA, "high", 0.5).Body.(session.Reserved)
	for _, id := range []string{"a", "b"} {
		if err := ledger.Hold(ctx, ref, id, r); err != nil {
			t.Fatal(err)
		}
	}
	if err := ledger.Settle(ctx, ref, "a", Used(10, 0.25), nil); err != nil {
		t.Fatal(err)
	}
	if err := ledger.Settle(ctx, ref, "c", Used(10, 0.25), nil); err != nil { // nobody has reserved for it
		t.Fatal(err)
	}
	left, err := ledger.Holds(ctx)
	if err != nil {
		t.Fatal(err)
	}
	Equal(t, "left", left, []session.Hold{{Ref: ref, ID: "b", Reserved: r}})
	if err := ledger.Settle(ctx, ref, "b", provider.Usage{}, nil); err != nil {
		t.Fatal(err)
	}
	if left, err = ledger.Holds(ctx); err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
	Equal(t, "used", lines(t, s, nil, dayA, dayA), []session.Line{line(dayA, ref, "high", 1, Used(10, 0.25))})
	Equal(t, "total", total(t, s, ref), Used(10, 0.25))
	ended, cancel := context.WithCancel(ctx)
	cancel()
	WantErr(t, "hold", ledger.Hold(ended, ref, "d", r), context.Canceled)
	_, err = ledger.Lines(ended, nil, dayA, dayA)
	WantErr(t, "lines", err, context.Canceled)
}

func testBudgets(t *testing.T, s session.Store) {
	of := s.For(session.Operator)
	Create(t, of, session.Session{ID: ID(1)})
	log := Claim(t, of, ID(1))
	AddTo(t, log, Said(TurnA, "x"), Started(TurnA))
	spend := func(day session.Day, by *session.BudgetChange, usd float64) {
		e := Reserved(TurnA, day, "high", 1)
		r := e.Body.(session.Reserved)
		r.Budgets = by
		e.Body = r
		AddTo(t, log, e)
		AddTo(t, log, session.Entry{Turn: TurnA, Body: session.Settled{Usage: Used(1, usd)}})
	}
	usd := provider.MoneyOf
	spend(dayA, nil, 1)
	spend(dayA, &session.BudgetChange{Day: usd(3), Unattended: usd(2)}, 1)
	Equal(t, "raised", budgets(t, s, dayA), session.Budgets{Day: usd(2), Unattended: usd(2), RaisedDay: usd(3), RaisedOn: dayA, RaisedUnattended: usd(2)})
	spend(dayA, &session.BudgetChange{Attended: true, Day: usd(1)}, 0.5)
	Equal(t, "attended", budgets(t, s, dayA), session.Budgets{Day: usd(2.5), Unattended: usd(0.5), RaisedDay: usd(4), RaisedOn: dayA})
	spend(dayB, &session.BudgetChange{Day: usd(1)}, 0.25)
	Equal(t, "no day", budgets(t, s, ""), session.Budgets{Unattended: usd(0.75), RaisedDay: usd(1), RaisedOn: dayB})
	Equal(t, "the next day", budgets(t, s, dayB), session.Budgets{Day: usd(0.25), Unattended: usd(0.75), RaisedDay: usd(1), RaisedOn: dayB})
	r := Reserved("", dayB, "high", 1).Body.(session.Reserved)
	r.Budgets = &session.BudgetChange{Attended: true}
	if err := s.Ledger().Hold(t.Context(), session.Ref{ID: ID(1)}, "a", r); err != nil {
		t.Fatal(err)
	}
	Equal(t, "a side question", budgets(t, s, dayB), session.Budgets{Day: usd(0.25), RaisedDay: usd(1), RaisedOn: dayB})
}

func testLedgerOwners(t *testing.T, s session.Store) {
	ann := session.Owner{Tenant: "acme", User: "ann"}
	all := map[session.Owner][]session.Line{}
	for i, owner := range []session.Owner{session.Operator, ann} {
		of := s.For(owner)
		Create(t, of, session.Session{ID: ID(1)})
		Add(t, of, ID(1), Said(TurnA, "x"), Started(TurnA), Reserved(TurnA, dayA, "high", 1), costs(TurnA, MsgA, Used(1+i, 1)))
		all[owner] = []session.Line{line(dayA, session.Ref{Owner: owner, ID: ID(1)}, "high", 1, Used(1+i, 1))}
	}
	for owner, want := range all {
		Equal(t, owner.String(), lines(t, s, &owner, dayA, dayB), want)
		Equal(t, owner.String(), total(t, s, want[0].Ref), want[0].Usage)
	}
	if n := len(lines(t, s, nil, dayA, dayB)); n != 2 {
		t.Errorf("%d lines of all owners", n)
	}
	Equal(t, "of both", budgets(t, s, dayA), session.Budgets{Day: provider.MoneyOf(2), Unattended: provider.MoneyOf(2)})
}

func testImport(t *testing.T, s session.Store) {
	ref := session.Ref{ID: ID(1)}
	Create(t, s.For(session.Operator), session.Session{ID: ID(1)})
	want := session.Line{Day: dayA, Ref: ref, Usage: Used(3, 0.5)}
	for range 2 {
		if err := s.Ledger().Import(t.Context(), "earlier", want); err != nil {
			t.Fatal(err)
		}
	}
	Equal(t, "imported", lines(t, s, nil, dayA, dayA), []session.Line{want})
	Equal(t, "total", total(t, s, ref), want.Usage)
	Equal(t, "budgets", budgets(t, s, dayB), session.Budgets{})
}

func testMissed(t *testing.T, s session.Store) {
	id, ref := ID(1), session.Ref{ID: ID(1)}
	of := s.For(session.Operator)
	Create(t, of, session.Session{ID: id})
	log := Claim(t, of, id)
	AddTo(t, log, Said(TurnA, "x"), Started(TurnA))
	want := line(dayA, ref, "high", 0, provider.Usage{})
	want.Missed = session.Missed{provider.MissedExpired: {Calls: 2, Tokens: 300, Cost: Used(0, 0.75).Cost}, provider.MissedModel: {Calls: 1, Tokens: 50}}
	for i, miss := range []*session.CacheMiss{{Cause: provider.MissedExpired, Tokens: 100, Cost: Used(0, 0.25).Cost}, nil,
		{Cause: provider.MissedModel, Tokens: 50}, {Cause: provider.MissedExpired, Tokens: 200, Cost: Used(0, 0.5).Cost}} {
		end := costs(TurnA, []session.MessageID{MsgA, MsgB}[i%2], Used(10, 1)).Body.(session.MessageEnd)
		end.Missed = miss
		AddTo(t, log, Reserved(TurnA, dayA, "high", 1), session.Entry{Turn: TurnA, Body: end})
		want.Calls, want.Usage = want.Calls+1, want.Usage.Add(Used(10, 1))
	}
	Equal(t, "missed", lines(t, s, nil, dayA, dayA), []session.Line{want})
}
