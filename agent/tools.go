package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/relay"
	"github.com/thinkd/thinkd/agent/tool"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// ErrNoCall says that no call of that id waits for a client's result: there never was one, or it has its result.
var ErrNoCall = errors.New("no such call waits for a result")

// Bounds of what models may do with tools in one turn.
const (
	maxBadRounds = 3       // replies in a row of which no call can be run
	maxArguments = 1 << 20 // bytes of a call's arguments
	maxCalls     = 128     // of one reply; the others get a result that says so, and do not run
)

// round is the calls of one reply on the way to their results. It belongs to the agent's goroutine, but for what the
// goroutines of its calls send.
type round struct {
	reply   session.MessageID
	results session.MessageID
	calls   []*toolCall
	left    int // calls without a result

	ctx  context.Context // of the goroutines
	stop context.CancelCauseFunc
	news chan func()   // for the agent's goroutine; has room for all that is ever sent
	grew chan struct{} // a token: some call has output to tell
}

// toolCall is one call of a round.
type toolCall struct {
	session.Call
	index   int             // among the calls of its reply
	tool    tool.Tool       // zero: the session has none of that name
	told    bool            // people know of it
	begun   time.Time       // zero: it was not begun
	asked   *question       // nil: no person is asked
	concern tool.Concern    // what its host found in its arguments
	would   tool.Inspection // what it would do, if a person may be asked
	output  *relay.Output   // nil: no host runs it
	stop    context.CancelFunc
	done    bool
}

// runTools runs the calls of a whole reply side by side; facts are the end of that reply. It goes on in judge.
func (s *state) runTools(id session.MessageID, twice map[int]bool, facts []fact) {
	r := s.run
	if s.record(facts...) != nil {
		return
	}
	calls := r.Turn.Message(id).Calls()
	ctx, stop := context.WithCancelCause(s.ctx)
	rd := &round{reply: id, results: session.NewMessageID(), left: len(calls), ctx: ctx, stop: stop,
		news: make(chan func(), 1+len(calls)), grew: make(chan struct{}, 1)}
	for i, call := range calls {
		c := &toolCall{Call: call, index: i}
		if t := s.tool(call.Name); t != nil {
			c.tool = s.believed(*t)
		}
		rd.calls = append(rd.calls, c)
	}
	r.round = rd
	names, log := toolNames(s.view.Session.Tools), r.log
	examine := s.examiners(rd)
	s.calls.Go(func() { // ends soon after ctx; Close waits
		faults, found := make([]string, len(rd.calls)), make([]examined, len(rd.calls))
		for i, c := range rd.calls {
			if ctx.Err() != nil { // a schema may take a second for each call
				return
			}
			if i >= maxCalls {
				faults[i] = tooManyCalls
				continue
			}
			if faults[i] = guarded(log, c, names); twice[c.Number] {
				faults[i] = "another call of this reply has the same id, so this one was not run"
			}
			if faults[i] == "" && examine[i] != nil {
				found[i], faults[i] = examine[i](ctx)
			}
		}
		rd.news <- func() {
			for i, c := range rd.calls {
				c.concern, c.would = found[i].concern, found[i].would
			}
			s.judge(faults)
		}
	})
}

// tooManyCalls is what a model is told of each call above the bound.
var tooManyCalls = fmt.Sprintf("a reply may have %d calls, and this one has more; this call was not run, so make it in a later reply", maxCalls)

// believed is a tool with the effect that decisions go by: what a server says of its tools counts only while the operator
// trusts it, whatever it said when the session began.
func (s *state) believed(t tool.Tool) tool.Tool {
	host := s.cfg.host(s.view.Session, t)
	if t.Host != tool.MCP || host == nil {
		return t
	}
	if h, ok := host.(tool.Hinter); !ok || !h.TrustsHints() {
		t.Effect = tool.Other
	}
	return t
}

