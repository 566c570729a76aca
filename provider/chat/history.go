package chat

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/mediatype"
	"github.com/thinkd/thinkd/provider/replay"
)

func newHistory(d *Dialect, req *provider.Request) *history {
	h := &history{
		dialect: d, model: req.Model.ID, row: exchange.Row(req, wireAPI), lastUser: -1, details: map[string]bool{},
		placeholder: slices.Contains(req.Repairs, PlaceholderReasoning),
		strip:       slices.Contains(req.Repairs, StripOpaque),
		calls:       d.callIDs(), who: req.Initiator(),
	}
	if slices.Contains(req.Repairs, stripThinking(req.Model.ID)) {
		bare := *d
		bare.Echo = EchoRule{Scope: echoNever, Empty: echoOmit, Foreign: replay.ForeignDrop}
		h.dialect = &bare
	}
	for i, m := range req.Messages {
		if m.Role == provider.User && slices.ContainsFunc(m.Blocks, speaks) {
			h.lastUser = i
		}
	}
	return h
}

func (h *history) messages(req *provider.Request) ([]tree, error) {
	var list []provider.Message
	list, h.elsewhere = replay.ServerTools(req.Messages, func(provider.State) bool { return false })
	list, h.unseen = replay.Visible(replay.OwnMedia(list, wireAPI), h.row, h.dialect.mediaForms()...)
	h.count.Media = h.unseen.Count()
	out := []tree{}
	if !provider.Blank(req.System) {
		out = append(out, tree{"role": h.dialect.Message.SystemRole, "content": req.System})
	}
	var calls []string // of the message before, in their order
	for i, m := range list {
		var more []tree
		var err error
		if m.Role == provider.Assistant {
			h.calls.Answered()
			more, calls, err = h.assistant(i, m)
		} else {
			more, err = h.user(replay.Prompt(m.Blocks), calls)
		}
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		out = append(out, more...)
	}
	if h.dialect.closesLoops(h.model) {
		out, h.closed = h.closeLoops(out)
	}
	if h.dialect.alternates(h.model) {
		out = alternate(out)
	}
	return out, nil
}

// closesLoops reports whether a model refuses to continue a tool loop behind another model's calls, on a host that documents nothing in
// place of the data that it wants.
func (d *Dialect) closesLoops(model string) bool {
	model = strings.ToLower(model)
	return slices.ContainsFunc(d.Echo.ClosesLoops, func(word string) bool { return strings.Contains(model, word) })
}

// closeLoops ends tool loops whose calls have no data of the model that is asked, where it takes over: behind their results, the model
// says a word, and the user another one or the next prompt. now is true if it ends the loop that the list ends in. What it puts in
// depends on the message behind it alone, and stays in each later request, so the prefix does not change.
//
// Google documents the rule for Gemini 3: the first call of each step since the user spoke last needs its signature, and earlier turns
// need none (docs: ai.google.dev, thought-signatures). Users report it of Gemini 2.5 as well (rowboatlabs/rowboat#694). Google's own
// API takes a placeholder. OpenRouter and Copilot document none; some clients send it inside of OpenRouter's reasoning_details, and
// were refused at times (RooCodeInc/Roo-Code#10640, #10759). The model's word is there because a prompt that is joined with results
// into one content begins no turn (google-gemini/gemini-cli#28565), and a host may join them.
func (h *history) closeLoops(list []tree) (out []tree, now bool) {
	word, prompt := tree{"role": "assistant", "content": goneOn}, tree{"role": "user", "content": goOn}
	borrowed, before := false, "" // whether the last calls lack the data, and the role before
	for _, m := range list {
		role, _ := m["role"].(string)
		switch {
		case !borrowed || before != "tool":
		case role == "user":
			out = append(out, word)
		case role == "assistant" && h.marked(m):
			out = append(out, word, prompt)
		}
		if role == "assistant" {
			borrowed = m["tool_calls"] != nil && !h.marked(m)
		}
		out, before = append(out, m), role
	}
	if borrowed && before == "tool" {
		return append(out, word, prompt), true
	}
	return out, false
}

