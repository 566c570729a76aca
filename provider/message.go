package provider

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/thinkd/thinkd/provider/ownjson"
)

// Role says who speaks. The system prompt belongs to the [Request], tool results to the user.
type Role string

const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// Words lists both roles.
func (Role) Words() []string { return Words(User, Assistant) }

// Message is one turn of speech.
type Message struct {
	Role   Role   `json:"role"`
	Blocks Blocks `json:"content"`
	State  State  `json:"state,omitzero"` // opaque data that comes per message, not per block

	// Effort is the one that holds from here on, where it changed inside of the conversation; empty: as before. It is
	// set only in a [Request] with an Opening.
	Effort Level `json:"-"`
}

// A Block is a [Text], [Thinking], [ToolCall], [ToolResult], [ServerTool], [Media] or [Opaque]. Blocks are values: changing one
// never changes a copy held elsewhere.
type Block interface {
	kind() BlockKind
	wire() wireBlock
}

// BlockKind is the `type` of a block in JSON, in the log and in the protocol alike.
type BlockKind string

const (
	KindText       BlockKind = "text"
	KindThinking   BlockKind = "thinking"
	KindToolCall   BlockKind = "tool_call"
	KindToolResult BlockKind = "tool_result"
	KindServerTool BlockKind = "server_tool"
	KindMedia      BlockKind = "media"
	KindOpaque     BlockKind = "opaque"
)

// Text is a text of a prompt or an answer.
type Text struct {
	Text    string
	Sources []Citation // what a model's text refers to
	State   State

	// JSON is the text as a value, if JSON was requested and the text fits the schema.
	JSON json.RawMessage
}

// ThinkingKind says what a thinking block's text is.
type ThinkingKind string

const (
	ThinkingFull     ThinkingKind = "full"     // the reasoning itself
	ThinkingSummary  ThinkingKind = "summary"  // the vendor's account of it
	ThinkingRedacted ThinkingKind = "redacted" // withheld by the vendor: no text, only State
	ThinkingOmitted  ThinkingKind = "omitted"  // not asked for: no text, only State
)

// Words lists all kinds.
func (ThinkingKind) Words() []string {
	return Words(ThinkingFull, ThinkingSummary, ThinkingRedacted, ThinkingOmitted)
}

// Thinking is what a model thought, as far as its vendor tells. A block that was cut off before it was sealed has no
// State, is not Signed, and is shown but never sent back.
type Thinking struct {
	Text      string
	Kind      ThinkingKind
	Signed    bool          // State holds what the vendor wants back
	Tokens    int           // 0: the vendor gave no count for this block
	Estimated bool          // Tokens is an estimate
	Duration  time.Duration // from its start to its end, in whole milliseconds when stored
	State     State
}

// ToolCall is a model's request to run a tool. Input is a JSON object; where a model wrote something else, Input is
// empty and Invalid holds the text as it came.
type ToolCall struct {
	ID      string
	Name    string
	Input   json.RawMessage
	Invalid string
	State   State
}

// ToolResult answers the ToolCall with the same ID.
type ToolResult struct {
	CallID string
	Blocks Blocks
	Failed bool
}

// ServerTool is what a vendor ran on its own servers: a search of the web, a page that it read, or code. A block has the call, its
// result, or both, as the vendor gave them. Blocks with the same ID belong together.
type ServerTool struct {
	ID      string          // the vendor's
	Name    string          // a word of [ServerToolName], or the vendor's
	Input   json.RawMessage // a JSON object; empty: the block has the result alone
	Done    bool            // the block has the result:
	Text    string          // of the result, at most MaxServerText bytes
	Failed  bool
	Sources []Citation // the pages that were found or read
	State   State      // what the vendor wants back; a call that was cut off has none
}

// MaxServerText bounds the text of a [ServerTool]. All of a result is in its State.
const MaxServerText = 4 << 10

