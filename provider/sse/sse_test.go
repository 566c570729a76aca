package sse_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	oracle "github.com/tmaxmax/go-sse"

	"github.com/thinkd/thinkd/provider/sse"
	"github.com/thinkd/thinkd/provider/testgo"
)

type event struct {
	Kind sse.Kind
	Name string
	Data string
}

func message(name, data string) event { return event{sse.Message, name, data} }
func comment(data string) event       { return event{sse.Comment, "", data} }
func bare(data string) event          { return event{sse.Bare, "", data} }
func cut(name, data string) event     { return event{sse.Cut, name, data} }

// read takes all events but Parts, which depend on the reads.
func read(r io.Reader) ([]event, error) {
	var all []event
	for ev, err := range sse.Read(r) {
		if err != nil {
			return all, err
		}
		if ev.Kind != sse.Part {
			all = append(all, event{ev.Kind, ev.Name, string(ev.Data)})
		}
	}
	return all, nil
}

func TestRead(t *testing.T) {
	tests := []struct {
		name, in string
		want     []event
	}{
		{"empty", "", nil},
		{"one", "data: a\n\n", []event{message("", "a")}},
		{"named", "event: ping\ndata: {}\n\n", []event{message("ping", "{}")}},
		{"no space", "data:a\n\n", []event{message("", "a")}},
		{"one space only is taken", "data:  a\n\n", []event{message("", " a")}},
		{"lines join", "data: a\ndata: b\ndata:\n\n", []event{message("", "a\nb\n")}},
		{"empty data is an event", "data:\n\n", []event{message("", "")}},
		{"field without colon", "data\n\n", []event{message("", "")}},
		{"no data is none", "event: x\n\ndata: a\n\n", []event{message("", "a")}},
		{"name ends with its event", "event: x\ndata: a\n\ndata: b\n\n", []event{message("x", "a"), message("", "b")}},
		{"the last name counts", "event: x\nevent: y\ndata: a\n\n", []event{message("y", "a")}},
		{"CR", "data: a\r\rdata: b\r\r", []event{message("", "a"), message("", "b")}},
		{"CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", []event{message("", "a"), message("", "b")}},
		{"mixed ends", "data: a\r\ndata: b\rdata: c\n\r\n", []event{message("", "a\nb\nc")}},
		{"CR LF LF", "data: a\r\n\ndata: b\n\r", []event{message("", "a"), message("", "b")}},
		{"BOM", "\uFEFFdata: a\n\n", []event{message("", "a")}},
		{"one BOM only", "\uFEFF\uFEFFdata: a\n\n", nil},
		{"BOM later is data", "data: \uFEFFa\n\n", []event{message("", "\uFEFFa")}},
		{"comments", ": hi\n\n:\ndata: a\n:x\ndata: b\n\n", []event{comment(" hi"), comment(""), comment("x"), message("", "a\nb")}},
		{"unknown fields", "id: 1\nretry: 5\nfoo: bar\nbaz\ndata: a\n\n", []event{message("", "a")}},
		{"field names are exact", "Data: a\n data: b\ndata : c\n\n", nil},
		{"many blank lines", "\n\n\ndata: a\n\n\n\n", []event{message("", "a")}},
		{"bare line", `{"error":"x"}` + "\n", []event{bare(`{"error":"x"}`)}},
		{"bare line without an end", `{"error":"x"}`, []event{bare(`{"error":"x"}`)}},
		{"bare lines are told apart", "{\"a\":1}\n[2]\n", []event{bare(`{"a":1}`), bare("[2]")}},
		{"bare over lines", "{\n \"a\": 1\n}\n\ndata: x\n\n", []event{bare("{\n \"a\": 1\n}"), message("", "x")}},
		{"bare over lines to the end", "{\n \"a\": 1\n}", []event{bare("{\n \"a\": 1\n}")}},
		{"bare before data", "event: n\n{\"a\":\n1}\ndata: x\n\n", []event{bare("{\"a\":\n1}"), message("n", "x")}},
		{"bare before comment", "{\n}\n: c\ndata: x\n\n", []event{bare("{\n}"), comment(" c"), message("", "x")}},
		{"bare before a cut", "{\n}\ndata: x", []event{bare("{\n}"), cut("", "x")}},
		{"bare in between", "data: a\n\n{\"e\":1}\n\ndata: b\n\n", []event{message("", "a"), bare(`{"e":1}`), message("", "b")}},
		{"bare inside an event", "data: a\n{\"e\":1}\n{broken\ndata: b\n\n", []event{bare(`{"e":1}`), message("", "a\nb")}},
		{"cut in a line", "data: a\n\ndata: b", []event{message("", "a"), cut("", "b")}},
		{"cut after a line", "event: e\ndata: a\n", []event{cut("e", "a")}},
		{"cut in a field name", "data: a\n\ndat", []event{message("", "a")}},
		{"cut before data", "event: e\n", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for name, r := range map[string]io.Reader{
				"whole":    strings.NewReader(test.in),
				"bytes":    iotest.OneByteReader(strings.NewReader(test.in)),
				"data+EOF": iotest.DataErrReader(strings.NewReader(test.in)),
			} {
				got, err := read(r)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

func TestReadError(t *testing.T) {
	broken := errors.New("broken")
	got, err := read(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken)))
	if err != broken {
		t.Errorf("error %v, want %v", err, broken)
	}
	if diff := cmp.Diff([]event{message("", "a")}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// An event is returned as soon as its blank line is there. Bytes that complete nothing are reported before the next read. Otherwise
// the pipe would hang.
func TestReadDoesNotWait(t *testing.T) {
	r, w := io.Pipe()
	writes := make(chan string)
	testgo.Go(t, func() { // ends when writes is closed below
		for s := range writes {
			io.WriteString(w, s)
		}
		w.Close()
	})
	steps := []struct {
		write string
		want  event
	}{
		{"data: a\r", event{Kind: sse.Part}},
		{"\r", message("", "a")},
		{"\ndata: b", event{Kind: sse.Part}},
		{"b\n", event{Kind: sse.Part}},
		{"\n", message("", "bb")},
		{": c\n", comment(" c")},
		{"{\"e\":1}\n", bare(`{"e":1}`)},
	}
	i := 0
	writes <- steps[0].write
	for ev, err := range sse.Read(r) {
		if err != nil {
			t.Fatal(err)
		}
		got := event{ev.Kind, ev.Name, string(ev.Data)}
		if got != steps[i].want {
			t.Fatalf("after %q: got %v, want %v", steps[i].write, got, steps[i].want)
		}
		if i++; i == len(steps) {
			break
		}
		writes <- steps[i].write
	}
	close(writes)
	r.Close()
}

func TestSizes(t *testing.T) {
	for exp := 4; exp <= 17; exp++ {
		for _, n := range []int{1<<exp - 7, 1<<exp - 6, 1<<exp - 1, 1 << exp, 1<<exp + 1} {
			data := strings.Repeat("x", n)
			for _, end := range []string{"\n", "\r", "\r\n"} {
				in := "data: " + data + end + end + "data: " + data + end + "data: y" + end + end
				got, err := read(strings.NewReader(in))
				want := []event{message("", data), message("", data+"\ny")}
				if err != nil || len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
					t.Fatalf("%d bytes, end %q: %d events, error %v", n, end, len(got), err)
				}
			}
		}
	}
}

// pattern is size bytes of head, x and tail that are nowhere in memory.
func pattern(head string, size int, tail string) io.Reader {
	return io.MultiReader(strings.NewReader(head), io.LimitReader(xs{}, int64(size)), strings.NewReader(tail))
}

type xs struct{}

func (xs) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestLongest(t *testing.T) {
	size := sse.MaxEvent - len("data: ")
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	n := 0
	for ev, err := range sse.Read(pattern("data: ", size, "\n\n")) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Kind == sse.Message {
			n = len(ev.Data)
			runtime.GC()
			runtime.ReadMemStats(&after)
		}
	}
	if n != size {
		t.Fatalf("event of %d bytes, want %d", n, size)
	}
	if held := int64(after.HeapAlloc) - int64(before.HeapAlloc); held > 2*sse.MaxEvent {
		t.Errorf("%d MiB are held for an event of %d MiB", held>>20, sse.MaxEvent>>20)
	}
	for _, head := range []string{"data: ", "{"} {
		_, err := read(pattern(head, sse.MaxEvent, "\n\n"))
		if !errors.Is(err, sse.ErrTooLong) {
			t.Errorf("%q and %d bytes: error %v, want %v", head, sse.MaxEvent, err, sse.ErrTooLong)
		}
	}
}

// split hands out its bytes in pieces of random size.
type split struct {
	in  []byte
	rnd *rand.Rand
}

func (s *split) Read(p []byte) (int, error) {
	if len(s.in) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.in[:1+s.rnd.IntN(min(len(s.in), 9))])
	s.in = s.in[n:]
	return n, nil
}

// FuzzRead checks that the result does not depend on how the bytes come, and that messages are those of go-sse.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"data: a\n\n", "event: x\r\ndata: a\rdata: b\n\n\n", "\uFEFFdata: a\n\n: c\n\ndata", "{\"a\":1}\n{\n}\ndata: x\n\n",
		"id: 1\nretry: 2\ndata:\n\n\r\rdata:  x\r\n\r\n", "event: message_start\ndata: {\"type\":\"message_start\"}\n\nevent: ping\n",
	} {
		f.Add([]byte(seed), uint64(1))
	}
	f.Fuzz(func(t *testing.T, in []byte, seed uint64) {
		whole, err := read(bytes.NewReader(in))
		if err != nil {
			t.Fatal(err)
		}
		pieces, err := read(&split{in, rand.New(rand.NewPCG(seed, 0))})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(whole, pieces); diff != "" {
			t.Errorf("whole and in pieces differ:\n%s", diff)
		}
		if bytes.Contains(in, []byte("\uFEFF")) {
			return // go-sse takes one off after blank lines as well
		}
		// go-sse tells what stands unfinished as if it were an event, and events without data; so every event is
		// finished here, and the empty ones are left out on both sides.
		closed := append(bytes.Clone(in), "\n\n"...)
		var got, want []event
		all, err := read(bytes.NewReader(closed))
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range all {
			if ev.Kind == sse.Message && ev.Data != "" {
				got = append(got, ev)
			}
		}
		for ev, err := range oracle.Read(bytes.NewReader(closed), &oracle.ReadConfig{MaxEventSize: 1 << 20}) {
			if err != nil {
				return // go-sse refuses it
			}
			if ev.Data != "" {
				want = append(want, message(ev.Type, ev.Data))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("go-sse sees it otherwise (-go-sse +got):\n%s", diff)
		}
	})
}

// stream is a thousand events of a model.
func stream() []byte {
	var in bytes.Buffer
	for i := range 1000 {
		fmt.Fprintf(&in, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"word %d \"}}\n\n", i)
	}
	return in.Bytes()
}

func BenchmarkRead(b *testing.B) {
	in := stream()
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range sse.Read(bytes.NewReader(in)) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkGoSSE is the same with go-sse, for docs/dependencies.md.
func BenchmarkGoSSE(b *testing.B) {
	in := stream()
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range oracle.Read(bytes.NewReader(in), &oracle.ReadConfig{MaxEventSize: 1 << 20}) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