// marked reports whether an answer goes back with data of the model that is asked.
func (h *history) marked(m tree) bool {
	form := h.dialect.Response
	details, _ := m[form.DetailsField].([]json.RawMessage)
	return len(details) > 0 || m[form.OpaqueField] != nil
}

// user writes results first, one message each and in the order of the calls, as the API demands, and then the prompt.
func (h *history) user(blocks provider.Blocks, calls []string) ([]tree, error) {
	var results []provider.ToolResult
	var rest provider.Blocks
	for _, b := range blocks {
		if r, ok := b.(provider.ToolResult); ok {
			results = append(results, r)
		} else {
			rest = append(rest, b)
		}
	}
	places := make(map[string]int, len(calls)) // a reply may have thousands
	for i, id := range slices.Backward(calls) {
		places[id] = i
	}
	place := func(r provider.ToolResult) int {
		if i, ok := places[r.CallID]; ok {
			return i
		}
		return len(calls)
	}
	slices.SortStableFunc(results, func(a, b provider.ToolResult) int { return place(a) - place(b) })
	var out []tree
	var shown provider.Blocks // media of results: the API takes text alone there
	for _, r := range results {
		text, media := textOf(r)
		out = append(out, tree{"role": "tool", "tool_call_id": h.calls.Of(r.CallID), "content": text})
		shown = append(shown, media...)
	}
	rest = append(shown, rest...)
	if len(rest) == 0 {
		return out, nil
	}
	content, err := h.content(rest)
	if err != nil || content == nil {
		return out, err
	}
	return append(out, tree{"role": "user", "content": content}), nil
}

// textOf is a result as text, which is never empty: some hosts refuse a message without any (xAI).
func textOf(r provider.ToolResult) (string, provider.Blocks) {
	var texts []string
	var media provider.Blocks
	for _, b := range replay.Result(r) {
		switch b := b.(type) {
		case provider.Text:
			texts = append(texts, b.Text)
		case provider.Media:
			media = append(media, b)
		}
	}
	text := strings.Join(texts, "\n")
	switch {
	case !provider.Blank(text):
	case len(media) > 0:
		text = "see what the user shows next"
	default:
		text = replay.NoOutput
	}
	return text, media
}

// content is what a user says: a string, or parts where there is media; nil for nothing.
func (h *history) content(blocks provider.Blocks) (any, error) {
	var parts []tree
	var texts []string
	plain := true
	for i, b := range blocks {
		switch b := b.(type) {
		case provider.Text:
			parts, texts = append(parts, tree{"type": "text", "text": b.Text}), append(texts, b.Text)
		case provider.Media:
			part, err := h.media(b)
			if err != nil {
				return nil, fmt.Errorf("block %d: %w", i, err)
			}
			parts, plain = append(parts, part), false
		case provider.Thinking, provider.Opaque: // of no use in a user's mouth
		default:
			return nil, fmt.Errorf("block %d: %s: no form for it", i, provider.KindOf(b))
		}
	}
	switch {
	case len(parts) == 0:
		return nil, nil
	case plain:
		return strings.Join(texts, "\n\n"), nil
	}
	return parts, nil
}

// mediaForms are the kinds and types of media that the host has a form for.
func (d *Dialect) mediaForms() []string {
	forms := slices.Clone(replay.Images)
	if d.Message.Files {
		forms = append(forms, provider.MediaPDF)
	}
	if d.Message.Audio != "" {
		forms = append(forms, replay.Clips...)
	}
	return forms
}