// ServerText is the beginning of a result, as the text of a [ServerTool].
func ServerText(result string) string {
	result = strings.TrimSpace(strings.ToValidUTF8(result, "\uFFFD"))
	if len(result) <= MaxServerText {
		return result
	}
	end := MaxServerText - len("…")
	for end > 0 && !utf8.RuneStart(result[end]) {
		end--
	}
	return result[:end] + "…"
}

// Plain is a server tool's work in words, for models of other vendors, summaries and searches. Input is that of the call.
func (b ServerTool) Plain(input json.RawMessage) string {
	var s strings.Builder
	fmt.Fprintf(&s, "[%s", b.Name)
	if len(input) > 0 && string(input) != "{}" {
		fmt.Fprintf(&s, " %s", input)
	}
	switch {
	case b.Failed:
		s.WriteString(" failed")
	case !b.Done:
		s.WriteString(" has no result")
	}
	if b.Text != "" {
		s.WriteString(": " + b.Text)
	}
	if list := SourceList(b.Sources); list != "" {
		s.WriteString("\n" + strings.TrimSuffix(list, "\n"))
	}
	s.WriteString("]")
	return s.String()
}

// Media is a file: an image, a document, a sound or a text. What is kept elsewhere has no Data, but a Hash and a Size; adapters get it
// with Data.
type Media struct {
	Type string // MIME type
	Name string // of the file, as a client called it; empty: none
	Data []byte
	Hash string // SHA-256 of the data, in hexadecimal digits; empty: it is here
	Size int    // bytes, where Hash is given

	// What the header says: pixels of an image, and how long a sound plays. 0: not known.
	Width, Height int
	Duration      time.Duration // in whole milliseconds when stored

	State State // of what a model made, without the data
}

// Opaque is a block that this build does not know. It is never shown, and its vendor gets it back as it was.
type Opaque struct {
	State State
}

// State is the vendor's own JSON of a block, as received: signature, encrypted reasoning, item id. A later turn may
// need it verbatim. Only the adapter that wrote it looks inside; everyone else keeps it as it is. It is kept
// value-exact, not byte-exact: encoding/json compacts it.
type State struct {
	Origin Origin          `json:"origin"`
	Data   json.RawMessage `json:"data"`
}

// IsZero reports whether there is no state.
func (s State) IsZero() bool { return len(s.Data) == 0 && s.Origin == Origin{} }

// Origin says where a State came from. Which members must be equal to send the block back is the adapter's rule.
type Origin struct {
	API     string `json:"api"`               // messages, responses, chat, gemini, ollama
	Vendor  string `json:"vendor"`            // who made it: anthropic, openai, …
	Host    string `json:"host,omitempty"`    // who served it
	Account string `json:"account,omitempty"` // organisation id, or an HMAC of the key
	Model   string `json:"model,omitempty"`   // as the answer named it
}

// wireBlock is the JSON of all kinds.
type wireBlock struct {
	Type BlockKind `json:"type"`

	Text    *string    `json:"text,omitempty"`    // text, thinking, server_tool
	Sources []Citation `json:"sources,omitempty"` // text, server_tool

	JSON json.RawMessage `json:"json,omitempty"` // text

	Kind       ThinkingKind `json:"kind,omitempty"` // thinking
	Signed     *bool        `json:"signed,omitempty"`
	Tokens     int          `json:"tokens,omitempty"`
	Estimated  *bool        `json:"estimated,omitempty"`
	DurationMS *int64       `json:"duration_ms,omitempty"` // media as well

	CallID    string          `json:"call_id,omitempty"`   // tool_call, tool_result, server_tool
	Name      string          `json:"name,omitempty"`      // media as well
	Arguments json.RawMessage `json:"arguments,omitempty"` // tool_call, server_tool
	Invalid   string          `json:"invalid_arguments,omitempty"`
	Content   *Blocks         `json:"content,omitempty"`
	IsError   *bool           `json:"is_error,omitempty"`

	MimeType string `json:"mime_type,omitempty"` // media
	Data     []byte `json:"data,omitempty"`
	Hash     string `json:"hash,omitempty"` // in logs alone
	Size     int    `json:"size,omitempty"`
	Width    int    `json:"width,omitempty"`
	Height   int    `json:"height,omitempty"`

	State *State `json:"state,omitempty"`
}

