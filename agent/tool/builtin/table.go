package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/thinkd/thinkd/agent/recall"
	"github.com/thinkd/thinkd/agent/tool/approval"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session/tool"
)

// Examine checks the path of a call: whether it is guarded, and whether the session's folder is too broad to be read without
// approval. The call checks again what it opens, because somebody may replace the file in between.
func (h *Host) Examine(_ context.Context, _ tool.Tool, call provider.ToolCall) approval.Concern {
	i := slices.IndexFunc(table, func(e entry) bool { return e.Name == call.Name })
	var p struct {
		Path string `json:"path"`
	}
	if i < 0 || call.Name == recallName || call.Name == tool.PlanTool || json.Unmarshal(call.Input, &p) != nil {
		return approval.Concern{} // Run says what is wrong
	}
	h = h.with("", table[i].Effect, approval.Concern{})
	s, err := h.at(p.Path)
	if err != nil {
		return approval.Concern{}
	}
	defer s.Close()
	if _, err := s.Stat(s.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return approval.Concern{}
	}
	found, err := h.look.Path(s.path())
	if err == nil && found.Danger == approval.NoDanger && table[i].Effect != tool.Run {
		if why := h.tools.config.Guard.Broad(s.Root.Name()); why != "" {
			return approval.Concern{Danger: approval.Broad, Place: s.Root.Name(), Why: why}
		}
	}
	return found
}

// Tools lists the tools. It is an error if the place has no folder.
func (h *Host) Tools(context.Context) ([]tool.Tool, error) {
	if len(h.place.Roots) == 0 {
		return nil, fmt.Errorf("the built-in tools need a folder to work in")
	}
	for _, root := range h.place.Roots {
		if !filepath.IsAbs(root) {
			return nil, fmt.Errorf("the folder of the built-in tools has to be an absolute path")
		}
		if info, err := os.Stat(root); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("the folder of the built-in tools is not there")
		}
	}
	list := make([]tool.Tool, 0, len(table))
	for _, e := range table {
		list = append(list, e.Tool)
	}
	return list, nil
}

// Run runs a call.
func (h *Host) Run(ctx context.Context, call provider.ToolCall, progress func(string)) provider.ToolResult {
	i := slices.IndexFunc(table, func(e entry) bool { return e.Name == call.Name })
	if i < 0 {
		return tool.Failed(call.ID, "there is no such tool any more")
	}
	text, failed, err := table[i].run(ctx, h.with(call.ID, table[i].Effect, approval.DecisionOn(ctx).Concern), call.Input, progress)
	if err != nil {
		return tool.Failed(call.ID, err.Error())
	}
	return provider.ToolResult{CallID: call.ID, Failed: failed, Blocks: provider.Blocks{provider.Text{Text: text}}}
}

// entry is a tool and what runs it. Its error is for the model; a failed result also has text.
type entry struct {
	tool.Tool
	run func(ctx context.Context, h *Host, input json.RawMessage, progress func(string)) (text string, failed bool, err error)
}

// define makes an entry whose arguments are decoded.
func define[P any](name, title string, effect tool.Effect, description, schema string,
	run func(ctx context.Context, h *Host, p P, progress func(string)) (string, bool, error)) entry {
	return entry{
		tool.Tool{Tool: provider.Tool{Name: name, Description: description, Schema: json.RawMessage(schema)},
			Host: tool.Builtin, Source: Name, Title: title, Effect: effect},
		func(ctx context.Context, h *Host, input json.RawMessage, progress func(string)) (string, bool, error) {
			var p P
			if err := json.Unmarshal(input, &p); err != nil {
				return "", false, fmt.Errorf("the arguments do not fit: %w", err)
			}
			return run(ctx, h, p, progress)
		},
	}
}

// quiet is a tool without progress. Its result is a text or an error.
func quiet[P any](run func(context.Context, *Host, P) (string, error)) func(context.Context, *Host, P, func(string)) (string, bool, error) {
	return func(ctx context.Context, h *Host, p P, _ func(string)) (string, bool, error) {
		text, err := run(ctx, h, p)
		return text, false, err
	}
}

// recallName is a tool that does not work on files.
const recallName = "recall"

// recallQuery is a query in the words of the tool.
type recallQuery struct {
	Query   string `json:"query"`
	Message string `json:"message_id"`
	From    int    `json:"from"`
}

// recallEarlier searches what a summary replaces.
func recallEarlier(ctx context.Context, h *Host, q recallQuery) (string, error) {
	if h.place.Recall == nil {
		return "", errors.New("the earlier messages of this conversation cannot be read here")
	}
	return h.place.Recall(ctx, recall.Query{Words: q.Query, Message: q.Message, From: q.From})
}

