package agent

import (
	"context"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/mem"
)

// benchAgents is a group over a store in memory whose provider plays one script for all calls.
func benchAgents(b *testing.B, play script) (*Group, *Agent) {
	b.Helper()
	catalog, err := registry.New([]registry.Provider{{ID: "anthropic", Vendor: "anthropic"}})
	if err != nil {
		b.Fatal(err)
	}
	api := &fake{}
	for range 4 {
		api.scripts = append(api.scripts, play)
	}
	g, err := NewGroup(b.Context(), Config{Store: only{unchecked{mem.New().For(session.Operator)}, mem.New().Ledger()}, Catalog: catalog, Log: slog.New(slog.DiscardHandler),
		Provider: func(string) provider.Provider { return api }, Limits: Limits{TurnBytes: 1 << 40}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { g.Close() })
	s, err := g.For(session.Operator).Create(b.Context(), session.Session{Settings: session.Settings{Model: session.ModelRef{Provider: "anthropic", ID: "claude-opus-4-6"}}})
	if err != nil {
		b.Fatal(err)
	}
	var a *Agent
	if err := g.For(session.Operator).Do(b.Context(), s.ID, func(agent *Agent) error { a = agent; return nil }); err != nil {
		b.Fatal(err)
	}
	return g, a
}

// unchecked is a store that keeps nothing of open blocks: what a store does with growth is not what is measured here.
type unchecked struct{ session.Sessions }

func (u unchecked) Claim(ctx context.Context, id session.ID) (session.Log, error) {
	log, err := u.Sessions.Claim(ctx, id)
	return &logOf{Log: log, checkpoint: func(session.BlockRef, int, string) {}}, err
}

// deltas is an answer of n pieces, in blocks of a thousand so that none grows without end.
func deltas(n int) script {
	return func(_ context.Context, yield func(provider.Event, error) bool) {
		const piece, size = "some twenty characters", 1000
		for i := 0; i < n; i += size {
			if !yield(provider.Begin{Index: i, Block: provider.Text{}}, nil) {
				return
			}
			pieces := min(size, n-i)
			for range pieces {
				if !yield(provider.Delta{Index: i, Text: piece}, nil) {
					return
				}
			}
			if !yield(provider.End{Index: i, Block: provider.Text{Text: strings.Repeat(piece, pieces)}}, nil) {
				return
			}
		}
		yield(ended, nil)
	}
}

// BenchmarkTurn is a delta's way from the provider to one subscriber that reads. The floor ranges over the events.
func BenchmarkTurn(b *testing.B) {
	b.Run("agent", func(b *testing.B) {
		_, a := benchAgents(b, deltas(b.N))
		sub, err := a.Subscribe(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		b.ResetTimer()
		if _, err := a.Prompt(b.Context(), text("go")); err != nil {
			b.Fatal(err)
		}
		for {
			u, err := sub.Next(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			if e, ok := u.Event.(feed.TurnEnd); ok {
				if e.Error != nil {
					b.Fatal(e.Error)
				}
				break
			}
		}
		b.StopTimer()
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "deltas/s")
		sub.Close()
	})
	b.Run("floor", func(b *testing.B) {
		b.ReportAllocs()
		n := 0
		deltas(b.N)(b.Context(), func(e provider.Event, err error) bool {
			n++
			return err == nil
		})
		b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "deltas/s")
	})
}

// BenchmarkLongSession is what clients ask of a session of 10,000 turns.
func BenchmarkLongSession(b *testing.B) {
	_, a := benchAgents(b, nil)
	const turns = 10_000
	var middle session.MessageID
	_, err := ask(b.Context(), a, func(s *state) (struct{}, error) {
		for i := range turns {
			id, said, reply := session.NewTurnID(), session.NewMessageID(), session.NewMessageID()
			if i == turns/2 {
				middle = said
			}
			for _, body := range []session.Body{session.Prompt{Message: said, Content: text("go").Content}, session.TurnStart{},
				session.Sealed{Message: reply, Block: provider.Text{Text: "done"}}, session.MessageEnd{Message: reply}, session.TurnEnd{}} {
				if err := s.apply(session.Entry{Turn: id, Body: body}); err != nil {
					return struct{}{}, err
				}
			}
		}
		return struct{}{}, nil
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("attach", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, sub, err := a.Attach(b.Context(), 50)
			if err != nil {
				b.Fatal(err)
			}
			sub.Close()
		}
	})
	for name, page := range map[string]Page{"newest": {Limit: 50}, "before": {Before: middle, Limit: 50}, "after": {After: middle, Limit: 50}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if list, more, err := a.History(b.Context(), page); len(list) != 50 || !more || err != nil {
					b.Fatal(len(list), more, err)
				}
			}
		})
	}
}

// BenchmarkIdleSession is the memory of a loaded session in which nothing was said.
func BenchmarkIdleSession(b *testing.B) {
	g, first := benchAgents(b, nil)
	record, err := first.State(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range b.N {
		s, err := g.For(session.Operator).Create(b.Context(), session.Session{Settings: record.Session.Settings})
		if err != nil {
			b.Fatal(err)
		}
		if err := g.For(session.Operator).Do(b.Context(), s.ID, func(*Agent) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	held := after.HeapInuse + after.StackInuse - before.HeapInuse - before.StackInuse
	b.ReportMetric(float64(held)/float64(b.N), "held-B/session")
}
