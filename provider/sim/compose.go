package sim

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/thinkd/thinkd/provider/sim/schema"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// Ask is a request in a form that is independent of the API. A face fills it while it reads a request.
type Ask struct {
	Prompt          string        // the last prompt; its marker is removed before the answer is composed
	Results         []string      // the results of tools since the prompt
	Rounds          int           // the number of times that the model called tools since the prompt
	Seed            strict.Digest // of everything that the answer may depend on
	ThinkingWords   int           // approximate number of words of thinking; 0: none
	ThinkingBlocks  int           // number of blocks of thinking; 0: one
	NotesInThinking bool          // text before a call is sent as thinking

	Tools  map[string]map[string]any // the schemas of the tools that the request offers, by name
	Output map[string]any            // the schema of the answer; nil: it is prose
	Served []string                  // the tools that the vendor may run: web_search, code_execution

	call *Part // the call that the request demands; see Force
}

// Compose returns the content of the answer to a request. Equal arguments give equal content.
func (a *Answer) Compose(q Ask) []Part {
	w := newWriter(q.Seed, q.Prompt)
	w.results = q.Results
	var parts []Part
	if n := Default(a.Thinking, q.ThinkingWords); n > 0 {
		blocks := max(1, q.ThinkingBlocks)
		if a.Blocks > 0 {
			blocks = a.Blocks
		}
		for i := range blocks {
			parts = append(parts, Part{Kind: Thinking, Text: w.thinking(q.Prompt, n/blocks+1, i == 0, i == blocks-1)})
		}
	}
	if a.Redacted {
		parts = append(parts, Part{Kind: Redacted, Text: w.thinking(q.Prompt, 40, false, false)})
	}
	if a.Fault == FaultEndlessThinking {
		return append(parts, Part{Kind: Thinking, Text: w.sentence(doubts) + " ", Endless: true})
	}
	if a.Fault == FaultEndlessText {
		return append(parts, Part{Kind: Text, Text: w.sentence(claims) + " ", Endless: true})
	}
	call := q.call
	var more []Part
	if a.Tool != "" && q.Rounds < max(1, a.Rounds) && (call == nil || call.Name != a.Tool) {
		if wrong := a.wrongCall(q); wrong != "" {
			return append(parts, Part{Kind: Text, Text: wrong})
		}
		calls := w.calls(a, q)
		call, more = &calls[0], calls[1:]
	}
	if call != nil && a.CallID != "" {
		call.ID = a.CallID
	}
	if call != nil {
		note := "I will ask " + call.Name + " about " + w.topic() + "."
		if a.Says != "" {
			note = a.Says
		}
		switch {
		case !q.NotesInThinking:
			parts = append(parts, Part{Kind: Text, Text: note})
		case len(parts) > 0:
			parts = append(parts, Part{Kind: Thinking, Text: note, Note: true})
		}
		return append(append(parts, *call), more...)
	}
	parts = append(parts, w.served(a, q.Served)...)
	text := a.Says
	if q.Output != nil && text == "" {
		text = string(strict.AppendCanonical(nil, schema.Example(q.Output, w.topic)))
	}
	if n := Default(a.Text, 160); text == "" && n > 0 {
		text = w.answer(q.Prompt, n)
	}
	if text != "" {
		parts = append(parts, Part{Kind: Text, Text: text})
	}
	return append(parts, a.media(text)...)
}

// served returns the calls of the vendor's own tools.
func (w *writer) served(a *Answer, allowed []string) (parts []Part) {
	add := func(n int, name, member, text string) {
		for i := range n {
			if slices.Contains(allowed, name) {
				about := fmt.Sprintf("%s %s %d", text, w.topic(), i+1)
				parts = append(parts, Part{Kind: ServerCall, Name: name, Input: fmt.Appendf(nil, `{"%s":%s}`, member, strict.AppendQuoted(nil, about))})
			}
		}
	}
	add(a.Searches, "web_search", "query", "about")
	add(a.Programs, "code_execution", "code", "# about")
	return parts
}

