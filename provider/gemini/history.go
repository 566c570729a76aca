package gemini

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/replay"
)

// Bypass stands where a thought signature is wanted and there is none. It goes out as this text, not as base64 (docs:
// thought-signatures).
const Bypass = "skip_thought_signature_validator"

// unanswered is the result of a call that has none: counts of calls and results have to match (docs: function-calling).
const unanswered = "interrupted before a result came"

type content struct {
	Role  string `json:"role,omitempty"`
	Parts []any  `json:"parts"` // part, or json.RawMessage of the vendor's own
}

// part is a part that we write ourselves.
type part struct {
	Text      *string   `json:"text,omitempty"`
	Inline    *inline   `json:"inlineData,omitempty"`
	Call      *callPart `json:"functionCall,omitempty"`
	Response  *response `json:"functionResponse,omitempty"`
	Signature string    `json:"thoughtSignature,omitempty"`
}

type inline struct {
	MimeType string `json:"mimeType"`
	Data     []byte `json:"data"`
}

type callPart struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

type response struct {
	ID       string            `json:"id,omitempty"`
	Name     string            `json:"name"`
	Response map[string]string `json:"response"`
	Parts    []part            `json:"parts,omitempty"`
}

// history writes earlier messages for a model, and counts the thinking that is kept, converted and dropped.
type history struct {
	generation int  // of the model; 0: not known
	leveled    bool // the model wants its signatures back
	bypass     bool // the repair is in effect
	count      provider.Conversion
	row        provider.Model
	unseen     replay.Unseen // media that were left out
	elsewhere  int           // results of other vendors' tools, as text
	bypassed   int           // steps that go out with the bypass
}

func newHistory(req *provider.Request) *history {
	return &history{
		generation: generationFor(req.Model), leveled: leveled(req.Model),
		bypass: slices.Contains(req.Repairs, BypassSignature), row: exchange.Row(req, wireAPI),
	}
}

// pending is a call that waits for its result: id is our name of it, wireID the one on the wire, empty for none.
type pending struct{ id, wireID, name string }

// contents writes messages in the vendor's order: all calls of a step in one content of the model's, then all their
// results, in the order of the calls, in one of the user's (docs: function-calling).
func (h *history) contents(list []provider.Message) ([]content, error) {
	list, h.elsewhere = replay.ServerTools(list, func(s provider.State) bool {
		return replay.Own(s, provider.Origin{API: wireAPI}) && h.takes(s.Origin.Model)
	})
	list, h.unseen = replay.Visible(replay.OwnMedia(list, wireAPI), h.row, mediaForms()...)
	h.count.Media = h.unseen.Count()
	out := []content{}
	var open []pending
	results := map[string]provider.ToolResult{}
	answer := func() error {
		if len(open) > 0 {
			parts, err := h.responses(open, results)
			if err != nil {
				return err
			}
			out = append(out, content{"user", parts})
		}
		open = nil
		clear(results)
		return nil
	}
	for i, m := range list {
		if m.Role == provider.Assistant {
			parts, calls, err := h.model(m.Blocks)
			if err != nil {
				return nil, fmt.Errorf("message %d: %w", i, err)
			}
			if len(parts) == 0 {
				continue
			}
			if n := len(out); n > 0 && out[n-1].Role == "model" { // calls stand directly after what a user said
				out[n-1].Parts = append(out[n-1].Parts, parts...)
			} else {
				out = append(out, content{"model", parts})
			}
			open = calls
			for _, later := range list[i+1:] {
				if later.Role == provider.Assistant {
					break
				}
				gather(later.Blocks, results)
			}
			if err := answer(); err != nil {
				return nil, fmt.Errorf("message %d: results: %w", i, err)
			}
			continue
		}
		parts, err := h.user(replay.Prompt(m.Blocks))
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		if len(parts) > 0 {
			out = append(out, content{"user", parts})
		}
	}
	return out, nil
}

// mediaForms are the kinds and types of media that the API has a form for.
func mediaForms() []string {
	return slices.Concat([]string{provider.MediaPDF, provider.MediaVideo}, replay.GeminiImages, replay.Sounds)
}