func (Text) kind() BlockKind       { return KindText }
func (Thinking) kind() BlockKind   { return KindThinking }
func (ToolCall) kind() BlockKind   { return KindToolCall }
func (ToolResult) kind() BlockKind { return KindToolResult }
func (ServerTool) kind() BlockKind { return KindServerTool }
func (Media) kind() BlockKind      { return KindMedia }
func (Opaque) kind() BlockKind     { return KindOpaque }

func (b Text) wire() wireBlock {
	return wireBlock{Type: b.kind(), Text: &b.Text, Sources: b.Sources, JSON: b.JSON, State: b.State.wire()}
}

func (b Thinking) wire() wireBlock {
	ms := b.Duration.Milliseconds()
	w := wireBlock{Type: b.kind(), Text: &b.Text, Kind: b.Kind, Signed: &b.Signed,
		Tokens: b.Tokens, DurationMS: &ms, State: b.State.wire()}
	if b.Tokens != 0 {
		w.Estimated = &b.Estimated
	}
	return w
}

func (b ToolCall) wire() wireBlock {
	return wireBlock{Type: b.kind(), CallID: b.ID, Name: b.Name, Arguments: b.Input, Invalid: b.Invalid, State: b.State.wire()}
}

func (b ToolResult) wire() wireBlock {
	if b.Blocks == nil {
		b.Blocks = Blocks{}
	}
	return wireBlock{Type: b.kind(), CallID: b.CallID, Content: &b.Blocks, IsError: &b.Failed}
}

func (b ServerTool) wire() wireBlock {
	w := wireBlock{Type: b.kind(), CallID: b.ID, Name: b.Name, Arguments: b.Input, Sources: b.Sources, State: b.State.wire()}
	if b.Done {
		w.Text, w.IsError = &b.Text, &b.Failed
	}
	return w
}

func (b Media) wire() wireBlock {
	w := wireBlock{Type: b.kind(), MimeType: b.Type, Name: b.Name, Data: b.Data, Hash: b.Hash, Size: b.Size, Width: b.Width, Height: b.Height, State: b.State.wire()}
	if ms := b.Duration.Milliseconds(); ms > 0 {
		w.DurationMS = &ms
	}
	return w
}

func (b Opaque) wire() wireBlock {
	return wireBlock{Type: b.kind(), State: b.State.wire()}
}

func (s State) wire() *State {
	if s.IsZero() {
		return nil
	}
	return &s
}

// block is the way back. An unknown type is an error, so that the client learns of a typing mistake; blocks that a vendor
// invents arrive as Opaque and have a type that is known.
func (w wireBlock) block() (Block, error) {
	var state State
	if w.State != nil {
		state = *w.State
	}
	switch w.Type {
	case KindText:
		if w.Text == nil {
			return nil, fmt.Errorf("text: missing")
		}
		return Text{Text: *w.Text, Sources: w.Sources, JSON: w.JSON, State: state}, nil
	case KindThinking:
		b := Thinking{Kind: w.Kind, Tokens: w.Tokens, State: state}
		if w.Text != nil {
			b.Text = *w.Text
		}
		if w.Signed != nil {
			b.Signed = *w.Signed
		}
		if w.Estimated != nil {
			b.Estimated = *w.Estimated
		}
		if w.DurationMS != nil {
			b.Duration = time.Duration(*w.DurationMS) * time.Millisecond
		}
		return b, nil
	case KindToolCall:
		return ToolCall{ID: w.CallID, Name: w.Name, Input: w.Arguments, Invalid: w.Invalid, State: state}, nil
	case KindToolResult:
		b := ToolResult{CallID: w.CallID}
		if w.Content != nil {
			b.Blocks = *w.Content
		}
		if w.IsError != nil {
			b.Failed = *w.IsError
		}
		return b, nil
	case KindServerTool:
		b := ServerTool{ID: w.CallID, Name: w.Name, Input: w.Arguments, Done: w.Text != nil, Sources: w.Sources, State: state}
		if w.Text != nil {
			b.Text, b.Failed = *w.Text, w.IsError != nil && *w.IsError
		}
		return b, nil
	case KindMedia:
		if w.MimeType == "" {
			return nil, fmt.Errorf("mime_type: missing")
		}
		b := Media{Type: w.MimeType, Name: w.Name, Data: w.Data, Hash: w.Hash, Size: w.Size, Width: w.Width, Height: w.Height, State: state}
		if w.DurationMS != nil {
			b.Duration = time.Duration(*w.DurationMS) * time.Millisecond
		}
		return b, nil
	case KindOpaque:
		return Opaque{State: state}, nil
	}
	return nil, fmt.Errorf("type: %q is not one of text, thinking, tool_call, tool_result, media", w.Type)
}

