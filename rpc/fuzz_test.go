package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
)

// FuzzFrames feeds a connection any bytes. Whatever they are, it ends, it writes nothing but answers in its framing,
// each message is answered at most once, and how the bytes arrive changes nothing.
func FuzzFrames(f *testing.F) {
	for _, tc := range shapeCases() {
		if len(tc.send) < 500 {
			f.Add([]byte(tc.send+"\n"+pingWith("1")), uint64(1))
			f.Add([]byte(framings[1].all(tc.send, pingWith("1"))), uint64(2))
		}
	}
	f.Add([]byte("Content-Length: 5\r\n\r\n"+pingWith("1")+framings[1].wrap(pingWith("2"))), uint64(3))
	f.Add([]byte("\xef\xbb\xbf{}\r\n\r\n[[],{},1]\n\x00"), uint64(4))
	s := testServer(f, Config{MessageBytes: 1 << 10})
	delete(s.byName, "late") // a late answer comes before the end of input or not at all
	delete(s.byName, "late_panic")
	f.Fuzz(func(t *testing.T, input []byte, seed uint64) {
		whole, err := converse(t, s, bytes.NewReader(input))
		if err != nil && !errors.Is(err, errMalformed) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("Serve ended with %v", err)
		}
		split, splitErr := converse(t, s, &pieces{string(input), rand.New(rand.NewPCG(seed, 0))})
		if withoutRefs(whole) != withoutRefs(split) || !errors.Is(splitErr, err) {
			t.Errorf("whole: %v\n%s\nin pieces: %v\n%s", err, whole, splitErr, split)
		}
		answers := 0
		for _, message := range messagesOf(t, whole) {
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

// withoutRefs blanks the references of internal errors, which are random. Lengths stay as they are.
func withoutRefs(answers string) string {
	const ref = `"ref":"`
	var b strings.Builder
	for {
		before, after, found := strings.Cut(answers, ref)
		b.WriteString(before)
		if !found || len(after) < 26 {
			return b.String()
		}
		b.WriteString(ref + strings.Repeat("-", 26))
		answers = after[26:]
	}
}

// messagesOf takes what was written apart; each message is the answers in it.
func messagesOf(t *testing.T, output string) [][]gjson.Result {
	var list [][]gjson.Result
	for output != "" {
		var message string
		if rest, headers := strings.CutPrefix(output, "Content-Length: "); headers {
			digits, body, ok := strings.Cut(rest, "\r\n\r\n")
			n := readLength(digits)
			if !ok || n < 0 || n > int64(len(body)) {
				t.Fatalf("not a header: %.100q", output)
			}
			message, output = body[:n], body[n:]
		} else {
			var ok bool
			if message, output, ok = strings.Cut(output, "\n"); !ok {
				t.Fatalf("a line without its end: %.100q", message)
			}
		}
		if !json.Valid([]byte(message)) {
			t.Fatalf("not JSON: %.100q", message)
		}
		if message[0] == '[' {
			list = append(list, gjson.Parse(message).Array())
		} else {
			list = append(list, []gjson.Result{gjson.Parse(message)})
		}
	}
	return list
}

// FuzzMembers: what is found in valid JSON is what encoding/json finds.
func FuzzMembers(f *testing.F) {
	for _, tc := range shapeCases() {
		f.Add([]byte(tc.send))
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
			for name, value := range members(trimmed) {
				got[name] = value
			}
			compareJSON(t, object, got)
		}
		var array []json.RawMessage
		if trimmed[0] == '[' && json.Unmarshal(data, &array) == nil {
			got := []json.RawMessage{}
			for value := range elements(data) {
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

// FuzzDoor: whatever a client says, it is told the same through a door as directly, but for the order of what the door
// answers itself.
func FuzzDoor(f *testing.F) {
	for _, tc := range shapeCases() {
		if len(tc.send) < 500 {
			f.Add([]byte(tc.send + "\n" + pingWith("1")))
			f.Add([]byte(framings[1].all(tc.send, pingWith("1"))))
		}
	}
	f.Add([]byte("Content-Length: 5\r\n\r\n" + pingWith("1") + framings[1].wrap(pingWith("2"))))
	f.Add([]byte(strings.Repeat("[", 2000) + "\n" + pingWith("3")))
	s := testServer(f, Config{MessageBytes: 1 << 10})
	delete(s.byName, "late") // a late answer comes before the end of input or not at all
	delete(s.byName, "late_panic")
	f.Fuzz(func(t *testing.T, input []byte) {
		direct, directErr := converse(t, s, bytes.NewReader(input))
		if errors.Is(directErr, errMalformed) {
			return // each side counts what it sees
		}
		h := &house{t: t, server: s}
		c := &transcript{Reader: bytes.NewReader(input)}
		err := Door{Client: c, Dial: h.dial}.Run(t.Context())
		h.serving.Wait()
		if !errors.Is(err, directErr) || h.dials != 1 {
			t.Errorf("directly %v, through the door %v, with %d daemons", directErr, err, h.dials)
		}
		want, got := sortedMessages(t, withoutRefs(direct)), sortedMessages(t, withoutRefs(c.out.String()))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("through the door, other than directly:\n%s", diff)
		}
	})
}
