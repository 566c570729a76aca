package rpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/rpc/wire"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/search"
)

type historyParams struct {
	Session method.ID[session.ID]        `json:"session_id"`
	Before  method.ID[session.MessageID] `json:"before,omitzero"`
	After   method.ID[session.MessageID] `json:"after,omitzero"`
	Limit   pageLimit                    `json:"limit,omitzero"`
}

type historyResult struct {
	Messages  []wire.Message `json:"messages"`
	Summaries []wire.Summary `json:"summaries,omitzero"` // that were made right after one of the messages
	Steps     []wire.Step    `json:"steps,omitzero"`     // of their turns
	More      bool           `json:"more"`
}

func history(ctx context.Context, c *client, p historyParams) (historyResult, error) {
	limit, err := p.Limit.page()
	if err != nil {
		return historyResult{}, err
	}
	if p.Before.Value != "" && p.After.Value != "" {
		return historyResult{}, conn.InvalidParams("after", "cannot be combined with before; give one of them")
	}
	messages, more, err := c.page(ctx, p.Session.Value, agent.Page{Before: p.Before.Value, After: p.After.Value, Limit: limit})
	if err != nil {
		return historyResult{}, err
	}
	room := c.server.out.Room()
	left := func(shown []wire.Message) bool { return more || len(shown) < len(messages) }
	if p.After.Value != "" {
		shown, err := c.server.out.Oldest(messages, room)
		if err != nil {
			return historyResult{}, err
		}
		of := messages[:len(shown)]
		summaries, err := c.summariesAfter(ctx, p.Session.Value, of)
		return historyResult{shown, summaries, wire.StepsInPage(of), left(shown)}, err
	}
	shown, err := c.server.out.Newest(messages, room, 1)
	if err != nil {
		return historyResult{}, err
	}
	of := messages[len(messages)-len(shown):]
	summaries, err := c.summariesAfter(ctx, p.Session.Value, of)
	return historyResult{shown, summaries, wire.StepsInPage(of), left(shown)}, err
}

func (c *client) page(ctx context.Context, id session.ID, p agent.Page) (page []agent.Message, more bool, err error) {
	page, err = service.OnAgent(ctx, c, id, func(a *agent.Agent) (list []agent.Message, err error) {
		list, more, err = a.History(ctx, p)
		return list, err
	})
	return page, more, err
}

type searchParams struct {
	Text    string                `json:"text"`
	In      []search.Place        `json:"in,omitempty"`
	Session method.ID[session.ID] `json:"session_id,omitzero"`
	Cursor  string                `json:"cursor,omitempty"`
	Limit   pageLimit             `json:"limit,omitzero"`
	filterParams
}

type searchResult struct {
	Found      []found `json:"found"`
	Read       int     `json:"read"`
	Unreadable int     `json:"unreadable,omitempty"`
	Next       string  `json:"next_cursor,omitempty"`
}

// found is a session in which a search found something.
type found struct {
	Session  wire.Session     `json:"session"`
	Hits     int              `json:"hits"`
	Excerpts []search.Excerpt `json:"excerpts"`
}

// Bounds of one search. A client that wants more calls again.
const (
	searchTime  = 300 * time.Millisecond
	searchBytes = 16 << 20
	searchRoom  = 256 << 10
)

func searchSessions(_ context.Context, c *client, p searchParams) (func(context.Context) (searchResult, error), error) {
	limit, err := p.Limit.page()
	if err != nil {
		return nil, err
	}
	q := search.Query{Text: p.Text, In: p.In, Session: p.Session.Value, Of: p.filter(), Cursor: p.Cursor, Limit: limit}
	bounds := search.Bounds{Time: searchTime, Bytes: searchBytes, Result: min(searchRoom, c.server.out.Room()/2)}
	return func(ctx context.Context) (searchResult, error) {
		r, err := c.search(ctx, q, bounds)
		if errors.Is(err, search.ErrText) {
			return searchResult{}, conn.InvalidParams("text", "%v", err)
		}
		return r, err
	}, nil
}

// search finds text in one session, which may be shared with the user, or in all: first in those that are shared.
func (c *client) search(ctx context.Context, q search.Query, b search.Bounds) (searchResult, error) {
	sessions := c.Sessions()
	r := searchResult{Found: []found{}}
	_, _, inShared := sharedAt(q.Cursor)
	if one, ok := c.sharedWith(q.Session); ok {
		sessions = c.ofOwner(one)
	} else if q.Session == "" && (inShared || q.Cursor == "") {
		shared, page, next, err := c.searchShared(ctx, q, b)
		if err != nil {
			return searchResult{}, err
		}
		for _, f := range shared {
			r.Found = append(r.Found, found{c.listedShared(sharedRecord{f.Session, f.of}), f.Hits, append([]search.Excerpt{}, f.Excerpts...)})
		}
		r.Read, r.Unreadable, r.Next = page.Read, page.Unreadable, next
		if next != "" || len(r.Found) >= q.Limit {
			if next == "" {
				r.Next = sharedNext(behindShared, "")
			}
			return r, nil
		}
		q.Cursor, q.Limit = "", q.Limit-len(r.Found)
	}
	page, err := sessions.Search(ctx, q, b)
	r.Read, r.Unreadable, r.Next = r.Read+page.Read, r.Unreadable+page.Unreadable, page.Next
	for _, f := range page.Found {
		r.Found = append(r.Found, found{c.listedNow(f.Session), f.Hits, append([]search.Excerpt{}, f.Excerpts...)})
	}
	return r, err
}

