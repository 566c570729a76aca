package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/thinkd/thinkd/agent/budget"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/privacy"
	"github.com/thinkd/thinkd/agent/quote"
	"github.com/thinkd/thinkd/agent/relay"
	"github.com/thinkd/thinkd/agent/structured"
	"github.com/thinkd/thinkd/agent/transcript"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// step applies the next events of the model call to the session:
//
//	Begin ──► begin   opens a block in memory, and clients see nothing yet
//	Delta ──► grow    publishes the growth, and gives it to the log as a checkpoint, which does not wait
//	End   ──► seal    stores the block, then publishes its end
//	Stop  ──► stopped stores the end of the reply, then runs its tools, calls again, or ends the turn
//	error ──► failed  see there
func (s *state) step() {
	if s.ctx.Err() != nil {
		return // the agent ends, and its calls with it: the loop comes to that next
	}
	c := s.run.call
	list, ok := c.steps.Next(s.stride())
	switch {
	case !ok:
		s.failed(&provider.Error{Provider: s.run.model.Provider, Kind: provider.KindTransport,
			Message: "the answer ended without an end"})
		return
	case len(list) == 0:
		return
	case list[0].Err != nil:
		s.failed(list[0].Err)
		return
	}
	c.byteAt, c.noticed = s.cfg.Now(), false
	switch ev := list[0].Event.(type) {
	case provider.Alive:
		return
	case provider.Served: // some hosts name the model and then refuse
		s.served(ev)
		return
	}
	if c.heard.IsZero() {
		c.heard = c.byteAt
	}
	if _, said := list[0].Event.(provider.Notice); !said && !s.accepted() {
		return
	}
	switch ev := list[0].Event.(type) {
	case provider.Begin:
		s.begin(ev)
	case provider.Delta:
		s.grow(ev.Index, list)
	case provider.End:
		s.seal(ev)
	case provider.Notice:
		s.notice(ev)
		return
	case provider.Stop:
		s.stopped(ev)
	default:
		c.ignored++
	}
	c.content = c.byteAt
}

// accepted takes note that the provider has begun to answer the running call: what was left out on trial is left out from
// now on. It is false if that could not be stored, which ends the agent.
func (s *state) accepted() bool {
	r := s.run
	r.answered = true
	if r.stuck != nil {
		r.stuck = nil
		s.cfg.parks.Answered(s.ref)
	}
	if r.trial == nil {
		return true
	}
	kept := *r.trial
	r.trial = nil
	return s.record(leaveOut(r.ID, kept)) == nil
}

// stride is how many bytes of growth are taken in at once. Limits are looked at after each, so it is short where money is
// counted, and ends where the turn may not say more.
func (s *state) stride() int {
	most := relay.MaxStride
	if s.cfg.Limits.budgeted() {
		most = 64 * budget.PerToken
	}
	return min(most, s.cfg.Limits.TurnBytes-s.run.bytes)
}

// openMessage begins the reply when there is something to say.
func (s *state) openMessage() *reply {
	m := &s.run.reply
	if m.id == "" {
		m.id, m.served = session.NewMessageID(), feed.NewServed(s.run.answering.by)
		s.tell(s.run.ID, feed.MessageStart{Message: m.id, Role: provider.Assistant, Served: m.served})
	}
	if m.open == nil {
		m.open, m.over = make(map[int]*block), make(map[int]int)
	}
	return m
}

// begin opens a block. An index belongs to one block of a reply. A second block with the same index is ignored, because deltas could
// belong to either.
func (s *state) begin(ev provider.Begin) {
	m := s.openMessage()
	if _, over := m.over[ev.Index]; over || m.open[ev.Index] != nil || ev.Block == nil {
		s.run.call.ignored++
		return
	}
	b := &block{number: m.next, kind: provider.KindOf(ev.Block), begun: s.cfg.Now()}
	m.next++
	m.calling = m.calling || b.kind == provider.KindToolCall
	m.open[ev.Index] = b
	if t, ok := ev.Block.(provider.ServerTool); ok && t.ID != "" && len(t.Input) == 0 && !t.Done { // it runs, and ends as one block
		s.tell(s.run.ID, feed.NewServerTool(m.id, b.number, t))
	}
	if t, ok := ev.Block.(provider.Thinking); ok {
		b.as = cmp.Or(t.Kind, provider.ThinkingSummary)
	}
}

