package registry

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/thinkd/thinkd/provider"
)

// Service says which model answered a call.
type Service struct {
	Other bool           // another model answered than the one that was asked for
	Row   provider.Model // of the model that answered, for its price; Known false: no row has it
}

// Served decides which model answered, given the row of the model that was asked for and the name in the answer. It is the
// one place where the two are compared. These are the same model:
//
//   - an id and no name: the answer does not say;
//   - an id and its dated snapshot or numbered version: gpt-5 and gpt-5-2025-08-07, gemini-2.0-flash and
//     gemini-2.0-flash-001. Two different dates are two models;
//   - spellings: capitals, models/ID, MAKER/ID, the forms of Bedrock and Google Cloud, a dot or a dash in a version, and the
//     order of the words: claude-haiku-4.5 and anthropic/claude-4.5-haiku-20251001;
//   - what hosts add: the path and the quantisation of a file, OpenRouter's :free, a router's :HOST, Ollama's :latest;
//   - an alias of the catalog, and a name that the vendor redirects: `aliases` and `redirected` in catalog.json, and
//     `redirects` from its day on;
//   - a name that the configuration lists in the row's served_as;
//   - auto, default, and the routers and presets of OpenRouter, for which any model may answer;
//   - NAME-latest and any model that has all words of the name and is not a smaller one: gemini-flash-latest and
//     gemini-3.8-flash, but not gemini-3.5-flash-lite;
//   - on Azure, a deployment that does not have the name of a model, and any model;
//   - on Copilot, the name of a machine (capi-…) in place of a model's.
//
// All else is another model. The row is that of the model that was asked for as long as both are one model, so that prices of
// the configuration stay in effect. Otherwise it is the row of the answer's name at the same provider.
func (c *Catalog) Served(asked provider.Model, answer string) Service {
	want, got := parseName(asked.ID), parseName(answer)
	stock := &stock{}
	if of := c.stocks[asked.Provider]; of != nil {
		stock = of()
	}
	switch {
	case answer == "", strings.HasPrefix(answer, "capi-") && asked.Dialect == "copilot",
		asked.As != "" && parseName(asked.As).is(got):
		return Service{Row: asked}
	case want.is(got) && asked.As == "":
		return Service{Row: asked}
	case want.is(got): // the vendor does not redirect the name yet
		row, _ := stock.row(asked.ID)
		return Service{Row: row}
	}
	row, known := stock.called(got)
	if !known {
		row = provider.Model{Provider: asked.Provider, ID: answer, Name: answer, API: asked.API, Dialect: asked.Dialect, Source: provider.FromNobody}
	}
	switch {
	case stock.target(want) == stock.target(got) && stock.target(want) != "", parseName(stock.redirects(want)).is(got), want.any, want.newest(got),
		stock.deployment(asked), stock.states(asked, got):
		if !known || asked.Price != nil && stock.stated[asked.ID].Price != nil {
			row = asked
		}
		return Service{Row: row}
	}
	return Service{Other: true, Row: row}
}

// name is parseName for the id of a row, which is read again and again.
func (s *stock) name(id string) modelName {
	if n, ok := s.names.Load(id); ok {
		return n.(modelName)
	}
	n := parseName(id)
	s.names.Store(id, n)
	return n
}

// called is the row of a model that an answer names: the one with the same date if there are several.
func (s *stock) called(name modelName) (found provider.Model, ok bool) {
	for _, m := range s.models() {
		switch is := s.name(m.ID); {
		case is == name:
			return m, true
		case !ok && is.is(name) && !is.latest:
			found, ok = m, true
		}
	}
	return found, ok
}

// target is the id that answers for a name, by the catalog's aliases and redirects; empty: the catalog does not say.
func (s *stock) target(name modelName) (id string) {
	if m, ok := s.called(name); ok {
		id = m.ID
	}
	for alias, of := range s.aliases {
		if s.name(alias) == name {
			id = of
		}
	}
	if to := s.redirects(name); to != "" {
		id = to
	}
	return id
}

// redirects is the id that a vendor serves under a name, empty if the name is not redirected.
func (s *stock) redirects(name modelName) (to string) {
	for from, next := range s.redirect {
		if s.name(from).is(name) {
			to = next
		}
	}
	for range s.redirect { // a redirect of a redirect
		next, more := s.redirect[to]
		if !more {
			break
		}
		to = next
	}
	return to
}

// states reports whether the configuration says that a model answers under another name.
func (s *stock) states(asked provider.Model, answer modelName) bool {
	return slices.ContainsFunc(s.stated[asked.ID].ServedAs, func(id string) bool { return parseName(id).is(answer) })
}

// deployment reports whether an id is that of a deployment, which its owner named, and not of a model.
func (s *stock) deployment(asked provider.Model) bool {
	if s.vendor != "azure" && asked.Dialect != "azure" {
		return false
	}
	name := parseName(asked.ID)
	return !slices.ContainsFunc(s.own, func(id string) bool { return s.name(id).is(name) })
}

// modelName is what a model's id says, without how it is spelled.
type modelName struct {
	words   string // those with letters, sorted: hosts disagree on their order
	numbers string // the digits of the version, in their order, without dots
	date    string // the digits of a date, sorted: 2025-07-25, 20250725, 07-25; empty: none
	maker   string // before a slash; empty: not named, or the name is a path
	tag     string // what follows a colon, if it has no digit
	latest  bool   // it names the newest of its family
	any     bool   // any model may answer for it
}