func (s *state) tool(name string) *tool.Tool {
	for i := range s.view.Session.Tools {
		if t := &s.view.Session.Tools[i]; t.Name == name {
			return t
		}
	}
	return nil
}

func toolNames(tools []tool.Tool) string {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	return strings.Join(names, ", ")
}

// guarded is fault for foreign schemas and arguments: a panic ends the call, and nothing else.
func guarded(log *slog.Logger, c *toolCall, names string) (why string) {
	defer func() {
		if p := recover(); p != nil {
			err := panicked(log.With("tool", c.Name), "the check of a call", p)
			why = "the arguments cannot be checked by an " + err.Error() + ", so the tool was not run"
		}
	}()
	return fault(c.ToolCall, c.tool, names)
}

// whole is the call with arguments: a model may leave out those of a tool that wants none.
func (c *toolCall) whole() provider.ToolCall {
	call := c.ToolCall
	if len(call.Input) == 0 {
		call.Input = json.RawMessage("{}")
	}
	return call
}

// inspectTime is how long people wait for what a host finds out of a call: an editor may have to be asked for the file.
const inspectTime = 10 * time.Second

// examined is what the host of a call found out about it.
type examined struct {
	concern tool.Concern
	would   tool.Inspection
}

// examiners are what looks at each call of a round, nil for those whose host has nothing to say. They run on a goroutine of
// their own, since hosts read files.
func (s *state) examiners(rd *round) []func(context.Context) (examined, string) {
	list := make([]func(context.Context) (examined, string), len(rd.calls))
	for i, c := range rd.calls[:min(len(rd.calls), maxCalls)] {
		if c.tool.Name == "" {
			continue
		}
		host := s.cfg.host(s.view.Session, c.tool)
		examiner, _ := host.(tool.Examiner)
		inspector, _ := host.(tool.Inspector)
		if examiner == nil && inspector == nil {
			continue
		}
		log, call, q := s.run.log, c.whole(), s.questionAbout(c)
		list[i] = func(ctx context.Context) (examined, string) {
			return examineCall(ctx, log, examiner, inspector, call, q)
		}
	}
	return list
}

// examineCall has a host say what is dangerous about a call, and what it would do if a person may be asked about it. A call
// whose examination panics does not run. After a panic of the inspection people see the arguments.
func examineCall(ctx context.Context, log *slog.Logger, examiner tool.Examiner, inspector tool.Inspector, call provider.ToolCall, q tool.Question) (found examined, why string) {
	ctx, cancel := context.WithTimeout(ctx, inspectTime)
	defer cancel()
	inspecting := false
	defer func() {
		if p := recover(); p != nil {
			err := panicked(log.With("tool", call.Name), "the examination of a call", p)
			if !inspecting {
				why = "the call cannot be examined by an " + err.Error() + ", so the tool was not run"
			}
		}
	}()
	if examiner != nil {
		found.concern = examiner.Examine(ctx, q.Tool, call)
		q.Concern = found.concern
	}
	if inspecting = true; inspector != nil && q.Rule() == tool.Ask {
		found.would = inspector.Inspect(tool.WithDecision(ctx, tool.Decision{Tool: q.Tool, Concern: found.concern}), call)
	}
	return found, why
}

// fault says in the model's words why a call cannot be run, empty if it can.
func fault(c provider.ToolCall, t tool.Tool, names string) string {
	switch {
	case t.Name == "":
		return fmt.Sprintf("there is no tool %q; there are: %s", c.Name, names)
	case c.Invalid != "":
		return "the arguments are not a JSON object; the tool was not run"
	case len(c.Input) > maxArguments:
		return fmt.Sprintf("the arguments are longer than %d bytes; the tool was not run", maxArguments)
	}
	input := c.Input
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	if err := tool.Check(t.Schema, input); err != nil {
		return "the arguments do not fit the tool's schema, and it was not run: " + err.Error()
	}
	return ""
}

