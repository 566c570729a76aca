package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp/syntax"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
)

// measured runs f, prints what it took and returns the bytes that it allocated, which do not depend on the machine's pace.
func measured(t *testing.T, what string, f func()) (allocated uint64) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	begun := time.Now()
	f()
	took := time.Since(begun)
	runtime.ReadMemStats(&after)
	allocated = after.TotalAlloc - before.TotalAlloc
	t.Logf("%s: %v, %d KiB allocated", what, took.Round(time.Millisecond), allocated>>10)
	return allocated
}

// Patterns of a few bytes must not stand for hours of work. They are refused before anything is compiled or matched.
func TestHostilePatterns(t *testing.T) {
	testgo.Cost(t)
	h, _ := at(t, map[string]string{"a.txt": strings.Repeat("a", 1000) + "\n"})
	for name, input := range map[string]in{
		"braces":                  {"pattern": "a", "glob": strings.Repeat("{,}", 45)},
		"braces in braces":        {"pattern": "a", "glob": strings.Repeat("{{a,b},{c,d}}", 8)},
		"braces without an end":   {"pattern": "a", "glob": strings.Repeat("{,", 45)},
		"a long glob":             {"pattern": "a", "glob": strings.Repeat("**/", 200)},
		"repetitions":             {"pattern": "(?:a?){1000}"},
		"repeated repetitions":    {"pattern": strings.Repeat("(?:a?){1000}", 100)},
		"repetitions in others":   {"pattern": "((a{1,30}){1,30}){30}"},
		"classes":                 {"pattern": `[\pL\pN]{999}`},
		"a long pattern":          {"pattern": strings.Repeat("a", maxPattern+1)},
		"groups inside of groups": {"pattern": strings.Repeat("(", 1500) + strings.Repeat(")", 1500)},
	} {
		t.Run(name, func(t *testing.T) {
			var got string
			if allocated := measured(t, name, func() { got = call(t, h, "search", input) }); allocated > 4<<20 {
				t.Errorf("refusing it allocates %d bytes", allocated)
			}
			if !strings.HasPrefix(got, "failed: pattern: ") && !strings.HasPrefix(got, "failed: glob: ") {
				t.Errorf("%.200s", got)
			}
		})
	}
	for _, input := range []in{{"pattern": "a{10}", "glob": "*.{txt,md}"}, {"pattern": `^\s*(func|type)?\s*a`, "glob": "{a,b}.{txt,md,go}"}, {"pattern": strings.Repeat("a", 900)}} {
		if got := call(t, h, "search", input); !strings.HasPrefix(got, "a.txt:1: ") {
			t.Errorf("%v: %.200s", input, got)
		}
	}
}

