package exchange

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
)

// maxList bounds what a list or a description may take, in bytes: some have a template or a licence in them. The largest
// known, the whole of models.dev, has 3 MiB.
const maxList = 8 << 20

// JSON reads an answer that is one JSON value, and closes it.
func (c *Caller) JSON(ctx context.Context, resp *http.Response) (gjson.Result, error) {
	defer resp.Body.Close()
	_, body, err := c.Form(ctx, resp, "application/json", func() error { return nil })
	if err != nil {
		return gjson.Result{}, err
	}
	data, err := io.ReadAll(io.LimitReader(body, maxList+1))
	switch {
	case err == nil && len(data) > maxList:
		return gjson.Result{}, c.NoAnswer(resp, fmt.Sprintf("the answer is larger than %d MiB", maxList>>20))
	case err != nil:
		return gjson.Result{}, c.Broken(ctx, resp, err)
	case !gjson.ValidBytes(data):
		return gjson.Result{}, c.NoAnswer(resp, fmt.Sprintf("an answer of %d bytes is not JSON", len(data)))
	}
	return gjson.ParseBytes(data), nil
}

// List asks an address for a list, which is the member of that name.
func (c *Caller) List(ctx context.Context, address string, header http.Header, member string) (gjson.Result, error) {
	header.Set("Accept", "application/json")
	resp, err := c.Get(ctx, address, header)
	if err != nil {
		return gjson.Result{}, err
	}
	answer, err := c.JSON(ctx, resp)
	if err == nil && !answer.Get(member).IsArray() {
		err = c.NoAnswer(resp, "the answer is JSON, but no list of models")
	}
	return answer, err
}

// mostPages bounds a list whose pages do not end.
const mostPages = 20

// Pages asks an address for a list that comes in pages, and returns its entries: the member of that name of each page. The
// address has a query. next returns the cursor in a page, which the parameter gets for the page after it; empty: it is the last
// page.
func (c *Caller) Pages(ctx context.Context, address, parameter string, header http.Header, member string, next func(page gjson.Result) string) ([]gjson.Result, error) {
	var entries []gjson.Result
	cursor := ""
	for range mostPages {
		at := address
		if cursor != "" {
			at += "&" + parameter + "=" + url.QueryEscape(cursor)
		}
		page, err := c.List(ctx, at, header.Clone(), member)
		if err != nil {
			return nil, err
		}
		entries = append(entries, page.Get(member).Array()...)
		after := next(page)
		if after == "" || after == cursor {
			break
		}
		cursor = after
	}
	return entries, nil
}

// PlainList asks for a list in the form of OpenAI's: {"data": [{"id", …}]}. Its entries have little more than names, and
// each host adds members of its own: a date of shutdown (OpenAI), limits (Groq), abilities and a successor (Mistral).
// Entries that are no models of conversation are left out.
func (c *Caller) PlainList(ctx context.Context, address string, header http.Header) ([]provider.Model, error) {
	answer, err := c.List(ctx, address, header, "data")
	if err != nil {
		return nil, err
	}
	var rows []provider.Model
	for _, m := range answer.Get("data").Array() {
		id := m.Get("id").Str
		if id == "" || noChat().MatchString(id) || denies(m.Get("active")) || denies(m.Get("capabilities.completion_chat")) {
			continue
		}
		row := provider.Model{Provider: c.Provider, ID: id, Tools: !denies(m.Get("capabilities.function_calling")), Source: provider.FromRefreshed, AsOf: provider.Today(),
			Window:    cmp.Or(provider.Tokens(m.Get("context_window").Int()), provider.Tokens(m.Get("context_length").Int()), provider.Tokens(m.Get("max_context_length").Int())),
			MaxOutput: cmp.Or(provider.Tokens(m.Get("max_completion_tokens").Int()), provider.Tokens(m.Get("max_output_tokens").Int()))}
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
func ListedLifecycle(m gjson.Result) *provider.Lifecycle {
	end := cmp.Or(day(m.Get("retires_at").Str), day(m.Get("shutdown_date").Str), day(m.Get("deprecation").Str))
	l := &provider.Lifecycle{Retires: end, ReplacedBy: cmp.Or(m.Get("deprecation_replacement_model").Str, m.Get("replaced_by").Str)}
	switch word := m.Get("lifecycle").Str; {
	case word == "retired":
		l.State = provider.LifecycleRetired
	case word == "deprecated", end != "", day(m.Get("deprecated_at").Str) != "":
		l.State = provider.LifecycleDeprecated
	case word == "active", word == "current", m.Get("shutdown_date").Exists():
		l.State = provider.LifecycleCurrent
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
