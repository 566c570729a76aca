package sim

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/thinkd/thinkd/provider/sim/portable"
)

// word is one word of the marker: a bare word, or a name with a value.
type word struct {
	name  string
	usage string
	help  string
	bare  bool
	set   func(a *Answer, value string) error
}

// categories of refusals. [docs: refusals-and-fallback]
var categories = []string{"cyber", "bio", "frontier_llm", "reasoning_extraction", "general_harms"}

// wordsMost limits the words that a marker can request: about 1 MB of text.
const wordsMost = 200_000

var words = []word{
	{name: "thinking", usage: "thinking=N", help: "about N words of thinking; 0: none",
		set: func(a *Answer, v string) (err error) { a.Thinking, err = count(v, wordsMost); return err }},
	{name: "text", usage: "text=N", help: "about N words of text",
		set: func(a *Answer, v string) (err error) { a.Text, err = count(v, wordsMost); return err }},
	{name: "blocks", usage: "blocks=N", help: "thinking in N blocks (1 to 20)",
		set: func(a *Answer, v string) error { return positive(&a.Blocks, v, 20) }},
	{name: "redacted", usage: "redacted", help: "one more block of thinking, redacted", bare: true,
		set: func(a *Answer, _ string) error { a.Redacted = true; return nil }},
	{name: "image", usage: "image", help: "an image after the text, over Chat Completions and Gemini", bare: true,
		set: func(a *Answer, _ string) error { a.Image = true; return nil }},
	{name: "sources", usage: "sources", help: "sources of the text; not over Ollama", bare: true,
		set: func(a *Answer, _ string) error { a.Sources = true; return nil }},
	{name: "search", usage: "search=N", help: "search the web N times on the vendor's servers, if the request allows it (1 to 20)",
		set: func(a *Answer, v string) error { return positive(&a.Searches, v, 20) }},
	{name: "code", usage: "code=N", help: "run N programs on the vendor's servers, if the request allows it (1 to 20)",
		set: func(a *Answer, v string) error { return positive(&a.Programs, v, 20) }},
	{name: "tool", usage: "tool=NAME", help: "call this tool with {\"about\": …}, even if the client does not offer it",
		set: func(a *Answer, v string) error {
			if !portable.ToolName().MatchString(v) {
				return fmt.Errorf("a tool's name consists of letters, digits, _ and -")
			}
			a.Tool = v
			return nil
		}},
	{name: "rounds", usage: "rounds=N", help: "call the tool N times, one after the other",
		set: func(a *Answer, v string) error { return positive(&a.Rounds, v, 1000) }},
	{name: "calls", usage: "calls=N", help: "call it N times in one message, each time for another part (1 to 20)",
		set: func(a *Answer, v string) error { return positive(&a.Calls, v, 20) }},
	{name: "served", usage: "served=NAME", help: "the answer says that this model wrote it",
		set: func(a *Answer, v string) error {
			if v == "" || len(v) > 100 {
				return fmt.Errorf("a model's name of 1 to 100 bytes")
			}
			a.Served = v
			return nil
		}},
	{name: "stop", usage: "stop=REASON", help: "max_tokens, refusal, pause_turn or model_context_window_exceeded",
		set: func(a *Answer, v string) error {
			if !slices.Contains([]string{"max_tokens", "refusal", "pause_turn", "model_context_window_exceeded"}, v) {
				return fmt.Errorf("max_tokens, refusal, pause_turn or model_context_window_exceeded")
			}
			a.Stop = v
			return nil
		}},
	{name: "category", usage: "category=WORD", help: "of a refusal: cyber, bio, frontier_llm, reasoning_extraction, general_harms",
		set: func(a *Answer, v string) error {
			if !slices.Contains(categories, v) {
				return fmt.Errorf("one of %v", categories)
			}
			a.Category = v
			return nil
		}},
	{name: "pace", usage: "pace=N", help: "N deltas per second; 0: as fast as possible",
		set: func(a *Answer, v string) error {
			f, err := strconv.ParseFloat(v, 64)
			if err != nil || !(f >= 0 && f <= 1e6) {
				return fmt.Errorf("a number of deltas a second, 0 to 1000000")
			}
			if a.Pace = f; f == 0 {
				a.Pace = -1
			}
			return nil
		}},
	{name: "fault", usage: "fault=WORD", help: "one of the faults below",
		set: func(a *Answer, v string) error {
			if !slices.Contains(faults, Fault(v)) {
				return fmt.Errorf("one of %v", faults)
			}
			a.Fault = Fault(v)
			return nil
		}},
	{name: "after", usage: "after=N", help: "the fault or the stop comes after N deltas, hidden ones included",
		set: func(a *Answer, v string) (err error) { a.After, err = count(v, 1<<30); return err }},
	{name: "bytes", usage: "bytes=N", help: "fault=cut after N bytes of the body",
		set: func(a *Answer, v string) error { return positive(&a.Bytes, v, 1<<30) }},
	{name: "times", usage: "times=N", help: "the fault happens to the first N requests with this prompt",
		set: func(a *Answer, v string) error { return positive(&a.Times, v, 1000) }},
	{name: "retry_after", usage: "retry_after=S", help: "the header of that name, in seconds",
		set: func(a *Answer, v string) error {
			n, err := count(v, 1<<30)
			if err != nil {
				return err
			}
			a.Head = http.Header{"Retry-After": {strconv.Itoa(*n)}}
			return nil
		}},
}

