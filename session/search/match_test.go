package search

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/thinkd/thinkd/provider/testgo"
)

func TestFind(t *testing.T) {
	for _, tc := range []struct {
		pattern, text string
		want          string // the text with its matches in brackets
	}{
		{"bucket", "Token Bucket, leaky BUCKET", "Token [Bucket], leaky [BUCKET]"},
		{"token bucket", "a token\n\t bucket", "a [token\n\t bucket]"},
		{" bucket ", "bucketful", "[bucket]ful"},
		{"aa", "aaaaa", "[aa][aa]a"},
		{"kelvin", "300 \u212aelvin", "300 [\u212aelvin]"},
		{"ΣΊΣΥΦΟΣ", "σίσυφος", "[σίσυφος]"},
		{"straße", "STRAẞE", "[STRAẞE]"},
		{"é", "caf\u00e9 caf\u00c9", "caf[\u00e9] caf[\u00c9]"},
		{"x", "", ""},
		{"日本", "東京は日本の首都", "東京は[日本]の首都"},
	} {
		m, err := newMatcher(tc.pattern)
		if err != nil {
			t.Fatal(err)
		}
		places, total := m.find(tc.text, 100)
		if got := bracketed(tc.text, places); got != tc.want || total != len(places) {
			t.Errorf("%q: %q with %d matches, want %q", tc.pattern, got, total, tc.want)
		}
	}
	for _, bad := range []string{"", " \n", strings.Repeat("é", MaxText+1)} {
		if _, err := newMatcher(bad); err == nil {
			t.Errorf("%.10q is taken", bad)
		}
	}
	if _, err := newMatcher(strings.Repeat("é", MaxText)); err != nil {
		t.Error(err)
	}
}

func bracketed(text string, places []span) string {
	for i := len(places) - 1; i >= 0; i-- {
		p := places[i]
		text = text[:p.start] + "[" + text[p.start:p.end] + "]" + text[p.end:]
	}
	return text
}

func TestExcerpt(t *testing.T) {
	long := strings.Repeat("one two ", 100)
	for _, tc := range []struct{ pattern, text, want string }{
		{"bucket", "Cap the\n\n  bucket when you refill the bucket.", "Cap the [bucket] when you refill the [bucket]."},
		{"bucket", long + "the bucket " + long, "…one two one two one two one two one two one two one two the [bucket] one two one two one two one two one two one two one two one two one two one two one two one two one two one two one two one two one two one two one two one two one two one two one…"},
		{"bucket", strings.Repeat("日", 100) + "bucket" + strings.Repeat("本", 100), "…" + strings.Repeat("日", 20) + "[bucket]" + strings.Repeat("本", 60) + "…"},
		{"a b", "a\nb", "[a b]"},
		{"bucket", "- **The bucket**: use `**kwargs` and 2**3 or 4**5 in a **small bucket**.", "- The [bucket]: use `**kwargs` and 2**3 or 4**5 in a small [bucket]."},
		{"small** b", "A **small** bucket, **cold**", "A **[small** b]ucket, cold"},
		{"bucket", "f(**bucket) **bucket", "f(**[bucket]) **[bucket]"},
		{"bucket", strings.Repeat("日", 22) + " **" + strings.Repeat("日", 20) + "bucket**", "…" + strings.Repeat("日", 20) + "[bucket]"},
	} {
		m, _ := newMatcher(tc.pattern)
		places, _ := m.find(tc.text, 100)
		line, places := excerpt(tc.text, places, true)
		if got := bracketed(line, places); got != tc.want {
			t.Errorf("%q:\n%q\nwant\n%q", tc.pattern, got, tc.want)
		}
	}
}

// Every match, and every match in an excerpt, is the text that was searched for.
func TestPlacesAreMatches(t *testing.T) {
	letters := rapid.SampledFrom([]rune("aAbB **\n\t\u212akßẞéÉ日\u00a0"))
	testgo.Check(t, func(r *rapid.T) {
		text := rapid.StringOfN(letters, 0, 400, -1).Draw(r, "text")
		pattern := rapid.StringOfN(letters, 1, 3, -1).Draw(r, "pattern")
		m, err := newMatcher(pattern)
		if err != nil {
			return
		}
		most := rapid.IntRange(1, 30).Draw(r, "most")
		places, total := m.find(text, most)
		if len(places) != min(total, most) || (total > 0) != strings.Contains(string(fold(nil, text)), string(m.pattern)) {
			r.Fatalf("%d places of %d", len(places), total)
		}
		check := func(in string, places []span) {
			end := 0
			for _, p := range places {
				if p.start < end || p.end <= p.start || string(fold(nil, in[p.start:p.end])) != string(m.pattern) {
					r.Fatalf("%v of %q is no match", p, in)
				}
				end = p.end
			}
		}
		check(text, places)
		if total == 0 {
			return
		}
		line, shown := excerpt(text, places, rapid.Bool().Draw(r, "markdown"))
		check(line, shown)
		if len(shown) == 0 || !utf8.ValidString(line) || strings.ContainsAny(line, "\n\t") || len(line) > leading+trailing+len("……")+4*MaxText {
			r.Fatalf("%d matches in %q", len(shown), line)
		}
	})
}

func BenchmarkFind(b *testing.B) {
	for name, text := range map[string]string{"ascii": strings.Repeat("The quick brown fox jumps over the lazy dog. ", 1000), "greek": strings.Repeat("Η γρήγορη καφέ αλεπού. ", 1000)} {
		b.Run(name, func(b *testing.B) {
			m, _ := newMatcher("token bucket")
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, n := m.find(text, 20); n != 0 {
					b.Fatal(fmt.Sprint(n))
				}
			}
		})
	}
}
