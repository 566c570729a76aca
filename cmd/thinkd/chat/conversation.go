package chat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/costs"
	"github.com/thinkd/thinkd/cmd/thinkd/parked"
	safe "github.com/thinkd/thinkd/cmd/thinkd/printable"
	"github.com/thinkd/thinkd/provider"
)

// A conversation is a session as its notifications report it.
type conversation struct {
	id    string
	title string
	model model
	level provider.Level
	usage provider.Usage // of all turns that have ended; its context is that of the last call
	seq   uint64         // of the last notification

	payer payer  // of the last turn; zero: not known
	other string // the model that answered the last message, if it is not the one that was asked for

	items     []*item
	next      int              // the first item that is not all in the scrollback
	open      map[string]*item // those that are being written, by key
	message   string           // the last one that began
	turn      string           // that runs, or is parked; empty: none
	parked    *parked.Turn     // why the turn is parked; nil: it is not
	kept      *parked.Turn     // the last one whose question was answered
	failed    bool             // the last turn did
	began     time.Time
	asked     map[string]string // the text of pending prompts, by turn
	queue     []waiting
	held      bool
	questions []update // the open ones
	plan      []step   // of the model
	unfolded  bool     // thoughts that end are shown whole

	deleted    bool
	compacting bool // earlier turns are being summarised
}

func newConversation() *conversation {
	return &conversation{open: make(map[string]*item), asked: make(map[string]string)}
}

// add appends an item that is whole.
func (c *conversation) add(k kind, head, text string) *item {
	it := &item{kind: k, head: safe.Clean(head), done: true}
	it.set(text)
	c.items = append(c.items, it)
	return it
}

func (c *conversation) note(format string, args ...any) {
	c.add(note, "", fmt.Sprintf(format, args...))
}

// cite lists the pages that a text refers to.
func (c *conversation) cite(sources []provider.Citation) {
	if list := provider.SourceList(sources); list != "" {
		c.note("Sources:\n%s", strings.TrimRight(list, "\n"))
	}
}

// served shows what the model's vendor ran on its own servers: the call once its arguments are known, and the result.
func (c *conversation) served(name string, arguments json.RawMessage, over, failed bool, text string, sources []provider.Citation) {
	if len(arguments) > 0 {
		c.add(call, "", called(name, arguments))
	}
	if over {
		c.add(output, "", strings.TrimSpace(text+"\n"+provider.SourceList(sources))).bad = failed
	}
}

// part is the item of a key, a new one if there is none.
func (c *conversation) part(k kind, key string) *item {
	it := c.open[key]
	if it == nil {
		it = &item{kind: k, key: key}
		c.items = append(c.items, it)
		c.open[key] = it
	}
	return it
}

// end closes an item. It keeps its text, unless the end contains more.
func (c *conversation) end(it *item, text string) {
	if text = safe.Clean(text); len(text) >= it.body.Len() && strings.HasPrefix(text, it.text()[:it.kept()]) {
		it.body.Reset()
		it.body.WriteString(text)
	}
	it.done = true
	delete(c.open, it.key)
}

func blockKey(message string, block int) string { return fmt.Sprintf("%s/%d", message, block) }