// announce publishes the start of a thinking block with its first text, so that clients never see an empty block.
func (s *state) announce(b *block) {
	if b.kind == provider.KindThinking && !b.announced {
		b.announced = true
		s.run.reply.thinking = true
		s.tell(s.run.ID, feed.ThinkingStart{Message: s.run.reply.id, Block: b.number})
	}
}

// grow applies the growth of one block.
func (s *state) grow(index int, list []relay.Step) {
	m := &s.run.reply
	b := m.open[index]
	if b == nil {
		s.run.call.ignored += len(list)
		return
	}
	text, ends, empty := s.run.call.steps.Join(list)
	s.run.call.ignored += empty
	if text == "" {
		return
	}
	s.announce(b)
	switch b.kind {
	case provider.KindThinking:
		m.visible = true
		s.publishGrowth(feed.ThinkingDelta{Message: m.id, Block: b.number, Delta: text}, ends)
	case provider.KindText:
		m.shown = true
		s.publishGrowth(feed.MessageDelta{Message: m.id, Block: b.number, Delta: text}, ends)
	}
	if (b.kind == provider.KindThinking || b.kind == provider.KindText) && privacy.Checkpointed(s.view.Session.Storage, b.kind) {
		ref := session.BlockRef{Turn: s.run.ID, Message: m.id, Number: b.number, Kind: b.kind}
		s.owned.Checkpoint(ref, len(b.text), text)
	}
	b.text = append(b.text, text...)
	s.count(b.kind, text)
}

// seal stores a finished block and publishes its end. An end of another kind than the block is ignored.
func (s *state) seal(ev provider.End) {
	m := s.openMessage()
	if m.open[ev.Index] == nil {
		s.begin(provider.Begin(ev))
	}
	b := m.open[ev.Index]
	if b == nil || ev.Block == nil || b.kind != provider.KindOf(ev.Block) {
		s.run.call.ignored++
		return
	}
	delete(m.open, ev.Index)
	m.over[ev.Index] = b.number
	sealed := fact{turn: s.run.ID}
	var whole string
	switch block := ev.Block.(type) {
	case provider.Thinking:
		if block.Text == "" && block.State.IsZero() && !b.announced {
			return
		}
		s.announce(b)
		m.visible = m.visible || block.Text != ""
		block.Duration = s.cfg.Now().Sub(b.begun).Truncate(time.Millisecond)
		ev.Block = block
		whole = block.Text
		sealed.event = thinkingEnd(m.id, b.number, block)
	case provider.Text:
		if block.Text == "" && block.State.IsZero() && len(b.text) == 0 {
			return
		}
		m.shown = true
		whole = block.Text
		if asked := s.run.asked.Options; structured.Wanted(asked) {
			block.JSON, _ = structured.Check(asked, block.Text)
			ev.Block = block
		}
		sealed.event = feed.TextEnd{Message: m.id, Block: b.number, Text: block.Text, JSON: block.JSON, Sources: block.Sources}
	case provider.ServerTool:
		m.shown = true // a search is neither paid nor made twice
		whole = block.Text + string(block.Input)
		sealed.event = feed.NewServerTool(m.id, b.number, block)
	case provider.Media:
		size := len(block.Data)
		if s.run.bytes += size; s.run.bytes > s.cfg.Limits.TurnBytes {
			s.overLimit("bytes")
			return
		}
		kept, err := transcript.KeepMedia(s.cfg.Blobs, provider.Blocks{block})
		if err != nil {
			s.log.Warn("the media of an answer could not be stored", "err", err)
			s.tell(s.run.ID, warn(noticeMissing, fmt.Sprintf("%s of %d bytes in the answer could not be kept: %v", block.Type, size, err)))
			return
		}
		m.shown = true
		media := kept[0].(provider.Media)
		ev.Block = media
		sealed.event = feed.MediaEnd{Message: m.id, Block: b.number, MimeType: media.Type, Size: size, Hash: media.Hash}
	case provider.ToolCall:
		block = m.identify(b.number, block)
		ev.Block = block
		s.run.repeated(block)
		whole = string(block.Input) + block.Invalid
	}
	sealed.body = session.Sealed{Message: m.id, Number: b.number, Block: ev.Block}
	if s.record(sealed) == nil {
		m.sealed = append(m.sealed, b.number)
		s.count(b.kind, whole[min(len(b.text), len(whole)):]) // what came with the end alone
		if s.run != nil && s.run.same >= maxSame {
			s.overLimit(limitRepetition)
		}
	}
}