func count(v string, most int) (*int, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 || n > most {
		return nil, fmt.Errorf("a number from 0 to %d", most)
	}
	return &n, nil
}

func positive(p *int, v string, most int) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > most {
		return fmt.Errorf("a number from 1 to %d", most)
	}
	*p = n
	return nil
}

// MarkerOpen and MarkerClose enclose the words of a marker in a prompt.
const MarkerOpen, MarkerClose = "[[sim:", "]]"

// marker splits a prompt into the answer that its marker requests and the rest. The error for a wrong word lists the valid
// ones.
func marker(prompt string) (a Answer, rest string, err error) {
	before, after, found := strings.Cut(prompt, MarkerOpen)
	if !found {
		return Answer{}, prompt, nil
	}
	body, after, closed := strings.Cut(after, MarkerClose)
	if !closed {
		return Answer{}, "", fmt.Errorf("sim: the marker %s has no %s", MarkerOpen, MarkerClose)
	}
	if strings.Contains(after, MarkerOpen) {
		return Answer{}, "", fmt.Errorf("sim: more than one marker in a prompt")
	}
	seen := map[string]bool{}
	for _, text := range strings.Fields(body) {
		name, value, valued := strings.Cut(text, "=")
		i := slices.IndexFunc(words, func(w word) bool { return w.name == name })
		if i < 0 || seen[name] || words[i].bare == valued {
			return Answer{}, "", fmt.Errorf("sim: %q in the marker; its words, each at most once: %s", text, usages())
		}
		seen[name] = true
		if err := words[i].set(&a, value); err != nil {
			return Answer{}, "", fmt.Errorf("sim: %q in the marker: %w", text, err)
		}
	}
	if err := a.check(seen); err != nil {
		return Answer{}, "", err
	}
	return a, strings.TrimSpace(before + after), nil
}

// check refuses words that have no effect, because a test with such a word would not test what it seems to.
func (a *Answer) check(seen map[string]bool) error {
	for _, need := range []struct {
		word string
		met  bool
		why  string
	}{
		{"after", a.Fault.Breaks() || a.Stop != "" && a.Stop != "pause_turn", "a fault that comes in mid-stream, or a stop"},
		{"bytes", a.Fault == FaultCut && a.After == nil, "fault=cut without after"},
		{"times", a.Fault != "", "a fault"},
		{"category", a.Stop == "refusal", "stop=refusal"},
		{"rounds", a.Tool != "", "tool=NAME"},
		{"calls", a.Tool != "", "tool=NAME"},
		{"retry_after", a.Fault.Refuses() && a.After == nil, "a fault that has an HTTP status"},
	} {
		if seen[need.word] && !need.met {
			return fmt.Errorf("sim: %q in the marker needs %s", need.word, need.why)
		}
	}
	return nil
}

func usages() string {
	var all []string
	for _, w := range words {
		all = append(all, w.usage)
	}
	return strings.Join(all, " ")
}