// judge starts the calls of a round that may run, asks about those that need a word, and ends the others.
func (s *state) judge(faults []string) {
	r := s.run
	rd := r.round
	bad := 0
	var facts []fact
	var run []*toolCall
	for i, c := range rd.calls {
		rule := s.rule(c)
		switch {
		case faults[i] != "":
			bad++
			facts = append(facts, s.answer(c, tool.Failed(c.ID, faults[i]))...)
		case rule == tool.Deny:
			facts = append(facts, s.answer(c, tool.Failed(c.ID, denial(c.concern)))...)
		case rule == tool.Ask && c.concern.Danger > tool.NoDanger && !s.feed.CanConfirm():
			facts = append(facts, s.answer(c, tool.Failed(c.ID, c.concern.Why+"; this needs a person's approval, and no client that could ask one is connected, so the call was not run"))...)
		case rule == tool.Ask:
			facts = append(facts, s.question(c))
		default:
			facts = append(facts, s.beginCall(c)...)
			run = append(run, c)
		}
	}
	if r.bad++; bad < len(rd.calls) {
		r.bad = 0
	}
	if s.record(facts...) != nil {
		return
	}
	s.launch(run...)
	s.goOn()
}

// rule decides on a call that has passed the check of its arguments.
func (s *state) rule(c *toolCall) tool.Rule {
	q := s.questionAbout(c)
	q.Concern = c.concern
	q.Granted = slices.ContainsFunc(s.view.Grants, func(g tool.Grant) bool { return tool.Covers(g, c.tool, c.would) })
	return q.Rule()
}

// questionAbout is what is known of a call before its host has looked at it.
func (s *state) questionAbout(c *toolCall) tool.Question {
	return tool.Question{Tool: c.tool, Operator: s.cfg.Rules, Session: s.view.Session.Rules, Mode: s.view.Session.Mode}
}

// denial tells the model why a rule refused its call.
func denial(c tool.Concern) string {
	if c.Danger == tool.Protected {
		return c.Why + "; no tool may touch it, so the call was not run"
	}
	return "this tool is not allowed here, so it was not run"
}

// beginCall is what is kept and told of a call that is about to run.
func (s *state) beginCall(c *toolCall) []fact {
	c.told, c.begun = true, time.Now()
	rd := s.run.round
	return []fact{{s.run.ID, session.ToolStart{Message: rd.reply, Block: c.Number}, toolStart(rd.reply, c.Call, c.tool.Host, c.tool.Title)}}
}

// launch runs calls that were begun. What a client hosts, it has been told of.
func (s *state) launch(calls ...*toolCall) {
	for _, c := range calls {
		if c.done || c.tool.Host == tool.Client {
			continue
		}
		host := s.cfg.host(s.view.Session, c.tool)
		if host == nil {
			s.finish(c, tool.Failed(c.ID, "the server of this tool is not there any more"))
			if s.run == nil {
				return
			}
			continue
		}
		s.runOn(host, c)
	}
}

// host is who runs a tool, nil if nobody does any more.
func (cfg Config) host(of session.Session, t tool.Tool) tool.Host {
	if cfg.Hosts == nil {
		return nil
	}
	for _, h := range cfg.Hosts(of) {
		if h.Name() == t.Source {
			return h
		}
	}
	return nil
}

// runOn runs a call on its host.
func (s *state) runOn(host tool.Host, c *toolCall) {
	rd, log, call := s.run.round, s.run.log, c.whole()
	ctx, stop := context.WithCancel(tool.WithDecision(rd.ctx, tool.Decision{Tool: c.tool, Concern: c.concern}))
	c.stop, c.output = stop, relay.NewOutput(rd.grew)
	s.calls.Go(func() { // a host returns soon after ctx ends; Close waits
		defer stop()
		var result provider.ToolResult
		defer func() {
			if p := recover(); p != nil {
				err := panicked(log.With("tool", call.Name), "tool", p)
				result = tool.Failed(call.ID, "the tool failed by an "+err.Error())
			}
			c.output.Close()
			rd.news <- func() {
				if s.ctx.Err() != nil { // the agent is to end, and that is what ended the call
					s.interrupt()
					return
				}
				s.finish(c, result)
			}
		}()
		result = host.Run(ctx, call, c.output.Add)
	})
}

