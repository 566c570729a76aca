package chat

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/cmd/thinkd/costs"
	"github.com/thinkd/thinkd/cmd/thinkd/fellback"
	"github.com/thinkd/thinkd/cmd/thinkd/parked"
	safe "github.com/thinkd/thinkd/cmd/thinkd/printable"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/session"
)

// A Daemon is a connection to one. One goroutine sends, one receives, any may close.
type Daemon interface {
	Send(method string, params any) (id int, err error)
	Cancel(id int) error // a pending request, which then fails
	Receive() (door.Notification, *door.Answer, error)
	Close() error
}

// The following types have the members of protocol.md that the chat shows.

type model struct {
	Provider string         `json:"provider"`
	ID       string         `json:"id"`
	Level    provider.Level `json:"thinking_level"`
}

func (m model) String() string { return m.Provider + "/" + m.ID }

// served is the model that answers.
type served struct {
	Model string `json:"model"`
	Other bool   `json:"substituted"` // it is not the one that was asked for
}

// payer is who pays.
type payer struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// modelRow is a model of models/list.
type modelRow struct {
	model
	Name      string           `json:"name"`
	Levels    []provider.Level `json:"thinking_levels"`
	Default   provider.Level   `json:"default_thinking_level"`
	Thinks    bool             `json:"supports_thinking"`
	Available bool             `json:"available"`
	Why       string           `json:"why"`
	Price     *struct {
		Input  float64 `json:"input"`
		Output float64 `json:"output"`
	} `json:"price"`
}

type reasoning struct {
	Requested provider.Level `json:"requested_effort"`
	Effective provider.Level `json:"effective_effort"`
	Reason    string         `json:"reason"`
}

// settled is the answer of session/new, model/set and thinking/set.
type settled struct {
	Session   string         `json:"session_id"`
	Model     *model         `json:"model"`
	Level     provider.Level `json:"thinking_level"`
	Reasoning reasoning      `json:"reasoning"`
	Applies   string         `json:"applies"`

	Instructions []instructionFile `json:"project_instructions"`
}

// step is a step of a plan.
type step struct {
	Content string `json:"content"`
	Status  string `json:"status"` // pending, in_progress, completed
}

// instructionFile is a file with instructions of a project.
type instructionFile struct {
	Path  string `json:"path"`
	Bytes int    `json:"bytes"`
	Cut   bool   `json:"cut"`
}

type summary struct {
	ID      string         `json:"session_id"`
	Title   string         `json:"title"`
	Status  string         `json:"status"`
	Model   model          `json:"model"`
	Level   provider.Level `json:"thinking_level"`
	Updated int64          `json:"updated"`
	Usage   provider.Usage `json:"usage"`
	Plan    []step         `json:"plan"`
	Owner   string         `json:"owner"`  // who shares it with the person; empty: it is the person's own
	Access  string         `json:"access"` // with Owner: read or write

	Instructions []instructionFile `json:"project_instructions"`
}

type block struct {
	Number    int                 `json:"block"`
	Type      string              `json:"type"`
	Text      string              `json:"text"`
	Sources   []provider.Citation `json:"sources"`
	Kind      string              `json:"kind"`
	Tokens    *int                `json:"tokens"`
	Estimated bool                `json:"estimated"`
	Duration  int64               `json:"duration_ms"`
	CallID    string              `json:"call_id"`
	Name      string              `json:"name"`
	Arguments json.RawMessage     `json:"arguments"`
	Content   []block             `json:"content"`
	IsError   bool                `json:"is_error"`
	MIME      string              `json:"mime_type"`
	Open      bool                `json:"open"`
}

type message struct {
	ID         string   `json:"id"`
	Turn       string   `json:"turn_id"`
	Role       string   `json:"role"`
	Content    []block  `json:"content"`
	Incomplete string   `json:"incomplete"`
	Queued     bool     `json:"queued"`
	Open       bool     `json:"open"`
	Pinned     bool     `json:"pinned"`
	Served     *served  `json:"served"`
	Ended      *turnEnd `json:"turn_end"` // of the last message of a turn that did not end with end_turn
}

// turnEnd is how a turn ended.
type turnEnd struct {
	Stop  string      `json:"stop_reason"`
	Limit string      `json:"limit"`
	Error *conn.Error `json:"error"`
}

// pastStep is what happened next to a message of a turn. One of Switch and Parked is set.
type pastStep struct {
	Turn   string           `json:"turn_id"`
	After  string           `json:"after"` // the message before it; empty: none of the turn is
	Time   int64            `json:"ts"`
	Switch *fellback.Switch `json:"fell_back"`
	Parked *parked.Turn     `json:"parked"`
}