func (h *history) media(b provider.Media) (tree, error) {
	if len(b.Data) == 0 {
		return nil, fmt.Errorf("media of type %q without data", b.Type)
	}
	encoded := func() string { return base64.StdEncoding.EncodeToString(b.Data) }
	data := func() string { return "data:" + b.Type + ";base64," + encoded() }
	switch kind := b.Kind(); {
	case kind == provider.MediaImage:
		h.images = true
		return tree{"type": "image_url", "image_url": tree{"url": data()}}, nil
	case kind == provider.MediaText:
		return tree{"type": "text", "text": replay.FileText(b)}, nil
	case kind == provider.MediaPDF && h.dialect.Message.Files:
		return tree{"type": "file", "file": tree{"filename": cmp.Or(replay.FileName(b.Name), "document.pdf"), "file_data": data()}}, nil
	case kind == provider.MediaAudio && slices.Contains(replay.Clips, b.Type):
		return h.sound(b.Type, encoded, data)
	}
	return nil, fmt.Errorf("media of type %q is not taken", b.Type)
}

// sound writes a sound in the form of the host.
func (h *history) sound(kind string, encoded, data func() string) (tree, error) {
	format := map[string]string{mediatype.WAV: "wav", mediatype.MP3: "mp3"}[kind]
	switch h.dialect.Message.Audio {
	case audioBase64: // openrouter.ai/docs: multimodal/audio; OpenAI's form
		return tree{"type": "input_audio", "input_audio": tree{"data": encoded(), "format": format}}, nil
	case audioURL: // alibabacloud.com: model-studio/qwen-omni
		return tree{"type": "input_audio", "input_audio": tree{"data": data(), "format": format}}, nil
	}
	return nil, fmt.Errorf("media of type %q is not taken", kind)
}

// assistant writes what the model said, none if that is nothing, and lists the ids of its calls.
func (h *history) assistant(i int, m provider.Message) ([]tree, []string, error) {
	out := tree{"role": "assistant"}
	var texts []string
	var calls []tree
	var ids []string
	for j, b := range m.Blocks {
		switch b := b.(type) {
		case provider.Text:
			texts = append(texts, b.Text)
		case provider.ToolCall:
			call, err := h.call(i, b)
			if err == nil && len(calls) == 0 && i > h.lastUser && !h.sealed(call) && len(h.kept(i, m.State)) == 0 {
				err = call.merge(h.dialect.Echo.CallPlaceholder)
			}
			if err != nil {
				return nil, nil, fmt.Errorf("block %d: %w", j, err)
			}
			calls, ids = append(calls, call), append(ids, b.ID)
		case provider.Media:
			return nil, nil, fmt.Errorf("block %d: media in what a model said", j)
		}
	}
	separator := "" // pieces of one text, as the host sent them
	if h.foreign(m) {
		separator = "\n\n"
	}
	text := strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" || separator != "" && provider.Blank(s) }), separator)
	if provider.Blank(text) {
		text = ""
	}
	if text == "" && len(calls) == 0 { // hosts refuse an answer that says nothing, with thinking or without
		for _, b := range m.Blocks {
			if _, thought := b.(provider.Thinking); thought {
				h.count.Drop(1, "nothing was said with it")
			}
		}
		return nil, nil, nil
	}
	if len(calls) > 0 {
		out["tool_calls"] = calls
	}
	out["content"] = text
	h.echo(i, m, out, len(calls) > 0)
	for _, name := range h.dialect.Echo.StripFields {
		delete(out, name)
	}
	if out["content"] != "" {
		return []tree{out}, ids, nil
	}
	switch h.dialect.Message.EmptyContentWithCalls {
	case "null":
		out["content"] = nil
	case "omit":
		delete(out, "content")
	}
	return []tree{out}, ids, nil
}

// foreign reports whether another origin left its marks in a message.
func (h *history) foreign(m provider.Message) bool {
	return slices.ContainsFunc(m.Blocks, func(b provider.Block) bool {
		s := provider.StateOf(b)
		return !s.IsZero() && !h.own(s)
	})
}

