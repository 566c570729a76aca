package feed

import (
	"strings"
	"testing"
)

type MemoryCase struct {
	Name string
	List []Event
	Kept int // updates that are remembered, at least
}

// MemoryCases are lists of events, and how many of their updates a feed remembers.
func MemoryCases() []MemoryCase {
	piece := strings.Repeat("x", 2<<20)
	delta := func(block, n int) Event { return MessageDelta{"m", block, piece[:n]} }
	return []MemoryCase{
		{"small updates", repeat(10_000, func(i int) Event { return TurnEnd{} }), 4096},
		{"alternating growth of two blocks", repeat(10_000, func(i int) Event { return delta(i%2, 1) }), 4096},
		{"growth of one block", repeat(100_000, func(i int) Event { return delta(0, 5) }), 45_000},
		{"growth byte by byte", repeat(200_000, func(i int) Event { return delta(0, 1) }), 55_000},
		{"large pieces", repeat(100, func(i int) Event { return delta(0, 100_000) }), 10},
		{"a piece that is too large", []Event{delta(0, 1), delta(0, 2<<20)}, 0},
		{"growth after it", []Event{delta(0, 1), delta(0, 2<<20), delta(0, 1), delta(0, 1)}, 2},
		{"ends", repeat(10, func(i int) Event { return TextEnd{Text: piece} }), 4},
		{"a growing list of all kinds", repeat(20_000, func(i int) Event {
			switch i % 50 {
			case 0:
				return TextEnd{"m", i, piece[:i], nil, nil}
			case 1:
				return QueueUpdate{}
			}
			return delta(i/50, i%97)
		}), 2000},
	}
}

func TestMemoryIsBounded(t *testing.T) {
	for _, test := range MemoryCases() {
		t.Run(test.Name, func(t *testing.T) {
			f := New("s", 1<<24)
			most, held := 0, 0
			for _, e := range test.List {
				f.Publish("t", int64(f.seq)*3, e)
				most, held = max(most, f.memory.bytes), max(held, len(f.memory.list))
			}
			if most > maxRememberedBytes || held > maxRemembered {
				t.Errorf("up to %d updates of weight %d were held", held, most)
			}
			weight, room := 0, 0
			for _, r := range f.memory.list {
				weight += r.weight()
				room += cap(r.text) + weightOfCut*cap(r.cuts)
				if _, text := grown(r.first.Event); text != "" || r.first.encoded != nil {
					t.Fatalf("%d holds more than its run", r.first.Seq)
				}
			}
			if weight != f.memory.bytes || room > 3*maxRememberedBytes {
				t.Errorf("a weight of %d is counted as %d, and takes %d", weight, f.memory.bytes, room)
			}
			kept := int(f.seq - f.memory.after)
			if kept < test.Kept {
				t.Errorf("%d are remembered, want %d", kept, test.Kept)
			}
			if f.memory.after > 1<<24 {
				if list := f.Since(f.memory.after - 1); list != nil {
					t.Errorf("Since returned %d updates that were forgotten", len(list))
				}
			}
			f.Forget()
			if f.memory.list != nil || f.memory.bytes != 0 || f.Since(f.seq-1) != nil || f.Since(f.seq) == nil {
				t.Errorf("%d updates of weight %d are held", len(f.memory.list), f.memory.bytes)
			}
		})
	}
}
