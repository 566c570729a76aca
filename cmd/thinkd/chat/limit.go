package chat

import (
	"fmt"
	"strings"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/costs"
	"github.com/thinkd/thinkd/cmd/thinkd/parked"
)

// A limitCard asks whether a turn may spend more than a limit, or whether an expensive prompt is sent. Keys reach it as they reach a [card]: nothing is selected at first, and
// while the input has text, only the end of the turn can be selected.
type limitCard struct {
	turn     *parked.Turn // a turn that parks again has another one
	q        costs.Spending
	appeared time.Time
	at       limitAnswer // selected; empty: nothing is
	raising  bool        // the list of amounts is open
	amount   int         // selected in it; -1: nothing is
	sent     bool        // the answer is on its way
}

type limitAnswer string

const (
	allowCall    limitAnswer = "allow"
	raiseLimit   limitAnswer = "raise"
	compactFirst limitAnswer = "compact"
	endTurn      limitAnswer = "end"
)

// decision is what a person answers: one call, an amount in USD, a summary before the call, or the end of the turn.
type decision struct {
	raise   float64
	compact bool
	end     bool
}

// limitAnswers are the answers to a question, in order.
func limitAnswers(q costs.Spending) []limitAnswer {
	switch {
	case !q.OfPrompt():
		return []limitAnswer{allowCall, raiseLimit, endTurn}
	case q.CompactFirst() != nil:
		return []limitAnswer{allowCall, compactFirst, endTurn}
	}
	return []limitAnswer{allowCall, endTurn}
}

// label is an answer in words.
func (id limitAnswer) label(q costs.Spending) string {
	switch {
	case id == endTurn:
		return "End the turn"
	case id == compactFirst:
		return "Compact first"
	case q.OfPrompt():
		return "Send it"
	case id == allowCall:
		return "Allow this call"
	case q.Today():
		return "Raise today's limit…"
	}
	return "Raise the limit…"
}

// Bounds of a window that can show the card.
const limitRows = 12

func newLimitCard(turn *parked.Turn, now time.Time) *limitCard {
	return &limitCard{turn: turn, q: *turn.Spending, appeared: now, amount: -1}
}

// open are the answers that can be selected.
func (c *limitCard) open(typed bool) []limitAnswer {
	switch {
	case c.sent:
		return nil
	case typed:
		return []limitAnswer{endTurn}
	}
	return limitAnswers(c.q)
}

// press handles a key, and returns the decision if the key makes one. All other keys go to the input and clear the selection. lastKey
// is when a key last went there.
func (c *limitCard) press(name string, typed bool, lastKey, now time.Time) (handled bool, d *decision) {
	if c.at == "" && name != "tab" && name != "shift+tab" {
		return false, nil
	}
	switch name {
	case "tab", "right":
		c.move(1, typed, lastKey, now)
	case "shift+tab", "left":
		c.move(-1, typed, lastKey, now)
	case "up", "down":
		if c.raising {
			by := map[string]int{"down": 1, "up": -1}[name]
			c.amount = min(max(c.amount+by, 0), len(c.q.Raises())-1)
		}
	case "esc":
		if c.raising {
			c.raising, c.amount = false, -1
		} else {
			c.at = ""
		}
	case "enter":
		return true, c.enter()
	default:
		c.at, c.raising, c.amount = "", false, -1
		return false, nil
	}
	return true, nil
}

// move selects the next answer.
func (c *limitCard) move(by int, typed bool, lastKey, now time.Time) {
	if early := now.Sub(c.appeared) < cardPause || now.Sub(lastKey) < cardPause; c.raising || c.at == "" && early {
		return
	}
	c.at = following(c.open(typed), c.at, by)
}

func (c *limitCard) enter() *decision {
	var d decision
	switch {
	case c.at == raiseLimit && !c.raising:
		c.raising, c.amount = true, -1
		return nil
	case c.raising && c.amount < 0:
		return nil
	case c.raising:
		d.raise = c.q.Raises()[c.amount]
	}
	d.end, d.compact = c.at == endTurn, c.at == compactFirst
	c.sent, c.at, c.raising = true, "", false
	return &d
}

// limitTitle is the question in a few words.
func limitTitle(q costs.Spending) string {
	switch {
	case q.OfPrompt():
		return "Send an expensive prompt?"
	case q.Today():
		return "Spend more today?"
	}
	return "Spend more?"
}

// view is the card, in rows.
func (c *limitCard) view(width int, l look, typed bool) []string {
	if c.raising {
		return c.list(width, l)
	}
	lines := []string{l.bold(ruled(limitTitle(c.q), "", width))}
	for _, row := range foldAll(c.q.Question()+". The turn waits; nothing is lost.", width-2) {
		lines = append(lines, "  "+row)
	}
	hint := "Tab selects one"
	switch {
	case c.sent:
		hint = "answered"
	case c.at != "":
		hint = "Enter selects it · letters go to the input"
	case typed:
		hint = "The input has text."
	}
	open := make(map[limitAnswer]bool)
	for _, id := range c.open(typed) {
		open[id] = true
	}
	var words []string
	for _, id := range limitAnswers(c.q) {
		words = append(words, answerLabel(id.label(c.q), id == c.at, open[id], l))
	}
	return append(lines, choices(words, hint, width, l)...)
}

// list are the amounts behind "Raise".
func (c *limitCard) list(width int, l look) []string {
	lines := []string{l.bold(ruled(fmt.Sprintf("Raise the limit of %s USD", costs.USD(c.q.Most)), "", width))}
	for i, by := range c.q.Raises() {
		row := fmt.Sprintf("by %s USD, to %s USD", costs.USD(by), costs.USD(c.q.Most+by))
		if i == c.amount {
			lines = append(lines, l.selected("▸ "+row))
		} else {
			lines = append(lines, "  "+row)
		}
	}
	for _, text := range []string{"Raised " + c.q.Until() + ". The turn resumes.", "↑ ↓ select · Enter raises · Esc goes back · /raise USD takes any amount"} {
		for _, row := range foldAll(text, width-2) {
			lines = append(lines, "  "+l.dim(row))
		}
	}
	return lines
}

// plainLimit is the question in lines, and how to answer it.
func plainLimit(q costs.Spending, number int, code string) string {
	asks := fmt.Sprintf("\n[question %d] %s %s. The turn waits; nothing is lost.\n", number, limitTitle(q), q.Question())
	if q.OfPrompt() {
		var words []string
		for _, id := range limitAnswers(q) {
			words = append(words, fmt.Sprintf("%q", string(id)+" "+code))
		}
		return asks + fmt.Sprintf("Type %s and Enter. Other text is a prompt.\n", strings.Join(words, ", "))
	}
	raises := q.Raises()
	raise := costs.USD(raises[0])
	return asks +
		fmt.Sprintf("Type %q, %q (by that many USD, %s), %q and Enter. Other text is a prompt.\n",
			"allow "+code, "raise "+code+" "+raise, q.Until(), "end "+code)
}
