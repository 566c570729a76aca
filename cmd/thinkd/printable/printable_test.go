package printable

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

func TestWriter(t *testing.T) {
	for text, want := range map[string]string{
		"plain\ttext\nof two é 日本 😀":        "plain\ttext\nof two é 日本 😀",
		"\x1b]0;title\x07\x1b[2Ja\x1bP":     "\uFFFD]0;title\uFFFD\uFFFD[2Ja\uFFFDP",
		"real\rfake\r\nnext":                "realfake\nnext",
		"\u009b2J\x9b2J\x00\x7f\x08":        "\uFFFD2J\uFFFD2J\uFFFD\uFFFD\uFFFD",
		"a\u202ebc\u2066d\u2069":            "a\uFFFDbc\uFFFDd\uFFFD",
		"family \U0001F468\u200d\U0001F469": "family \U0001F468\u200d\U0001F469",
		"":                                  "",
	} {
		var whole, pieces bytes.Buffer
		if n, err := (&Writer{To: &whole}).Write([]byte(text)); n != len(text) || err != nil {
			t.Errorf("%q: %d, %v", text, n, err)
		}
		w := &Writer{To: &pieces}
		for i := range len(text) {
			if _, err := w.Write([]byte(text[i : i+1])); err != nil {
				t.Error(err)
			}
		}
		if whole.String() != want || pieces.String() != want {
			t.Errorf("%q is %q, and %q byte by byte; want %q", text, whole.String(), pieces.String(), want)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestWriterFails(t *testing.T) {
	if _, err := (&Writer{To: full{}}).Write([]byte("x")); !errors.Is(err, io.ErrShortWrite) {
		t.Error(err)
	}
}
