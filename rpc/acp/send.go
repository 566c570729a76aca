package acp

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/acp/blocks"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/rpc/wire"
)

// maxPending is how many notifications wait for an update to ride on.
const maxPending = 64

// send writes a session/update. u is nil if it does not come from an update of the session.
func (th *thread) send(ctx context.Context, u *feed.Update, up update) error {
	if u != nil {
		at := map[string]any{"seq": u.Seq, "turnId": u.Turn}
		if u.FirstSeq != 0 {
			at["firstSeq"] = u.FirstSeq
		}
		up.Meta = meta{metaKey + "/update": at}
	}
	if up.Kind != kindThought && (up.MessageID != "" || up.Call != "") { // it is shown between two thoughts
		th.thought = ""
	}
	up.Meta = th.ride(up.Meta)
	message, err := encode(envelope{Version: "2.0", Method: "session/update", Params: notification{th.id, up}})
	if err != nil {
		return err
	}
	return th.e.Notify(ctx, message)
}

// later keeps an update for the next that has a form. A session in which nothing has one for long loses the oldest.
func (th *thread) later(u *feed.Update) error {
	if len(th.pending) == maxPending {
		th.pending = th.pending[1:]
	}
	th.pending = append(th.pending, th.e.server.config.Encoder.Update(u))
	return nil
}

// ride takes what waits along.
func (th *thread) ride(m meta) meta {
	if len(th.pending) > 0 {
		if m == nil {
			m = make(meta)
		}
		m[metaKey+"/events"] = th.pending
		th.pending = nil
	}
	return m
}

// grow sends text of a block, in pieces. Empty text is not sent: clients would show an empty box.
func (th *thread) grow(ctx context.Context, u *feed.Update, kind, id, text string) error {
	if text == "" {
		return nil
	}
	if kind == kindThought {
		if th.thought != "" && th.thought != id && joinsThoughts(th.e.name) {
			text = "\n\n" + text
		}
		th.thought = id
	}
	for piece := range blocks.Chunks(text) {
		if err := th.send(ctx, u, update{Kind: kind, MessageID: id, Content: blocks.Content{Type: "text", Text: piece}}); err != nil {
			return err
		}
	}
	return nil
}

// kindThought is the kind of an update with a piece of thinking.
const kindThought = "agent_thought_chunk"

// joinsThoughts reports whether a client shows thoughts that follow each other as one text, though their messageId differs. The names are
// those of initialize; the sources of these clients were read in 2026.
func joinsThoughts(client string) bool {
	return slices.Contains([]string{"CodeCompanion.nvim", "zed", "vscode-acp"}, client)
}

// showsKinds reports whether a client shows the kinds of a question's options in place of their names. CodeCompanion 19 was run: a question
// with two grants had "Always accept" twice, and the key of both gave the wider one.
func showsKinds(client string) bool { return client == "CodeCompanion.nvim" }

// cites lists the pages that a text refers to, each once: ACP has no other form for them.
func (th *thread) cites(ctx context.Context, u *feed.Update, id string, sources []provider.Citation) error {
	if list := provider.SourceList(sources); list != "" {
		return th.grow(ctx, u, "agent_message_chunk", id, "\n\nSources:\n"+list)
	}
	return nil
}

// makes shows an image or a sound that the model made, or says what it made.
func (th *thread) makes(ctx context.Context, u *feed.Update, id string, b provider.Media) error {
	for _, b := range th.fetched(provider.Blocks{b}) {
		if err := th.send(ctx, u, update{Kind: "agent_message_chunk", MessageID: id, Content: blocks.Media(b.(provider.Media))}); err != nil {
			return err
		}
	}
	return nil
}

// serverKinds are ACP's words for what vendors' tools do.
var serverKinds = map[string]string{"web_search": "search", "web_fetch": "fetch"}

// serves shows what the model's vendor runs on its own servers, as a call of a tool. Its id is the vendor's, which the call and its
// result share.
func (th *thread) serves(ctx context.Context, u *feed.Update, e feed.ServerTool) error {
	up := update{Kind: "tool_call", Call: "server_" + e.CallID, Title: e.Name, ToolKind: cmp.Or(serverKinds[e.Name], "execute"), Status: "in_progress"}
	if len(e.Arguments) > 0 {
		up.Input = e.Arguments
	}
	switch e.Status {
	case feed.ServerDone:
		up.Status = "completed"
	case feed.ServerFailed:
		up.Status = "failed"
	}
	if e.Status != feed.ServerRunning {
		up.Kind = "tool_call_update"
		up.Content = blocks.Text(strings.TrimSpace(e.Text + "\n" + provider.SourceList(e.Sources)))
	}
	return th.send(ctx, u, up)
}

// says sends a whole message of a user.
func (th *thread) says(ctx context.Context, u *feed.Update, id, kind string, content provider.Blocks) error {
	for _, b := range th.fetched(content) {
		var err error
		switch b := b.(type) {
		case provider.Text:
			err = th.grow(ctx, u, kind, id, b.Text)
		case provider.Media:
			err = th.send(ctx, u, update{Kind: kind, MessageID: id, Content: blocks.Media(b)})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// notice sends a notice to clients that can show it. u is nil if it does not come from an update of the session.
func (th *thread) notice(ctx context.Context, u *feed.Update, severity, text string) error {
	if u != nil {
		if err := th.later(u); err != nil {
			return err
		}
	}
	if !th.e.can.Session.Notices {
		return nil
	}
	return th.send(ctx, u, update{Kind: "notice", Severity: severity, Title: text})
}

// usage sends how full the window is, and what the session cost. The size of an unknown window is 0. u is nil for a client that opens the
// session.
func (th *thread) usage(ctx context.Context, u *feed.Update, usage provider.Usage) error {
	if usage.Context == nil { // there is nothing to show
		if u == nil {
			return nil
		}
		return th.later(u)
	}
	up := update{Kind: "usage_update", Used: &usage.Context.Used, Size: &usage.Context.Window}
	if usage.Cost != nil {
		up.Cost = &cost{usage.Cost.Amount.Units(), usage.Cost.Currency}
	}
	return th.send(ctx, u, up)
}

// fetched is content with its media, as far as there is room.
func (th *thread) fetched(content provider.Blocks) provider.Blocks {
	room := door.ACPMessageBytes / 2
	return wire.WithMedia(th.e.server.config.Encoder.Blobs, content, &room)
}