// attached is the answer of session/attach.
type attached struct {
	Session summary `json:"session"`
	Seq     uint64  `json:"seq"`
	Updates []struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	} `json:"updates"`
	Messages []message `json:"messages"`
	More     bool      `json:"more"`

	Summaries []struct {
		shortened
		Behind string `json:"after"` // the message that was said last before it
	} `json:"summaries"`

	Steps []pastStep `json:"steps"`

	Open *struct {
		Turn     string       `json:"turn_id"`
		Payer    *payer       `json:"payer"`
		Messages []message    `json:"messages"`
		Confirms []update     `json:"confirms"`
		Queue    []waiting    `json:"queue"`
		Held     bool         `json:"held"`
		Parked   *parked.Turn `json:"parked"`
	} `json:"open"`
}

// shortened is a summary of earlier turns.
type shortened struct {
	ID       string         `json:"summary_id"`
	Messages int            `json:"messages"`
	Text     string         `json:"text"`
	Model    string         `json:"model_id"`
	Before   int            `json:"tokens_before"`
	After    int            `json:"tokens_after"`
	Pinned   []string       `json:"pinned"`
	Usage    provider.Usage `json:"usage"`
	Undone   bool           `json:"undone"`
	Undoable bool           `json:"undoable"`
}

// head says in one line what a summary is.
func (s shortened) head() string {
	parts := []string{fmt.Sprintf("Summary of %d messages", s.Messages)}
	if s.Before > 0 {
		parts = append(parts, fmt.Sprintf("%s to %s tokens", thousands(s.Before), thousands(s.After)))
	}
	parts = append(parts, safe.Clean(s.Model))
	if s.Usage.Cost != nil {
		parts = append(parts, s.Usage.Cost.String())
	}
	if s.Undone {
		parts = append(parts, "undone")
	}
	return "≡ " + strings.Join(parts, " · ")
}

// waiting is a prompt in the queue.
type waiting struct {
	Turn string `json:"turn_id"`
	Text string `json:"text"`
}

// An update is a notification. It has the members of all notifications that the chat shows.
type update struct {
	Method    string              `json:"-"`
	Session   string              `json:"session_id"`
	Seq       uint64              `json:"seq"`
	Turn      string              `json:"turn_id"`
	MessageID string              `json:"message_id"`
	Block     int                 `json:"block"`
	Delta     string              `json:"delta"`
	Text      string              `json:"text"`
	Sources   []provider.Citation `json:"sources"`
	Cited     []session.Cited     `json:"cited"`
	MIME      string              `json:"mime_type"`
	Size      int                 `json:"size"`
	Truncated bool                `json:"truncated"`
	Ask       string              `json:"ask_id"`
	Kind      string              `json:"kind"`
	Severity  string              `json:"severity"`
	Tokens    *int                `json:"tokens"`
	Estimated bool                `json:"estimated"`
	Duration  int64               `json:"duration_ms"`
	Content   []block             `json:"content"`
	Into      string              `json:"into"`
	Replaces  bool                `json:"replaces"`
	Placed    string              `json:"disposition"`
	Model     *model              `json:"model"`
	Level     provider.Level      `json:"thinking_level"`
	Served    *served             `json:"served"`
	Payer     *payer              `json:"payer"`
	Title     string              `json:"title"`
	Deleted   bool                `json:"deleted"`
	Stop      string              `json:"stop_reason"`
	Limit     textOrNumber        `json:"limit"`
	Error     *conn.Error         `json:"error"`
	Usage     *provider.Usage     `json:"usage"`
	CallID    string              `json:"call_id"`
	Name      string              `json:"name"`
	Arguments json.RawMessage     `json:"arguments"`
	Chunk     string              `json:"chunk"`
	IsError   bool                `json:"is_error"`
	Status    string              `json:"status"` // of server_tool: running, done, failed
	Confirm   string              `json:"confirm_id"`
	Actions   []string            `json:"actions"`
	Parts     []part              `json:"parts"`
	Grants    []grant             `json:"grants"`
	Denials   []grant             `json:"denials"`
	Grant     *grant              `json:"grant"`
	Origin    struct {
		Provider string `json:"provider"`
		Model    string `json:"model"`
		Host     string `json:"host"`
		Server   string `json:"server"`
		Effect   string `json:"effect"`
		Folder   string `json:"folder"`
	} `json:"origin"`
	Action    string    `json:"action"`
	By        string    `json:"by"`
	Client    string    `json:"client"`
	Message   string    `json:"message"`
	AfterMS   int       `json:"after_ms"`
	Discarded []int     `json:"discarded"`
	From      string    `json:"from"`
	To        string    `json:"to"`
	Kept      int       `json:"kept"`
	Dropped   int       `json:"dropped"`
	AsText    int       `json:"as_text"`
	Queue     []waiting `json:"queue"`
	Held      bool      `json:"held"`
	Why       string    `json:"why"`
	Since     int64     `json:"since"`
	Until     int64     `json:"until"`
	Resumes   string    `json:"resumes"`
	Items     []step    `json:"items"` // of plan

	Spending *costs.Spending `json:"spending"`

	Switch  fellback.Switch `json:"-"` // of fell_back
	Summary shortened       `json:"-"` // of the notification summary
}

