package rpc

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/tool/approval"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/rpc/wire"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// acpCall is a call that the client has been told of and that has no result yet.
type acpCall struct {
	id     string // a vendor's own id comes again in another turn; this one does not
	output string // the end of what it has told so far
	diffs  []acpToolContent
}

// call is the call of an id, made if it is new. Where a reply has an id twice, the second call is over before anything
// else is told of the first.
func (th *thread) call(message session.MessageID, block int, callID string) *acpCall {
	id := blockID(message, block)
	for _, c := range th.calls[callID] {
		if c.id == id {
			return c
		}
	}
	c := &acpCall{id: id}
	th.calls[callID] = append(th.calls[callID], c)
	return c
}

func (th *thread) known(message session.MessageID, block int, callID string) bool {
	for _, c := range th.calls[callID] {
		if c.id == blockID(message, block) {
			return true
		}
	}
	return false
}

// last is the call that an update without a place is about, nil if there is none.
func (th *thread) last(callID string) *acpCall {
	if list := th.calls[callID]; len(list) > 0 {
		return list[len(list)-1]
	}
	return nil
}

// tellTool tells of a call. What an update has of content replaces what was told before, so it is all there is.
func (th *thread) tellTool(ctx context.Context, u *feed.Update) error {
	switch e := u.Event.(type) {
	case feed.ToolStart:
		if th.known(e.Message, e.Block, e.CallID) {
			if e.Host == "" { // nobody runs it, and its end comes next
				return nil
			}
			return th.send(ctx, u, acpUpdate{Kind: "tool_call_update", Call: blockID(e.Message, e.Block), Status: "in_progress"})
		}
		c := th.call(e.Message, e.Block, e.CallID)
		return th.send(ctx, u, th.toolCall(c, e.Name, e.Title, e.Arguments, "in_progress"))
	case feed.ToolOutput:
		c := th.last(e.CallID)
		if c == nil {
			return nil
		}
		c.output = tail(c.output+e.Chunk, maxChunk)
		return th.send(ctx, u, acpUpdate{Kind: "tool_call_update", Call: c.id, Status: "in_progress", Content: textContent(c.output)})
	case feed.ToolEnd:
		c := th.last(e.CallID)
		if c == nil {
			return nil
		}
		if list := th.calls[e.CallID]; len(list) > 1 {
			th.calls[e.CallID] = list[:len(list)-1]
		} else {
			delete(th.calls, e.CallID)
		}
		return th.send(ctx, u, acpUpdate{Kind: "tool_call_update", Call: c.id, Status: resultStatus(e.Failed), Content: c.result(th.fetched(e.Content), e.Failed)})
	}
	return nil
}

// toolCall is a new call as the client is told of it.
func (th *thread) toolCall(c *acpCall, name, title string, arguments json.RawMessage, status string) acpUpdate {
	t := th.tools[name]
	up := acpUpdate{Kind: "tool_call", Call: c.id, Title: cmp.Or(title, t.Title, name), ToolKind: acpToolKind(t), Status: status}
	if len(arguments) > 0 {
		up.Input = arguments
	}
	if t.Host == tool.Builtin {
		th.showBuiltin(c, &up, t.Name, arguments)
	}
	return up
}

// showBuiltin says more of a call of our own tools: where it works, and what it changes.
func (th *thread) showBuiltin(c *acpCall, up *acpUpdate, name string, arguments json.RawMessage) {
	var p struct {
		Path    string  `json:"path"`
		Command string  `json:"command"`
		Line    int     `json:"from_line"`
		Content *string `json:"content"`
		Edits   []struct {
			Old string `json:"old_text"`
			New string `json:"new_text"`
		} `json:"edits"`
	}
	if json.Unmarshal(arguments, &p) != nil {
		return // which is why it will not run
	}
	if p.Command != "" {
		up.Title = p.Command
	}
	if p.Path == "" {
		return
	}
	path := p.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(th.dir, path)
	}
	if p.Command == "" {
		up.Title += " " + p.Path
	}
	up.Locations = []acpPlace{{path, p.Line}}
	c.diffs = nil
	if name == "write_file" && p.Content != nil {
		c.diffs = append(c.diffs, acpToolContent{Type: "diff", Path: path, New: p.Content})
	}
	for _, e := range p.Edits {
		c.diffs = append(c.diffs, acpToolContent{Type: "diff", Path: path, Old: &e.Old, New: &e.New})
	}
	if len(c.diffs) > 0 {
		up.Content = c.diffs
	}
}