// calls returns the calls that the answer requests.
func (w *writer) calls(a *Answer, q Ask) (list []Part) {
	tool := q.Tools[a.Tool]
	properties, _ := tool["properties"].(map[string]any)
	takes := func(name string) bool { return properties[name] != nil }
	input := map[string]any{}
	if len(tool) > 0 {
		if made, ok := schema.Example(tool, w.topic).(map[string]any); ok {
			input = made
		}
	}
	if input["about"] == nil && (len(properties) == 0 || takes("about")) {
		input["about"] = w.topic()
	}
	for part := range max(1, a.Calls) {
		for name, n := range map[string]int{"round": q.Rounds + 1, "part": part + 1} {
			if a.Calls > 0 && (takes(name) || tool["additionalProperties"] != false) {
				input[name] = json.Number(strconv.Itoa(n))
			}
		}
		call := Part{Kind: Call, Name: a.Tool, Input: a.Args}
		if call.Input == nil {
			call.Input = strict.AppendCanonical(nil, input)
		}
		list = append(list, call)
	}
	return list
}

// wrongCall returns the text of the answer if the tool cannot be called as its marker requests; empty: it can.
func (a *Answer) wrongCall(q Ask) string {
	if !a.CheckTool {
		return ""
	}
	const remedy = "Correct the marker in your prompt, or add the word unchecked to call the tool anyway."
	tool, offered := q.Tools[a.Tool]
	if !offered {
		names := cmp.Or(strings.Join(slices.Sorted(maps.Keys(q.Tools)), ", "), "none")
		return fmt.Sprintf("The simulator did not call %s: this request does not offer that tool. Tools of the request: %s. %s", a.Tool, names, remedy)
	}
	if a.Args == nil {
		return ""
	}
	v, err := strict.Decode(a.Args)
	if err == nil {
		err = schema.Check(tool, v)
	}
	if err == nil {
		return ""
	}
	return fmt.Sprintf("The simulator did not call %s: args do not fit the schema of the tool: %s. The schema: %s. %s",
		a.Tool, strings.Replace(err.Error(), "the value", "the object", 1), cut(string(strict.AppendCanonical(nil, tool)), 2000), remedy)
}

// Default returns the number that a script requests, or usual if it requests none.
func Default(asked *int, usual int) int {
	if asked != nil {
		return *asked
	}
	return usual
}

// StopsAfter returns the number of deltas after which the Stop comes in an answer that has so many, or -1 if none comes.
func (a Answer) StopsAfter(deltas int) int {
	switch {
	case a.Stop == "" || a.Fault.Breaks():
		return -1
	case a.Stop == "pause_turn":
		return deltas
	case a.Stop == "refusal":
		return Default(a.After, 0)
	}
	return Default(a.After, max(1, deltas/2))
}

// NewRand returns random numbers that depend only on d.
func NewRand(d strict.Digest) *rand.Rand {
	return rand.New(rand.NewPCG(binary.BigEndian.Uint64(d[:8]), binary.BigEndian.Uint64(d[8:16])))
}

// writer makes sentences from patterns and from words of the prompt. They only have to look like prose.
type writer struct {
	rng     *rand.Rand
	topics  []string
	results []string
	deck    []string // the topics that are left in this round
	last    int      // the index of the last pattern
}

func newWriter(seed strict.Digest, prompt string) *writer {
	return &writer{rng: NewRand(seed), topics: topics(prompt), last: -1}
}

// topic draws from a shuffled deck, so that every word of the prompt occurs.
func (w *writer) topic() string {
	if len(w.deck) == 0 {
		w.deck = slices.Clone(w.topics)
		w.rng.Shuffle(len(w.deck), func(i, j int) { w.deck[i], w.deck[j] = w.deck[j], w.deck[i] })
	}
	t := w.deck[0]
	w.deck = w.deck[1:]
	return t
}

