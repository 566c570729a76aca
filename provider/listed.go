package provider

import (
	"cmp"
	"context"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/tidwall/gjson"
)

// PlainList asks for a list in the form of OpenAI's: {"data": [{"id", …}]}. Its entries have little more than names, and
// each host adds members of its own: a date of shutdown (OpenAI), limits (Groq), abilities and a successor (Mistral).
// Entries that are no models of conversation are left out.
func (c *Caller) PlainList(ctx context.Context, address string, header http.Header) ([]Model, error) {
	answer, err := c.List(ctx, address, header, "data")
	if err != nil {
		return nil, err
	}
	var rows []Model
	for _, m := range answer.Get("data").Array() {
		id := m.Get("id").Str
		if id == "" || noChat().MatchString(id) || denies(m.Get("active")) || denies(m.Get("capabilities.completion_chat")) {
			continue
		}
		row := Model{Provider: c.Provider, ID: id, Tools: !denies(m.Get("capabilities.function_calling")), Source: FromRefreshed, AsOf: Today(),
			Window:    cmp.Or(Count(m.Get("context_window")), Count(m.Get("context_length")), Count(m.Get("max_context_length"))),
			MaxOutput: cmp.Or(Count(m.Get("max_completion_tokens")), Count(m.Get("max_output_tokens")))}
		if name := m.Get("display_name"); name.Type == gjson.String {
			row.Name = name.Str
		}
		if sees := m.Get("capabilities.vision"); sees.Exists() {
			row.Input = []string{"text"}
			if sees.Bool() {
				row.Input = append(row.Input, "image")
			}
		}
		row.Lifecycle = ListedLifecycle(m)
		rows = append(rows, row)
	}
	return rows, nil
}

func denies(v gjson.Result) bool { return v.Type == gjson.False }

// noChat matches the ids of models that make something else than conversation. A list of names alone says nothing of that.
var noChat = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)embed|whisper|\btts\b|-tts|dall-e|image|moderation|realtime|audio|transcri|sora|davinci|babbage|-search-|-ocr|rerank|speech|-asr|voxtral-mini|guard|safeguard|orpheus|imagine|video|wan2|cogview|cogvideo`)
})

// ListedLifecycle is what an entry of a list says of a model's end, in the words of Anthropic, OpenAI or Mistral; nil: it
// says nothing. A date in the past is for the vendor to mean: the state follows from words alone.
func ListedLifecycle(m gjson.Result) *Lifecycle {
	end := cmp.Or(day(m.Get("retires_at").Str), day(m.Get("shutdown_date").Str), day(m.Get("deprecation").Str))
	l := &Lifecycle{Retires: end, ReplacedBy: cmp.Or(m.Get("deprecation_replacement_model").Str, m.Get("replaced_by").Str)}
	switch word := m.Get("lifecycle").Str; {
	case word == "retired":
		l.State = LifecycleRetired
	case word == "deprecated", end != "", day(m.Get("deprecated_at").Str) != "":
		l.State = LifecycleDeprecated
	case word == "active", word == "current", m.Get("shutdown_date").Exists():
		l.State = LifecycleCurrent
	default:
		return nil
	}
	return l
}

// day is the day of a date or a time, empty if it is none.
func day(text string) string {
	for _, form := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(form, text); err == nil {
			return t.UTC().Format(time.DateOnly)
		}
	}
	return ""
}