// finish takes in the result of a call, if it has none yet.
func (s *state) finish(c *toolCall, result provider.ToolResult) {
	if c.done || s.record(s.answer(c, result)...) != nil {
		return
	}
	s.goOn()
}

// answer is what is kept and told of a call's result.
func (s *state) answer(c *toolCall, result provider.ToolResult) []fact {
	rd := s.run.round
	fault := ""
	if result.Failed {
		fault = ToolFailed
	}
	s.ran(c, fault)
	c.done = true
	rd.left--
	if c.stop != nil {
		c.stop()
	}
	var facts []fact
	if !c.told {
		c.told = true
		facts = append(facts, fact{s.run.ID, nil, toolStart(rd.reply, c.Call, "", c.tool.Title)})
	}
	if rest := c.output.Take(); rest != "" {
		facts = append(facts, fact{s.run.ID, nil, feed.ToolOutput{CallID: c.ID, Chunk: rest}})
	}
	end := session.ToolEnd{Message: rd.results, Number: c.index, Reply: rd.reply, CallID: c.ID,
		Content: s.result(s.fitting(result.Blocks)), Failed: result.Failed}
	if !c.begun.IsZero() {
		end.DurationMS = time.Since(c.begun).Milliseconds()
	}
	return append(facts, fact{s.run.ID, end, feed.ToolEnd{ToolEnd: end}})
}

// goOn calls the model again when all calls have their results, unless the turn has had enough.
func (s *state) goOn() {
	r := s.run
	if r == nil || r.round == nil {
		return
	}
	if r.round.left > 0 {
		s.tellWaiting()
		return
	}
	s.dropRound(nil)
	switch {
	case r.bad >= maxBadRounds:
		s.overLimit("invalid_calls")
	case r.calls >= s.cfg.Limits.ModelCalls:
		s.endTurn(session.TurnEnd{StopReason: session.StopModelCalls}, "")
	default:
		s.tellWaiting()
		if s.takeSteering() == nil {
			s.callModel()
		}
	}
}

// dropRound ends the goroutines of a round; what they still send is not read.
func (s *state) dropRound(cause error) {
	if r := s.run; r != nil && r.round != nil {
		r.round.stop(cause)
		r.round = nil
	}
}

// leftOver gives every call of the turn that has no result one that says so, and takes open questions back: a history
// with a call that nothing answers is refused by every vendor.
func (s *state) leftOver() (facts []fact) {
	r := s.run
	var calls []*toolCall
	if r.round != nil {
		calls = r.round.calls
	}
	for _, c := range calls {
		if c.asked != nil {
			facts = append(facts, s.resolve(c, session.Deny, nil, feed.ByTurnEnd, "")...)
		}
	}
	made := make(map[session.MessageID][]session.Call)
	for _, end := range r.Turn.Unanswered() {
		known := false
		if r.round != nil && end.Reply == r.round.reply {
			end.Message = r.round.results
			known = calls[end.Number].told
			if rest := calls[end.Number].output.Take(); rest != "" {
				facts = append(facts, fact{r.ID, nil, feed.ToolOutput{CallID: end.CallID, Chunk: rest}})
			}
			s.ran(calls[end.Number], ToolNoResult)
			if begun := calls[end.Number].begun; !begun.IsZero() {
				end.DurationMS = time.Since(begun).Milliseconds()
			}
		}
		if !known {
			if made[end.Reply] == nil {
				made[end.Reply] = r.Turn.Message(end.Reply).Calls()
			}
			facts = append(facts, fact{r.ID, nil, toolStart(end.Reply, made[end.Reply][end.Number], "", "")})
		}
		facts = append(facts, fact{r.ID, end, feed.ToolEnd{ToolEnd: end}})
	}
	return facts
}

