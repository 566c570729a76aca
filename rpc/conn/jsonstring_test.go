package conn

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzString holds a string against encoding/json's, byte for byte.
func FuzzString(f *testing.F) {
	for _, text := range []string{"", "a word", "\x00\x1f \x7f\b\f\n\r\t\"\\/", "<&>", "é\u2028\u2029\u202a😀", "\xff", "a\xc3", "\xed\xa0\x80\xe2\x80", "\ufffd"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var want bytes.Buffer
		encoder := json.NewEncoder(&want)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(text); err != nil {
			t.Fatal(err)
		}
		if got := string(AppendString([]byte("in front"), text)) + "\n"; got != "in front"+want.String() {
			t.Errorf("%q is %s, want %s", text, got, want.String())
		}
	})
}