// media writes a file. A text file goes as text: the API takes a few types of text as files, and reads those as text as well (docs:
// document-processing).
func media(b provider.Media) part {
	if b.Kind() == provider.MediaText {
		text := replay.FileText(b)
		return part{Text: &text}
	}
	return part{Inline: &inline{b.Type, b.Data}}
}

func gather(list provider.Blocks, results map[string]provider.ToolResult) {
	for _, b := range list {
		if b, ok := b.(provider.ToolResult); ok {
			results[b.CallID] = b
		}
	}
}

// user writes the prompt of a user message. Results are written with their calls.
func (h *history) user(list provider.Blocks) ([]any, error) {
	var parts []any
	for i, b := range list {
		switch b := b.(type) {
		case provider.ToolResult:
		case provider.Text:
			parts = append(parts, part{Text: &b.Text})
		case provider.Media:
			if len(b.Data) == 0 {
				return nil, fmt.Errorf("block %d: media of type %q without data", i, b.Type)
			}
			parts = append(parts, media(b))
		default:
			return nil, fmt.Errorf("block %d: %s: a user does not say this", i, provider.KindOf(b))
		}
	}
	return parts, nil
}

// responses writes the results of a step's calls.
func (h *history) responses(calls []pending, results map[string]provider.ToolResult) ([]any, error) {
	var parts, beside []any
	for _, c := range calls {
		result, ok := results[c.id]
		if !ok {
			result = provider.ToolResult{Failed: true, Blocks: provider.Blocks{provider.Text{Text: unanswered}}}
		}
		r := &response{ID: c.wireID, Name: c.name}
		var texts []string
		for _, b := range result.Blocks {
			switch b := b.(type) {
			case provider.Text:
				texts = append(texts, b.Text)
			case provider.Media:
				if len(b.Data) == 0 {
					return nil, fmt.Errorf("result of %s: media of type %q without data", c.name, b.Type)
				}
				p := media(b)
				if p.Text != nil {
					texts = append(texts, *p.Text)
					continue
				}
				if h.leveled { // from Gemini 3 on a result takes media (docs: function-calling)
					r.Parts = append(r.Parts, p)
				} else {
					beside = append(beside, p)
				}
			default:
				return nil, fmt.Errorf("result of %s: %s: no form for it", c.name, provider.KindOf(b))
			}
		}
		member := "output"
		if result.Failed {
			member = "error"
		}
		r.Response = map[string]string{member: strings.Join(texts, "\n")}
		parts = append(parts, part{Response: r})
	}
	return append(parts, beside...), nil
}

// model writes what a model said and lists its calls. The first call of a step has to be signed; where that is not so,
// the bypass signs it. Older steps are not looked at by the server, but theirs stay as they were once sent, so that the
// prefix does not change.
func (h *history) model(list provider.Blocks) (parts []any, calls []pending, err error) {
	for i, b := range list {
		state := provider.StateOf(b)
		if c, ok := b.(provider.ToolCall); ok && c.Invalid != "" {
			state = provider.State{} // the server refuses arguments that are no object, though its model wrote them
		}
		if replay.Own(state, provider.Origin{API: wireAPI}) {
			own, err := h.own(b, state)
			if err != nil {
				return nil, nil, fmt.Errorf("block %d: %w", i, err)
			}
			if c, ok := b.(provider.ToolCall); ok {
				wireID := gjson.GetBytes(state.Data, "0.functionCall.id").Str
				if len(calls) == 0 && (h.leveled || h.bypass) && len(own) > 0 && !hasSignature(own[0]) {
					if own[0], err = withSignature(own[0], Bypass); err != nil {
						return nil, nil, fmt.Errorf("block %d: %w", i, err)
					}
					h.bypassed++
				}
				calls = append(calls, pending{c.ID, wireID, replay.ToolName(c.Name)})
			}
			for _, p := range own {
				if media, ok := b.(provider.Media); ok {
					if len(media.Data) == 0 {
						continue // lost, and reported
					}
					if p, err = withData(p, media); err != nil {
						return nil, nil, fmt.Errorf("block %d: %w", i, err)
					}
				}
				parts = append(parts, p)
			}
			continue
		}
		switch b := b.(type) {
		case provider.Thinking:
			replay.ForeignDrop.Count(b, &h.count)
		case provider.Opaque: // another vendor's
		case provider.Text:
			if !provider.Blank(b.Text) {
				parts = append(parts, part{Text: &b.Text})
			}
		case provider.ToolCall:
			p := part{Call: &callPart{Name: replay.ToolName(b.Name)}}
			if p.Call.Args, err = exchange.Arguments(b); err != nil {
				return nil, nil, fmt.Errorf("block %d: %w", i, err)
			}
			if h.leveled { // older models know no ids
				p.Call.ID = b.ID
			}
			if len(calls) == 0 && (h.leveled || h.bypass) {
				p.Signature = Bypass
				h.bypassed++
			}
			calls = append(calls, pending{b.ID, p.Call.ID, p.Call.Name})
			parts = append(parts, p)
		default:
			return nil, nil, fmt.Errorf("block %d: %s: no form for it", i, provider.KindOf(b))
		}
	}
	return parts, calls, nil
}