// watchTools ends calls that take too long, and questions that nobody answers.
func (s *state) watchTools(now time.Time) {
	limits := s.cfg.Limits
	for _, c := range s.run.round.calls {
		switch {
		case c.done:
			continue
		case c.asked != nil && now.Sub(c.asked.asked) >= limits.ConfirmTime:
			s.decline(c)
		case !c.begun.IsZero() && now.Sub(c.begun) >= limits.ToolTime:
			text := fmt.Sprintf("stopped: there was no result after %s", limits.ToolTime)
			s.finish(c, tool.Failed(c.ID, text))
		}
		if s.run == nil || s.run.round == nil {
			return
		}
	}
}

// news is what calls have to say, nil between rounds.
func (s *state) news() chan func() {
	if s.run == nil || s.run.round == nil {
		return nil
	}
	return s.run.round.news
}

// ToolResult is a client's answer to a call that clients host. It is on disk when it returns. ErrNoCall.
func (a *Agent) ToolResult(ctx context.Context, callID string, content provider.Blocks, failed bool) error {
	_, err := ask(ctx, a, func(s *state) (struct{}, error) {
		c := s.hosted(callID)
		if c == nil {
			return struct{}{}, ErrNoCall
		}
		s.finish(c, provider.ToolResult{Blocks: content, Failed: failed})
		return struct{}{}, s.ended
	})
	return err
}

// hosted finds a call that waits for a client's result.
func (s *state) hosted(callID string) *toolCall {
	if s.run == nil || s.run.round == nil {
		return nil
	}
	i := slices.IndexFunc(s.run.round.calls, func(c *toolCall) bool {
		return c.ID == callID && !c.done && !c.begun.IsZero() && c.tool.Host == tool.Client
	})
	if i < 0 {
		return nil
	}
	return s.run.round.calls[i]
}

// OpenTool is a call that runs.
type OpenTool struct {
	feed.ToolStart
	Output string `json:"output,omitempty"` // the end of what it has told so far
}

// openTools lists the calls that run.
func (s *state) openTools() (open []OpenTool) {
	if s.run.round == nil {
		return nil
	}
	for _, c := range s.run.round.calls {
		if !c.done && !c.begun.IsZero() {
			open = append(open, OpenTool{toolStart(s.run.round.reply, c.Call, c.tool.Host, c.tool.Title), c.output.Tail()})
		}
	}
	return open
}

// offered is what a model is told of tools: nothing if its row says that it takes none.
func (s *state) offered(m provider.Model) (tools []provider.Tool) {
	if m.Known && !m.Tools {
		return nil
	}
	for _, t := range s.view.Session.Tools {
		t.Description = cmp.Or(t.Description, t.Title)
		tools = append(tools, t.Tool)
	}
	return tools
}

// toolStart is the ToolStart of a call; host is empty where it does not run.
func toolStart(reply session.MessageID, c session.Call, host tool.Kind, title string) feed.ToolStart {
	e := feed.ToolStart{Message: reply, Block: c.Number, CallID: c.ID, Name: c.Name, Arguments: c.Input, Invalid: c.Invalid,
		Host: host, Title: title}
	if len(e.Arguments) == 0 && e.Invalid == "" {
		e.Arguments = json.RawMessage("{}")
	}
	return e
}

// publishOutput publishes the output of running calls that is not published yet.
func (s *state) publishOutput() {
	for _, c := range s.run.round.calls {
		if chunk := c.output.Take(); chunk != "" && !c.done {
			s.tell(s.run.ID, feed.ToolOutput{CallID: c.ID, Chunk: chunk})
		}
	}
}

// outputGrew has a token when publishOutput has something to tell, nil between rounds.
func (s *state) outputGrew() chan struct{} {
	if s.run == nil || s.run.round == nil {
		return nil
	}
	return s.run.round.grew
}