type exportParams struct {
	Session  method.ID[session.ID]        `json:"session_id"`
	Format   exportFormat                 `json:"format"`
	Thinking *bool                        `json:"thinking,omitempty"` // absent: true
	Cursor   method.ID[session.MessageID] `json:"cursor,omitzero"`
}

// exportFormat is the form of an export.
type exportFormat string

const (
	exportJSON     exportFormat = "json"
	exportMarkdown exportFormat = "markdown"
)

// Words lists both formats.
func (exportFormat) Words() []string { return provider.Words(exportJSON, exportMarkdown) }

type exportResult struct {
	Session   wire.Session      `json:"session"`
	Messages  []wire.Message    `json:"messages,omitzero"`  // of the format json
	Summaries []wire.Summary    `json:"summaries,omitzero"` // of the format json: that were made right after one of the messages
	Steps     []wire.Step       `json:"steps,omitzero"`     // of the format json: of the turns of the messages
	Text      *string           `json:"text,omitempty"`     // of the format markdown
	Next      session.MessageID `json:"next_cursor,omitempty"`
}

func export(_ context.Context, c *client, p exportParams) (func(context.Context) (exportResult, error), error) {
	return func(ctx context.Context) (exportResult, error) {
		st, err := state(ctx, c, sessionParams{p.Session})
		if err != nil {
			return exportResult{}, err
		}
		messages, more, err := c.page(ctx, p.Session.Value,
			agent.Page{After: p.Cursor.Value, FromStart: p.Cursor.Value == "", Limit: maxLimit})
		if err != nil {
			return exportResult{}, err
		}
		if p.Thinking != nil && !*p.Thinking {
			for i := range messages {
				messages[i] = withoutThinking(messages[i])
			}
		}
		shown, err := c.server.out.Oldest(messages, c.server.out.Room())
		if err != nil {
			return exportResult{}, err
		}
		r := exportResult{Session: st.Session, Messages: shown, Steps: wire.StepsInPage(messages[:len(shown)])}
		if r.Summaries, err = c.summariesAfter(ctx, p.Session.Value, messages[:len(shown)]); err != nil {
			return exportResult{}, err
		}
		if more || len(shown) < len(messages) {
			r.Next = shown[len(shown)-1].ID
		}
		if p.Format == exportMarkdown {
			text := c.server.markdown(st.Session, messages[:len(shown)], r.Summaries, p.Cursor.Value == "")
			r.Messages, r.Summaries, r.Steps, r.Text = nil, nil, nil, &text
		}
		return r, nil
	}, nil
}

// maxExport bounds what an editor is shown of a session.
const maxExport = 8 << 20

// exportMarkdown is a session as Markdown, as far as there is room.
func (c *client) exportMarkdown(ctx context.Context, id session.ID) (string, error) {
	var out strings.Builder
	p := exportParams{Session: method.ID[session.ID]{Value: id}, Format: exportMarkdown}
	for {
		next, err := export(ctx, c, p)
		if err != nil {
			return "", err
		}
		page, err := next(ctx)
		if err != nil {
			return "", err
		}
		out.WriteString(*page.Text)
		if page.Next == "" {
			return out.String(), nil
		}
		if out.Len() > maxExport {
			fmt.Fprintf(&out, "\n*(the rest is left out: `thinkd sessions export %s` has all of it)*\n", id)
			return out.String(), nil
		}
		p.Cursor = method.ID[session.MessageID]{Value: page.Next}
	}
}

func withoutThinking(m agent.Message) agent.Message {
	m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), func(p session.Part) bool {
		return provider.KindOf(p.Block) == provider.KindThinking
	})
	m.Open = slices.DeleteFunc(slices.Clone(m.Open), func(o agent.Open) bool {
		return provider.KindOf(o.Block) == provider.KindThinking
	})
	return m
}