// sentence fills one of the patterns, never the same one twice in a row.
func (w *writer) sentence(bank []string) string {
	i := w.rng.IntN(len(bank))
	if i == w.last {
		i = (i + 1) % len(bank)
	}
	w.last = i
	s := bank[i]
	for strings.Contains(s, "%") {
		s = strings.Replace(s, "%", w.topic(), 1)
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// thinking returns about n words in paragraphs.
func (w *writer) thinking(prompt string, n int, first, last bool) string {
	var b strings.Builder
	words, inParagraph := 0, 0
	say := func(s string) {
		if b.Len() > 0 {
			if inParagraph >= 4 {
				b.WriteString("\n\n")
				inParagraph = 0
			} else {
				b.WriteByte(' ')
			}
		}
		b.WriteString(s)
		words += len(strings.Fields(s))
		inParagraph++
	}
	switch {
	case first && len(w.results) > 0:
		say("The tool gave back “" + cut(w.results[len(w.results)-1], 80) + "”.")
	case first:
		say("The user says “" + cut(prompt, 80) + "”.")
	}
	for words < n-12 {
		switch p := float64(words) / float64(n); {
		case p < 0.3:
			say(w.sentence(openings))
		case p < 0.75:
			say(w.sentence(doubts))
		default:
			say(w.sentence(checks))
		}
	}
	if last {
		say(w.sentence(ends))
	}
	if n < 25 {
		return limitWords(b.String(), n)
	}
	return b.String()
}

// answer returns about n words of Markdown.
func (w *writer) answer(prompt string, n int) string {
	if n < 40 {
		return limitWords(w.sentence(claims)+" "+w.sentence(claims)+" "+w.sentence(claims)+" "+w.sentence(claims), n)
	}
	var b strings.Builder
	b.WriteString("## " + title(w.topics[0]) + "\n\n")
	if len(w.results) > 0 {
		b.WriteString("The tool answered “" + cut(w.results[len(w.results)-1], 60) + "”. ")
	}
	b.WriteString("You asked: *" + cut(prompt, 60) + "* " + w.sentence(claims) + "\n\n")
	for range 3 {
		b.WriteString("- **" + title(w.topic()) + "**: " + w.sentence(claims) + "\n")
	}
	if aboutCode(prompt) {
		b.WriteString("\n" + w.code())
	}
	for section, words := 0, len(strings.Fields(b.String())); words < n-25; section++ {
		if section%4 == 3 {
			b.WriteString("\n### " + title(w.topic()) + "\n")
		}
		paragraph := w.sentence(claims) + " " + w.sentence(checks) + " " + w.sentence(claims)
		words += len(strings.Fields(paragraph))
		b.WriteString("\n" + paragraph + "\n")
	}
	b.WriteString("\n*This was the simulator: it keeps every rule of the wire and understands nothing.*")
	return b.String()
}

func (w *writer) code() string {
	name := "check"
	for _, t := range w.topics {
		if strings.IndexFunc(t, func(r rune) bool { return r < 'a' || r > 'z' }) < 0 {
			name = t
			break
		}
	}
	return "```go\n// " + name + " reports what there is to say.\nfunc " + name + "(in []string) (n int) {\n" +
		"\tfor _, s := range in {\n\t\tif s != \"\" {\n\t\t\tn++\n\t\t}\n\t}\n\treturn n\n}\n```\n"
}

func aboutCode(prompt string) bool {
	for f := range strings.FieldsFuncSeq(prompt, func(r rune) bool { return !unicode.IsLetter(r) }) {
		switch strings.ToLower(f) {
		case "code", "function", "func", "program", "script", "go", "golang", "python", "javascript", "typescript",
			"rust", "bug", "test", "compile", "api", "sql", "regex", "json":
			return true
		}
	}
	return false
}

// topics returns the words of a prompt that sentences can be about, in order, each once. It returns at least one.
func topics(prompt string) []string {
	var found []string
	seen := map[string]bool{}
	for f := range strings.FieldsFuncSeq(prompt, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' }) {
		f = strings.Trim(strings.ToLower(f), "-")
		n := utf8.RuneCountInString(f)
		if n < 2 || n > 24 || n < 4 && isASCII(f) || seen[f] || strings.Contains(dull, " "+f+" ") {
			continue
		}
		seen[f] = true
		if found = append(found, f); len(found) == 12 {
			break
		}
	}
	if found == nil {
		return []string{"this"}
	}
	return found
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > unicode.MaxASCII }) < 0
}