// noise are words that do not tell models apart: states of a release, forms of open weights, and what hosts add.
var noise = []string{"preview", "exp", "experimental", "beta", "it", "instruct", "free", "nitro", "floor", "online", "extended", "exacto",
	"cloud", "databricks", "gguf", "mlx", "awq", "gptq", "fp8", "fp16", "bf16", "int4", "int8", "4bit", "8bit", "mxfp4", "nvfp4"}

// smaller are words of models that cost and can do less than their family.
var smaller = []string{"lite", "mini", "nano", "micro", "small", "tiny", "air", "flash", "haiku"}

// namePatterns are those of a model's id. They are compiled once, when the first id is read: most commands read none.
var namePatterns = sync.OnceValue(func() (p struct {
	bedrock, quantised, dashed, joined, version *regexp.Regexp
}) {
	p.bedrock = regexp.MustCompile(`-v\d+(?::\d+)?$`)                            // …-v1:0
	p.quantised = regexp.MustCompile(`[-_.:](?:ud-)?i?q\d(?:_[a-z0-9]+)*(\W|$)`) // -Q4_K_M
	p.dashed = regexp.MustCompile(`(?:^|-)(20\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])|(?:0[1-9]|1[0-2])-20\d\d|0\d-(?:0[1-9]|[12]\d|3[01]))(?:-|$)`)
	p.joined = regexp.MustCompile(`^(?:20\d{6}|2[3-9](?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])|(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])|2[3-9](?:0[1-9]|1[0-2]))$`)
	p.version = regexp.MustCompile(`^00\d$`) // gemini-2.0-flash-001
	return p
})

// parseName reads a model's id. Every text is one.
func parseName(id string) modelName {
	var n modelName
	is := namePatterns()
	id = strings.ToLower(strings.TrimSpace(id))
	maker, model, one := strings.Cut(id, "/")
	if one && maker != "models" && !strings.ContainsAny(model, `/\`) {
		n.maker = maker
	}
	id = id[strings.LastIndexAny(id, `/\`)+1:]
	if _, bare := Bare(id); bare != id {
		id = is.bedrock.ReplaceAllString(bare, "")
	}
	if id = strings.TrimSuffix(id, ".gguf"); strings.ContainsRune(id, 'q') {
		id = is.quantised.ReplaceAllString(id, "$1")
	}
	id, tag, _ := strings.Cut(id, ":")
	if strings.ContainsAny(tag, "0123456789") {
		id += "-" + tag
	} else if tag != "latest" && !slices.Contains(noise, tag) {
		n.tag = tag
	}
	id = strings.NewReplacer("_", "-", "@", "-", " ", "-", "+", "-plus-").Replace(id)
	if at := is.dashed.FindStringSubmatchIndex(id); at != nil {
		n.date = digits(id[at[2]:at[3]])
		id = id[:at[2]] + id[at[3]:]
	}
	var words, numbers []string
	for _, token := range strings.FieldsFunc(id, func(r rune) bool { return r == '-' || r == '.' }) {
		switch {
		case token == "latest":
			n.latest = true
		case is.joined.MatchString(token) && n.date == "" && len(words) > 0:
			n.date = digits(token)
		case is.version.MatchString(token), slices.Contains(noise, token):
		case strings.Trim(token, "0123456789") == "":
			numbers = append(numbers, token)
		default:
			words = append(words, token)
		}
	}
	if last := len(numbers) - 1; last > 0 && numbers[last] == "0" { // claude-sonnet-4-0 is claude-sonnet-4
		numbers = numbers[:last]
	}
	n.numbers = strings.Join(numbers, "")
	n.any = n.maker == "openrouter" || n.maker == "@preset" || n.numbers == "" && len(words) == 1 && (words[0] == "auto" || words[0] == "default")
	slices.Sort(words)
	n.words = strings.Join(words, " ")
	return n
}

// digits are those of a date, sorted.
func digits(date string) string {
	list := []byte(strings.ReplaceAll(date, "-", ""))
	slices.Sort(list)
	return string(list)
}

// is reports whether two names may be of the same model: one of them may be without the date or the tag of the other.
func (n modelName) is(other modelName) bool {
	return n.words == other.words && n.numbers == other.numbers && n.words+n.numbers != "" &&
		(n.date == "" || other.date == "" || within(n.date, other.date) || within(other.date, n.date)) &&
		(n.tag == "" || other.tag == "" || n.tag == other.tag) && (n.maker == "" || other.maker == "" || n.maker == other.maker)
}

// within reports whether all of some sorted digits are among others.
func within(some, all string) bool {
	for _, d := range []byte(some) {
		at := strings.IndexByte(all, d)
		if at < 0 {
			return false
		}
		all = all[at+1:]
	}
	return true
}

// newest reports whether a model may be the newest one that a name ending in latest stands for: it has all words of the name,
// and is not smaller than the name says.
func (n modelName) newest(answer modelName) bool {
	want, got := strings.Fields(n.words), strings.Fields(answer.words)
	if !n.latest || len(want) == 0 {
		return false
	}
	for _, word := range want {
		if !slices.Contains(got, word) {
			return false
		}
	}
	return !slices.ContainsFunc(got, func(word string) bool { return slices.Contains(smaller, word) && !slices.Contains(want, word) })
}
