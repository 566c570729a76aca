package exchange_test

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider/exchange"
)

func TestStencil(t *testing.T) {
	const first = `{"n":7,"pad":"xx","delta":{"type":"text","text":"a"},"more":[1,"b"]}`
	const at = `{"n":8,"pad":"","delta":{"type":"text","text":`
	tests := []struct {
		name, event string
		text        string
		ok          bool
	}{
		{"the same", first, "a", true},
		{"another text", at + `"bcd"},"more":[1,"b"]}`, "bcd", true},
		{"none", at + `""},"more":[1,"b"]}`, "", true},
		{"with escapes", at + `"\"\n\u00e9\ud83d\ude00\\"},"more":[1,"b"]}`, "\"\né😀\\", true},
		{"half a character", at + "\"\xc3\"},\"more\":[1,\"b\"]}", "\xc3", true},
		{"a number is no text", at + `1},"more":[1,"b"]}`, "", false},
		{"an escape that is none", at + `"\x"},"more":[1,"b"]}`, "", false},
		{"an escape that is cut", at + `"\u00"},"more":[1,"b"]}`, "", false},
		{"a line end in the text", at + "\"\n\"},\"more\":[1,\"b\"]}", "", false},
		{"no end of the text", at + `"a`, "", false},
		{"another member", at + `"a","text":"b"},"more":[1,"b"]}`, "", false},
		{"other white space", at + `"a"}, "more":[1,"b"]}`, "", false},
		{"another value", at + `"a"},"more":[2,"b"]}`, "", false},
		{"more behind it", at + `"a"},"more":[1,"b"]}]`, "", false},
		{"less behind it", at + `"a"},"more":[1,"b"]`, "", false},
		{"no count", `{"n":x` + at[6:] + `"a"},"more":[1,"b"]}`, "", false},
		{"a count that is none", `{"n":08` + at[6:] + `"a"},"more":[1,"b"]}`, "", false},
		{"a negative count", `{"n":-8` + at[6:] + `"a"},"more":[1,"b"]}`, "", false},
		{"padding that ends early", `{"n":8,"pad":"x"x","delta":{"type":"text","text":"a"},"more":[1,"b"]}`, "", false},
		{"nothing", ``, "", false},
	}
	var s exchange.Stencil
	if _, ok := s.Match(nil); ok {
		t.Error("the zero value matches")
	}
	for _, test := range tests {
		s.Cut([]byte(first), []gjson.Result{gjson.Get(first, "delta.text")}, gjson.Get(first, "n"), gjson.Get(first, "pad"), gjson.Get(first, "missing"))
		piece, ok := s.Match([]byte(test.event))
		if ok != test.ok || piece.Str != test.text {
			t.Errorf("%s: %q %v, want %q %v", test.name, piece.Str, ok, test.text, test.ok)
		}
	}
	s.Clear()
	if _, ok := s.Match([]byte(first)); ok {
		t.Error("it matches after Clear")
	}
}

// White space between the brackets at the end may differ (docs: streaming, of hosts that pad their events).
func TestStencilPadding(t *testing.T) {
	const first = `{"delta":{"text":"a"}}`
	var s exchange.Stencil
	s.Cut([]byte(first), []gjson.Result{gjson.Get(first, "delta.text")})
	for event, want := range map[string]bool{
		`{"delta":{"text":"b"}     }`: true, `{"delta":{"text":"b"} } `: true, `{"delta":{"text":"b"}]`: false,
		`{"delta":{"text":"b"}`: false, `{"delta":{"text":"b"}}}`: false, `{"delta":{"text":"b"},"c":1}`: false,
	} {
		if _, ok := s.Match([]byte(event)); ok != want {
			t.Errorf("%s: %v, want %v", event, ok, want)
		}
	}
}

