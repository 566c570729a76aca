package cohere

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/replay"
)

type message struct {
	Role    string     `json:"role"`
	Content any        `json:"content,omitempty"` // a string of the system, else []part
	Plan    string     `json:"tool_plan,omitempty"`
	Calls   []toolCall `json:"tool_calls,omitempty"`
	CallID  string     `json:"tool_call_id,omitempty"`
}

// part is a part of a message's content.
type part struct {
	Type     string    `json:"type"`
	Text     *string   `json:"text,omitempty"`
	Thinking *string   `json:"thinking,omitempty"`
	Image    *imageURL `json:"image_url,omitempty"`
	Document *document `json:"document,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

type toolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function functionCall `json:"function"`
}

type functionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func text(s string) part { return part{Type: "text", Text: &s} }

// goOn ends a conversation that would end with an answer: the API wants something to answer.
const goOn = "(go on)"

// history writes earlier messages, and counts the thinking that is kept, converted and dropped.
type history struct {
	thinks    bool // the model takes thinking among the content, and no tool plan
	strip     bool
	names     *replay.Names
	calls     replay.CallIDs
	row       provider.Model
	unseen    replay.Unseen // media that were left out
	elsewhere int           // results of vendors' tools, as text
	count     provider.Conversion
	out       []message
}

func newHistory(req *provider.Request) *history {
	h := &history{thinks: req.Model.Thinking.Thinks(), strip: slices.Contains(req.Repairs, StripThinking),
		names: replay.NewNames(req.Tools, true), row: exchange.Row(req, wireAPI)}
	h.calls.Fits = func(id string) bool {
		return len(id) <= 100 && !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' })
	}
	return h
}

// messages writes the system prompt and the conversation. It begins and ends with the user or the results of tools. All results of an
// answer's calls follow it, one message each and in the order of the calls, and no prompt follows results without an answer between them
// (docs: tool-use-usage-patterns; reference/errors).
func (h *history) messages(system string, list []provider.Message) ([]message, error) {
	list, h.elsewhere = replay.ServerTools(list, func(provider.State) bool { return false })
	list, h.unseen = replay.Visible(replay.OwnMedia(list, wireAPI), h.row, replay.Images...)
	h.count.Media = h.unseen.Count()
	if !provider.Blank(system) {
		h.out = append(h.out, message{Role: "system", Content: system})
	}
	for i, m := range list {
		var err error
		if m.Role == provider.Assistant {
			err = h.assistant(m.Blocks, list[i+1:])
		} else {
			err = h.user(m.Blocks)
		}
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
	}
	if h.lastRole() == "assistant" {
		h.says([]part{text(goOn)})
	}
	return h.out, nil
}

// lastRole is that of the message before; empty: there is none but the system's.
func (h *history) lastRole() string {
	if n := len(h.out); n > 0 && h.out[n-1].Role != "system" {
		return h.out[n-1].Role
	}
	return ""
}

// says writes what the user says, and joins it with what the user said before.
func (h *history) says(content []part) {
	if len(content) == 0 {
		return
	}
	switch h.lastRole() {
	case "user":
		last := &h.out[len(h.out)-1]
		last.Content = append(last.Content.([]part), content...)
		return
	case "tool":
		h.out = append(h.out, message{Role: "assistant", Content: []part{text(replay.Between)}})
	}
	h.out = append(h.out, message{Role: "user", Content: content})
}

// user writes what a user says. Results stand with their calls.
func (h *history) user(list provider.Blocks) error {
	said := slices.DeleteFunc(slices.Clone(list), func(b provider.Block) bool { return provider.KindOf(b) == provider.KindToolResult })
	if len(said) == 0 && len(list) > 0 {
		return nil
	}
	content, err := h.content(replay.Prompt(said))
	h.says(content)
	return err
}

func (h *history) content(list provider.Blocks) (content []part, err error) {
	for i, b := range list {
		switch b := b.(type) {
		case provider.Text:
			content = append(content, text(b.Text))
			continue
		case provider.Media:
			switch {
			case len(b.Data) == 0:
				return nil, fmt.Errorf("block %d: media of type %q without data", i, b.Type)
			case b.Kind() == provider.MediaText:
				content = append(content, text(replay.FileText(b)))
				continue
			case b.Kind() == provider.MediaImage:
				content = append(content, part{Type: "image_url", Image: &imageURL{"data:" + b.Type + ";base64," + base64.StdEncoding.EncodeToString(b.Data)}})
				continue
			}
		}
		return nil, fmt.Errorf("block %d: %s: no form for it", i, provider.KindOf(b))
	}
	return content, nil
}

// answer is an answer of the history while it is written.
type answer struct {
	content  []part
	thoughts []string // of our own, in the order of the blocks
	spoken   bool
	calls    []toolCall
	ids      []string // of the calls, ours
}

// assistant writes an answer and the results of its calls, which are among the messages after it. One that said nothing is left out.
func (h *history) assistant(list provider.Blocks, after []provider.Message) error {
	h.calls.Answered()
	var a answer
	for i, b := range list {
		switch b := b.(type) {
		case provider.Thinking:
			h.thought(&a, b)
		case provider.Text:
			if !provider.Blank(b.Text) {
				a.content, a.spoken = append(a.content, text(b.Text)), true
			}
		case provider.ToolCall:
			input, err := exchange.Arguments(b)
			if err != nil {
				return fmt.Errorf("block %d: %w", i, err)
			}
			a.calls = append(a.calls, toolCall{h.calls.New(b.ID), "function", functionCall{h.names.Wire(b.Name), string(input)}})
			a.ids = append(a.ids, b.ID)
		case provider.Opaque: // another vendor's
		default:
			return fmt.Errorf("block %d: %s: no form for it", i, provider.KindOf(b))
		}
	}
	if !a.spoken && len(a.calls) == 0 {
		h.count.Drop(len(a.thoughts), "nothing was said with it")
		return nil
	}
	m := message{Role: "assistant", Calls: a.calls}
	h.rethink(&m, &a)
	if len(a.content) > 0 {
		m.Content = a.content
	}
	if h.lastRole() == "" {
		h.says([]part{text(replay.Opening)})
	}
	h.out = append(h.out, m)
	return h.results(a, replay.Following(after))
}

// thought takes in earlier thinking. Thinking of this API goes back to all of its models, because nothing binds it to one.
func (h *history) thought(a *answer, b provider.Thinking) {
	switch {
	case !replay.Own(b.State, provider.Origin{API: wireAPI}):
		replay.PlaceOf(wireAPI).Foreign.Count(b, &h.count)
	case h.strip:
		h.count.Drop(1, provider.WhyRepair)
	default:
		said := thoughtOf(b)
		a.thoughts = append(a.thoughts, said)
		if h.thinks {
			a.content = append(a.content, part{Type: "thinking", Thinking: &said})
		}
	}
}

// thoughtOf returns the text of thinking, from either member that can have it.
func thoughtOf(b provider.Thinking) string {
	if plan := gjson.GetBytes(b.State.Data, "tool_plan"); plan.Exists() {
		return plan.Str
	}
	return gjson.GetBytes(b.State.Data, "thinking").Str
}

// rethink counts thinking of our own that goes back, and makes it the plan of calls for a model that does not think.
func (h *history) rethink(m *message, a *answer) {
	switch {
	case h.thinks:
		h.count.Kept += len(a.thoughts)
	case len(a.calls) > 0:
		m.Plan = strings.Join(a.thoughts, "\n\n")
		h.count.Kept += len(a.thoughts)
	default:
		h.count.Drop(len(a.thoughts), "the model takes none without calls of tools")
	}
}

// results writes a result for each call. Images of results are shown by the user after them: the API has no form for them there.
func (h *history) results(a answer, found map[string][]provider.ToolResult) error {
	var shown provider.Blocks
	for i, c := range a.calls {
		var content []part
		media := len(shown)
		for _, b := range replay.Result(replay.ResultOf(found, a.ids[i])) {
			switch b := b.(type) {
			case provider.Media:
				if b.Kind() == provider.MediaText {
					content = append(content, text(replay.FileText(b)))
				} else {
					shown = append(shown, b)
				}
			case provider.Text:
				content = append(content, resultParts(b.Text)...)
			default:
				return fmt.Errorf("result of %s: %s: no form for it", a.ids[i], provider.KindOf(b))
			}
		}
		switch {
		case len(content) > 0:
		case len(shown) > media:
			content = []part{text("see what the user shows next")}
		default:
			content = []part{text(replay.NoOutput)}
		}
		h.out = append(h.out, message{Role: "tool", CallID: c.ID, Content: content})
	}
	content, err := h.content(shown)
	h.says(content)
	return err
}

// resultParts are the documents of a result, else its text.
func resultParts(said string) (content []part) {
	for _, d := range documents(said) {
		content = append(content, part{Type: "document", Document: &d})
	}
	if content == nil {
		content = []part{text(said)}
	}
	return content
}
