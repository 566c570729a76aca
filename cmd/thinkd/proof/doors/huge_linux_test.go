package doors

import (
	"fmt"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// TestHugePrompt says 50 MB at once, in both framings. It is refused and skipped while it comes: the memory that the
// daemon needs is bounded by its limit for a message, 8 MiB.
func TestHugePrompt(t *testing.T) {
	t.Parallel()
	binary := proof.PlainProgram(t)
	const most = 4 * 8 << 20
	half := strings.Repeat("a long word ", 1<<20/12)
	for name, frame := range map[string]func(head, tail string, size int) (string, string){
		"line":           func(head, tail string, _ int) (string, string) { return head, tail + "\n" },
		"content-length": func(head, tail string, size int) (string, string) { return proof.Headers(size) + head, tail },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := proof.DataDir(t)
			cmd := proof.Command(t, nil, "--data", data, "stdio")
			cmd.Path, cmd.Args[0] = binary, binary
			f := proof.StartFramed(t, cmd, name == "content-length")
			var made struct {
				ID string `json:"session_id"`
			}
			f.Call(1, "session/new", map[string]any{"model_id": "sim/claude"}, &made)
			base := int(proof.MemoryOf(t, cmd.Process.Pid).Peak)
			head := fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"session_id":%q,"text":"`, made.ID)
			tail := `"}}`
			size := len(head) + 50*len(half) + len(tail)
			begin, end := frame(head, tail, size)
			f.Write(begin)
			for range 50 {
				f.Write(half)
			}
			f.Write(end)
			m := f.Read()
			if m.ID != nil || m.Error == nil || m.Error.Code != 1007 {
				t.Errorf("%d bytes are answered with %s", size, m.Raw)
			}
			now := int(proof.MemoryOf(t, cmd.Process.Pid).Peak)
			proof.Judge(t, now-base <= most, "the daemon had %d KiB, and %d KiB before", now>>10, base>>10)
			if now-base > 50<<20 { // as much as was said
				t.Errorf("the daemon had %d KiB, and %d KiB before", now>>10, base>>10)
			}
			// What comes next is heard, and nothing was kept.
			var page struct{ Messages []any }
			f.Call(3, "session/history", map[string]any{"session_id": made.ID}, &page)
			if len(page.Messages) != 0 {
				t.Errorf("the session has %d messages", len(page.Messages))
			}
			f.End()
		})
	}
}
