package powercut

import (
	"errors"
	"fmt"
	"slices"
	"sync"
)

// ledger has the requests of a daemon's clients and what they received.
type ledger struct {
	mu       sync.Mutex
	sessions []*conversation
	byID     map[string]*conversation
}

type conversation struct {
	id      string
	prompts []*prompt
	ends    map[string]string // reason by turn
	blocks  map[place]string  // text of those whose end was published
	title   string            // acknowledged; empty: none was
	asked   string            // the last title that was asked for
}

type prompt struct {
	text  string
	image string // base64; empty: none
	turn  string // empty: it was not acknowledged
}

type place struct {
	message string
	block   int
}

func newLedger() *ledger { return &ledger{byID: map[string]*conversation{}} }

// add takes a session that was acknowledged.
func (l *ledger) add(id string) *conversation {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &conversation{id: id, ends: map[string]string{}, blocks: map[place]string{}}
	l.sessions, l.byID[id] = append(l.sessions, c), c
	return c
}

// hear takes an update.
func (l *ledger) hear(u update) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.byID[u.Session]
	if c == nil {
		return // the answer that brings the session is not read yet; nothing is claimed of it
	}
	switch u.Method {
	case "turn_end":
		c.ends[u.Turn] = u.Stop
	case "thinking_end", "text_end":
		c.blocks[place{u.Message, u.Block}] = u.Text
	}
}

// promises is how many things were acknowledged, and how many of these are images.
func (l *ledger) promises() (all, images int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.sessions {
		all += 1 + len(c.ends) + len(c.blocks)
		for _, p := range c.prompts {
			if p.turn != "" {
				all++
			}
			if p.turn != "" && p.image != "" {
				all++
				images++
			}
		}
	}
	return all, images
}

type spoken struct {
	ID      string `json:"id"`
	Turn    string `json:"turn_id"`
	Role    string `json:"role"`
	Open    bool   `json:"open"`
	Content []struct {
		Block int    `json:"block"`
		Text  string `json:"text"`
		Data  string `json:"data"`
	} `json:"content"`
}

// image is that of a prompt, empty if it has none.
func (s spoken) image() string {
	if len(s.Content) < 2 {
		return ""
	}
	return s.Content[1].Data
}

// check compares what a daemon has with the ledger. The first difference is the error.
func (l *ledger) check(d *daemon) error {
	for _, c := range l.sessions {
		if err := c.check(d); err != nil {
			return fmt.Errorf("session %s: %w", c.id, err)
		}
	}
	return nil
}

// adopt makes the truth of what a daemon has, where the ledger leaves it open. It follows check.
func (l *ledger) adopt(d *daemon) error {
	for _, c := range l.sessions {
		var state struct{ Session struct{ Title string } }
		if err := d.call("session/state", map[string]any{"session_id": c.id}, &state); err != nil {
			return err
		}
		if c.title != "" || state.Session.Title == c.asked {
			c.title, c.asked = state.Session.Title, ""
		}
		messages, err := history(d, c.id)
		if err != nil {
			return err
		}
		c.prompts = nil
		for _, m := range messages {
			if m.Role == "user" {
				c.prompts = append(c.prompts, &prompt{m.Content[0].Text, m.image(), m.Turn})
			}
		}
	}
	return nil
}

func (c *conversation) check(d *daemon) error {
	session := map[string]any{"session_id": c.id}
	var state struct{ Session struct{ Title string } }
	if err := d.call("session/state", session, &state); err != nil {
		return err
	}
	if got := state.Session.Title; c.title != "" && got != c.title && got != c.asked {
		return fmt.Errorf("its title is %q; %q was acknowledged, %q asked for", got, c.title, c.asked)
	}
	messages, err := history(d, c.id)
	if err != nil {
		return err
	}
	blocks := map[place]string{}
	var users []spoken
	for _, m := range messages {
		if m.Role == "user" {
			users = append(users, m)
		}
		for _, b := range m.Content {
			blocks[place{m.ID, b.Block}] = b.Text
		}
	}
	if err := c.checkPrompts(users); err != nil {
		return err
	}
	for at, text := range c.blocks {
		if got, ok := blocks[at]; got != text {
			return fmt.Errorf("block %d of message %s is %q (there: %v), and was published as %q", at.block, at.message, got, ok, text)
		}
	}
	for turn, stop := range c.ends {
		var end struct {
			Stop string `json:"stop_reason"`
		}
		if err := d.call("turn/wait", map[string]any{"session_id": c.id, "turn_id": turn}, &end); err != nil {
			return fmt.Errorf("turn %s: %w", turn, err)
		}
		if end.Stop != stop {
			return fmt.Errorf("turn %s ended with %s, and %s was published", turn, end.Stop, stop)
		}
	}
	return nil
}

var errImage = errors.New("an image is not what it was")

// checkPrompts wants the acknowledged ones, each once and in order; others only if they were asked for.
func (c *conversation) checkPrompts(users []spoken) error {
	at := 0
	for _, p := range c.prompts {
		there := at < len(users) && len(users[at].Content) > 0 && users[at].Content[0].Text == p.text
		switch {
		case there && p.image != users[at].image():
			return fmt.Errorf("%w: that of the prompt %q", errImage, p.text)
		case there && (p.turn == "" || p.turn == users[at].Turn):
			at++
		case p.turn != "":
			return fmt.Errorf("the prompt %q of turn %s was acknowledged and is not at its place among %d", p.text, p.turn, len(users))
		}
	}
	if at != len(users) {
		return fmt.Errorf("%d prompts, of which nobody asked for %d", len(users), len(users)-at)
	}
	return nil
}

// history is all of a session's messages.
func history(d *daemon, id string) (all []spoken, err error) {
	params := map[string]any{"session_id": id, "limit": 1000}
	for {
		var page struct {
			Messages []spoken
			More     bool
		}
		if err := d.call("session/history", params, &page); err != nil {
			return nil, err
		}
		all = slices.Concat(page.Messages, all)
		if !page.More {
			return all, nil
		}
		params["before"] = page.Messages[0].ID
	}
}
