package acp

import (
	"context"
	"slices"
	"time"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/acp/blocks"
	"github.com/thinkd/thinkd/session"
)

// replay sends a session up to the snapshot: messages, thinking, calls with their results, and what the running
// turn has so far.
func (th *thread) replay(ctx context.Context, snap agent.Snapshot) error {
	messages := snap.Messages
	if snap.Turn != nil {
		messages = slices.Concat(messages, snap.Turn.Messages)
	}
	messages = slices.Concat(messages, snap.Waiting)
	results := make(map[session.MessageID]agent.Message)
	for _, m := range messages {
		if m.Answers != "" {
			results[m.Answers] = m
		}
	}
	for _, m := range messages {
		var err error
		switch {
		case m.Answers != "":
		case m.Role == provider.User:
			var said provider.Blocks
			for _, p := range m.Parts {
				said = append(said, p.Block)
			}
			err = th.says(ctx, nil, string(m.ID), "user_message_chunk", said)
		default:
			err = th.replayReply(ctx, m, results[m.ID])
		}
		if err != nil {
			return err
		}
		if err := th.replayEnd(ctx, m); err != nil {
			return err
		}
		for _, s := range snap.Summaries {
			if s.After == m.ID && !s.Undone {
				if err := th.summarised(ctx, nil, feed.NewSummary(s.Summary, s.Log)); err != nil {
					return err
				}
			}
		}
	}
	if snap.Plan == nil {
		return nil
	}
	return th.send(ctx, nil, planUpdate(snap.Plan))
}

// replayEnd says behind the last message of a turn why the turn failed. ACP has that in the response to the prompt only, which nobody
// gets again: an editor that cannot show notices gets a call that failed.
func (th *thread) replayEnd(ctx context.Context, m agent.Message) error {
	if !m.Last || m.Stop == nil || m.Stop.Error == nil {
		return nil
	}
	if th.e.can.Session.Notices {
		return th.notice(ctx, nil, "error", m.Stop.Error.Message)
	}
	return th.send(ctx, nil, update{Kind: "tool_call", Call: string(m.Turn) + ".failed", Title: "The turn failed", ToolKind: "other",
		Status: "failed", Content: blocks.Text(m.Stop.Error.Message)})
}

// replayReply sends a message of the model, with the results of its calls.
func (th *thread) replayReply(ctx context.Context, m, results agent.Message) error {
	calls := 0
	tell := func(number int, b provider.Block) error {
		id := blockID(m.ID, number)
		switch b := b.(type) {
		case provider.Text:
			if err := th.grow(ctx, nil, "agent_message_chunk", id, b.Text); err != nil {
				return err
			}
			return th.cites(ctx, nil, id, b.Sources)
		case provider.Media:
			return th.makes(ctx, nil, id, b)
		case provider.Thinking:
			return th.grow(ctx, nil, kindThought, id, b.Text)
		case provider.ServerTool:
			return th.serves(ctx, nil, feed.NewServerTool(m.ID, number, b))
		case provider.ToolCall:
			calls++
			return th.replayCall(ctx, m, number, b, results, calls-1)
		}
		return nil
	}
	for _, p := range m.Parts {
		if err := tell(p.Number, p.Block); err != nil {
			return err
		}
		if t, ok := p.Block.(provider.Thinking); ok {
			end := feed.ThinkingEnd{Message: m.ID, Block: p.Number, Kind: t.Kind, Signed: t.Signed, Tokens: t.Tokens,
				DurationMS: t.Duration.Milliseconds()}
			if err := th.later(&feed.Update{Session: th.id, Time: time.Now().UnixMilli(), Turn: m.Turn, Event: end}); err != nil {
				return err
			}
		}
	}
	for _, o := range m.Open {
		if err := tell(o.Number, o.Block); err != nil {
			return err
		}
	}
	return nil
}

// replayCall sends a call with its final state, if it has one. index is its place among the calls of the message.
func (th *thread) replayCall(ctx context.Context, m agent.Message, number int, call provider.ToolCall, results agent.Message, index int) error {
	known := th.known(m.ID, number, call.ID)
	c := &toolCall{id: blockID(m.ID, number)}
	if known {
		c = th.call(m.ID, number, call.ID)
	}
	up := th.toolCall(c, call.Name, "", call.Input, "pending")
	for _, p := range results.Parts {
		if r, ok := p.Block.(provider.ToolResult); ok && p.Number == index {
			content := th.fetched(r.Blocks)
			up.Status, up.Content = resultStatus(r.Failed), c.result(content, r.Failed)
			if found := th.matches(c, content); found != nil {
				up.Locations = found
			}
			return th.send(ctx, nil, up)
		}
	}
	if known { // it runs
		up.Status = "in_progress"
		if c.output != "" {
			up.Content = blocks.Text(c.output)
		}
	}
	return th.send(ctx, nil, up)
}
