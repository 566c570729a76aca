package messages

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// BenchmarkBuild is the body of a request with so many messages.
func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("messages=%d", n), func(b *testing.B) {
			api := New(exchange.Config{Vendor: "anthropic", BaseURL: "http://127.0.0.1"}, Host{})
			thought := strings.Repeat("Compare both. ", 25)
			state := provider.State{Origin: provider.Origin{API: wireAPI, Vendor: api.caller.Vendor, Model: "m"},
				Data: json.RawMessage(`{"signature":"` + strings.Repeat("nCctWg3/RVQz6bQq", 16) + `","thinking":"` + thought + `","type":"thinking"}`)}
			req := &provider.Request{Model: provider.Model{ID: "claude-opus-4-6"}}
			for range n / 2 {
				req.Messages = append(req.Messages,
					provider.Message{Role: provider.User, Blocks: provider.Blocks{provider.Text{Text: "Which date is later?"}}},
					provider.Message{Role: provider.Assistant, Blocks: provider.Blocks{provider.Thinking{Text: thought, State: state}, provider.Text{Text: "The second."}}})
			}
			call, err := api.build(req)
			if err != nil || !strings.Contains(string(call.Body), "nCctWg3/") {
				b.Fatal(err, "the thinking does not go back")
			}
			b.SetBytes(int64(len(call.Body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := api.build(req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