// count ends the turn when it has said more than it may.
func (s *state) count(kind provider.BlockKind, text string) {
	s.run.estimate.Hear(kind, text)
	if s.run.bytes += len(text); s.run.bytes > s.cfg.Limits.TurnBytes {
		s.overLimit("bytes")
		return
	}
	if s.affordable() {
		s.covered()
	}
}

// stopped applies the end of a reply.
func (s *state) stopped(stop provider.Stop) {
	r, c := s.run, s.run.call
	usage := r.metered(stop.Usage, s.cfg.Now())
	warm := quote.WarmUntil(c.outline().Cache, stop.Usage, c.begun)
	missed := s.diagnose(c, stop.Usage)
	s.stopCall(nil, callEnd{stop: stop, usage: usage})
	m := s.openMessage()
	s.noticeNearBudget()
	empty := stop.Reason == provider.StopEndTurn && !s.says(m) && !s.spoke()
	if empty && !s.heard() && s.again(stop, usage) {
		return
	}

	var incomplete session.Incomplete
	switch {
	case stop.Reason == provider.StopMaxTokens:
		incomplete = session.CutOff
	case stop.Reason == provider.StopRefusal:
		incomplete = session.Refused
	case len(m.open) > 0: // a block without its end may lack what its vendor wants back
		incomplete = session.Failed
	}
	facts, cited := s.closeBlocks(true), m.late(stop.Cited)
	facts = append(facts,
		fact{r.ID, session.MessageEnd{Message: m.id, StopReason: session.StopReason(stop.Reason), Raw: stop.Raw, Served: r.answering.by, Tier: stop.Usage.Tier,
			RequestID: stop.RequestID, Usage: usage, RawUsage: stop.RawUsage, State: stop.State, Incomplete: incomplete, Cited: cited, WarmUntil: warm, Prompt: quote.Fingerprint(c.outline(), stop.Usage), Missed: missed},
			feed.MessageEnd{Message: m.id, StopReason: session.StopReason(stop.Reason), Usage: usage, Cited: cited,
				Served: m.corrected(r.answering.by), Tier: stop.Usage.Tier}})
	m.paused = stop.Reason == provider.StopPause
	facts = append(facts, s.checked(*m, usage)...)
	said := *m
	r.reply = reply{}

	calls := len(said.calls) > 0
	whole := stop.Reason != provider.StopMaxTokens && stop.Reason != provider.StopRefusal
	switch {
	case calls && whole && incomplete == "" && len(s.view.Session.Tools) > 0:
		s.runTools(said.id, said.twice, facts)
	case calls && whole && incomplete != "":
		s.endTurn(session.TurnEnd{StopReason: session.StopError, Error: &session.Failure{Kind: string(provider.KindTransport),
			Message: "the reply has calls of tools and a block without its end, so none was run"}}, "", facts...)
	case calls && whole, stop.Reason == provider.StopToolUse && len(s.view.Session.Tools) == 0:
		s.endTurn(session.TurnEnd{StopReason: session.StopError, Error: &session.Failure{Kind: string(provider.KindBadRequest),
			Message: "the model called a tool, and this session has none"}}, "", facts...)
	case stop.Reason == provider.StopToolUse:
		s.endTurn(session.TurnEnd{StopReason: session.StopError, Error: &session.Failure{Kind: string(provider.KindTransport),
			Message: "the model was to call a tool, and nothing of the call came"}}, "", facts...)
	case empty && s.heard():
		notice := inform(noticeEmpty, "the model ended its turn without a word after the results of its tools")
		s.endTurn(session.TurnEnd{StopReason: session.StopReason(stop.Reason)}, "", append(facts, fact{r.ID, nil, notice})...)
	case empty:
		s.endTurn(session.TurnEnd{StopReason: session.StopError, Error: s.failure(emptyAnswer(r.model.Provider, stop))}, "", facts...)
	case stop.Reason != provider.StopPause:
		end := session.TurnEnd{StopReason: session.StopReason(stop.Reason)}
		if stop.Reason == provider.StopRefusal {
			end.Error = &session.Failure{Kind: string(provider.KindRefused), RequestID: stop.RequestID,
				Message: strings.TrimSpace("the model refused to answer " + stop.Detail)}
		}
		if stop.Reason == provider.StopEndTurn {
			if end.Mismatch = s.mismatch(said.id); end.Mismatch != nil {
				end.StopReason = session.StopMismatch
			}
		}
		s.endTurn(end, "", facts...)
	case r.calls >= s.cfg.Limits.ModelCalls:
		s.endTurn(session.TurnEnd{StopReason: session.StopModelCalls}, "", facts...)
	default:
		if s.recordCall(r.ID, r.choice, facts...) == nil {
			s.callModel()
		}
	}
}