// apply applies a notification. No notification has the running time of the turn, so it is measured from now.
func (c *conversation) apply(u update, now time.Time) {
	if u.Seq > 0 {
		c.seq = u.Seq
	}
	switch u.Method {
	case "prompt":
		c.prompted(u)
	case "turn_start":
		c.turn, c.parked, c.began, c.payer, c.other = u.Turn, nil, now, payer{}, ""
		if u.Payer != nil {
			c.payer = *u.Payer
		}
		if text, ok := c.asked[u.Turn]; ok {
			c.add(said, "", text)
			delete(c.asked, u.Turn)
		}
	case "turn_end":
		c.turnEnded(u)
	case "fell_back":
		c.fellBack(u)
	case "turn_parked":
		c.turn = u.Turn
		c.park(&parked.Turn{Why: u.Why, Since: u.Since, Until: u.Until, Resumes: u.Resumes, Error: u.Error, Spending: u.Spending}, now)
	case "turn_resumed":
		c.answeredLimit()
		if c.parked != nil && c.parked.Why != "approval" {
			c.note("the turn resumes")
		}
		c.parked, c.began = nil, now
	case "thinking_start":
		c.part(thinking, blockKey(u.MessageID, u.Block))
	case "thinking_delta":
		c.part(thinking, blockKey(u.MessageID, u.Block)).grow(u.Delta)
	case "thinking_end":
		it := c.part(thinking, blockKey(u.MessageID, u.Block))
		it.head = thought(u.Kind, u.Duration, u.Tokens, u.Estimated)
		c.end(it, u.Text)
	case "message_start":
		c.message = u.MessageID
		c.answered(u.Served)
	case "message_delta":
		c.part(answer, blockKey(u.MessageID, u.Block)).grow(u.Delta)
	case "text_end":
		c.end(c.part(answer, blockKey(u.MessageID, u.Block)), u.Text)
		c.cite(u.Sources)
	case "message_end":
		c.answered(u.Served)
		for _, cited := range u.Cited {
			c.cite(cited.Sources)
		}
	case "media_end":
		c.note("[%s, %d bytes]", u.MIME, u.Size)
	case "server_tool":
		c.served(u.Name, u.Arguments, u.Status != "running", u.Status == "failed", u.Text, u.Sources)
	case "tool_start":
		c.add(call, "", called(u.Name, u.Arguments))
		c.part(output, u.CallID)
	case "tool_output":
		c.part(output, u.CallID).grow(u.Chunk)
	case "tool_end":
		it := c.part(output, u.CallID)
		it.bad = u.IsError
		it.set(words(u.Content))
		it.approved = !it.bad && c.approved(it.text())
		c.end(it, it.text())
	case "plan":
		c.planned(u.Items)
	case "confirm":
		c.questions = append(c.questions, u)
	case "confirm_resolved":
		c.resolved(u)
	case "usage":
		if u.Usage != nil && u.Usage.Context != nil {
			c.usage.Context = u.Usage.Context
		}
	case "retry":
		c.discard(u.Discarded)
		c.note("trying again in %s: %s", seconds(time.Duration(u.AfterMS)*time.Millisecond), u.Message)
	case "thinking_converted":
		c.note("earlier thinking, from %s to %s: %d kept, %d as text, %d dropped", u.From, u.To, u.Kept, u.AsText, u.Dropped)
	case "summary":
		c.note("%s · /summary shows it, /uncompact undoes it until the next prompt", u.Summary.head())
	case "summary_undone":
		c.note("the summary was undone: the model gets the earlier messages again")
	case "notice":
		c.compacting = u.Kind == "compacting" || c.compacting && u.Kind != "compacted" && u.Kind != "compaction_failed"
		switch {
		case u.Severity == "warning":
			c.add(warned, "", u.Message)
		case u.Kind != "compacted": // the summary said so
			c.note("%s", u.Message)
		}
	case "queue_update":
		c.queue, c.held = u.Queue, u.Held
	case "session_update":
		c.updated(u)
	}
}

// approved reports whether the last question of this turn has shown the diff that a tool returns.
func (c *conversation) approved(returned string) bool {
	for _, it := range slices.Backward(c.items) {
		switch it.kind {
		case said:
			return false
		case asked:
			return slices.ContainsFunc(it.question.Parts, func(p part) bool {
				return p.Kind == "diff" && p.Text != "" && strings.HasSuffix(strings.TrimRight(returned, "\n"), strings.TrimRight(safe.Clean(p.Text), "\n"))
			})
		}
	}
	return false
}

// fellBack shows that the turn goes on with another model.
func (c *conversation) fellBack(u update) {
	c.add(warned, "", u.Switch.Text()+"\n"+u.Switch.Costs())
	if c.other, c.payer = "", (payer{}); u.Payer != nil {
		c.payer = *u.Payer
	}
}

// planned takes in a plan, and says in one line how far it is. /plan shows the whole.
func (c *conversation) planned(plan []step) {
	c.plan = plan
	if len(plan) == 0 {
		c.note("the plan is empty")
		return
	}
	completed, now := 0, ""
	for _, s := range plan {
		switch s.Status {
		case "completed":
			completed++
		case "in_progress":
			now = " · now: " + safe.Clean(s.Content)
		}
	}
	c.note("plan: %d of %d completed%s · /plan shows it", completed, len(plan), now)
}

// showPlan shows the whole plan.
func (c *conversation) showPlan() {
	if len(c.plan) == 0 {
		c.note("there is no plan")
		return
	}
	var b strings.Builder
	b.WriteString("plan:")
	for _, s := range c.plan {
		sign := map[string]string{"completed": "x", "in_progress": ">"}[s.Status]
		fmt.Fprintf(&b, "\n[%s] %s", cmp.Or(sign, " "), safe.Clean(s.Content))
	}
	c.note("%s", b.String())
}

