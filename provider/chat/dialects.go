package chat

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/replay"
	"github.com/thinkd/thinkd/provider/thinktag"
)

//go:embed dialects.json
var dialectsJSON []byte

var table = sync.OnceValues(func() ([]*Dialect, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(dialectsJSON, &list); err != nil {
		return nil, err
	}
	var all []*Dialect
	for _, record := range list {
		d, err := ParseDialect(record)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
})

// Dialects lists the ids of the named dialects. The error is that of a broken table, which the tests refuse.
func Dialects() ([]string, error) {
	all, err := table()
	var ids []string
	for _, d := range all {
		ids = append(ids, d.ID)
	}
	return ids, err
}

// Named is the dialect of that id in the table.
func Named(id string) (*Dialect, error) {
	all, err := table()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(d *Dialect) bool { return d.ID == id })
	if i < 0 {
		ids, err := Dialects()
		return nil, errors.Join(fmt.Errorf("unknown dialect %q; known: %s", id, strings.Join(ids, ", ")), err)
	}
	return all[i], nil
}

// ParseDialect reads one record as JSON. Members that it does not know are refused, and so is what contradicts itself;
// the error names the dialect and the member.
func ParseDialect(record []byte) (*Dialect, error) {
	dec := json.NewDecoder(bytes.NewReader(record))
	dec.DisallowUnknownFields()
	d := new(Dialect)
	if err := dec.Decode(d); err != nil {
		return nil, fmt.Errorf("dialect %q: %w", d.ID, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("dialect %q: something follows the record", d.ID)
	}
	if err := d.check(); err != nil {
		return nil, fmt.Errorf("dialect %q: %w", d.ID, err)
	}
	return d, nil
}

// samplingParameters are what a request of ours may hold and a host may refuse. The penalties are never sent, and may
// still be named, as the vendors' documents name them.
var samplingParameters = []string{"temperature", "top_p", "top_k", "presence_penalty", "frequency_penalty"}

var (
	plainID   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*$`) })
	plainName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]*$`) }) // empty where there is none; nothing that a path would read
)