// diagnose compares what a call read from the vendor's cache with what the one before had left there. It returns what the call did not
// read, nil if it read about as much.
func (s *state) diagnose(c *call, usage provider.Usage) *session.CacheMiss {
	r, o := s.run, c.outline()
	before, ok := s.conversation().trace()
	if !ok || o.Pieces == nil || usage.Input == 0 || before.Prompt.Left == 0 {
		return nil
	}
	expected, cause, why := quote.Diagnose(before, quote.Sent{Model: r.model.Ref(), Level: r.decision.Effective, Pieces: o.Pieces, Usage: usage, Begun: c.begun})
	r.cacheUse.Expected += expected
	r.cacheUse.Read += usage.Sent().Cached
	if cause == "" {
		return nil
	}
	miss := session.CacheMiss{Cause: cause, Why: why, Tokens: expected - usage.Sent().Cached}
	miss.Cost = quote.Extra(r.priced().Price, usage, miss.Tokens, s.cfg.Now())
	r.cacheUse.Misses = append(r.cacheUse.Misses, miss)
	return &miss
}

// mismatch returns what is wrong with the last text of a message, nil if no JSON was requested or the text fits the schema.
func (s *state) mismatch(id session.MessageID) []string {
	asked := s.run.asked.Options
	if !structured.Wanted(asked) {
		return nil
	}
	last := provider.Text{}
	if m := s.run.Turn.Message(id); m != nil {
		for _, p := range m.Parts {
			if text, ok := p.Block.(provider.Text); ok {
				last = text
			}
		}
	}
	if last.JSON != nil {
		return nil
	}
	_, faults := structured.Check(asked, last.Text)
	return faults
}

// says reports whether a reply has text, a tool call or media. Text that is blank says nothing.
func (s *state) says(m *reply) bool {
	if len(m.calls) > 0 || slices.ContainsFunc(m.seen(), func(b *block) bool { return b.kind == provider.KindText && !blank(string(b.text)) }) {
		return true
	}
	said := s.run.Turn.Message(m.id)
	return said != nil && speaks(said)
}

// spoke reports whether the model said something in an earlier message of the turn, or of the one that it continues, with no results
// of tools since.
func (s *state) spoke() bool {
	if _, joins := s.run.Turn.Prompt.Continues.Joins(); joins && len(s.run.Turn.Messages) == 0 {
		return true // in the answer that it goes on with
	}
	for _, m := range slices.Backward(s.run.Turn.Messages) {
		if m.Role != provider.Assistant {
			return false
		}
		if m.End != nil && speaks(m) {
			return true
		}
	}
	return false
}

// heard reports whether the turn has results of tools: the model may have nothing to add to them.
func (s *state) heard() bool {
	return slices.ContainsFunc(s.run.Turn.Messages, func(m *session.Message) bool { return m.Answers != "" })
}

// again repeats a call whose answer was empty, once.
func (s *state) again(stop provider.Stop, usage provider.Usage) bool {
	r := s.run
	if r.emptied || !r.mayRetry() {
		return false
	}
	r.emptied = true
	facts, void := s.void(usage)
	if s.recordCall(r.ID, r.choice, append(facts, r.retryFact(0, emptyAnswer(r.model.Provider, stop), void))...) == nil {
		s.callAgain()
	}
	return true
}

