package exchange_test

import (
	"testing"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider/exchange"
)

func TestGrowth(t *testing.T) {
	tests := []struct {
		name   string
		pieces []string // raw JSON strings
		shows  []string
		whole  string
		rest   string
		text   string
	}{
		{name: "plain", pieces: []string{`"a"`, `"b\n"`}, shows: []string{"a", "b\n"}, text: "ab\n"},
		{name: "inside a character", pieces: []string{"\"\xe2\x82\"", "\"\xac!\""}, shows: []string{"", "€!"}, text: "€!"},
		{name: "between two escapes", pieces: []string{`"x\ud83d"`, `"\ude00"`}, shows: []string{"x", "😀"}, text: "x😀"},
		{name: "no escape at all", pieces: []string{`"x\\ud83d"`}, shows: []string{`x\ud83d`}, text: `x\ud83d`},
		{name: "half a character at the end", pieces: []string{"\"a\xe2\x82\""}, shows: []string{"a"}, rest: "\uFFFD", text: "a\uFFFD"},
		{name: "half a character alone", pieces: []string{"\"\xe2\x82\""}, shows: []string{""}, rest: "\uFFFD", text: "\uFFFD"},
		{name: "the whole goes on", pieces: []string{`"ab"`}, shows: []string{"ab"}, whole: "abc", rest: "c", text: "abc"},
		{name: "the whole ends what was cut", pieces: []string{"\"a\xe2\x82\""}, shows: []string{"a"}, whole: "a€b", rest: "€b", text: "a€b"},
		{name: "the whole is another", pieces: []string{`"ab"`}, shows: []string{"ab"}, whole: "xyz", text: "ab"},
		{name: "nothing but the whole", whole: "xyz", rest: "xyz", text: "xyz"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var g exchange.Growth
			for i, piece := range test.pieces {
				if got := g.Add(gjson.Parse(piece)); got != test.shows[i] {
					t.Errorf("piece %d shows %q, want %q", i, got, test.shows[i])
				}
			}
			if got := g.Rest(test.whole); got != test.rest {
				t.Errorf("rest %q, want %q", got, test.rest)
			}
			if got := g.String(); got != test.text {
				t.Errorf("text %q, want %q", got, test.text)
			}
		})
	}
}