// markdown is a part of a session for people; the first part has its title.
func (s *Server) markdown(of wire.Session, messages []agent.Message, summaries []wire.Summary, first bool) string {
	var out strings.Builder
	if first {
		fmt.Fprintf(&out, "# %s\n", cmp.Or(of.Title, "Session "+string(of.ID)))
		if of.Usage.Input+of.Usage.Output > 0 {
			fmt.Fprintf(&out, "\n*(%s)*\n", usageWords(of.Usage))
		}
	}
	for _, m := range messages {
		fmt.Fprintf(&out, "\n## %s\n", speaker(m))
		if m.Pinned {
			out.WriteString("\n*(pinned)*\n")
		}
		if m.Joins != nil {
			out.WriteString("\n*(goes on directly behind the text above)*\n")
		} else if m.Continues != "" {
			out.WriteString("\n*(continues the answer above)*\n")
		}
		room := s.out.MessageRoom()
		for _, p := range m.Parts {
			room = writeMarkdown(&out, p.Block, room)
		}
		for _, o := range m.Open {
			room = writeMarkdown(&out, o.Block, room)
		}
		if m.End != nil && m.End.Incomplete != "" {
			fmt.Fprintf(&out, "\n*(incomplete: %s)*\n", m.End.Incomplete)
		}
		if how := endOfTurn(m); how != "" {
			fmt.Fprintf(&out, "\n*(the turn ended: %s)*\n", how)
		}
		for _, sum := range summaries {
			if sum.After == m.ID {
				writeSummary(&out, sum)
			}
		}
	}
	return out.String()
}

// endOfTurn says how the turn ended, behind its last message; empty: as usual, or the message says so already.
func endOfTurn(m agent.Message) string {
	switch {
	case !m.Last || m.Stop == nil || m.Stop.StopReason == session.StopEndTurn:
		return ""
	case m.Stop.Error != nil:
		return strings.Join(strings.Fields(fmt.Sprintf("%s: %s", m.Stop.StopReason, m.Stop.Error.Message)), " ")
	case m.Stop.Limit != "":
		return fmt.Sprintf("%s (%s)", m.Stop.StopReason, m.Stop.Limit)
	case m.End != nil && string(m.End.Incomplete) == string(m.Stop.StopReason):
		return ""
	}
	return string(m.Stop.StopReason)
}

// writeSummary writes a summary where it was made.
func writeSummary(out *strings.Builder, s wire.Summary) {
	fmt.Fprintf(out, "\n## Summary of %d earlier messages by %s\n", s.Messages, s.Model)
	if s.Undone {
		out.WriteString("\n*(undone)*\n")
	}
	fmt.Fprintf(out, "\n%s\n", strings.TrimRight(s.Text, "\n"))
	if s.Truncated {
		out.WriteString("\n*(cut: too large to show)*\n")
	}
}

func usageWords(u provider.Usage) string {
	words := fmt.Sprintf("%d tokens in, %d out", u.Input, u.Output)
	if u.Estimated {
		words = "about " + words
	}
	if u.Cost != nil {
		words += ", " + u.Cost.String()
	}
	return words
}

func speaker(m agent.Message) string {
	switch {
	case m.Role == provider.User && m.Start == nil && m.Stop == nil:
		return "User (queued)"
	case m.Unsent():
		return "User (not sent)"
	case m.Role == provider.User:
		return "User"
	case m.Start == nil:
		return "Assistant"
	}
	by := fmt.Sprintf("%s (thinking: %s)", m.Start.Model, m.Start.Reasoning.Effective)
	if m.Served != nil && m.Served.Other {
		by += ", answered by " + m.Served.Model
	}
	return by
}

// writeMarkdown writes a block, thinking as a quotation. It gives back what is left of the room.
func writeMarkdown(out *strings.Builder, b provider.Block, room int) int {
	before := out.Len()
	if media, ok := b.(provider.Media); ok { // its data is not shown, so it needs no room
		media.Data, media.Hash, media.Size = nil, "", 0
		b = media
	}
	b, whole := wire.Cut(b, room)
	switch b := b.(type) {
	case provider.Text:
		fmt.Fprintf(out, "\n%s\n", strings.TrimRight(b.Text, "\n"))
	case provider.Thinking:
		text := cmp.Or(strings.TrimRight(b.Text, "\n"), "("+string(b.Kind)+" thinking)")
		fmt.Fprintf(out, "\n> %s\n", strings.ReplaceAll(text, "\n", "\n> "))
	case provider.ToolCall:
		fmt.Fprintf(out, "\nCalled `%s` with `%s%s`\n", b.Name, b.Input, b.Invalid)
	case provider.ServerTool:
		fmt.Fprintf(out, "\n%s\n", b.Plain(b.Input))
	case provider.ToolResult:
		for _, r := range b.Blocks {
			room = writeMarkdown(out, r, room)
		}
	case provider.Media:
		fmt.Fprintf(out, "\n(%s)\n", b.Type)
	}
	if !whole {
		out.WriteString("\n*(cut: too large to show)*\n")
	}
	return max(room-(out.Len()-before), 0)
}
