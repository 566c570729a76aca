package rpc

import (
	"encoding/json"
	"path/filepath"

	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/session"
)

// What ACP's messages are made of. Members have the names of its schema.

type meta map[string]any

type acpClientCapabilities struct {
	FS struct {
		Read  bool `json:"readTextFile"`
		Write bool `json:"writeTextFile"`
	} `json:"fs"`
	Terminal bool `json:"terminal"`
	Session  struct {
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

type acpInfo struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// acpSessionID is a session as an editor names it. One that cannot be ours is not found, as one that is gone.
type acpSessionID struct{ ID session.ID }

// UnmarshalJSON takes any string.
func (i *acpSessionID) UnmarshalJSON(data []byte) error {
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
func (acpSessionID) NamesSession() bool { return true }

func (i acpSessionID) check() error {
	if i.ID == "" {
		return session.ErrNotFound
	}
	return nil
}

type acpSessionParams struct {
	Session acpSessionID `json:"sessionId"`
}

// acpDirectory is a directory of a session: absolute, since ours is nobody's business.
type acpDirectory string

// UnmarshalJSON takes an absolute path.
func (d *acpDirectory) UnmarshalJSON(data []byte) error {
	var path string
	if err := json.Unmarshal(data, &path); err != nil {
		return err
	}
	if !filepath.IsAbs(path) {
		return conn.InvalidParams("cwd", "must be an absolute path")
	}
	*d = acpDirectory(path)
	return nil
}

type acpContent struct {
	Type string `json:"type"`
	Text string `json:"text"` // of a text, which is never empty
	Data string `json:"-"`
	MIME string `json:"-"`
}

// MarshalJSON writes a text or an image.
func (c acpContent) MarshalJSON() ([]byte, error) {
	if c.Type != "text" {
		return json.Marshal(struct {
			Type string `json:"type"`
			MIME string `json:"mimeType"`
			Data string `json:"data"`
		}{c.Type, c.MIME, c.Data})
	}
	type plain acpContent
	return encodeACP(plain(c))
}

// acpUpdate is a session/update: which members are there is the kind's business.
type acpUpdate struct {
	Kind       string       `json:"sessionUpdate"`
	MessageID  string       `json:"messageId,omitempty"`
	Content    any          `json:"content,omitempty"` // acpContent of a chunk, []acpToolContent of a call
	Call       string       `json:"toolCallId,omitempty"`
	Title      string       `json:"title,omitempty"`
	Name       string       `json:"name,omitempty"`
	ToolKind   string       `json:"kind,omitempty"`
	Status     string       `json:"status,omitempty"`
	Input      any          `json:"rawInput,omitempty"`
	Locations  []acpPlace   `json:"locations,omitempty"`
	Options    []acpOption  `json:"configOptions,omitempty"`
	Mode       string       `json:"currentModeId,omitempty"`
	Used       *int         `json:"used,omitempty"`
	Size       *int         `json:"size,omitempty"`
	Cost       *acpCost     `json:"cost,omitempty"`
	Severity   string       `json:"severity,omitempty"`
	Commands   []acpWord    `json:"availableCommands,omitempty"`
	Compaction string       `json:"compactionId,omitempty"`
	Summary    []acpContent `json:"summary,omitempty"`
	UpdatedAt  string       `json:"updatedAt,omitempty"`
	Meta       meta         `json:"_meta,omitempty"`
}

type acpCost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

type acpPlace struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
}

// acpToolContent is a content or a diff.
type acpToolContent struct {
	Type    string      `json:"type"`
	Content *acpContent `json:"content,omitempty"`
	Path    string      `json:"path,omitempty"`
	Old     *string     `json:"oldText,omitempty"`
	New     *string     `json:"newText,omitempty"`
}

// acpWord is a command that a prompt may begin with.
type acpWord struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Input       *acpHint `json:"input,omitempty"`
}

type acpHint struct {
	Hint string `json:"hint"`
}
