package exchange

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkOutline measures the outline of a long prompt, which is made after each call.
func BenchmarkOutline(b *testing.B) {
	var body strings.Builder
	body.WriteString(`{"system":[{"type":"text","text":"You are careful."}],"messages":[`)
	for i := range 5000 {
		if i > 0 {
			body.WriteByte(',')
		}
		fmt.Fprintf(&body, `{"role":"user","content":[{"type":"text","text":"Which date is later, %d?"}]},`, i)
		fmt.Fprintf(&body, `{"role":"assistant","content":[{"type":"thinking","thinking":%q,"signature":%q},{"type":"text","text":"The second."}]}`,
			strings.Repeat("Compare both. ", 10), strings.Repeat("EqQBCkYI", 25))
	}
	body.WriteString(`]}`)
	data := []byte(body.String())
	c := Prompt{Tools: "tools", System: "system", List: "messages"}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if o := c.outline(data); len(o.Pieces) != 10_001 {
			b.Fatal(len(o.Pieces))
		}
	}
}
