package costs

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/printable"
)

// A Quote is what the next prompt of a session would cost. It has the members of the result of session/quote in protocol.md.
type Quote struct {
	Model struct {
		Provider string `json:"provider"`
		ID       string `json:"id"`
		Level    string `json:"thinking_level"`
	} `json:"model"`
	Cache   string   `json:"cache"`
	Why     string   `json:"cache_why"`
	Warm    int64    `json:"warm_until"` // in Unix milliseconds; 0: not known
	Running bool     `json:"running"`
	Prompt  *Prompt  `json:"prompt"` // nil: not known
	Cost    *Range   `json:"cost"`   // nil: not known
	Compact *Compact `json:"compact_first"`
}

// Prompt is the first call, in tokens.
type Prompt struct {
	Part
	Low     int    `json:"tokens_low"`
	High    int    `json:"tokens_high"`
	Counted bool   `json:"counted"`
	Parts   []Part `json:"parts"`
}

// Part is a part of the prompt in tokens, nil where that is not known.
type Part struct {
	Name   string `json:"part"`
	Tokens int    `json:"tokens"`
	Read   *int   `json:"read"`
	Write  *int   `json:"written"`
	Paid   *int   `json:"paid"`
}

// Range has the bounds of a cost.
type Range struct {
	Low    Amount  `json:"low"`
	Likely *Amount `json:"likely"`
	High   Amount  `json:"high"`
}

// Amount is a cost in USD.
type Amount struct {
	Amount  float64 `json:"amount"`
	Partial bool    `json:"partial"` // a part of the price is not known
}

// Compact is what it costs to summarise earlier turns first.
type Compact struct {
	Messages int    `json:"messages"`
	Tokens   int    `json:"tokens"`
	Summary  *Range `json:"summary_cost"`
	Cost     *Range `json:"cost"` // with that of the summary
}

func (r *Range) String() string {
	if r == nil {
		return "the price is not known"
	}
	text := fmt.Sprintf("about %s to %s USD", USD(r.Low.Amount), USD(r.High.Amount))
	if r.Low.Partial || r.High.Partial {
		text += ", and more whose price is not known"
	}
	return text
}

func (q Quote) model() string {
	return printable.Clean(q.Model.Provider + "/" + q.Model.ID)
}

// Text is the quote in a few lines.
func (q Quote) Text(now time.Time) string {
	first := fmt.Sprintf("Next prompt with %s: %s", q.model(), q.Cost)
	if warmth := q.warmth(now); warmth != "" {
		first += ", " + warmth
	}
	lines := []string{first + "."}
	if p := q.Prompt; p != nil {
		text := p.count()
		if p.Read != nil && p.Write != nil {
			text += fmt.Sprintf(", %d from the cache, %d written to it", *p.Read, *p.Write)
		}
		for _, part := range p.Parts {
			text += fmt.Sprintf(" · %s %d", printable.Clean(part.Name), part.Tokens)
		}
		lines = append(lines, text)
	}
	if c := q.Compact; c != nil {
		lines = append(lines, fmt.Sprintf("With a summary of %d messages first: %s · /compact", c.Messages, c.Cost))
	}
	return strings.Join(lines, "\n")
}

func (p Prompt) count() string {
	if p.Counted {
		return fmt.Sprintf("%d tokens", p.Tokens)
	}
	return fmt.Sprintf("about %d tokens", p.Tokens)
}

// warmth is what people need to know of the vendor's cache; empty: it is not known.
func (q Quote) warmth(now time.Time) string {
	left := time.UnixMilli(q.Warm).Sub(now)
	switch {
	case q.Cache == "kept" && q.Warm > 0 && left >= time.Minute:
		return fmt.Sprintf("cache warm for %d min", int(left.Minutes()))
	case q.Cache == "kept" && q.Warm > 0 && left > 0:
		return fmt.Sprintf("cache warm for %d s", int(left.Seconds()))
	case q.Cache == "kept" && q.Warm > 0, q.Cache == "cold":
		return "cache cold"
	case q.Cache == "lost":
		return "the cache starts again"
	}
	return ""
}

// Table writes the quote for people: what it costs, and a row for each part of the prompt.
func (q Quote) Table(to io.Writer, now time.Time) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	row := func(name, text string) { fmt.Fprintf(w, "%s\t%s\n", name, text) }
	row("model", fmt.Sprintf("%s, thinking %s", q.model(), printable.Clean(q.Model.Level)))
	row("cost", q.Cost.words())
	row("cache", q.cache(now))
	if q.Running {
		row("", "a turn runs: the quote is of what was said so far")
	}
	if c := q.Compact; c != nil {
		row("compact first", fmt.Sprintf("%s; the prompt then has %d tokens", c.Cost.words(), c.Tokens))
		row("", fmt.Sprintf("of this for the summary of %d messages: %s", c.Messages, c.Summary.words()))
	}
	if q.Prompt == nil {
		row("prompt", "unknown")
		return w.Flush()
	}
	row("prompt", q.Prompt.count()+q.Prompt.bounds())
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nPART\tTOKENS\tREAD\tWRITTEN\tPAID")
	total := q.Prompt.Part
	total.Name = "total"
	for _, part := range append(q.Prompt.Parts, total) {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\n", printable.Clean(part.Name), part.Tokens, known(part.Read), known(part.Write), known(part.Paid))
	}
	return w.Flush()
}

// words are the bounds with what is likely, or that they are unknown.
func (r *Range) words() string {
	if r == nil {
		return "unknown"
	}
	if r.Likely == nil {
		return r.String()
	}
	return fmt.Sprintf("%s, likely %s USD", r, USD(r.Likely.Amount))
}

func (q Quote) cache(now time.Time) string {
	text := strings.TrimPrefix(q.warmth(now), "cache ")
	switch {
	case q.Cache == "kept" && q.Warm > now.UnixMilli():
		text += ", until " + time.UnixMilli(q.Warm).In(now.Location()).Format("15:04:05")
	case q.Cache == "kept" && q.Warm == 0:
		text = "warm; until when is unknown"
	case text == "":
		text = "unknown"
	case q.Why != "":
		text = printable.Clean(q.Why)
	}
	return text
}

func (p Prompt) bounds() string {
	if p.Low == p.High {
		return ""
	}
	return fmt.Sprintf(", from %d to %d", p.Low, p.High)
}

func known(n *int) string {
	if n == nil {
		return "unknown"
	}
	return strconv.Itoa(*n)
}