// stepped shows a step of the log.
func (c *conversation) stepped(s pastStep, now time.Time) {
	switch {
	case s.Switch != nil:
		c.add(warned, "", s.Switch.Text())
	case s.Parked != nil && s.Parked.Why != "approval": // the question says so
		c.note("%s", s.Parked.Past(s.Time, now))
	}
}

// answered takes in which model answers, if that is known.
func (c *conversation) answered(by *served) {
	if by != nil {
		if c.other = ""; by.Other {
			c.other = safe.Clean(by.Model)
		}
	}
}

// discard removes the discarded blocks of the last message. Text in the scrollback stays there.
func (c *conversation) discard(blocks []int) {
	printed := false
	for _, number := range blocks {
		key := blockKey(c.message, number)
		delete(c.open, key)
		for i, it := range slices.Backward(c.items) {
			if it.key != key {
				continue
			}
			if it.done = true; i < c.next || it.begun {
				printed = true
			} else {
				c.items = slices.Delete(c.items, i, i+1)
			}
			break
		}
	}
	if printed {
		c.note("the model repeats its last output; ignore the first one")
	}
}

func (c *conversation) prompted(u update) {
	switch text := prompted(u.Content); {
	case u.Placed == "queued":
		c.asked[u.Turn] = text
	case u.Replaces:
		c.note("the prompt that steers was changed: %s", line(text, 60))
	case u.Placed == "steered":
		c.add(said, "steers", text)
	case u.Placed == "appended":
		c.add(said, "adds", text)
	default:
		c.add(said, "", text)
	}
}

func (c *conversation) turnEnded(u update) {
	if u.Into != "" { // the turn that took the prompt in ended before
		return
	}
	if text, ok := c.asked[u.Turn]; ok { // it never started
		delete(c.asked, u.Turn)
		if u.Stop == "end_turn" {
			c.add(said, "adds", text)
			return
		}
		c.note("removed from the queue: %s", line(text, 60))
	}
	if u.Usage != nil {
		full := c.usage.Context
		c.usage = c.usage.Add(*u.Usage)
		c.usage.Context = cmp.Or(u.Usage.Context, full)
	}
	c.failed = u.Error != nil || u.Limit != "" || u.Stop != "end_turn"
	if u.Turn == c.turn {
		c.answeredLimit()
		c.turn, c.parked = "", nil
		c.close()
	} else if !c.failed || u.Stop == "cancelled" { // the next prompt was answered first; only a failure is still shown
		return
	}
	c.ending(turnEnd{u.Stop, string(u.Limit), u.Error})
}

// ending says how a turn ended, unless it ended as usual.
func (c *conversation) ending(e turnEnd) {
	switch {
	case e.Error != nil:
		c.add(failure, "", e.Error.Message)
	case e.Limit != "":
		c.add(failure, "", fmt.Sprintf("the turn ended: %s (%s)", e.Stop, e.Limit))
	case e.Stop == "cancelled":
		c.note("cancelled")
	case e.Stop != "end_turn":
		c.add(failure, "", "the turn ended: "+e.Stop)
	}
}

// park takes in why the turn is parked. A failed attempt to resume it changes the time only, which the line of state has. For an
// approval and a limit, the question is enough.
func (c *conversation) park(p *parked.Turn, now time.Time) {
	if p.Why != "approval" && p.Spending == nil && (c.parked == nil || c.parked.Why != p.Why) {
		c.add(paused, "", p.Text(now)+" /resume resumes it now, /resume MODEL with another model; /cancel ends it.")
	}
	c.parked = p
}

// answeredLimit keeps the question of a limit, which is answered now, if there is one. It keeps it once.
func (c *conversation) answeredLimit() {
	if q := c.spending(); q != nil && c.kept != c.parked {
		c.kept = c.parked
		c.add(spent, "", limitTitle(*q)+" "+q.Question()+".")
	}
}

// spending is the question of a limit at which the turn is parked; nil: there is none.
func (c *conversation) spending() *costs.Spending {
	if c.parked == nil {
		return nil
	}
	return c.parked.Spending
}

// close ends all open items: no update will follow.
func (c *conversation) close() {
	for key, it := range c.open {
		it.done = true
		delete(c.open, key)
	}
}

