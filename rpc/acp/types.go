package acp

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"time"

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
	Session struct {
		Notices    marker `json:"notices"`
		Compaction marker `json:"compaction"`
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

type content struct {
	Type string `json:"type"`
	Text string `json:"text"` // of a text, which is never empty
	Data string `json:"-"`
	MIME string `json:"-"`
}

// MarshalJSON writes a text or an image.
func (c content) MarshalJSON() ([]byte, error) {
	if c.Type != "text" {
		return json.Marshal(struct {
			Type string `json:"type"`
			MIME string `json:"mimeType"`
			Data string `json:"data"`
		}{c.Type, c.MIME, c.Data})
	}
	type plain content
	return encode(plain(c))
}

// update is a session/update: which members are there is the kind's business.
type update struct {
	Kind       string           `json:"sessionUpdate"`
	MessageID  string           `json:"messageId,omitempty"`
	Content    any              `json:"content,omitempty"` // content of a chunk, []toolContent of a call
	Call       string           `json:"toolCallId,omitempty"`
	Title      string           `json:"title,omitempty"`
	Name       string           `json:"name,omitempty"`
	ToolKind   string           `json:"kind,omitempty"`
	Status     string           `json:"status,omitempty"`
	Input      any              `json:"rawInput,omitempty"`
	Locations  []place          `json:"locations,omitempty"`
	Options    []option         `json:"configOptions,omitempty"`
	Mode       string           `json:"currentModeId,omitempty"`
	Used       *int             `json:"used,omitempty"`
	Size       *int             `json:"size,omitempty"`
	Cost       *cost            `json:"cost,omitempty"`
	Severity   string           `json:"severity,omitempty"`
	Commands   []command        `json:"availableCommands,omitempty"`
	Compaction string           `json:"compactionId,omitempty"`
	Summary    []content        `json:"summary,omitempty"`
	Error      string           `json:"error,omitempty"`
	Entries    *[]tool.PlanItem `json:"entries,omitempty"` // of a plan
	UpdatedAt  string           `json:"updatedAt,omitempty"`
	Meta       meta             `json:"_meta,omitempty"`
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

// toolContent is a content or a diff.
type toolContent struct {
	Type    string   `json:"type"`
	Content *content `json:"content,omitempty"`
	Path    string   `json:"path,omitempty"`
	Old     *string  `json:"oldText,omitempty"`
	New     *string  `json:"newText,omitempty"`
}

// command is a command that a prompt may begin with.
type command struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Input       *hint  `json:"input,omitempty"`
}

type hint struct {
	Hint string `json:"hint"`
}

type option struct {
	ID       string   `json:"id"`
	Name     string   `json:"name"`
	About    string   `json:"description,omitempty"`
	Category string   `json:"category"`
	Type     string   `json:"type"`
	Current  string   `json:"currentValue"`
	Options  []choice `json:"options"`
	Meta     meta     `json:"_meta,omitempty"`
}

type choice struct {
	Value string `json:"value"`
	Name  string `json:"name"`
	About string `json:"description,omitempty"`
}

// modes is the older form of the mode option, for clients that know no options.
type modes struct {
	Current   string `json:"currentModeId"`
	Available []mode `json:"availableModes"`
}

type mode struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	About string `json:"description"`
}

type promptResult struct {
	Stop string `json:"stopReason"`
	Meta meta   `json:"_meta,omitempty"`
}

func timestamp(milliseconds int64) string {
	return time.UnixMilli(milliseconds).UTC().Format(time.RFC3339)
}