// textOrNumber is a member that is a word in some notifications and a number in others.
type textOrNumber string

// UnmarshalJSON takes both.
func (t *textOrNumber) UnmarshalJSON(data []byte) error {
	var word string
	if json.Unmarshal(data, &word) != nil {
		word = string(data)
	}
	*t = textOrNumber(word)
	return nil
}

// part is a piece of what a person approves.
type part struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	Text string `json:"text"`
}

// grant is a standing approval or denial.
type grant struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	Deny bool   `json:"deny"`
}

func decode(method string, params json.RawMessage) (update, error) {
	u := update{Method: method}
	if method == "fell_back" { // its from and to are models, and not words
		return u.fellBack(params)
	}
	if err := json.Unmarshal(params, &u); err != nil {
		return u, fmt.Errorf("%s: %w", method, err)
	}
	if method == "summary" {
		if err := json.Unmarshal(params, &u.Summary); err != nil {
			return u, fmt.Errorf("%s: %w", method, err)
		}
	}
	return u, nil
}

func (u update) fellBack(params json.RawMessage) (update, error) {
	var p struct {
		fellback.Switch
		Session string `json:"session_id"`
		Seq     uint64 `json:"seq"`
		Turn    string `json:"turn_id"`
		Payer   *payer `json:"payer"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return u, fmt.Errorf("%s: %w", u.Method, err)
	}
	u.Session, u.Seq, u.Turn, u.Payer, u.Switch = p.Session, p.Seq, p.Turn, p.Payer, p.Switch
	return u, nil
}

// unfinished reports whether a turn that ended so can be continued.
func unfinished(stop string) bool {
	return slices.Contains([]string{"interrupted", "error", "max_tokens", "cancelled"}, stop)
}

// continued is the answer of session/continue.
type continued struct {
	Parts []struct {
		Type   string `json:"type"`
		Action string `json:"action"`
	} `json:"parts"`
}

// String says what becomes of the blocks: "kept: 1 thought, 1 text; dropped: 1 tool call".
func (c continued) String() string {
	var all []string
	for _, a := range []struct{ action, words string }{{"kept", "kept"}, {"prefilled", "continued in place"},
		{"requested_again", "thought again"}, {"dropped", "dropped"}} {
		var parts []string
		for _, k := range []struct{ kind, words string }{{"thinking", "thought"}, {"text", "text"}, {"tool_call", "tool call"}, {"tool_result", "tool result"}, {"media", "file"}} {
			n := 0
			for _, p := range c.Parts {
				if p.Action == a.action && p.Type == k.kind {
					n++
				}
			}
			if n == 1 {
				parts = append(parts, "1 "+k.words)
			} else if n > 1 {
				parts = append(parts, fmt.Sprintf("%d %ss", n, k.words))
			}
		}
		if len(parts) > 0 {
			all = append(all, a.words+": "+strings.Join(parts, ", "))
		}
	}
	if len(all) == 0 {
		return "the model had sent nothing"
	}
	return strings.Join(all, "; ")
}

// received is a message of the daemon: a notification, or an answer.
type received struct {
	update update
	answer *door.Answer
}

// receive reads a connection to its end, in order. It runs in parallel with the program until the connection is closed.
func receive(d Daemon, send func(received)) error {
	for {
		n, a, err := d.Receive()
		if err != nil {
			return err
		}
		m := received{answer: a}
		if a != nil {
			a.Result = append([]byte(nil), a.Result...) // valid until the next read
		} else if m.update, err = decode(n.Method, n.Params); err != nil {
			return err
		}
		send(m)
	}
}
