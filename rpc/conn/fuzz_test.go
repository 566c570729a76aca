package conn

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"unicode/utf8"

	"github.com/thinkd/thinkd/rpc/conntest"
)

// FuzzFrames feeds a connection any bytes. Whatever they are, it ends, it writes nothing but answers in its framing,
// each message is answered at most once, and how the bytes arrive changes nothing.
func FuzzFrames(f *testing.F) {
	for _, tc := range conntest.Shapes() {
		if len(tc.Send) < 500 {
			f.Add([]byte(tc.Send+"\n"+conntest.Ping("1")), uint64(1))
			f.Add([]byte(conntest.Framings[1].All(tc.Send, conntest.Ping("1"))), uint64(2))
		}
	}
	f.Add([]byte("Content-Length: 5\r\n\r\n"+conntest.Ping("1")+conntest.Framings[1].Wrap(conntest.Ping("2"))), uint64(3))
	f.Add([]byte("\xef\xbb\xbf{}\r\n\r\n[[],{},1]\n\x00"), uint64(4))
	s := testServer(f, 1<<10)
	delete(s.methods, "late") // a late answer comes before the end of input or not at all
	f.Fuzz(func(t *testing.T, input []byte, seed uint64) {
		whole, err := converse(t, s, bytes.NewReader(input))
		if err != nil && !errors.Is(err, ErrMalformed) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("Serve ended with %v", err)
		}
		split, splitErr := converse(t, s, &pieces{string(input), rand.New(rand.NewPCG(seed, 0))})
		if conntest.WithoutRefs(whole) != conntest.WithoutRefs(split) || !errors.Is(splitErr, err) {
			t.Errorf("whole: %v\n%s\nin pieces: %v\n%s", err, whole, splitErr, split)
		}
		answers := 0
		for _, message := range conntest.Messages(t, whole) {
			for _, a := range message {
				answers++
				if a.Get("jsonrpc").String() != "2.0" || !a.Get("id").Exists() || a.Get("result").Exists() == a.Get("error").Exists() {
					t.Errorf("not an answer: %s", a.Raw)
				}
			}
		}
		// A message has a byte at least, and a separator.
		if answers > len(input)/2+1 {
			t.Errorf("%d answers to %d bytes", answers, len(input))
		}
	})
}

// FuzzMembers: what is found in valid JSON is what encoding/json finds.
func FuzzMembers(f *testing.F) {
	for _, tc := range conntest.Shapes() {
		f.Add([]byte(tc.Send))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		depth(data) // takes any bytes
		if !utf8.Valid(data) || !json.Valid(data) {
			return
		}
		trimmed := trimSpace(data)
		var object map[string]json.RawMessage
		if trimmed[0] == '{' && json.Unmarshal(data, &object) == nil {
			got := map[string]json.RawMessage{}
			for name, value := range Members(trimmed) {
				got[name] = value
			}
			compareJSON(t, object, got)
		}
		var array []json.RawMessage
		if trimmed[0] == '[' && json.Unmarshal(data, &array) == nil {
			got := []json.RawMessage{}
			for value := range Elements(data) {
				got = append(got, value)
			}
			compareJSON(t, array, got)
		}
	})
}

func compareJSON(t *testing.T, want, got any) {
	t.Helper()
	a, errA := json.Marshal(want)
	b, errB := json.Marshal(got)
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		t.Errorf("got %s (%v), want %s (%v)", b, errB, a, errA)
	}
}