// takes reports whether the model takes the signatures of another.
func (h *history) takes(model string) bool {
	wrote := generationOf(model)
	return !h.bypass && (wrote == h.generation || h.leveled && (wrote >= 3 || wrote == 0))
}

// own writes a block of this API part by part. Another model's signatures are taken from the same generation or from
// any since the third (docs: thought-signatures); others stay out, and with them all that only they make sense of.
func (h *history) own(b provider.Block, s provider.State) ([]json.RawMessage, error) {
	var parts []json.RawMessage
	if err := json.Unmarshal(s.Data, &parts); err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	takes := h.takes(s.Origin.Model)
	var out []json.RawMessage
	for _, p := range parts {
		signed, invented := hasSignature(p), false
		if name := gjson.GetBytes(p, "functionCall.name"); name.Exists() && replay.ToolName(name.Str) != name.Str {
			var err error
			if p, err = renamed(p, replay.ToolName(name.Str)); err != nil {
				return nil, err
			}
			invented = true
		}
		switch {
		case signed && takes && !invented:
			h.count.Kept++
			out = append(out, p)
			continue
		case signed:
			why := h.why()
			if invented {
				why = "it is bound to a name of a tool that the vendor does not take"
			}
			h.count.Drop(1, why)
			var err error
			if p, err = withSignature(p, ""); err != nil {
				return nil, err
			}
		}
		switch b.(type) {
		case provider.Thinking: // a summary: only its signature was wanted (docs: thought-signatures)
		case provider.Opaque:
			if !signed {
				out = append(out, p)
			}
		case provider.Media, provider.ServerTool:
			out = append(out, p)
		default:
			if gjson.GetBytes(p, "text").Str != "" || gjson.GetBytes(p, "functionCall").Exists() {
				out = append(out, p)
			}
		}
	}
	return out, nil
}

// why a signature of this API does not go back.
func (h *history) why() string {
	if h.bypass {
		return provider.WhyRepair
	}
	return "a model of this generation does not take that of another"
}

func hasSignature(part json.RawMessage) bool {
	return gjson.GetBytes(part, "thoughtSignature").Str != ""
}

// withSignature is the part with another signature, or without one.
func withSignature(part json.RawMessage, signature string) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(part, &members); err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	delete(members, "thoughtSignature")
	if signature != "" {
		text, err := json.Marshal(signature)
		if err != nil {
			return nil, err
		}
		members["thoughtSignature"] = text
	}
	return exchange.Encode(members)
}

// renamed is a call's part with a name that the vendor takes in a history. Its signature is bound to the name that the
// model invented.
func renamed(part json.RawMessage, name string) (json.RawMessage, error) {
	call, err := exchange.WithMembers(json.RawMessage(gjson.GetBytes(part, "functionCall").Raw), map[string]any{"name": name})
	if err != nil {
		return nil, err
	}
	return exchange.WithMembers(part, map[string]any{"functionCall": call})
}

// withData is a part of this vendor's with the data that its state does not hold.
func withData(p json.RawMessage, b provider.Media) (json.RawMessage, error) {
	var members map[string]any
	if err := json.Unmarshal(p, &members); err != nil {
		return nil, err
	}
	members["inlineData"] = inline{b.Type, b.Data}
	return exchange.Encode(members)
}
