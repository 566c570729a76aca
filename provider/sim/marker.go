package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

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
	{name: "sources", usage: "sources", help: "sources of the text; not over Ollama and Converse", bare: true,
		set: func(a *Answer, _ string) error { a.Sources = true; return nil }},
	{name: "search", usage: "search=N", help: "search the web N times on the vendor's servers, if the request allows it (1 to 20)",
		set: func(a *Answer, v string) error { return positive(&a.Searches, v, 20) }},
	{name: "code", usage: "code=N", help: "run N programs on the vendor's servers, if the request allows it (1 to 20)",
		set: func(a *Answer, v string) error { return positive(&a.Programs, v, 20) }},
	{name: "tool", usage: "tool=NAME", help: "call this tool; its arguments fit the schema that the client offers",
		set: func(a *Answer, v string) error {
			if !portable.ToolName().MatchString(v) {
				return fmt.Errorf("a tool's name consists of letters, digits, _ and -")
			}
			a.Tool = v
			return nil
		}},
	{name: "args", usage: "args={…}", help: "the arguments of the call, as JSON; spaces are allowed",
		set: func(a *Answer, v string) error { a.Args = json.RawMessage(v); return nil }},
	{name: "unchecked", usage: "unchecked", help: "call it even if the client does not offer it, or args do not fit its schema", bare: true,
		set: func(*Answer, string) error { return nil }},
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

// run is a sequence of markers that only spaces and at most one line break separate: the steps of one turn.
type run struct {
	start, end int
	markers    [][]string // the words of each marker
}

// runs finds the markers of a prompt.
func runs(prompt string) (list []run, err error) {
	for at := 0; ; {
		next := strings.Index(prompt[at:], MarkerOpen)
		if next < 0 {
			return list, nil
		}
		between := prompt[at : at+next]
		start := at + next
		split, end, err := splitMarker(prompt, start+len(MarkerOpen))
		if err != nil {
			return nil, err
		}
		if last := len(list) - 1; last >= 0 && strings.TrimSpace(between) == "" && strings.Count(between, "\n") < 2 {
			list[last].markers, list[last].end = append(list[last].markers, split), end
		} else {
			list = append(list, run{start, end, [][]string{split}})
		}
		at = end
	}
}

// splitMarker returns the words of the marker whose words begin at a place in the prompt, and the place behind the marker.
func splitMarker(prompt string, at int) (list []string, end int, err error) {
	for {
		rest := strings.TrimLeftFunc(prompt[at:], unicode.IsSpace)
		at = len(prompt) - len(rest)
		if strings.HasPrefix(rest, MarkerClose) {
			return list, at + len(MarkerClose), nil
		}
		n := strings.IndexFunc(rest, unicode.IsSpace)
		if closing := strings.Index(rest, MarkerClose); n < 0 || closing >= 0 && closing < n {
			n = closing
		}
		if value, ok := strings.CutPrefix(rest, "args="); ok { // the one word that may contain spaces and brackets
			d := json.NewDecoder(strings.NewReader(value))
			var v map[string]any
			err := d.Decode(&v)
			if err == nil && v == nil {
				err = errors.New("it is null")
			}
			if err != nil {
				return nil, 0, fmt.Errorf("sim: args in the marker must be a JSON object, such as args={\"path\":\"a.txt\"}: %w", err)
			}
			n = len("args=") + int(d.InputOffset())
		}
		if n < 0 {
			return nil, 0, fmt.Errorf("sim: the marker %s has no %s", MarkerOpen, MarkerClose)
		}
		list = append(list, rest[:n])
		at += n
	}
}

// record matches the heading of a turn in the record of a conversation, which a client sends to have it summarised.
var record = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^\[(?:user|assistant)(?:, pinned)?\]$`) })

func isRecord(prompt string) bool {
	return (strings.Contains(prompt, "[user") || strings.Contains(prompt, "[assistant")) && // the expression takes long for long prompts
		record().MatchString(prompt)
}

// quotedMarker matches a marker in a record, which may be cut off.
var quotedMarker = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)\[\[sim:.*?(?:\]\]|$)`) })

// LastMarked returns the latest of several prompts in one message, by their markers. Clients join prompts that have no answer if
// the template of a host demands that roles alternate.
func LastMarked(text string) string {
	list, err := runs(text)
	if err != nil || len(list) < 2 || isRecord(text) {
		return text
	}
	return strings.TrimSpace(text[list[len(list)-2].end:])
}

// markers splits a prompt into the answers that its markers request, and the rest. The answers are the steps of one turn. The
// error for a wrong word lists the valid ones. Markers in the record of a conversation requested the answers in that record.
func markers(prompt string) (steps []Answer, rest string, err error) {
	if !strings.Contains(prompt, MarkerOpen) {
		return nil, prompt, nil
	}
	if isRecord(prompt) {
		return nil, quotedMarker().ReplaceAllString(prompt, ""), nil
	}
	list, err := runs(prompt)
	switch {
	case err != nil:
		return nil, "", err
	case len(list) == 0:
		return nil, prompt, nil
	case len(list) > 1:
		return nil, "", fmt.Errorf("sim: more than one marker in a prompt, with text between them: markers of several steps follow each other directly")
	}
	for i, split := range list[0].markers {
		a, err := marked(split)
		if err != nil {
			return nil, "", err
		}
		if a.Tool == "" && i < len(list[0].markers)-1 {
			return nil, "", fmt.Errorf("sim: more than one marker in a prompt, and marker %d ends the turn: all except the last need tool=NAME", i+1)
		}
		steps = append(steps, a)
	}
	return steps, strings.TrimSpace(prompt[:list[0].start] + prompt[list[0].end:]), nil
}

// marked returns the answer that the words of one marker request.
func marked(split []string) (a Answer, err error) {
	seen := map[string]bool{}
	for _, text := range split {
		name, value, valued := strings.Cut(text, "=")
		i := slices.IndexFunc(words, func(w word) bool { return w.name == name })
		if i < 0 || seen[name] || words[i].bare == valued {
			return Answer{}, fmt.Errorf("sim: %q in the marker; its words, each at most once: %s", text, usages())
		}
		seen[name] = true
		if err := words[i].set(&a, value); err != nil {
			return Answer{}, fmt.Errorf("sim: %q in the marker: %w", text, err)
		}
	}
	a.CheckTool = a.Tool != "" && !seen["unchecked"]
	return a, a.check(seen)
}

// stepAt returns the answer that the steps request after a number of rounds of tools, the number of rounds that belong to this
// step, and the number of the step. The last step also describes what follows its rounds.
func stepAt(steps []Answer, rounds int) (a Answer, own, step int) {
	for i, a := range steps {
		if n := max(1, a.Rounds); rounds < n || i == len(steps)-1 {
			return a, rounds, i
		} else {
			rounds -= n
		}
	}
	return Answer{}, rounds, 0
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
		{"args", a.Tool != "", "tool=NAME"},
		{"unchecked", a.Tool != "", "tool=NAME"},
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