// A text that stands twice is the same in both places, or it is another event.
func TestStencilRepeats(t *testing.T) {
	const first = `{"text":"a","details":[{"text":"a"}]}`
	var s exchange.Stencil
	s.Cut([]byte(first), []gjson.Result{gjson.Get(first, "details.0.text"), gjson.Get(first, "text")})
	for event, want := range map[string]bool{
		`{"text":"\n","details":[{"text":"\n"}]}`: true, `{"text":"b","details":[{"text":"c"}]}`: false,
		`{"text":"","details":[{"text":""}]}`: true, `{"text":"b","details":[{"text":"bb"}]}`: false,
	} {
		if _, ok := s.Match([]byte(event)); ok != want {
			t.Errorf("%s: %v, want %v", event, ok, want)
		}
	}
	const other = `{"text":"a","details":[{"text":"b"}]}`
	s.Cut([]byte(other), []gjson.Result{gjson.Get(other, "details.0.text"), gjson.Get(other, "text")})
	if _, ok := s.Match([]byte(other)); ok {
		t.Error("two texts were cut as one")
	}
}

// What was not got of the event is never cut out of it.
func TestStencilForeign(t *testing.T) {
	const first = `{"a":"x","b":"x"}`
	nested := gjson.Parse(gjson.Get(first, "b").Raw) // it does not know its place
	var s exchange.Stencil
	for _, piece := range []gjson.Result{nested, {}, gjson.Parse(first), gjson.Get(first+" ", "c")} {
		s.Cut([]byte(first), []gjson.Result{piece})
		if _, ok := s.Match([]byte(first)); ok {
			t.Errorf("cut of %+v", piece)
		}
	}
	s.Cut([]byte(first), []gjson.Result{gjson.Get(first, "a")}, gjson.Get(first, "a"))
	if _, ok := s.Match([]byte(first)); ok {
		t.Error("the same value was cut twice")
	}
}

// FuzzStencil holds a match against the full decoder: the event is JSON, its text is what the decoder finds at the same
// place, and no other token differs but the idle ones.
func FuzzStencil(f *testing.F) {
	f.Add([]byte(`{"type":"d","n":1,"pad":"x","delta":{"text":"ab"}}`), []byte(`{"type":"d","n":2,"pad":"","delta":{"text":"\u00e9"}}`))
	f.Add([]byte(`{"delta":{"text":"a","text":"b"}}`), []byte(`{"delta":{"text":"\ud83d","text":"b"} }`))
	f.Add([]byte(`{"\u0070ad":"p","pad":"q","delta":{"\u0074ext":"a"},"n":0}`), []byte(`{"\u0070ad":"","pad":"q","delta":{"\u0074ext":"\\"},"n":10}`))
	f.Add([]byte(`{"n":1,"delta":[{"text":"a"}]}`), []byte("{\"n\":1,\"delta\":[{\"text\":\"\xff\"}]}"))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		if !gjson.ValidBytes(first) {
			return
		}
		text := func(data []byte) gjson.Result {
			d := gjson.GetBytes(data, "delta")
			if d.IsArray() {
				d = d.Get("0")
			}
			return d.Get("text")
		}
		var s exchange.Stencil
		s.Cut(first, []gjson.Result{text(first)}, gjson.GetBytes(first, "n"), gjson.GetBytes(first, "pad"))
		piece, ok := s.Match(second)
		if same, always := s.Match(first); always && (same.Str != text(first).Str || same.Raw != text(first).Raw) {
			t.Fatalf("it says %q of the event that it was cut of", same.Raw)
		}
		if !ok {
			return
		}
		if !gjson.ValidBytes(second) {
			t.Fatal("it matches what is no JSON")
		}
		if want := text(second); piece.Raw != want.Raw || piece.Str != want.Str || piece.Type != want.Type {
			t.Fatalf("text %q, want %q", piece.Raw, want.Raw)
		}
		before, now := tokens(t, first), tokens(t, second)
		if len(before) != len(now) {
			t.Fatalf("%v matches %v", now, before)
		}
		differ := 0
		for i := range now {
			if !cmp.Equal(before[i], now[i]) {
				differ++
			}
		}
		if differ > 3 {
			t.Errorf("%d tokens differ: %v, %v", differ, before, now)
		}
	})
}

func tokens(t *testing.T, data []byte) (all []json.Token) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	for {
		tok, err := dec.Token()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, tok)
	}
}