// The programs that patterns compile to are not larger than they were counted.
func TestInstructions(t *testing.T) {
	for _, pattern := range []string{"a", "abc", "a*b+c?", "(a|b|c)*", "a{3,5}", "(?:a?){20}", "((ab){2,3}){4}", `\w+@\w+\.com`, "(?i)straße", "^$", "[a-z]{2,}", "x{0}"} {
		tree, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		counted := instructions(tree)
		program, err := syntax.Compile(tree.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		if len(program.Inst) > 2*counted+2 {
			t.Errorf("%s: %d instructions, counted as %d", pattern, len(program.Inst), counted)
		}
	}
}

// Edits whose result would be too large are refused before it is made.
func TestHostileEdits(t *testing.T) {
	testgo.Cost(t)
	h, dir := at(t, map[string]string{"a": "x", "wide": strings.Repeat("x", 1<<20)})
	explode := func(n int) (edits []in) {
		for range n {
			edits = append(edits, in{"old_text": "x", "new_text": strings.Repeat("x", 4000), "all": true})
		}
		return edits
	}
	var got string
	for file, edits := range map[string][]in{"a": explode(3), "wide": explode(1)} {
		if allocated := measured(t, "explosion of "+file, func() { got = call(t, h, "edit_file", in{"path": file, "edits": edits}) }); allocated > 64<<20 {
			t.Errorf("%s: it allocates %d bytes", file, allocated)
		}
		has(t, file, got, "failed: edit ", "the file would be larger than 16777216 bytes; nothing was changed")
	}
	has(t, "many", call(t, h, "edit_file", in{"path": "wide", "edits": explode(maxEdits + 1)}), "failed: edits: more than 1000")

	// A line of a large file is changed in the memory of a few copies, and the difference is of that line.
	var log bytes.Buffer
	for i := 0; log.Len() < 15<<20; i++ {
		fmt.Fprintf(&log, "2026-11-22T12:00:00Z level=info msg=\"request %d\" status=200\n", i)
	}
	if err := os.WriteFile(filepath.Join(dir, "log"), log.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	if allocated := measured(t, "a line of 15 MiB", func() {
		got = call(t, h, "edit_file", in{"path": "log", "edits": []in{{"old_text": `"request 100000"`, "new_text": `"another"`}}})
	}); allocated > 128<<20 {
		t.Errorf("it allocates %d bytes", allocated)
	}
	has(t, "difference", got, "@@ -99998,7 +99998,7 @@\n", "-2026-11-22T12:00:00Z level=info msg=\"request 100000\" status=200\n+2026-11-22T12:00:00Z level=info msg=\"another\"")
	if len(got) > 1000 {
		t.Errorf("the difference has %d bytes", len(got))
	}
	if allocated := measured(t, "all lines of 15 MiB", func() {
		got = call(t, h, "edit_file", in{"path": "log", "edits": []in{{"old_text": `level=info`, "new_text": `level=warn`, "all": true}}})
	}); allocated > 128<<20 {
		t.Errorf("it allocates %d bytes", allocated)
	}
	has(t, "difference", got, "too many to show the difference")
}

// Each tool ends when its context does: the file below has no end, and the search would take days.
func TestHostileCancel(t *testing.T) {
	testgo.Cost(t)
	h, dir := at(t, map[string]string{"x": ""})
	long := filepath.Join(dir, "long")
	if err := os.WriteFile(long, bytes.Repeat([]byte("text "), 4<<10), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(long, 1<<40); err != nil { // sparse
		t.Skipf("needs: sparse files: %v", err)
	}
	for i := range 300 {
		if err := os.WriteFile(filepath.Join(dir, "f"+strconv.Itoa(i)), []byte(strings.Repeat("ab\n", 1<<18)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, input := range map[string]string{"read_file": `{"path":"long","from_line":2}`, "search": `{"pattern":"(a?b?){80}(c|d)$"}`} {
		t.Run(name, func(t *testing.T) {
			ctx := &countdown{Context: context.Background(), left: 1000}
			var r provider.ToolResult
			measured(t, name, func() {
				r = h.Run(ctx, provider.ToolCall{Name: name, Input: json.RawMessage(input)}, func(string) {})
			})
			if !r.Failed || ctx.left != 0 {
				t.Errorf("%+v after %d looks at the context", r, 1000-ctx.left)
			}
		})
	}
	h, _ = at(t, map[string]string{"line": strings.Repeat("ab", 64<<10)})
	measured(t, "the dearest pattern on the longest line", func() { // which nothing can stop
		if got := call(t, h, "search", in{"pattern": "(?:a?b?){135}(c|d)$"}); got != "[nothing was found]" {
			t.Error(got)
		}
	})
	t.Run("run", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		measured(t, "run", func() {
			h.Run(ctx, provider.ToolCall{Name: "run", Input: json.RawMessage(`{"command":"sleep 1000 & echo begun; sleep 1000"}`)}, func(string) { cancel() })
		})
	})
}

// countdown is a context that is cancelled when it has been looked at so many times.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left > 0 {
		c.left--
		return nil
	}
	return context.Canceled
}

// What is shown of a change makes the new text of the old one.
func TestHunks(t *testing.T) {
	words := []string{"a\n", "b\n", "c\n", "\n", "same\n", "other\n", "no end"}
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		text := func(n int) (s string) {
			for range r.IntN(n) {
				s += words[r.IntN(len(words)-1)]
			}
			if r.IntN(3) == 0 {
				s += words[len(words)-1]
			}
			return s
		}
		head, tail := text(20), text(20)
		old, fresh := head+text(6)+tail, head+text(6)+tail
		d, ok := hunks(old, fresh)
		if got := patched(old, d); !ok || got != fresh {
			t.Fatalf("seed %d: %q to %q: %q gives %q", seed, old, fresh, d, got)
		}
	}
}

// patched applies hunks.
func patched(old, d string) string {
	lines := strings.SplitAfter(old, "\n")
	var out strings.Builder
	at, last := 0, byte(' ')
	for line := range strings.Lines(d) {
		var a, b, c, n int
		if _, err := fmt.Sscanf(line, "@@ -%d,%d +%d,%d @@", &a, &b, &c, &n); err == nil {
			for ; at < a-1; at++ {
				out.WriteString(lines[at])
			}
			continue
		}
		switch line[0] {
		case '\\': // the line before has no end
			if last == '-' {
				break
			}
			text := strings.TrimSuffix(out.String(), "\n")
			out.Reset()
			out.WriteString(text)
		case '-':
			at++
		case '+':
			out.WriteString(line[1:])
		case ' ':
			out.WriteString(line[1:])
			at++
		}
		last = line[0]
	}
	for ; at < len(lines); at++ {
		out.WriteString(lines[at])
	}
	return out.String()
}
