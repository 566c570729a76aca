package responses

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/replay"
)

// Items that we write ourselves. Those of the vendor's own making go as json.RawMessage.
type (
	message struct {
		Type    string `json:"type"`
		Role    string `json:"role"`
		Content []part `json:"content"`
	}
	part struct {
		Type     string `json:"type"`
		Text     string `json:"text,omitempty"`
		ImageURL string `json:"image_url,omitempty"`
		Filename string `json:"filename,omitempty"`
		FileData string `json:"file_data,omitempty"`
	}
	functionCall struct {
		Type      string `json:"type"`
		CallID    string `json:"call_id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	callOutput struct {
		Type   string `json:"type"`
		CallID string `json:"call_id"`
		Output any    `json:"output"` // a string, or parts
	}
)

// user writes tool results first, then what the user says.
func (h *history) user(blocks provider.Blocks) error {
	var said []part
	for i, b := range replay.Prompt(blocks) {
		result, ok := b.(provider.ToolResult)
		if !ok {
			p, err := userPart(b)
			if err != nil {
				return fmt.Errorf("block %d: %w", i, err)
			}
			said = append(said, p)
			continue
		}
		if err := h.result(result); err != nil {
			return fmt.Errorf("block %d: %w", i, err)
		}
	}
	if len(said) > 0 {
		h.input = append(h.input, message{"message", "user", said})
	}
	return nil
}

func (h *history) result(b provider.ToolResult) error {
	id := h.calls.Of(b.CallID)
	out := callOutput{Type: "function_call_output", CallID: id}
	if h.custom[id] {
		out.Type = "custom_tool_call_output"
	}
	var parts []part
	var texts []string
	for i, inner := range replay.Result(b) {
		p, err := userPart(inner)
		if err != nil {
			return fmt.Errorf("result %d: %w", i, err)
		}
		parts = append(parts, p)
		if p.Type == "input_text" {
			texts = append(texts, p.Text)
		}
	}
	out.Output = parts
	if len(texts) == len(parts) {
		out.Output = strings.Join(texts, "\n") // the form that every host takes
	}
	h.input = append(h.input, out)
	return nil
}

func userPart(b provider.Block) (part, error) {
	switch b := b.(type) {
	case provider.Text:
		return part{Type: "input_text", Text: b.Text}, nil
	case provider.Media:
		return media(b)
	}
	return part{}, fmt.Errorf("%s: no form for it in what a user says", provider.KindOf(b))
}

// mediaForms are the kinds and types of media that the API has a form for.
func mediaForms() []string { return append([]string{provider.MediaPDF}, replay.Images...) }

// media writes a file. A text file goes as text: as a file of the API, a table would lose rows (docs: file-inputs).
func media(b provider.Media) (part, error) {
	if len(b.Data) == 0 {
		return part{}, fmt.Errorf("media of type %q without data", b.Type)
	}
	data := func() string { return "data:" + b.Type + ";base64," + base64.StdEncoding.EncodeToString(b.Data) }
	switch b.Kind() {
	case provider.MediaImage:
		return part{Type: "input_image", ImageURL: data()}, nil
	case provider.MediaPDF:
		return part{Type: "input_file", Filename: cmp.Or(replay.FileName(b.Name), "document.pdf"), FileData: data()}, nil
	case provider.MediaText:
		return part{Type: "input_text", Text: replay.FileText(b)}, nil
	}
	return part{}, fmt.Errorf("media of type %q is not taken", b.Type)
}

// history writes earlier messages as items, and counts the thinking that is kept, converted and dropped.
type history struct {
	origin     provider.Origin // what a state has to say to go back
	modelBound bool
	inPlace    bool                        // changes of effort go where they were made
	effort     func(provider.Level) string // the word for one
	changes    int                         // so many did
	bare       int                         // items up to the so-manieth go without reasoning and ids: a repair is in effect
	seen       int                         // items so far
	calls      replay.CallIDs
	custom     map[string]bool // names on the wire of calls whose result is of the custom kind
	count      provider.Conversion
	list       []provider.Message // as the model is shown them
	unseen     replay.Unseen      // media that were left out
	elsewhere  int                // results of other vendors' tools, as text
	last       string
	input      []any
}