func emptyAnswer(providerID string, stop provider.Stop) *provider.Error {
	text := "the answer has neither text nor a tool call"
	if stop.Detail != "" {
		text += ": " + stop.Detail
	}
	return &provider.Error{Provider: providerID, Kind: provider.KindEmpty, RequestID: stop.RequestID, Message: text}
}

// checked is check, but sends the notice about missing thinking once for each model of the session.
func (s *state) checked(m reply, usage provider.Usage) []fact {
	model := s.run.ref()
	return slices.DeleteFunc(s.run.check(m, usage), func(f fact) bool {
		if n, ok := f.event.(feed.Notice); !ok || n.Kind != noticeNoThinking {
			return false
		}
		if s.notified.unthinking[model] {
			return true
		}
		if s.notified.unthinking == nil {
			s.notified.unthinking = make(map[session.ModelRef]bool)
		}
		s.notified.unthinking[model] = true
		return false
	})
}

// notice passes on what an adapter says.
func (s *state) notice(n provider.Notice) {
	r := s.run
	if n.Kind == provider.NoticeConverted {
		var c provider.Conversion
		before := s.before()
		if before == nil || before.Start.Model == r.ref() {
			return // the notice came when the model changed
		}
		crossing := crossing{before.ID, r.ref()}
		if crossing == s.notified.crossing {
			return // an earlier call, of this turn or of one that had no answer
		}
		s.notified.crossing = crossing
		if err := json.Unmarshal(n.Data, &c); err != nil {
			r.log.Warn("notice without its data", "kind", n.Kind, "err", err)
			return
		}
		s.tell(r.ID, feed.ThinkingConverted{From: before.Start.Model.String(), To: r.model.Ref(), Conversion: c})
		return
	}
	if n.Kind == provider.NoticeOverride && len(n.Data) > 0 && s.cfg.Learned != nil {
		var said provider.Learned
		if err := json.Unmarshal(n.Data, &said); err != nil {
			r.log.Warn("notice without its data", "kind", n.Kind, "err", err)
		} else if said.Window > 0 || said.MaxOutput > 0 {
			s.cfg.Learned(r.ref(), said)
		}
	}
	severity := feed.Info
	switch n.Kind {
	case noticeMissing, noticeScaled, provider.NoticeSchema, provider.NoticeToolsAsText: // each call says it again
		if s.notified.once[n.Text] {
			return
		}
		if s.notified.once == nil {
			s.notified.once = make(map[string]bool)
		}
		s.notified.once[n.Text] = true
	}
	switch n.Kind {
	case noticeMissing, provider.NoticeDropped, provider.NoticeRepaired, provider.NoticeLimit:
		severity = feed.Warning
	}
	s.tell(r.ID, feed.Notice{Severity: severity, Kind: string(n.Kind), Message: n.Text})
}

// errStalled is the cause by which a silent call is stopped.
var errStalled = errors.New("stalled")

// watch looks after the time that a turn and its call take; once a second.
func (s *state) watch(now time.Time) {
	if s.timeIsUp(now) {
		return
	}
	r := s.run
	limits := s.cfg.patient(r.model.Provider)
	if r.round != nil {
		s.watchTools(now)
		return
	}
	c := r.call
	if c == nil {
		return
	}
	quiet := now.Sub(cmp.Or(c.byteAt, c.begun))
	switch {
	case c.byteAt.IsZero() && quiet >= limits.Headers:
		s.stalled("no answer came for %s", quiet)
	case quiet >= limits.QuietBytes:
		s.stalled("nothing came for %s", quiet)
	case now.Sub(c.content) >= limits.QuietContent:
		s.stalled("no content came for %s", now.Sub(c.content))
	case quiet >= limits.QuietNotice && !c.noticed:
		c.noticed = true
		s.tell(r.ID, inform(noticeStalled, fmt.Sprintf("nothing has come from %s for %s", r.model.Provider, quiet.Round(time.Second))))
	}
}

func (s *state) stalled(format string, quiet time.Duration) {
	s.stopCall(errStalled, callEnd{fault: string(provider.KindStalled)})
	s.failed(&provider.Error{Provider: s.run.model.Provider, Kind: provider.KindStalled,
		Message: fmt.Sprintf(format, quiet.Round(time.Second))})
}