// plan checks a plan. The log keeps it as the arguments of the call, and clients get it from there.
func plan(input json.RawMessage) (string, error) {
	items, err := tool.ReadPlan(input)
	if err != nil {
		return "", err
	}
	completed := 0
	for _, item := range items {
		if item.Status == tool.PlanCompleted {
			completed++
		}
	}
	return fmt.Sprintf("People see the plan: %d of %d steps are completed.", completed, len(items)), nil
}

// table has all tools, and never changes. The records of sessions have copies of the definitions, so a change applies to new
// sessions.
var table = []entry{
	define("read_file", "Read a file", tool.Read,
		"Reads a text file of the project. Long files come in parts: ask for the next by from_line.",
		`{"type":"object","properties":{"path":{"type":"string","description":"relative to the project's folder"},"from_line":{"type":"integer","minimum":1,"description":"the first line, counted from 1"},"lines":{"type":"integer","minimum":1,"description":"how many lines"}},"required":["path"]}`,
		quiet(readFile)),
	define("write_file", "Write a file", tool.Edit,
		"Writes a whole text file, and its folders if they are missing. What was there is replaced. To change a part of a file use edit_file.",
		`{"type":"object","properties":{"path":{"type":"string","description":"relative to the project's folder"},"content":{"type":"string"}},"required":["path","content"]}`,
		quiet(writeFile)),
	define("edit_file", "Edit a file", tool.Edit,
		"Replaces parts of a text file. Each old_text has to be in the file exactly once, with all its white space, unless all is true. The edits are made in order, all of them or none. Answers with the difference.",
		`{"type":"object","properties":{"path":{"type":"string","description":"relative to the project's folder"},"edits":{"type":"array","minItems":1,"items":{"type":"object","properties":{"old_text":{"type":"string","minLength":1},"new_text":{"type":"string"},"all":{"type":"boolean","description":"replace each occurrence"}},"required":["old_text","new_text"]}}},"required":["path","edits"]}`,
		quiet(editFile)),
	define("list", "List a folder", tool.Read,
		"Lists a folder; folders end in /. With deep, also everything below it, except what .gitignore names.",
		`{"type":"object","properties":{"path":{"type":"string","description":"relative to the project's folder; absent: that folder"},"deep":{"type":"boolean"}}}`,
		quiet(list)),
	define("search", "Search files", tool.Read,
		"Finds lines by a regular expression (RE2) in the project's text files, except those that .gitignore names. Returns path:line: text.",
		`{"type":"object","properties":{"pattern":{"type":"string","minLength":1},"path":{"type":"string","description":"a file or folder to search; absent: the project's folder"},"glob":{"type":"string","description":"only files whose path fits, such as **/*.go"},"ignore_case":{"type":"boolean"}},"required":["pattern"]}`,
		quiet(search)),
	define("run", "Run a command", tool.Run,
		"Runs a command line in the system's shell, without input, and answers with its output and exit code. It ends after timeout_seconds, 120 if absent; what it left running in the background ends with it.",
		`{"type":"object","properties":{"command":{"type":"string","minLength":1},"path":{"type":"string","description":"the folder to run it in; absent: the project's folder"},"timeout_seconds":{"type":"integer","minimum":1,"maximum":3600}},"required":["command"]}`,
		run),
	define(tool.PlanTool, "Update the plan", tool.Read,
		"Shows people your plan for a task of several steps. Give the whole list each time: it replaces the one before. Mark the step that you work on as in_progress, and each finished step as completed at once. Do without it for simple tasks.",
		`{"type":"object","properties":{"items":{"type":"array","maxItems":100,"items":{"type":"object","properties":{"content":{"type":"string","minLength":1,"maxLength":500,"description":"one step, in a few words"},"status":{"type":"string","enum":["pending","in_progress","completed"]},"priority":{"type":"string","enum":["high","medium","low"]}},"required":["content","status"]}}},"required":["items"]}`,
		func(_ context.Context, _ *Host, p json.RawMessage, _ func(string)) (string, bool, error) {
			text, err := plan(p)
			return text, false, err
		}),
	define(recallName, "Recall earlier messages", tool.Read,
		"Searches and quotes the earlier messages of this conversation, if a summary replaces them. Use it when the summary lacks a detail. Give the words that the message must have, or the message_id of a message to read it whole.",
		`{"type":"object","properties":{"query":{"type":"string","description":"words to search for"},"message_id":{"type":"string","description":"the message to quote, as a search named it"},"from":{"type":"integer","minimum":0,"description":"the byte from which a long message is quoted"}}}`,
		quiet(recallEarlier)),
}
