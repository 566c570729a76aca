package providertest

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sse"
)

// Flow is what a benchmark lets flow through an adapter: replies of many deltas of one kind, in the frames that the
// vendor sends. A delta is 17 bytes of text.
type Flow struct {
	Suite
	Head     string                          // before the deltas
	Thinking func(n int, text string) string // the frame of the nth delta
	Text     func(n int, text string) string
	Tail     string
}

// deltas is how many a reply has: enough that its beginning and end count for nothing.
const deltas = 10_000

// words are pieces of 17 bytes, as a model might say them.
var words = []string{" so the remainder", " of that division", " cannot be prime,", " which means that", " the second of us"}

// Bench measures an adapter from bytes in memory to events: ns/op, B/op and allocs/op are those of one delta. Beside it
// stand two floors: the split into events alone, and encoding/json for each event.
func Bench(b *testing.B, f Flow) {
	for _, kind := range []struct {
		name  string
		frame func(int, string) string
	}{{"thinking", f.Thinking}, {"text", f.Text}} {
		var stream bytes.Buffer
		stream.WriteString(f.Head)
		for n := range deltas {
			stream.WriteString(kind.frame(n, words[n%len(words)]))
		}
		stream.WriteString(f.Tail)
		b.Run(kind.name, func(b *testing.B) { f.adapter(b, stream.Bytes()) })
		b.Run("floor/split/"+kind.name, func(b *testing.B) { split(b, stream.Bytes(), func([]byte) error { return nil }) })
		b.Run("floor/json/"+kind.name, func(b *testing.B) {
			split(b, stream.Bytes(), func(data []byte) error {
				var event map[string]any
				return json.Unmarshal(data, &event)
			})
		})
	}
}

func (f *Flow) adapter(b *testing.B, stream []byte) {
	req := &provider.Request{Model: provider.Model{ID: "model"}, Messages: []provider.Message{
		{Role: provider.User, Blocks: provider.Blocks{provider.Text{Text: "How many are there?"}}}}}
	b.ReportAllocs()
	for done := 0; done < b.N; done += deltas {
		seen := 0
		for ev, err := range f.New(&wire{contentType: f.Type, answer: bytes.NewReader(stream)}).Stream(b.Context(), req) {
			if err != nil {
				b.Fatal(err)
			}
			if _, ok := ev.(provider.Delta); ok {
				seen++
			}
		}
		if seen != deltas {
			b.Fatalf("%d deltas, want %d", seen, deltas)
		}
	}
}

func split(b *testing.B, stream []byte, each func([]byte) error) {
	b.ReportAllocs()
	for done := 0; done < b.N; done += deltas {
		for ev, err := range sse.Read(bytes.NewReader(stream)) {
			if err == nil && (ev.Kind == sse.Message || ev.Kind == sse.Bare) && ev.Data[0] == '{' {
				err = each(ev.Data)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
