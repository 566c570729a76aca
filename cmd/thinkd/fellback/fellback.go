// Package fellback says in words with which model a turn goes on when its model cannot be called.
package fellback

import (
	"fmt"
	"strings"

	"github.com/thinkd/thinkd/rpc/conn"
)

// A Switch has the members of fell_back in protocol.md.
type Switch struct {
	From        Model       `json:"from"`
	To          Model       `json:"to"`
	Key         string      `json:"key"`
	Why         string      `json:"why"`   // a kind of error, or "returned"
	Error       *conn.Error `json:"error"` // of the call that failed; nil: none did
	Continues   bool        `json:"continues"`
	Thinking    *Thinking   `json:"thinking"` // nil: not known
	Cache       string      `json:"cache"`
	PriceFactor *float64    `json:"price_factor"` // nil: not known
}

// Model is a model with the level in effect.
type Model struct {
	Provider string `json:"provider"`
	ID       string `json:"id"`
	Level    string `json:"thinking_level"`
}

// Thinking says how many blocks of earlier thinking are sent, converted or left out.
type Thinking struct {
	Kept      int `json:"kept"`
	Converted int `json:"converted"`
	Dropped   int `json:"dropped"`
}

// Text says why the model changes, and to which one.
func (s Switch) Text() string {
	to := fmt.Sprintf("%s/%s, thinking %s", s.To.Provider, s.To.ID, s.To.Level)
	if s.Key != "" {
		to += ", key " + s.Key
	}
	switch {
	case s.Why == "returned":
		return "The session returns to " + to + "."
	case s.Error == nil:
		return "This turn runs on " + to + "."
	}
	why := strings.TrimPrefix(s.Error.Message, s.From.Provider+": ")
	text := fmt.Sprintf("%s failed: %s. This turn runs on %s.", s.From.Provider, strings.TrimSuffix(why, "."), to)
	if s.Continues {
		text += " It continues the answer above."
	}
	return text
}

// Costs says what the change does to earlier thinking, the prompt cache and the price.
func (s Switch) Costs() string {
	list := []string{"Earlier thinking: " + s.Thinking.words()}
	if s.Cache != "" {
		list = append(list, "Cache: "+map[string]string{"lost": "cold", "kept": "warm"}[s.Cache])
		if s.Cache == "unknown" {
			list[1] = "Cache: unknown"
		}
	}
	price := "Price: unknown"
	if s.PriceFactor != nil {
		price = fmt.Sprintf("Price: %.1f times", *s.PriceFactor)
	}
	return strings.Join(append(list, price), " · ")
}

func (t *Thinking) words() string {
	switch {
	case t == nil:
		return "unknown"
	case t.Kept+t.Converted+t.Dropped == 0:
		return "none"
	case t.Converted+t.Dropped == 0:
		return "kept"
	case t.Kept+t.Converted == 0:
		return "dropped"
	}
	return fmt.Sprintf("%d kept, %d as text, %d dropped", t.Kept, t.Converted, t.Dropped)
}