// result is the content of a call that has ended: for one that changed a file, what it changed.
func (c *acpCall) result(content provider.Blocks, failed bool) []acpToolContent {
	if len(c.diffs) > 0 && !failed {
		return c.diffs
	}
	return resultContent(content)
}

// acpToolKind is one of ACP's words, of which the list is closed.
func acpToolKind(t tool.Tool) string {
	switch {
	case t.Host == tool.Builtin && (t.Name == "list" || t.Name == "search"):
		return "search"
	case t.Effect == tool.Read:
		return "read"
	case t.Effect == tool.Edit:
		return "edit"
	case t.Effect == tool.Run:
		return "execute"
	}
	return "other"
}

func resultStatus(failed bool) string {
	if failed {
		return "failed"
	}
	return "completed"
}

func textContent(text string) []acpToolContent {
	return []acpToolContent{{Type: "content", Content: &acpContent{Type: "text", Text: text}}}
}

// resultContent shows a result; long text has its beginning, since people read it, and the whole is in the history.
func resultContent(content provider.Blocks) []acpToolContent {
	list := []acpToolContent{}
	for _, b := range content {
		switch b := b.(type) {
		case provider.Text:
			for piece := range chunksOf(b.Text) {
				if len(piece) < len(b.Text) {
					piece += fmt.Sprintf("\n[%d bytes in all]", len(b.Text))
				}
				list = append(list, textContent(piece)...)
				break
			}
		case provider.Media:
			shown := acpMedia(b)
			list = append(list, acpToolContent{Type: "content", Content: &shown})
		}
	}
	return list
}

// fetched is content with its media, as far as there is room.
func (th *thread) fetched(content provider.Blocks) provider.Blocks {
	room := door.ACPMessageBytes / 2
	return wire.WithMedia(th.e.c.server.config.Blobs, content, &room)
}

// acpMedia is an image, or a line that says what is not shown.
func acpMedia(b provider.Media) acpContent {
	size := max(b.Size, len(b.Data))
	if b.Kind() != "image" || len(b.Data) == 0 || base64.StdEncoding.EncodedLen(size) > door.ACPMessageBytes/2 {
		return acpContent{Type: "text", Text: fmt.Sprintf("[%s, %d bytes]", b.Type, size)}
	}
	return acpContent{Type: "image", MIME: b.Type, Data: base64.StdEncoding.EncodeToString(b.Data)}
}

// tail is the end of a text, of whole characters.
func tail(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[len(text)-limit:], "")
}

// acpPermission asks whether a call may run.
type acpPermission struct {
	Session session.ID      `json:"sessionId"`
	Call    acpPermitted    `json:"toolCall"`
	Options []acpPermitWord `json:"options"`
	Meta    meta            `json:"_meta,omitempty"`
}

type acpPermitted struct {
	ID      string           `json:"toolCallId"`
	Title   string           `json:"title,omitempty"`
	Kind    string           `json:"kind,omitempty"`
	Status  string           `json:"status"`
	Content []acpToolContent `json:"content,omitempty"`
	Input   json.RawMessage  `json:"rawInput,omitempty"`
}

type acpPermitWord struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// grantOption is before the id of a grant in an optionId. The grant of the whole tool is the action allow_session.
const grantOption = "grant:"

// permitWords are the answers to a question in ACP's words.
func permitWords(q feed.Confirm) (words []acpPermitWord) {
	for _, action := range q.Actions {
		switch action {
		case session.AllowOnce:
			words = append(words, acpPermitWord{string(action), "Allow once", "allow_once"})
		case session.AllowSession:
			for _, g := range q.Grants {
				id := grantOption + g.ID
				if g.ID == approval.ToolGrant {
					id = string(action)
				}
				words = append(words, acpPermitWord{id, "Until this session ends: " + g.Text, "allow_always"})
			}
		case session.Deny:
			words = append(words, acpPermitWord{string(action), "Deny", "reject_once"})
		}
	}
	return words
}