// check refuses a record that contradicts itself.
func (d *Dialect) check() error {
	for _, word := range []struct {
		at, got string
		list    []string
	}{
		{"auth", d.Auth, []string{"bearer", "api-key", "none"}},
		{"request.max_tokens_field", d.Request.MaxTokensField, []string{"", "max_tokens", "max_completion_tokens"}},
		{"response.details_merge", d.Response.DetailsMerge, []string{"", mergeOpenRouter, mergeCumulative}},
		{"response.eof_without_done", d.Response.EOFWithoutDone, []string{"", "error", "finish"}},
		{"echo.scope", d.Echo.Scope, []string{echoNever, echoToolLoop, echoCallTurns, echoAllTurns}},
		{"echo.empty", d.Echo.Empty, []string{echoOmit, echoEmptyString, echoEmptyArray}},
		{"echo.foreign", string(d.Echo.Foreign), []string{string(replay.ForeignDrop), string(replay.ForeignEmpty), string(replay.ForeignText)}},
		{"message.empty_content_no_calls", d.Message.EmptyContentNoCalls, []string{"", "empty_string", "null", "omit"}},
		{"message.empty_content_with_calls", d.Message.EmptyContentWithCalls, []string{"empty_string", "null", "omit"}},
		{"message.system_role", d.Message.SystemRole, []string{"system", "developer"}},
		{"message.tool_id", d.Message.ToolID, []string{"any", "alnum9"}},
		{"message.audio", d.Message.Audio, []string{"", audioBase64, audioURL}},
		{"listing.parser", d.Listing.Parser, []string{"", "ids_only", "ids", "openrouter", "kimi", "copilot", "ollama", "lmstudio", "max_model_len", "llamacpp_props"}},
	} {
		if !slices.Contains(word.list, word.got) {
			return fmt.Errorf("%s: %q is not one of %s", word.at, word.got, strings.Join(word.list, ", "))
		}
	}
	switch {
	case !plainID().MatchString(d.ID):
		return fmt.Errorf("id: %q is no name of small letters, digits, dots and hyphens", d.ID)
	case !strings.HasPrefix(d.ChatPath, "/"):
		return fmt.Errorf("chat_path: %q does not begin with a slash", d.ChatPath)
	case (d.Response.DetailsField == "") != (d.Response.DetailsMerge == ""):
		return fmt.Errorf("response: details_field and details_merge go together")
	case d.Echo.Inline && d.Response.InlineTags == nil:
		return fmt.Errorf("echo.inline: there are no response.inline_tags")
	case d.Echo.Scope == echoNever && (d.Echo.Field != "" || d.Echo.Empty != echoOmit || d.Echo.Foreign != replay.ForeignDrop):
		return fmt.Errorf("echo: the scope is never, and something is to be sent")
	case d.Echo.Field == "" && (d.Echo.Empty == echoEmptyString || d.Echo.Foreign != replay.ForeignDrop || len(d.Echo.Also) > 0):
		return fmt.Errorf("echo: what has no field can only go back under the name that it came under")
	case d.Echo.Empty == echoEmptyArray && d.Response.DetailsField == "":
		return fmt.Errorf("echo.empty: there is no response.details_field")
	case d.Echo.Field == "content" && (d.Message.StringContentOnly || !d.Response.ContentArray):
		return fmt.Errorf("echo.field: content takes thinking only where it may be an array, in both directions")
	case slices.Contains(d.Echo.StripFields, d.Echo.Field) && d.Echo.Field != "":
		return fmt.Errorf("echo.strip_fields: %q is the field to be sent", d.Echo.Field)
	case d.Request.Cache != nil && (len(d.Request.Cache.Models) == 0 || slices.Contains(d.Request.Cache.Models, "")):
		return fmt.Errorf("request.cache.models: an empty word, or none")
	case d.Request.Cache != nil && d.Request.Cache.Tool != "part" && d.Request.Cache.Tool != "message":
		return fmt.Errorf("request.cache.tool: %q is not one of part, message", d.Request.Cache.Tool)
	case d.Request.ForceStream && d.Request.NoStreamTools:
		return fmt.Errorf("request: force_stream and no_stream_tools leave no way to send tools")
	case d.Request.ToolChoiceWhenThinking != nil && !slices.Contains(d.Request.ToolChoiceWhenThinking, "auto"):
		return fmt.Errorf("request.tool_choice_when_thinking: it has to allow auto")
	}
	for _, name := range slices.Concat(d.Response.TextFields, d.Response.CallFields, d.Response.MessageFields, d.Echo.Also, []string{d.Response.DetailsField, d.Response.OpaqueField, d.Echo.Field}) {
		if !plainName().MatchString(name) {
			return fmt.Errorf("response, echo: %q is no plain name of a member", name)
		}
	}
	for _, name := range slices.Concat(d.Request.Drop, d.Request.DropWhenThinking) {
		if !slices.Contains(samplingParameters, name) {
			return fmt.Errorf("request: %q is not one of %s", name, strings.Join(samplingParameters, ", "))
		}
	}
	if err := d.Request.ThinkingForm.check(); err != nil {
		return fmt.Errorf("request.%w", err)
	}
	for i, o := range d.Models {
		if o.Prefix == "" || slices.ContainsFunc(d.Models[:i], func(p Overlay) bool { return p.Prefix == o.Prefix }) {
			return fmt.Errorf("models: the prefix %q is empty or comes twice", o.Prefix)
		}
		if o.NeverOff && o.Off != nil {
			return fmt.Errorf("models: %q is never off, and has a form for it", o.Prefix)
		}
		if err := o.over(d.Request.ThinkingForm).check(); err != nil {
			return fmt.Errorf("models: %q: %w", o.Prefix, err)
		}
	}
	return checkTags(d.Response.InlineTags)
}

func (f ThinkingForm) check() error {
	if f.Effort != nil && f.Effort.Path == "" || f.Budget != nil && f.Budget.Path == "" {
		return fmt.Errorf("effort, budget: a path is missing")
	}
	if f.Effort != nil {
		for level, word := range f.Effort.Map {
			if level.Rank() <= provider.On.Rank() || word == "" {
				return fmt.Errorf("effort.map: %q to %q: levels of effort are minimal, low, medium, high, xhigh, max", level, word)
			}
		}
	}
	for _, set := range f.Exclusive {
		if len(set) < 2 {
			return fmt.Errorf("exclusive: %v excludes nothing", set)
		}
	}
	for _, o := range []object{f.On, f.Off, f.Show} {
		for name, value := range o {
			if name == "" || !json.Valid(value) {
				return fmt.Errorf("on, off, show: member %q is %s", name, value)
			}
		}
	}
	return nil
}

func checkTags(t *thinktag.Tags) error {
	if t == nil {
		return nil
	}
	if !slices.Contains([]thinktag.Start{thinktag.Closed, thinktag.Open, thinktag.Auto}, t.Start) {
		return fmt.Errorf("response.inline_tags.start_mode: %q is not one of closed, open, auto", t.Start)
	}
	for _, p := range append([]thinktag.Pair{t.Pair}, t.Others...) {
		if p.Open == "" || p.Close == "" {
			return fmt.Errorf("response.inline_tags: a tag is empty")
		}
	}
	return nil
}
