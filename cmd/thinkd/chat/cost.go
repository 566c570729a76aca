package chat

import (
	"fmt"
	"strings"
	"time"
)

// quote is the answer of session/quote, null where something is not known.
type quote struct {
	Model  model  `json:"model"`
	Cache  string `json:"cache"`
	Warm   int64  `json:"warm_until"` // Unix milliseconds
	Prompt *struct {
		Tokens  int  `json:"tokens"`
		Counted bool `json:"counted"`
		Read    *int `json:"read"`
		Write   *int `json:"written"`
		Parts   []struct {
			Part   string `json:"part"`
			Tokens int    `json:"tokens"`
		} `json:"parts"`
	} `json:"prompt"`
	Cost    *costs `json:"cost"`
	Compact *struct {
		Messages int    `json:"messages"`
		Cost     *costs `json:"cost"`
	} `json:"compact_first"`
}

// costs are the bounds of a cost.
type costs struct {
	Low  cost `json:"low"`
	High cost `json:"high"`
}

type cost struct {
	Amount  float64 `json:"amount"`
	Partial bool    `json:"partial"` // a part of the price is not known
}

func (c *costs) String() string {
	if c == nil {
		return "the price is not known"
	}
	text := fmt.Sprintf("about %s to %s USD", usd(c.Low.Amount), usd(c.High.Amount))
	if c.Low.Partial || c.High.Partial {
		text += ", and more whose price is not known"
	}
	return text
}

// usd has two digits behind the point, and more for less than ten cents.
func usd(amount float64) string {
	if amount > 0 && amount < 0.1 {
		return fmt.Sprintf("%.4f", amount)
	}
	return fmt.Sprintf("%.2f", amount)
}

// showCost says what the next prompt would cost, with another model if one is named.
func (t *talk) showCost(name string) {
	params := map[string]any{"session_id": t.id}
	if name != "" {
		params["model_id"] = name
	}
	t.ask("session/quote", params, result(func(q quote) { t.note("%s", q.words(t.now())) }))
}

// words are a quote for people.
func (q quote) words(now time.Time) string {
	lines := []string{fmt.Sprintf("Next prompt with %s: %s%s.", q.Model, q.Cost, q.warmth(now))}
	if p := q.Prompt; p != nil {
		text := fmt.Sprintf("%d tokens", p.Tokens)
		if !p.Counted {
			text = "about " + text
		}
		if p.Read != nil && p.Write != nil {
			text += fmt.Sprintf(", %d from the cache, %d written to it", *p.Read, *p.Write)
		}
		for _, part := range p.Parts {
			text += fmt.Sprintf(" · %s %d", visible(part.Part), part.Tokens)
		}
		lines = append(lines, text)
	}
	if c := q.Compact; c != nil {
		lines = append(lines, fmt.Sprintf("With a summary of %d messages first: %s · /compact", c.Messages, c.Cost))
	}
	return strings.Join(lines, "\n")
}

// warmth is what people need to know of the vendor's cache.
func (q quote) warmth(now time.Time) string {
	left := time.UnixMilli(q.Warm).Sub(now)
	switch {
	case q.Cache == "kept" && q.Warm > 0 && left >= time.Minute:
		return fmt.Sprintf(", cache warm for %d min", int(left.Minutes()))
	case q.Cache == "kept" && q.Warm > 0 && left > 0:
		return fmt.Sprintf(", cache warm for %d s", int(left.Seconds()))
	case q.Cache == "kept" && q.Warm > 0, q.Cache == "cold":
		return ", cache cold"
	case q.Cache == "lost":
		return ", the cache starts again"
	}
	return ""
}
