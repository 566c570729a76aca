package converse

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/replay"
)

type message struct {
	Role    provider.Role `json:"role"`
	Content []any         `json:"content"` // block, or json.RawMessage of the API's own
}

// block is a block that we write ourselves: one member is set.
type block struct {
	Text     *string     `json:"text,omitempty"`
	Image    *file       `json:"image,omitempty"`
	Document *file       `json:"document,omitempty"`
	Use      *toolUse    `json:"toolUse,omitempty"`
	Result   *toolResult `json:"toolResult,omitempty"`
	Cache    *cachePoint `json:"cachePoint,omitempty"`
}

type file struct {
	Format string `json:"format"`
	Name   string `json:"name,omitempty"` // of a document
	Source source `json:"source"`
}

type source struct {
	Bytes []byte `json:"bytes"`
}

type toolUse struct {
	ID    string          `json:"toolUseId"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type toolResult struct {
	ID      string  `json:"toolUseId"`
	Content []block `json:"content"`
	Status  string  `json:"status"`
}

type cachePoint struct {
	Type string `json:"type"`
	TTL  string `json:"ttl,omitempty"`
}

// documented is the text that accompanies documents, because the API refuses documents without a text.
const documented = "(a document)"

var (
	callID    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_.:-]{1,64}$`) })
	mistralID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9]{9}$`) })
)

// history writes earlier messages, and counts the reasoning that is kept, converted and dropped.
type history struct {
	family    family
	strip     bool
	bare      bool // reasoning goes without its signature
	apart     bool
	returns   bool // the model takes reasoning back
	names     *replay.Names
	calls     replay.CallIDs
	row       provider.Model
	unseen    replay.Unseen // media that were left out
	elsewhere int           // results of vendors' tools, as text
	documents int           // written so far
	used      []string      // names of tools in the history
	count     provider.Conversion
}

func newHistory(req *provider.Request) *history {
	h := &history{family: familyOf(req.Model.Rules()), strip: slices.Contains(req.Repairs, StripThinking), names: newNames(req), row: exchange.Row(req, wireAPI),
		bare: slices.Contains(req.Repairs, provider.Repair(NoSignature+req.Model.ID))}
	h.apart = !h.family.mixes() || slices.Contains(req.Repairs, provider.Repair(Apart+req.Model.ID))
	h.returns = h.family.returns() && (!req.Model.Known || req.Model.Thinking.Thinks()) // a maker's models that do not think refuse it
	h.calls.Fits = callID().MatchString
	if h.family == mistral { // which takes ids of nine letters and digits, and makes others here that it takes as well
		h.calls.Fits = func(id string) bool {
			return mistralID().MatchString(id) || strings.HasPrefix(id, "tooluse_") && callID().MatchString(id)
		}
		h.calls.Make = func(id string, n int) string { return shortID(id, n) }
	}
	return h
}

// messages writes messages whose roles alternate, the user first. All results of an answer's calls, and only these, follow it in the order of
// the calls (docs: tool-use-inference-call).
func (h *history) messages(list []provider.Message) ([]message, error) {
	list, h.elsewhere = replay.ServerTools(list, func(provider.State) bool { return false })
	list, h.unseen = replay.Visible(replay.OwnMedia(list, wireAPI), h.row, mediaForms()...)
	h.count.Media = h.unseen.Count()
	w := writer{h: h}
	for i, m := range list {
		if m.Role == provider.Assistant {
			content, calls, err := h.assistant(m.Blocks)
			if err != nil {
				return nil, fmt.Errorf("message %d: %w", i, err)
			}
			if len(content) == 0 {
				continue
			}
			w.assistant(content)
			results, err := h.results(calls, replay.Following(list[i+1:]))
			if err != nil {
				return nil, fmt.Errorf("message %d: results: %w", i, err)
			}
			w.results(results)
			continue
		}
		content, err := h.user(m.Blocks)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		w.user(content)
	}
	trimEnd(w.out)
	return w.out, nil
}

// trimEnd takes white space off the end of an answer that the model is to go on with, where it is refused.
func trimEnd(list []message) {
	if len(list) == 0 || list[len(list)-1].Role != provider.Assistant {
		return
	}
	content := list[len(list)-1].Content
	if last, ok := content[len(content)-1].(block); ok && last.Text != nil {
		content[len(content)-1] = text(strings.TrimRight(*last.Text, " \t\r\n"))
	}
}

// writer puts messages in a row, so that roles alternate.
type writer struct {
	h        *history
	out      []message
	answered bool // the last message has results
}

func (w *writer) last() *message {
	if len(w.out) == 0 {
		return nil
	}
	return &w.out[len(w.out)-1]
}

func text(s string) block { return block{Text: &s} }

func (w *writer) assistant(content []any) {
	switch last := w.last(); {
	case last == nil:
		w.out = append(w.out, message{provider.User, []any{text(replay.Opening)}}, message{provider.Assistant, content})
	case last.Role == provider.Assistant:
		last.Content = append(last.Content, content...)
	default:
		w.out = append(w.out, message{provider.Assistant, content})
	}
	w.answered = false
}

func (w *writer) results(content []any) {
	if len(content) > 0 {
		w.out, w.answered = append(w.out, message{provider.User, content}), true
	}
}

func (w *writer) user(content []any) {
	last := w.last()
	switch {
	case len(content) == 0:
		return
	case last == nil || last.Role == provider.Assistant:
		w.out = append(w.out, message{provider.User, content})
	case w.answered && w.h.apart:
		w.out = append(w.out, message{provider.Assistant, []any{text(replay.Between)}}, message{provider.User, content})
	default:
		last.Content = append(last.Content, content...)
		return
	}
	w.answered = false
}

// call is a call of an answer, by our name of it and by that on the wire.
type call struct{ id, wire string }

// assistant writes an answer and lists its calls.
func (h *history) assistant(list provider.Blocks) (content []any, calls []call, err error) {
	h.calls.Answered()
	spoken := false
	for i, b := range list {
		switch b := b.(type) {
		case provider.Thinking:
			written, err := h.thinking(b)
			if err != nil {
				return nil, nil, fmt.Errorf("block %d: %w", i, err)
			}
			if written != nil {
				content = append(content, written)
			}
		case provider.Text:
			if !provider.Blank(b.Text) {
				content, spoken = append(content, text(b.Text)), true
			}
		case provider.ToolCall:
			input, err := exchange.Arguments(b)
			if err != nil {
				return nil, nil, fmt.Errorf("block %d: %w", i, err)
			}
			wire, name := h.calls.New(b.ID), h.names.Wire(b.Name)
			if !slices.Contains(h.used, name) {
				h.used = append(h.used, name)
			}
			content, spoken = append(content, block{Use: &toolUse{wire, name, input}}), true
			calls = append(calls, call{b.ID, wire})
		case provider.Opaque: // another vendor's
		default:
			return nil, nil, fmt.Errorf("block %d: %s: no form for it", i, provider.KindOf(b))
		}
	}
	if !spoken { // an answer that is nothing but reasoning is refused
		h.count.Kept -= len(content)
		h.count.Drop(len(content), "nothing was said with it")
		return nil, nil, nil
	}
	return h.ended(content), calls, nil
}

// ended takes off the reasoning that an answer ends in, as one that was cut off may: Claude refuses it there.
func (h *history) ended(content []any) []any {
	for n := len(content); n > 0; n-- {
		if _, reasoning := content[n-1].(json.RawMessage); !reasoning {
			return content[:n]
		}
		h.count.Kept--
		h.count.Drop(1, "an answer must not end in thinking here")
	}
	return nil
}

// own reports whether reasoning is of this API and of the same maker's models.
func (h *history) own(b provider.Thinking) bool {
	return replay.Own(b.State, provider.Origin{API: wireAPI}) && familyOf(b.State.Origin.Model) == h.family
}

// thinking is reasoning as it goes back; nil: it does not.
func (h *history) thinking(b provider.Thinking) (any, error) {
	signature := gjson.GetBytes(b.State.Data, "reasoningContent.reasoningText.signature").Str
	switch {
	case !h.own(b):
		replay.ForeignDrop.Count(b, &h.count)
		return nil, nil
	case h.strip:
		h.count.Drop(1, provider.WhyRepair)
		return nil, nil
	case !h.returns:
		h.count.Drop(1, "the model does not take its own thinking back")
		return nil, nil
	case signature != "" && h.bare:
		h.count.Kept++
		return exchange.Encode(map[string]any{"reasoningContent": map[string]any{"reasoningText": map[string]any{"text": b.Text}}})
	}
	h.count.Kept++
	return b.State.Data, nil
}

// results writes the results of calls, one for each.
func (h *history) results(calls []call, found map[string][]provider.ToolResult) ([]any, error) {
	var content []any
	for _, c := range calls {
		result := replay.ResultOf(found, c.id)
		r := &toolResult{ID: c.wire, Status: "success"}
		if result.Failed {
			r.Status = "error"
		}
		for i, b := range replay.WithoutBlanks(result.Blocks) {
			written, err := h.said(b)
			if err != nil {
				return nil, fmt.Errorf("block %d: %w", i, err)
			}
			r.Content = append(r.Content, written)
		}
		if len(r.Content) == 0 {
			r.Content = []block{text(replay.NoOutput)}
		}
		content = append(content, block{Result: r})
	}
	return content, nil
}

// user writes what a user says. Results stand with their calls.
func (h *history) user(list provider.Blocks) ([]any, error) {
	said := slices.DeleteFunc(slices.Clone(list), func(b provider.Block) bool { return provider.KindOf(b) == provider.KindToolResult })
	if len(said) == 0 && len(list) > 0 {
		return nil, nil
	}
	var content []any
	spoken, documents := false, false
	for i, b := range replay.Prompt(said) {
		written, err := h.said(b)
		if err != nil {
			return nil, fmt.Errorf("block %d: %w", i, err)
		}
		spoken, documents = spoken || written.Text != nil, documents || written.Document != nil
		content = append(content, written)
	}
	if documents && !spoken {
		content = append(content, text(documented))
	}
	return content, nil
}

// mediaForms are the kinds and types of media that the API has a form for (docs: API_runtime_ContentBlock).
func mediaForms() []string { return append([]string{provider.MediaPDF}, replay.Images...) }

// said writes a text or a file of the user's, or of a result.
func (h *history) said(b provider.Block) (block, error) {
	switch b := b.(type) {
	case provider.Text:
		return text(b.Text), nil
	case provider.Media:
		switch {
		case len(b.Data) == 0:
			return block{}, fmt.Errorf("media of type %q without data", b.Type)
		case b.Kind() == provider.MediaText:
			return text(replay.FileText(b)), nil
		case b.Kind() == provider.MediaImage:
			return block{Image: &file{Format: strings.TrimPrefix(b.Type, "image/"), Source: source{b.Data}}}, nil
		case b.Kind() == provider.MediaPDF:
			h.documents++
			return block{Document: &file{Format: "pdf", Name: documentName(b.Name, h.documents), Source: source{b.Data}}}, nil
		}
	}
	return block{}, fmt.Errorf("%s: no form for it", provider.KindOf(b))
}

var notInATitle = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-zA-Z0-9()\[\]-]+`) })

// documentName is a name that the API takes, each once in a conversation.
func documentName(name string, n int) string {
	name = strings.TrimSpace(notInATitle().ReplaceAllString(strings.TrimSuffix(replay.FileName(name), ".pdf"), " "))
	if len(name) > 100 {
		name = strings.TrimSpace(name[:100])
	}
	return strings.TrimSpace(fmt.Sprintf("%s %d", name, n))
}