// ruling is an answer of the client.
func ruling(result []byte, client string) agent.Ruling {
	r := agent.Ruling{Action: session.Deny, Client: client}
	if gjson.GetBytes(result, "outcome.outcome").String() == "selected" {
		option := gjson.GetBytes(result, "outcome.optionId").String()
		if id, ok := strings.CutPrefix(option, grantOption); ok && id != "" {
			r.Action, r.Grant = session.AllowOnce, id
		} else {
			r.Action = session.Action(option)
		}
	}
	return r
}

// approval is all that a person approves. Diffs are ACP's own, as far as the call has them; all else is text in which
// hidden characters are visible.
func (c *acpCall) approval(q feed.Confirm) []acpToolContent {
	if q.Limit > 0 {
		return textContent(q.Message)
	}
	var list []acpToolContent
	for _, p := range q.Parts {
		if p.Kind == approval.DiffPart && len(c.diffs) > 0 {
			if list = append(list, c.diffs...); approval.Visible(p.Name) && approval.Visible(p.Text) {
				continue
			}
		}
		text, hidden := approval.Reveal(p.Text)
		if name, _ := approval.Reveal(p.Name); name != "" {
			text = name + ":\n" + text
		}
		if hidden > 0 {
			text += fmt.Sprintf("\n[%d characters that cannot be seen are shown by their codes]", hidden)
		}
		if text != "" {
			list = append(list, textContent(text)...)
		}
	}
	return list
}

// question asks the client what the session asks. It may have an answer of somebody else at any time, and the request is
// taken back then. u is nil where the question was open before.
func (th *thread) question(ctx context.Context, u *feed.Update, q feed.Confirm) error {
	if th.questions[q.ID] != nil {
		return nil
	}
	c := th.call(q.Reply, q.Block, q.CallID)
	call := th.toolCall(c, q.Name, q.Title, q.Arguments, "pending")
	if err := th.send(ctx, u, call); err != nil {
		return err
	}
	title, _ := approval.Reveal(call.Title)
	p := acpPermission{Session: th.id, Call: acpPermitted{c.id, title, call.ToolKind, "pending", c.approval(q), q.Arguments}, Options: permitWords(q),
		Meta: meta{metaKey + "/confirm": map[string]any{"confirmId": q.ID, "message": q.Message, "origin": q.Origin, "until": q.Until}}}
	r, err := th.e.ask(ctx, "session/request_permission", p)
	if err != nil {
		return err
	}
	asking, cancel := context.WithCancel(th.e.c.Conn.Context())
	th.questions[q.ID] = &acpQuestion{r, cancel}
	th.e.c.Run(func() { // ends with the answer, by cancel, or with the connection; serve waits
		defer cancel()
		th.permit(asking, r, q)
	})
	return nil
}

// permit hands on the client's answer. A client that cannot ask says nothing: another may, and silence is a no.
func (th *thread) permit(ctx context.Context, r *acpAsked, q feed.Confirm) {
	c := th.e.c
	result, err := r.wait(ctx)
	if err != nil {
		if !errors.Is(err, errUnasked) && !errors.Is(err, conn.ErrGone) {
			c.server.config.Log.Info("an editor does not answer a question", "session", th.id, keyError, err)
		}
		return
	}
	_, err = service.OnAgent(ctx, c, th.id, func(a *agent.Agent) (bool, error) { return a.Answer(ctx, q.ID, ruling(result, c.name)) })
	if err != nil && ctx.Err() == nil {
		c.server.config.Log.Info("an editor's answer is invalid", "session", th.id, keyError, err)
	}
}

// acpQuestion is a question that the client has before it.
type acpQuestion struct {
	asked  *acpAsked
	cancel context.CancelFunc // ends who waits for the answer
}

// resolved takes a question back that is over.
func (th *thread) resolved(ctx context.Context, id string) error {
	q := th.questions[id]
	if q == nil {
		return nil
	}
	delete(th.questions, id)
	defer q.cancel()
	return q.asked.takeBack(ctx)
}

// unask takes all questions back; they stay open in the session.
func (th *thread) unask() {
	for id, q := range th.questions {
		q.cancel()
		delete(th.questions, id)
	}
}
