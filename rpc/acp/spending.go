package acp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/session"
)

// Options of the question of a turn that is parked before it spends.
const (
	spendOnce    = "spend"
	spendRaise   = "raise"
	spendCompact = "compact_first"
	spendEnd     = "end"
)

// spend asks the client whether a turn may spend. ACP asks about tool calls only, so the question has the form of one: it is completed
// when the turn resumes, and failed if the turn ends. u is nil if the turn was parked before this client came.
func (th *thread) spend(ctx context.Context, u *feed.Update, turn session.TurnID, p feed.TurnParked) error {
	if err := th.spent(ctx, u, "failed"); err != nil {
		return err
	}
	if u != nil {
		if err := th.later(u); err != nil {
			return err
		}
	}
	q := *p.Spending
	id := fmt.Sprintf("%s.spend.%d", turn, p.Since)
	text := spendText(q)
	if p.Error != nil {
		text = p.Error.Message + ".\n\n" + text
	}
	title := "Spend more?"
	if q.Limit == session.LimitPrompt {
		title = "Send an expensive prompt?"
	}
	if err := th.send(ctx, u, update{Kind: "tool_call", Call: id, Title: title, ToolKind: "other", Status: "pending", Content: textContent(text)}); err != nil {
		return err
	}
	r, err := th.e.ask(ctx, "session/request_permission", permission{Session: th.id, Options: spendWords(q),
		Call: permitted{ID: id, Title: title, Kind: "other", Status: "pending", Content: textContent(text)}})
	if err != nil {
		return err
	}
	asking, cancel := context.WithCancel(th.e.Conn.Context())
	th.spends, th.questions[id] = id, &question{r, cancel}
	th.e.Run(func() { // ends with the answer, by cancel, or with the connection; serve waits
		defer cancel()
		th.allow(asking, r, turn, q)
	})
	return nil
}

// spent ends the question about money, if one is open.
func (th *thread) spent(ctx context.Context, u *feed.Update, status string) error {
	id := th.spends
	if th.spends = ""; id == "" {
		return nil
	}
	if err := th.resolved(ctx, id); err != nil {
		return err
	}
	return th.send(ctx, u, update{Kind: "tool_call_update", Call: id, Status: status})
}

// allow hands on the client's answer. A client that cannot ask leaves the turn as it is: another client may answer. The answer does not
// show that a person is there, because many editors can allow everything on their own.
func (th *thread) allow(ctx context.Context, r *request, turn session.TurnID, q session.Spending) {
	e := th.e
	result, err := r.wait(ctx)
	if err != nil {
		if !errors.Is(err, errUnasked) && !errors.Is(err, conn.ErrGone) {
			e.server.config.Log.Info("an editor does not answer a question about money", "session", th.id, "err", err)
		}
		return
	}
	how, option := agent.Resumption{}, spendEnd
	if gjson.GetBytes(result, "outcome.outcome").String() == "selected" {
		option = gjson.GetBytes(result, "outcome.optionId").String()
	}
	switch option {
	case spendEnd, spendOnce:
	case spendRaise:
		how.Raise = q.Most
	case spendCompact:
		how.Compact = true
	default:
		e.server.config.Log.Info("an editor's answer is invalid", "session", th.id, "option", option)
		return
	}
	_, err = service.OnAgent(ctx, e, th.id, func(a *agent.Agent) (_ session.TurnID, err error) {
		if option == spendEnd {
			_, err = a.Cancel(ctx, turn)
			return turn, err
		}
		return a.ResumeTurn(ctx, turn, how)
	})
	if err != nil && ctx.Err() == nil && !errors.Is(err, agent.ErrNotParked) { // somebody else was faster
		e.server.config.Log.Info("an editor's answer is invalid", "session", th.id, "err", err)
	}
}

// spendWords are the answers to the question in ACP's words.
func spendWords(q session.Spending) []permitWord {
	end := permitWord{spendEnd, "End the turn", "reject_once"}
	if q.Limit != session.LimitPrompt {
		until := map[session.SpendingLimit]string{session.LimitDay: " today", session.LimitUnattended: " until a person writes"}[q.Limit]
		return []permitWord{{spendOnce, "Allow this call", "allow_once"},
			{spendRaise, fmt.Sprintf("Allow %s more%s", usd(q.Most), until), "allow_always"}, end}
	}
	words := []permitWord{{spendOnce, "Send it", "allow_once"}}
	if q.Quote != nil && q.Quote.Compact != nil {
		words = append(words, permitWord{spendCompact, "Summarise earlier turns first: " + costs(q.Quote.Compact.Cost), "allow_once"})
	}
	return append(words, end)
}

// spendText says the limit, what is spent, and what the next step may cost.
func spendText(q session.Spending) string {
	since := map[session.SpendingLimit]string{session.LimitDay: "today", session.LimitUnattended: "since a person last wrote or approved something"}[q.Limit]
	if since != "" {
		return fmt.Sprintf("%s of %s (%s) are spent or reserved %s. The next call may cost up to %s.", usd(q.Used), usd(q.Most), q.Limit, since, usd(q.Next))
	}
	text := fmt.Sprintf("The turn may cost up to %s, more than %s (%s). The provider may no longer have this conversation in its cache.", usd(q.Next), usd(q.Most), q.Limit)
	if q.Quote == nil || q.Quote.Prompt == nil {
		return text
	}
	var parts []string
	for _, p := range q.Quote.Prompt.Parts {
		parts = append(parts, fmt.Sprintf("%s %d", p.Part, p.Tokens))
	}
	text += fmt.Sprintf("\n\nExpected: %s. The prompt has %d tokens: %s.", costs(q.Quote.Cost), q.Quote.Prompt.Tokens, strings.Join(parts, ", "))
	if c := q.Quote.Compact; c != nil {
		text += fmt.Sprintf(" With a summary of %d earlier messages first: %s.", c.Messages, costs(c.Cost))
	}
	return text
}

// amount has cents, and two digits below ten cents.
func amount(m provider.Money) string {
	if m != 0 && m < provider.MoneyOf(0.1) {
		return fmt.Sprintf("%.2g", m.Units())
	}
	return fmt.Sprintf("%.2f", m.Units())
}

func usd(m provider.Money) string { return amount(m) + " " + provider.USD }

func costs(r *session.CostRange) string {
	if r == nil {
		return "at an unknown cost"
	}
	return amount(r.Low.Amount) + " to " + usd(r.High.Amount)
}