func (c *conversation) resolved(u update) {
	for i, q := range c.questions {
		if q.Confirm == u.Confirm {
			by := map[string]string{"client": cmp.Or(u.Client, "a client"), "timeout": "no answer in time", "turn_end": "the end of the turn", "tool_mode": "the tool mode"}[u.By]
			text := map[string]string{"allow": "allowed", "allow_session": "allowed", "deny": "denied"}[u.Action]
			text += " by " + by
			if u.Grant != nil {
				text += ", until the session ends: " + u.Grant.Text
			}
			it := c.add(asked, text, "")
			it.question = &q
			c.questions = slices.Delete(c.questions, i, i+1)
			return
		}
	}
}

func (c *conversation) updated(u update) {
	c.title = cmp.Or(safe.Clean(u.Title), c.title)
	if u.Model != nil {
		c.other, c.payer = "", payer{} // those of the model before
		c.model = *u.Model
	}
	c.level = cmp.Or(u.Level, c.level)
	if u.Deleted {
		c.deleted = true
		c.add(failure, "", "the session was deleted; /new starts another")
	}
}

// attach builds the conversation from the result of session/attach: the finished turns, and the running one so far.
func (c *conversation) attach(a attached, now time.Time) error {
	c.id, c.title, c.model, c.level, c.usage = a.Session.ID, safe.Clean(a.Session.Title), a.Session.Model, a.Session.Level, a.Session.Usage
	for _, u := range a.Updates {
		told, err := decode(u.Method, u.Params)
		if err != nil {
			return err
		}
		c.apply(told, now)
	}
	c.seq = a.Seq
	if a.Updates != nil {
		return nil
	}
	c.plan = a.Session.Plan
	if a.More && len(a.Messages) > 0 {
		c.note("earlier messages: thinkd sessions show %s", c.id)
	}
	next := func(of func(pastStep) bool) { // steps are in order
		for len(a.Steps) > 0 && of(a.Steps[0]) {
			c.stepped(a.Steps[0], now)
			a.Steps = a.Steps[1:]
		}
	}
	history := func(list []message) {
		for _, m := range list {
			next(func(s pastStep) bool { return s.After == "" && s.Turn == m.Turn })
			c.history(m)
			next(func(s pastStep) bool { return s.After == m.ID })
			for _, s := range a.Summaries {
				if s.Behind == m.ID {
					c.note("%s", s.head())
				}
			}
		}
	}
	history(a.Messages)
	if a.Open == nil {
		return nil
	}
	c.turn, c.began, c.queue, c.held = a.Open.Turn, now, a.Open.Queue, a.Open.Held
	c.questions = a.Open.Confirms
	if a.Open.Payer != nil {
		c.payer = *a.Open.Payer
	}
	for _, w := range a.Open.Queue {
		c.asked[w.Turn] = w.Text
	}
	history(a.Open.Messages)
	if a.Open.Parked != nil {
		c.park(a.Open.Parked, now)
	}
	return nil
}

// history adds a message of the log, and behind the last of a turn how that ended.
func (c *conversation) history(m message) {
	switch {
	case m.Queued:
		c.asked[m.Turn] = prompted(m.Content)
		return
	case m.Role == "user" && (len(m.Content) == 0 || m.Content[0].Type != "tool_result"):
		c.add(said, "", prompted(m.Content))
	default:
		c.reply(m)
	}
	switch {
	case m.Ended != nil:
		c.ending(*m.Ended)
	case m.Incomplete != "":
		c.note("the message is incomplete: %s", m.Incomplete)
	}
}

// reply adds a message of the model, or the results of its calls.
func (c *conversation) reply(m message) {
	for _, b := range m.Content {
		switch b.Type {
		case "thinking", "text":
			it := c.part(answer, blockKey(m.ID, b.Number))
			if b.Type == "thinking" {
				it.kind, it.head = thinking, thought(b.Kind, b.Duration, b.Tokens, b.Estimated)
			}
			it.grow(b.Text)
			if !b.Open {
				c.end(it, it.text())
			}
			c.cite(b.Sources)
		case "media":
			c.note("%s", words([]block{b}))
		case "server_tool": // only the result says whether it failed
			c.served(b.Name, b.Arguments, b.Text != "" || len(b.Sources) > 0 || b.IsError, b.IsError, b.Text, b.Sources)
		case "tool_call":
			c.add(call, "", called(b.Name, b.Arguments))
		case "tool_result":
			c.add(output, "", words(b.Content)).bad = b.IsError
		}
	}
	if c.answered(m.Served); m.Served != nil && m.Served.Other {
		c.add(warned, "", c.other+" answered, which is not the model that was asked for")
	}
}
