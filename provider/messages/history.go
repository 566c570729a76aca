package messages

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
	"github.com/thinkd/thinkd/provider/mediatype"
	"github.com/thinkd/thinkd/provider/replay"
)

type message struct {
	Role    provider.Role `json:"role"`
	Content []any         `json:"content"`                 // *block, or json.RawMessage of the vendor's own
	Output  *outputConfig `json:"output_config,omitempty"` // of a message that changes the effort
}

// block is a block that we write ourselves.
type block struct {
	Type  string  `json:"type"`
	Text  *string `json:"text,omitempty"`
	Title string  `json:"title,omitempty"` // of a document

	Source *source `json:"source,omitempty"`

	ID    string          `json:"id,omitempty"`
	Name  string          `json:"name,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`

	CallID  string `json:"tool_use_id,omitempty"`
	Content []any  `json:"content,omitempty"`
	IsError bool   `json:"is_error,omitempty"`

	Cache *replay.CacheMark `json:"cache_control,omitempty"`
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      any    `json:"data"` // []byte for base64, string for text
}

// mark marks the end of a prefix to cache; nil: nothing is marked. Moving the mark is no edit of what stands before (docs:
// prompt-caching, preserved-thinking); a prefix that is too short to cache costs nothing. All marks of a request are of
// one time: the longer one must not come after the shorter one.
func (a *API) mark(req *provider.Request) *replay.CacheMark {
	if exchange.Withholds(req, wireAPI, "cache_control") {
		return nil
	}
	return replay.Mark(a.caller.Cache, req.Options.Cache)
}

// forgetful are parts of the names of models that do not get the thinking of earlier turns: those before Opus 4.5, Sonnet 4.6 and Haiku
// 5.5 (docs: extended-thinking).
var forgetful = []string{"claude-3", "opus-4-0", "opus-4-1", "opus-4-2", "sonnet-4-0", "sonnet-4-2", "sonnet-4-5", "haiku-4-5"}

func forgets(model string) bool {
	return slices.ContainsFunc(forgetful, func(part string) bool { return strings.Contains(model, part) })
}

