package acp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/acp/blocks"
	"github.com/thinkd/thinkd/rpc/acp/command"
	"github.com/thinkd/thinkd/rpc/acp/option"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// metaKey is where our own members are, on every type that has _meta.
const metaKey = "thinkd.dev"

type meta map[string]any

type clientCapabilities struct {
	FS struct {
		Read  bool `json:"readTextFile"`
		Write bool `json:"writeTextFile"`
	} `json:"fs"`
	Terminal bool `json:"terminal"`
	Auth     struct {
		Terminal bool `json:"terminal"` // it can run thinkd in a terminal
	} `json:"auth"`
	Elicitation struct {
		URL marker `json:"url"`
	} `json:"elicitation"`
	Session struct {
		Notices    marker `json:"notices"`
		Compaction marker `json:"compaction"`
		Options    struct {
			Boolean marker `json:"boolean"`
		} `json:"configOptions"`
	} `json:"session"`
}

// marker is an object whose presence says that something is supported.
type marker bool

// UnmarshalJSON takes an object; null is the same as absent.
func (m *marker) UnmarshalJSON(data []byte) error {
	var object map[string]json.RawMessage
	err := json.Unmarshal(data, &object)
	*m = marker(object != nil)
	return err
}

type info struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// sessionID is a session as an editor names it. One that cannot be ours is not found, as one that is gone.
type sessionID struct{ ID session.ID }

// UnmarshalJSON takes any string.
func (i *sessionID) UnmarshalJSON(data []byte) error {
	var word string
	if err := json.Unmarshal(data, &word); err != nil {
		return err
	}
	if session.CheckID(word) == nil {
		i.ID = session.ID(word)
	}
	return nil
}

// NamesSession makes it a method.SessionNamer.
func (sessionID) NamesSession() bool { return true }

func (i sessionID) check() error {
	if i.ID == "" {
		return session.ErrNotFound
	}
	return nil
}

type sessionParams struct {
	Session sessionID `json:"sessionId"`
}

// directory is a directory of a session. It is absolute: the daemon's own directory has no meaning for an editor.
type directory string

// UnmarshalJSON takes an absolute path.
func (d *directory) UnmarshalJSON(data []byte) error {
	var path string
	if err := json.Unmarshal(data, &path); err != nil {
		return err
	}
	if !filepath.IsAbs(path) {
		return errors.New("must be an absolute path") // the decoder names the member
	}
	*d = directory(path)
	return nil
}

// envelope is a notification, or with an id a request. The method stands in front of the id: so a door tells it from
// answers at a look.
type envelope struct {
	Version string `json:"jsonrpc"`
	Method  string `json:"method"`
	ID      string `json:"id,omitempty"`
	Params  any    `json:"params"`
}

func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// compactJSON is a native notification's params as they ride in _meta.
func compactJSON(value any) json.RawMessage {
	out, err := encode(value)
	if err != nil {
		panic(err) // it is ours, and holds nothing that JSON cannot
	}
	return out
}

// update is a session/update: which members are there is the kind's business.
type update struct {
	Kind       string            `json:"sessionUpdate"`
	MessageID  string            `json:"messageId,omitempty"`
	Content    any               `json:"content,omitempty"` // content of a chunk, []blocks.Tool of a call
	Call       string            `json:"toolCallId,omitempty"`
	Title      string            `json:"title,omitempty"`
	Name       string            `json:"name,omitempty"`
	ToolKind   string            `json:"kind,omitempty"`
	Status     string            `json:"status,omitempty"`
	Input      any               `json:"rawInput,omitempty"`
	Output     any               `json:"rawOutput,omitempty"`
	Locations  []place           `json:"locations,omitempty"`
	Options    []option.Option   `json:"configOptions,omitempty"`
	Mode       string            `json:"currentModeId,omitempty"`
	Used       *int              `json:"used,omitempty"`
	Size       *int              `json:"size,omitempty"`
	Cost       *cost             `json:"cost,omitempty"`
	Severity   string            `json:"severity,omitempty"`
	Commands   []command.Command `json:"availableCommands,omitempty"`
	Compaction string            `json:"compactionId,omitempty"`
	Summary    []blocks.Content  `json:"summary,omitempty"`
	Error      string            `json:"error,omitempty"`
	Entries    *[]tool.PlanItem  `json:"entries,omitempty"` // of a plan
	UpdatedAt  string            `json:"updatedAt,omitempty"`
	Meta       meta              `json:"_meta,omitempty"`
}

type notification struct {
	Session session.ID `json:"sessionId"`
	Update  update     `json:"update"`
}

type cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

type place struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
}

type promptResult struct {
	Stop  string     `json:"stopReason"`
	Usage *turnUsage `json:"usage,omitempty"` // of the turn; nil: no model was called
	Meta  meta       `json:"_meta,omitempty"`
}

// turnUsage is what a turn used, in tokens.
type turnUsage struct {
	Total      int  `json:"totalTokens"`
	Input      int  `json:"inputTokens"`
	Output     int  `json:"outputTokens"`
	Thought    *int `json:"thoughtTokens,omitempty"` // of Output; nil: the vendor gave no count
	Cached     int  `json:"cachedReadTokens"`        // of Input
	CacheWrite int  `json:"cachedWriteTokens"`       // of Input
}

func usageOf(u provider.Usage) *turnUsage {
	if u.Unused() {
		return nil
	}
	return &turnUsage{u.Input + u.Output, u.Input, u.Output, u.Reasoning, u.Cached, u.CacheWrite}
}

// systemPrompt is what a client adds to the instructions of a session.
type systemPrompt struct {
	Mode    string           `json:"mode"`
	Content []blocks.Content `json:"content"`
}

// check refuses what cannot be added: ACP forbids to take it for something else.
func (s *systemPrompt) check() error {
	switch {
	case s == nil:
		return nil
	case s.Mode != "append":
		return conn.InvalidParams("systemPrompt.mode", "must be append: the instructions of the operator and the project stay")
	case len(s.Content) == 0:
		return conn.InvalidParams("systemPrompt.content", "is empty")
	}
	for i, b := range s.Content {
		if b.Type != "text" || strings.TrimSpace(b.Text) == "" {
			return conn.InvalidParams(fmt.Sprintf("systemPrompt.content.%d", i), "must be a text that is not empty")
		}
	}
	return nil
}

// after is a system prompt with the client's text at its end.
func (s *systemPrompt) after(system string) string {
	if s == nil {
		return system
	}
	var parts []string
	if system != "" {
		parts = append(parts, system)
	}
	for _, b := range s.Content {
		parts = append(parts, b.Text)
	}
	return strings.Join(parts, "\n\n")
}

func timestamp(milliseconds int64) string {
	return time.UnixMilli(milliseconds).UTC().Format(time.RFC3339)
}