// call writes a tool call: the vendor's own members where it left some.
func (h *history) call(i int, b provider.ToolCall) (tree, error) {
	text, err := arguments(b)
	if err != nil {
		return nil, err
	}
	function := tree{"name": replay.ToolName(b.Name), "arguments": text}
	out := tree{"id": h.calls.New(b.ID), "type": "function", "function": function}
	if !h.own(b.State) {
		return out, nil
	}
	// The text as it came, so that what the host keeps of the prefix stays of use.
	kept := gjson.ParseBytes(b.State.Data)
	if raw := kept.Get("function.arguments"); raw.Type == gjson.String && b.Invalid == "" {
		function["arguments"] = raw.Str
	}
	if !h.bound(b.State.Origin) || h.strip && i < h.lastUser {
		return out, nil
	}
	for _, name := range h.dialect.Response.CallFields {
		if v := kept.Get(name); v.Exists() {
			out[name] = json.RawMessage(v.Raw)
			h.opaque = true
		}
	}
	return out, nil
}

// sealed reports whether a call carries something of the host's own.
func (h *history) sealed(call tree) bool {
	return slices.ContainsFunc(h.dialect.Response.CallFields, func(name string) bool { return call[name] != nil })
}

// arguments is the JSON text of a call's arguments.
func arguments(b provider.ToolCall) (string, error) {
	object, err := exchange.Arguments(b)
	if err != nil {
		return "", err
	}
	var text bytes.Buffer
	err = json.Compact(&text, object)
	return text.String(), err
}

// longestID is what OpenAI, Azure and Copilot take as the id of a call, in characters.
const longestID = 40

var nineAlphanumerics = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9]{9}$`) })

// callIDs names calls in the form that the host takes.
func (d *Dialect) callIDs() replay.CallIDs {
	if d.Message.ToolID == "alnum9" {
		return replay.CallIDs{Fits: nineAlphanumerics().MatchString, Make: shortID}
	}
	return replay.CallIDs{Fits: func(id string) bool { return len(id) <= longestID }}
}

const alphanumerics = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// shortID is the n-th name for an id.
func shortID(id string, n int) string {
	if n > 0 {
		id = fmt.Sprint(n, " ", id)
	}
	sum := sha256.Sum256([]byte(id))
	short := make([]byte, 9)
	for i := range short {
		short[i] = alphanumerics[int(sum[i])%len(alphanumerics)]
	}
	return string(short)
}

// What is put between two messages that a host refuses side by side. The model has said neither.
const (
	goneOn = "OK."    // of the model, behind what a tool returned
	goOn   = "Go on." // of a user, in front of an answer
)

// strictTemplates are models whose chat templates refuse two messages of one role in a row, on every host. Mistral's
// also refuse a user directly after a tool (error 3230).
var strictTemplates = []string{"mistral", "ministral", "magistral", "codestral", "devstral", "pixtral", "gemma"}

// alternates reports whether users and the assistant have to take turns.
func (d *Dialect) alternates(model string) bool {
	model = strings.ToLower(model)
	return d.Message.Alternate || slices.ContainsFunc(strictTemplates, func(name string) bool { return strings.Contains(model, name) })
}

// alternate has users and the assistant take turns: what a user says in several messages becomes one, and a sentence
// stands where two answers, or a tool and a user, would meet. It looks only backwards, so a message that follows changes
// nothing before what the user said last.
func alternate(list []tree) []tree {
	out := []tree{}
	for _, m := range list {
		before := ""
		if len(out) > 0 {
			before, _ = out[len(out)-1]["role"].(string)
		}
		switch role := m["role"]; {
		case role == "user" && before == "user":
			last := out[len(out)-1]
			out[len(out)-1] = tree{"role": "user", "content": joined(last["content"], m["content"])}
			continue
		case role == "user" && before == "tool":
			out = append(out, tree{"role": "assistant", "content": goneOn})
		case role == "assistant" && before == "assistant":
			out = append(out, tree{"role": "user", "content": goOn})
		}
		out = append(out, m)
	}
	return out
}

// joined is what a user says in two messages: a string, or parts where one of them has any.
func joined(first, second any) any {
	a, plain := first.(string)
	b, too := second.(string)
	if plain && too {
		return a + "\n\n" + b
	}
	return append(slices.Clone(partsOf(first)), partsOf(second)...)
}

func partsOf(content any) []tree {
	if text, ok := content.(string); ok {
		return []tree{{"type": "text", "text": text}}
	}
	parts, _ := content.([]tree)
	return parts
}