// callID is what the API takes as the id of a call, each once in a conversation.
var callID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_-]+$`) })

// interrupted stands between the results of an interrupted round of calls and the next prompt, where it is wanted.
const interrupted = "(interrupted)"

// history writes earlier messages, and counts the thinking that is kept, converted and dropped.
type history struct {
	vendor    string
	host      Host
	strip     bool
	plain     bool // PlainBlocks is in effect
	mark      *replay.CacheMark
	manual    bool     // thinking has a budget
	inPlace   bool     // changes of effort go where they were made
	changes   int      // so many did
	closed    bool     // interrupted was put in
	compacted []string // betas of the server's compactions that go back
	calls     replay.CallIDs
	row       provider.Model
	unseen    replay.Unseen // media that were left out
	elsewhere int           // results of other vendors' tools, as text
	count     provider.Conversion
}

func (a *API) newHistory(req *provider.Request) *history {
	return &history{vendor: a.caller.Vendor, host: a.host, strip: slices.Contains(req.Repairs, StripThinking),
		inPlace: inPlace(req), manual: req.Decision.Control.Mode == provider.ModeBudget, row: exchange.Row(req, wireAPI), plain: slices.Contains(req.Repairs, PlainBlocks), mark: a.mark(req), calls: replay.CallIDs{Fits: callID().MatchString}}
}

func (h *history) messages(list []provider.Message) ([]message, error) {
	list, h.elsewhere = replay.ServerTools(list, func(s provider.State) bool { return h.own(s) && !h.plain })
	list, h.unseen = replay.Visible(replay.OwnMedia(list, wireAPI), h.row, mediaForms()...)
	h.count.Media = h.unseen.Count()
	out := make([]message, 0, len(list))
	for i, m := range list {
		if m.Role == provider.User {
			m.Blocks = replay.Prompt(m.Blocks)
		} else {
			h.calls.Answered()
		}
		blocks, err := h.blocks(m.Blocks)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		if m.Role == provider.Assistant {
			blocks = h.echoed(h.ended(blocks), m.Blocks)
		}
		if len(blocks) == 0 {
			continue
		}
		if h.inPlace && m.Effort != "" {
			out = append(out, effortChange(m.Effort))
			h.changes++
		}
		out = append(out, message{Role: m.Role, Content: blocks})
	}
	out = h.closeRounds(out)
	h.markCache(out)
	return out, nil
}

// closeRounds parts prompts from the results of rounds that were interrupted. With a budget the API takes such a round
// for one that goes on, and refuses it unless it begins with thinking, which another model's does not (docs:
// extended-thinking). A round that begins with thinking may go on: a prompt that steers a running loop stands right behind
// the results. No model of that mode binds its thinking to what stands before it.
func (h *history) closeRounds(list []message) []message {
	if !h.manual {
		return list
	}
	var out []message
	for i, m := range list {
		if i > 0 && m.Role == provider.User && !answers(m) && answers(list[i-1]) && !thinksFirst(out) {
			h.closed = true
			text := interrupted
			out = append(out, message{Role: provider.Assistant, Content: []any{&block{Type: "text", Text: &text}}})
		}
		out = append(out, m)
	}
	return out
}

// thinksFirst reports whether the round that a list ends in begins with thinking. It begins behind the last message of
// the user without results; one that stands right behind results belongs to them, as the API joins the two.
func thinksFirst(list []message) bool {
	first := len(list)
	for i, m := range slices.Backward(list) {
		switch {
		case m.Role == provider.Assistant:
			first = i
		case !answers(m) && (i == 0 || !answers(list[i-1])):
			return first < len(list) && len(list[first].Content) > 0 && isThinking(list[first].Content[0])
		}
	}
	return first < len(list) && len(list[first].Content) > 0 && isThinking(list[first].Content[0])
}

// unopened reports whether a list ends in the results of a round that does not begin with thinking: another model made its
// calls, or this one while its thinking was off. With a budget the API refuses to continue such a round.
func unopened(list []message) bool {
	return len(list) > 0 && answers(list[len(list)-1]) && !thinksFirst(list)
}

// answers reports whether a message has results of calls.
func answers(m message) bool {
	return slices.ContainsFunc(m.Content, func(b any) bool {
		own, ok := b.(*block)
		return ok && own.Type == "tool_result"
	})
}

// ended takes off the thinking that a message ends in, as one that was cut off may: the API refuses it there, and lets
// the end of a run be missing (docs: thinking-troubleshooting, preserved-thinking).
func (h *history) ended(blocks []any) []any {
	for n := len(blocks); n > 0; n-- {
		if !isThinking(blocks[n-1]) {
			return blocks[:n]
		}
		h.count.Kept--
		h.count.Drop(1, "an answer must not end in thinking here")
	}
	return nil
}

// isThinking reports whether a written block is thinking. All thinking is written as the vendor's own JSON.
func isThinking(written any) bool {
	raw, own := written.(json.RawMessage)
	kind := gjson.GetBytes(raw, "type").Str
	return own && (kind == "thinking" || kind == "redacted_thinking")
}

// markCache puts the cache mark on the last block of up to three messages of the user (docs: prompt-caching):
//
//	prompt ─► answer ─► prompt ─► answer ─► results ─► answer ─► results, prompt that steers
//	             earlier                       before                      last
//
// The last one is for the next request. The one before the last answer is where the request before had its mark: the vendor looks for
// what it has only up to 20 blocks before a mark, and an answer with its results may have more. The earlier one is the prompt before
// the last. It is for models that do not get the thinking of earlier turns: the first request of a turn shares with the turn before
// nothing behind that turn's prompt. The fourth mark that the API takes is that of the system prompt or of the tools.
//
// Blocks of the model's are the vendor's own JSON, and thinking could not carry a mark.
func (h *history) markCache(out []message) {
	put := func(i int) {
		if i >= 0 {
			if b, ok := out[i].Content[len(out[i].Content)-1].(*block); ok {
				b.Cache = h.mark
			}
		}
	}
	last := lastWhere(out, func(m message) bool { return m.Role == provider.User })
	put(last)
	answer := lastWhere(out[:max(last, 0)], func(m message) bool { return m.Role == provider.Assistant })
	put(lastWhere(out[:max(answer, 0)], func(m message) bool { return m.Role == provider.User }))
	if forgets(h.row.ID) {
		prompt := lastWhere(out, prompts)
		put(lastWhere(out[:max(prompt, 0)], prompts))
	}
}

// prompts reports whether a message has words of the user.
func prompts(m message) bool { return m.Role == provider.User && !answers(m) }

// lastWhere is the index of the last message that fits, or -1.
func lastWhere(list []message, fits func(message) bool) int {
	for i, m := range slices.Backward(list) {
		if fits(m) {
			return i
		}
	}
	return -1
}

// blocks writes tool results first, as the API demands of the message after a call.
func (h *history) blocks(list provider.Blocks) ([]any, error) {
	var results, rest []any
	for i, b := range list {
		if r, ok := b.(provider.ToolResult); ok && r.Failed {
			var media provider.Blocks
			b, media = failed(r)
			beside, err := h.blocks(media)
			if err != nil {
				return nil, fmt.Errorf("block %d: %w", i, err)
			}
			rest = append(rest, beside...)
		}
		written, err := h.block(b)
		if err != nil {
			return nil, fmt.Errorf("block %d: %w", i, err)
		}
		switch {
		case written == nil:
		case provider.KindOf(b) == provider.KindToolResult:
			results = append(results, written)
		default:
			rest = append(rest, written)
		}
	}
	return append(results, rest...), nil
}

// failed returns the result of a failed tool, and separately its media: the API refuses a failure without content, and one with
// anything but text.
func failed(r provider.ToolResult) (provider.ToolResult, provider.Blocks) {
	var media provider.Blocks
	said := slices.DeleteFunc(slices.Clone(replay.WithoutBlanks(r.Blocks)), func(b provider.Block) bool {
		if _, ok := b.(provider.Text); !ok {
			media = append(media, b)
			return true
		}
		return false
	})
	if len(said) == 0 {
		said = provider.Blocks{provider.Text{Text: replay.NoOutput}}
	}
	r.Blocks = said
	return r, media
}

// block is nil for a block that stays out.
func (h *history) block(b provider.Block) (any, error) {
	own := h.own(provider.StateOf(b))
	switch b := b.(type) {
	case provider.Thinking:
		switch {
		case !own:
			replay.ForeignDrop.Count(b, &h.count)
			return nil, nil
		case h.strip:
			h.count.Drop(1, provider.WhyRepair)
			return nil, nil
		}
		h.count.Kept++
		return b.State.Data, nil
	case provider.ServerTool: // replay.ServerTools leaves the vendor's own
		return b.State.Data, nil
	case provider.Opaque:
		if !own {
			return nil, nil
		}
		if gjson.GetBytes(b.State.Data, "type").Str == "compaction" {
			h.compacted = append(h.compacted, compactionBeta(b.State.Data))
		}
		return b.State.Data, nil
	case provider.Text:
		switch {
		case provider.Blank(b.Text):
			return nil, nil
		case own && !h.plain:
			return b.State.Data, nil
		}
		return &block{Type: "text", Text: &b.Text}, nil
	case provider.ToolCall:
		if own && !h.plain {
			return h.ownCall(b)
		}
		input, err := exchange.Arguments(b)
		return &block{Type: "tool_use", ID: h.calls.New(b.ID), Name: replay.ToolName(b.Name), Input: input}, err
	case provider.ToolResult:
		content, err := h.blocks(b.Blocks)
		return &block{Type: "tool_result", CallID: h.calls.Of(b.CallID), Content: content, IsError: b.Failed}, err
	case provider.Media:
		return media(b)
	}
	return nil, fmt.Errorf("%s: no form for it", provider.KindOf(b))
}

// ownCall is a call as the vendor wrote it. Hosts that speak this API let models invent names and use an id twice, and
// refuse both in a history: then those members are replaced.
func (h *history) ownCall(b provider.ToolCall) (any, error) {
	said := gjson.ParseBytes(b.State.Data)
	id, name := said.Get("id").Str, said.Get("name").Str
	if callID().MatchString(id) && !h.calls.Taken(id) && replay.ToolName(name) == name {
		h.calls.Own(b.ID, id)
		return b.State.Data, nil
	}
	return exchange.WithMembers(b.State.Data, map[string]any{"id": h.calls.New(b.ID), "name": replay.ToolName(name)})
}

// own reports whether a state is of this API and vendor. Host, account and model may differ: signatures are
// valid on all hosts, and the server leaves out another model's thinking itself (docs: preserved-thinking).
func (h *history) own(s provider.State) bool {
	return replay.Own(s, provider.Origin{API: wireAPI, Vendor: h.vendor})
}

// mediaForms are the kinds and types of media that the API has a form for.
func mediaForms() []string { return append([]string{provider.MediaPDF}, replay.Images...) }

// media writes a file. The API takes text files as documents of plain text with a title (docs: citations); the title names the type as
// well.
func media(b provider.Media) (any, error) {
	if len(b.Data) == 0 {
		return nil, fmt.Errorf("media of type %q without data", b.Type)
	}
	encoded := &source{Type: "base64", MediaType: b.Type, Data: b.Data}
	switch b.Kind() {
	case provider.MediaImage:
		return &block{Type: "image", Source: encoded}, nil
	case provider.MediaPDF:
		return &block{Type: "document", Title: replay.FileName(b.Name), Source: encoded}, nil
	case provider.MediaText:
		plain := &source{Type: "text", MediaType: mediatype.Plain, Data: strings.ToValidUTF8(string(b.Data), "\uFFFD")}
		return &block{Type: "document", Title: replay.FileTitle(b), Source: plain}, nil
	}
	return nil, fmt.Errorf("media of type %q is not taken", b.Type)
}

// echoed puts empty thinking before an answer with tool calls that has none, where the host insists on some. What
// another vendor thought is not made up as this one's.
func (h *history) echoed(blocks []any, from provider.Blocks) []any {
	calls := func(b provider.Block) bool { return provider.KindOf(b) == provider.KindToolCall }
	if !h.host.Echo || !slices.ContainsFunc(from, calls) || slices.ContainsFunc(blocks, isThinking) {
		return blocks
	}
	return slices.Insert(blocks, 0, any(json.RawMessage(`{"type":"thinking","thinking":""}`)))
}

// effortChange is the message from which on another effort applies (docs: effort).
func effortChange(effort provider.Level) message {
	return message{Role: "system", Content: []any{}, Output: &outputConfig{Effort: effort}}
}
