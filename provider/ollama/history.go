package ollama

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/replay"
)

type message struct {
	Role     string     `json:"role"`
	Thinking string     `json:"thinking,omitempty"`
	Content  string     `json:"content"`
	Images   [][]byte   `json:"images,omitempty"`
	Calls    []toolCall `json:"tool_calls,omitempty"`
	ToolName string     `json:"tool_name,omitempty"`
	CallID   string     `json:"tool_call_id,omitempty"`
}

type toolCall struct {
	ID       string       `json:"id,omitempty"`
	Function callFunction `json:"function"`
}

type callFunction struct {
	Index     int             `json:"index"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// history writes earlier messages, and counts the thinking that is kept, converted and dropped.
type history struct {
	row       provider.Model
	unseen    replay.Unseen // media that were left out
	elsewhere int           // results of vendors' tools, as text
	count     provider.Conversion
	names     map[string]string // of tools, by the id of the call
}

func newHistory(req *provider.Request) *history {
	return &history{row: exchange.Row(req, wireAPI)}
}

func (h *history) messages(system string, list []provider.Message) ([]message, error) {
	list, h.elsewhere = replay.ServerTools(list, func(provider.State) bool { return false })
	list, h.unseen = replay.Visible(replay.OwnMedia(list, wireAPI), h.row, replay.OllamaImages...)
	h.count.Media = h.unseen.Count()
	h.names = map[string]string{}
	out := []message{}
	if !provider.Blank(system) {
		out = append(out, message{Role: "system", Content: system})
	}
	for i, m := range list {
		var more []message
		var err error
		if m.Role == provider.Assistant {
			more, err = h.assistant(m.Blocks)
		} else {
			more, err = h.user(replay.Prompt(m.Blocks))
		}
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		out = append(out, more...)
	}
	return out, nil
}

// assistant writes one message. Thinking goes back in a member of its own: in the text it would be taken for said (docs:
// thinking).
func (h *history) assistant(list provider.Blocks) ([]message, error) {
	m := message{Role: "assistant"}
	var thinking []provider.Thinking
	var said []string
	for i, b := range list {
		switch b := b.(type) {
		case provider.Thinking:
			thinking = append(thinking, b)
		case provider.Text:
			if gjson.GetBytes(b.State.Data, "leaked").Bool() && b.State.Origin.API == wireAPI {
				thinking = append(thinking, provider.Thinking{Text: b.Text, State: b.State})
			} else if b.Text != "" {
				said = append(said, b.Text)
			}
		case provider.ToolCall:
			args, err := exchange.Arguments(b)
			if err != nil {
				return nil, fmt.Errorf("block %d: %w", i, err)
			}
			name := replay.ToolName(b.Name)
			h.names[b.ID] = name
			m.Calls = append(m.Calls, toolCall{b.ID, callFunction{len(m.Calls), name, args}})
		case provider.Opaque: // another vendor's
		default:
			return nil, fmt.Errorf("block %d: %s: no form for it", i, provider.KindOf(b))
		}
	}
	if m.Content = strings.Join(said, ""); provider.Blank(m.Content) {
		m.Content = ""
	}
	if m.Content == "" && len(m.Calls) == 0 { // a template makes an empty answer of it
		h.count.Drop(len(thinking), "nothing was said with it")
		return nil, nil
	}
	m.Thinking = h.thoughts(thinking)
	return []message{m}, nil
}

func (h *history) thoughts(list []provider.Thinking) string {
	var texts []string
	for _, b := range list {
		switch {
		case b.Text != "" && replay.Own(b.State, provider.Origin{API: wireAPI}):
			h.count.Kept++
		case !replay.PlaceOf(wireAPI).Foreign.Count(b, &h.count):
			continue
		}
		texts = append(texts, b.Text)
	}
	return strings.Join(texts, "\n\n")
}

// user writes a message for each tool result, and one for all that the user says.
func (h *history) user(list provider.Blocks) ([]message, error) {
	var out []message
	said := message{Role: "user"}
	var rest provider.Blocks
	for i, b := range list {
		result, ok := b.(provider.ToolResult)
		if !ok {
			rest = append(rest, b)
			continue
		}
		m := message{Role: "tool", CallID: result.CallID, ToolName: h.names[result.CallID]}
		if err := h.fill(&m, replay.Result(result)); err != nil {
			return nil, fmt.Errorf("block %d: %w", i, err)
		}
		out = append(out, m)
	}
	if err := h.fill(&said, rest); err != nil {
		return nil, err
	}
	if said.Content != "" || len(said.Images) > 0 {
		out = append(out, said)
	}
	return out, nil
}

// fill puts texts and images into a message.
func (h *history) fill(m *message, list provider.Blocks) error {
	var texts []string
	for _, b := range list {
		switch b := b.(type) {
		case provider.Text:
			texts = append(texts, b.Text)
		case provider.Media:
			switch {
			case len(b.Data) == 0:
				return fmt.Errorf("media of type %q without data", b.Type)
			case b.Kind() == provider.MediaText:
				texts = append(texts, replay.FileText(b))
			default:
				m.Images = append(m.Images, b.Data)
			}
		default:
			return fmt.Errorf("%s: no form for it", provider.KindOf(b))
		}
	}
	m.Content = strings.Join(texts, "\n")
	return nil
}
