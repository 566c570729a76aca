package rpc

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/rpc/conntest"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/mem"
)

// flat is a model that thinks n pieces of 17 bytes, as fast as it is listened to.
type flat int

func (flat) Wire(*provider.Request) (json.RawMessage, error) { return json.RawMessage("{}"), nil }

func (n flat) Stream(context.Context, *provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		const piece = "seventeen letters"
		for i := 0; i < int(n); i += 1000 { // in blocks, so that none grows without end
			pieces := min(1000, int(n)-i)
			if !yield(provider.Begin{Index: i, Block: provider.Thinking{Kind: provider.ThinkingSummary}}, nil) {
				return
			}
			for range pieces {
				if !yield(provider.Delta{Index: i, Text: piece}, nil) {
					return
				}
			}
			if !yield(provider.End{Index: i, Block: provider.Thinking{Kind: provider.ThinkingSummary, Text: strings.Repeat(piece, pieces)}}, nil) {
				return
			}
		}
		yield(provider.Stop{Reason: provider.StopEndTurn}, nil)
	}
}

// discarding is a client who takes all, and knows how it ended: with the turn, or since it was too slow.
type discarding struct {
	io.Reader
	ended chan string
}

func (d *discarding) Write(p []byte) (int, error) {
	for _, word := range []string{"turn_end", "stale"} {
		if bytes.Contains(p, []byte(`"method":"`+word+`"`)) {
			d.ended <- word
		}
	}
	return len(p), nil
}

func (d *discarding) Close() error { return nil }

// benchGroup has one session over a store in memory, whose model is given.
func benchGroup(b *testing.B, model provider.Provider) (*Server, session.ID) {
	catalog, err := registry.New([]registry.Provider{{ID: "anthropic", Vendor: "anthropic"}})
	if err != nil {
		b.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	group, err := agent.NewGroup(b.Context(), agent.Config{Store: mem.New(), Catalog: catalog, Log: log,
		Provider: func(string) provider.Provider { return model }, Limits: agent.Limits{TurnBytes: 1 << 40}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { group.Close() })
	s, err := group.For(session.Operator).Create(b.Context(), session.Session{Settings: session.Settings{Model: session.ModelRef{Provider: "anthropic", ID: "claude-opus-4-6"}}})
	if err != nil {
		b.Fatal(err)
	}
	return NewServer(Config{Config: service.Config{Log: log, Sessions: service.AgentsOf(group), Catalog: group.Config().Catalog}}), s.ID
}

// BenchmarkStream is a delta's way from the model to the bytes that a client reads.
func BenchmarkStream(b *testing.B) {
	server, id := benchGroup(b, flat(b.N))
	asks, in := io.Pipe()
	d := &discarding{asks, make(chan string, 1)}
	served := make(chan error, 1)
	testgo.Go(b, func() { served <- server.Serve(b.Context(), d) }) // ends with its input, below
	ask := func(method, params string) {
		if _, err := io.WriteString(in, conntest.Request(1, method, params)+"\n"); err != nil {
			b.Fatal(err)
		}
	}
	ask("session/attach", fmt.Sprintf(`{"session_id":%q}`, id))
	b.ReportAllocs()
	b.ResetTimer()
	ask("session/prompt", fmt.Sprintf(`{"session_id":%q,"text":"go"}`, id))
	if word := <-d.ended; word != "turn_end" { // a machine that runs much else beside it
		b.Fatal(word)
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "deltas/s")
	in.Close()
	if err := <-served; err != nil {
		b.Fatal(err)
	}
}

// BenchmarkAttach is a client who joins a session of 2,000 messages: the usual newest page, and the largest.
func BenchmarkAttach(b *testing.B) {
	const turns = 1000
	server, id := benchGroup(b, flat(30))
	err := server.config.Sessions(method.Operator()).Do(b.Context(), id, func(a *agent.Agent) error {
		for range turns {
			r, err := a.Prompt(b.Context(), agent.Prompt{Content: provider.Blocks{provider.Text{Text: "go"}}})
			if err == nil {
				_, err = a.Wait(b.Context(), r.Turn)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	for _, limit := range []int{50, maxLimit} {
		b.Run(fmt.Sprintf("page=%d", limit), func(b *testing.B) {
			conn, theirs := net.Pipe()
			served := make(chan error, 1)
			testgo.Go(b, func() { served <- server.Serve(b.Context(), theirs) }) // ends with the connection, below
			in := bufio.NewReaderSize(conn, 1<<20)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := io.WriteString(conn, conntest.Request(1, "session/attach", fmt.Sprintf(`{"session_id":%q,"limit":%d}`, id, limit))+"\n"); err != nil {
					b.Fatal(err)
				}
				answer, err := in.ReadSlice('\n')
				if err != nil || !bytes.Contains(answer[:min(100, len(answer))], []byte(`"result"`)) {
					b.Fatalf("%.100s %v", answer, err)
				}
			}
			conn.Close()
			<-served
		})
	}
}