const dull = " what which when where that this these those with from have does will would could should about into your they them then than there here please tell show give make like some more most very just also only much many been being were said write explain help need want know using used "

func title(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// cut returns at most n characters of s on one line.
func cut(s string, n int) string {
	var line []rune
	for f := range strings.FieldsSeq(s) {
		if len(line) > 0 {
			line = append(line, ' ')
		}
		if line = append(line, []rune(f)...); len(line) > n { // s may be long: read no more of it than that
			return strings.TrimSpace(string(line[:n])) + "…"
		}
	}
	return string(line)
}

// limitWords returns s up to the end of its nth word.
func limitWords(s string, n int) string {
	inWord, words := false, 0
	for i, r := range s {
		if space := unicode.IsSpace(r); space && inWord {
			if words == n {
				return s[:i]
			}
			inWord = false
		} else if !space && !inWord {
			inWord = true
			words++
		}
	}
	return s
}

// SplitWords splits s into pieces of a few words, at most 64 bytes and a character each. Joined, they are s.
func SplitWords(rng *rand.Rand, s string) []string {
	var pieces []string
	start, words, want := 0, 0, 1+rng.IntN(5)
	space := false
	for i, r := range s {
		now := unicode.IsSpace(r)
		if space && !now {
			words++
		}
		space = now
		if i > start && (words >= want || i-start >= 64) {
			pieces = append(pieces, s[start:i])
			start, words, want = i, 0, 1+rng.IntN(5)
		}
	}
	if start < len(s) {
		pieces = append(pieces, s[start:])
	}
	return pieces
}

// SplitEvery splits s into pieces of n characters.
func SplitEvery(s string, n int) []string {
	var pieces []string
	for r := []rune(s); len(r) > 0; r = r[min(n, len(r)):] {
		pieces = append(pieces, string(r[:min(n, len(r))]))
	}
	return pieces
}

// ThinkingFactor is the number of tokens of raw thinking for each token of its summary.
const ThinkingFactor = 2

// Patterns of sentences. % stands for a word of the prompt.
var (
	openings = []string{
		"the question turns on %, so that is where to begin.",
		"what is meant by % here? Most likely the everyday sense, not the technical one.",
		"let me separate what is given from what is asked: % is given, % is asked.",
		"there are two ways to read this, and they differ only in how they treat %.",
		"first the plain facts about %, then whatever follows from them.",
		"if I start from %, the part about % should fall into place.",
		"the mention of % narrows it down a good deal.",
		"I should keep % and % apart, they are easily mixed up.",
	}
	doubts = []string{
		"suppose the opposite were true of %: then % would make no sense, so no.",
		"that works for %, but does it hold at the edges?",
		"wait, I took % for granted, and nothing in the question says so.",
		"another way in: leave % aside and look only at %.",
		"it would be simpler to treat % as a special case of %.",
		"one more possibility is that % matters less than it seems.",
		"compare both readings side by side; only one of them survives %.",
		"the numbers do not decide it, the order of % and % does.",
		"hmm, that is too quick, since % may have changed in between.",
		"a small example with % in it would settle the matter.",
		"I could be wrong about %, so I want a second argument that does not need it.",
		"so far % points the same way as everything else.",
	}
	checks = []string{
		"check it against %: it still holds.",
		"going back over the steps, the one about % is the weakest, and it stands.",
		"both arguments agree on %, which is reassuring.",
		"nothing about % contradicts that.",
		"with % out of the way, what is left is short.",
		"the simplest case of % gives the same result.",
	}
	ends = []string{
		"good, that is enough about %; now to say it clearly.",
		"I will give the short form first and the reasons after it.",
		"that settles %, so I can answer.",
	}
	claims = []string{
		"it comes down to % in the end.",
		"the part about % decides, the rest follows.",
		"whoever looks at % first saves half of the work.",
		"% and % belong together, although they are often told apart.",
		"without % the question has no single answer.",
		"the usual mistake is to begin with % in place of %.",
		"for % the short answer is yes, with one exception.",
		"nothing here depends on %, however much it looks so.",
		"take % as it is said, and the rest is simple.",
	}
)
