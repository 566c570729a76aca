package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/acp/blocks"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// call returns the call of an id, and makes it if it is new. If a reply has an id twice, the second call is over before the next
// update of the first.
func (th *thread) call(message session.MessageID, block int, callID string) *toolCall {
	id := blockID(message, block)
	for _, c := range th.calls[callID] {
		if c.id == id {
			return c
		}
	}
	c := &toolCall{id: id}
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
func (th *thread) last(callID string) *toolCall {
	if list := th.calls[callID]; len(list) > 0 {
		return list[len(list)-1]
	}
	return nil
}

// tellTool sends an update of a call. The content of an update replaces the content before, so each update has all of it.
func (th *thread) tellTool(ctx context.Context, u *feed.Update) error {
	switch e := u.Event.(type) {
	case feed.ToolStart:
		if th.known(e.Message, e.Block, e.CallID) {
			if e.Host == "" { // nobody runs it, and its end comes next
				return nil
			}
			return th.sendStarted(ctx, u, e.CallID, update{Kind: "tool_call_update", Call: blockID(e.Message, e.Block), Status: "in_progress"})
		}
		c := th.call(e.Message, e.Block, e.CallID)
		return th.sendStarted(ctx, u, e.CallID, th.toolCall(c, e.Name, e.Title, e.Arguments, "in_progress"))
	case feed.ToolOutput:
		c := th.last(e.CallID)
		if c == nil {
			return nil
		}
		c.output = blocks.Tail(c.output+e.Chunk, blocks.MaxChunk)
		if th.terminal(e.CallID) != "" { // the client shows it
			return nil
		}
		return th.send(ctx, u, update{Kind: "tool_call_update", Call: c.id, Status: "in_progress", Content: blocks.Text(c.output)})
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
		content := th.fetched(e.Content)
		up := update{Kind: "tool_call_update", Call: c.id, Status: resultStatus(e.Failed), Content: c.result(content, e.Failed), Locations: th.matches(c, content)}
		if terminal := th.over(e.CallID); terminal != "" {
			up.Content, up.Output = terminalContent(terminal), map[string]any{"text": blocks.Plain(content)}
		}
		return th.send(ctx, u, up)
	}
	return nil
}

// sendStarted sends the update that starts a call, and then its terminal if it has one.
func (th *thread) sendStarted(ctx context.Context, u *feed.Update, call string, up update) error {
	if err := th.send(ctx, u, up); err != nil {
		return err
	}
	if terminal := th.begun(call, up.Call); terminal != "" {
		return th.send(ctx, u, update{Kind: "tool_call_update", Call: up.Call, Status: "in_progress", Content: terminalContent(terminal)})
	}
	return nil
}

// maxMatches bounds the locations of a result: an editor opens them one by one.
const maxMatches = 50

// foundLine is a line of a search's result. The path can contain a colon: that of a Windows volume does.
var foundLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.+?):([1-9][0-9]*): `) })

// matches are the lines that a search has found, by the form of the built-in tool's result. nil: the call is no search.
func (th *thread) matches(c *toolCall, content provider.Blocks) (places []place) {
	if !c.search {
		return nil
	}
	for line := range strings.Lines(blocks.Plain(content)) {
		found := foundLine().FindStringSubmatch(line)
		if found == nil {
			continue
		}
		path := filepath.FromSlash(found[1])
		n, err := strconv.Atoi(found[2])
		if err != nil {
			continue
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(th.dir, path)
		}
		if places = append(places, place{path, n}); len(places) == maxMatches {
			break
		}
	}
	return places
}

// toolCall is the first update of a call.
func (th *thread) toolCall(c *toolCall, name, title string, arguments json.RawMessage, status string) update {
	t := th.tools[name]
	up := update{Kind: "tool_call", Call: c.id, Title: cmp.Or(title, t.Title, name), ToolKind: toolKind(t), Status: status}
	if len(arguments) > 0 {
		up.Input = arguments
	}
	if t.Host == tool.Builtin {
		th.showBuiltin(c, &up, t.Name, arguments)
	}
	return up
}

// showBuiltin says more of a call of our own tools: where it works, and what it changes.
func (th *thread) showBuiltin(c *toolCall, up *update, name string, arguments json.RawMessage) {
	c.search = name == "search"
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
	up.Locations = []place{{path, p.Line}}
	c.diffs = nil
	if name == "write_file" && p.Content != nil {
		c.diffs = append(c.diffs, blocks.Tool{Type: "diff", Path: path, New: p.Content})
	}
	for _, e := range p.Edits {
		c.diffs = append(c.diffs, blocks.Tool{Type: "diff", Path: path, Old: &e.Old, New: &e.New})
	}
	if len(c.diffs) > 0 {
		up.Content = c.diffs
	}
}

// result is the content of a call that has ended: for one that changed a file, what it changed.
func (c *toolCall) result(content provider.Blocks, failed bool) []blocks.Tool {
	if len(c.diffs) > 0 && !failed {
		return c.diffs
	}
	return blocks.Result(content)
}

// blockID is the messageId of a block: clients put together what has the same.
func blockID(message session.MessageID, block int) string {
	return string(message) + "." + strconv.Itoa(block)
}

func resultStatus(failed bool) string {
	if failed {
		return "failed"
	}
	return "completed"
}

// toolKind returns one of ACP's words. Their list is closed.
func toolKind(t tool.Tool) string {
	switch {
	case t.Host == tool.Builtin && t.Name == tool.PlanTool:
		return "think"
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

// planUpdate shows a plan, which replaces the one before.
func planUpdate(items []tool.PlanItem) update {
	if items == nil {
		items = []tool.PlanItem{}
	}
	return update{Kind: "plan", Entries: &items}
}