// Blocks is a list of blocks that knows its JSON.
type Blocks []Block

// MarshalJSON writes the list; nil is the empty list.
func (bs Blocks) MarshalJSON() ([]byte, error) {
	wire := make([]wireBlock, len(bs))
	for i, b := range bs {
		wire[i] = b.wire()
	}
	return json.Marshal(wire)
}

// UnmarshalJSON reads a list; an error names the block by its place in the list.
func (bs *Blocks) UnmarshalJSON(data []byte) error {
	var wire []wireBlock
	if err := ownjson.Unmarshal(data, &wire); err != nil {
		return err
	}
	list := make(Blocks, len(wire))
	for i, w := range wire {
		b, err := w.block()
		if err != nil {
			return fmt.Errorf("block %d: %w", i, err)
		}
		list[i] = b
	}
	*bs = list
	return nil
}

// MarshalBlock writes one block, State included.
func MarshalBlock(b Block) ([]byte, error) { return json.Marshal(b.wire()) }

// AppendBlock appends what MarshalBlock writes, except that it escapes nothing for HTML. It takes half as long.
func AppendBlock(out []byte, b Block) ([]byte, error) { return ownjson.Append(out, b.wire()) }

// UnmarshalBlock reads what [MarshalBlock] or [AppendBlock] wrote.
func UnmarshalBlock(data []byte) (Block, error) {
	w, _ := wireBlocks.Get().(*wireBlock)
	if w == nil {
		w = new(wireBlock)
	}
	defer func() {
		*w = wireBlock{}
		wireBlocks.Put(w)
	}()
	if err := ownjson.Unmarshal(data, w); err != nil {
		return nil, err
	}
	return w.block()
}

// wireBlocks are kept for the next block: one takes more memory than what most blocks have.
var wireBlocks sync.Pool

// KindOf returns the block's word in JSON.
func KindOf(b Block) BlockKind { return b.kind() }

// StateOf is the vendor's data of a block, zero if it has none.
func StateOf(b Block) State {
	switch b := b.(type) {
	case Text:
		return b.State
	case Thinking:
		return b.State
	case ToolCall:
		return b.State
	case ServerTool:
		return b.State
	case Media:
		return b.State
	case Opaque:
		return b.State
	}
	return State{}
}

// Blank reports whether a text has nothing to read: spaces, control characters and characters without a glyph. Anthropic
// refuses such a block, although its models write "\n\n" before they call a tool.
func Blank(text string) bool {
	for _, r := range text {
		if !unicode.IsSpace(r) && !unicode.In(r, unicode.Cc, unicode.Cf) {
			return false
		}
	}
	return true
}

// WithoutState returns the block without its State, as people may see it.
func WithoutState(b Block) Block {
	switch b := b.(type) {
	case Text:
		b.State = State{}
		return b
	case Thinking:
		b.State = State{}
		return b
	case ToolCall:
		b.State = State{}
		return b
	case ServerTool:
		b.State = State{}
		return b
	case Media:
		b.State = State{}
		return b
	case Opaque:
		return Opaque{}
	}
	return b
}
