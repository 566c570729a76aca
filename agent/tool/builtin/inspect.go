package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/thinkd/thinkd/agent/tool/approval"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session/tool"
)

// Inspect returns what a call would do, for a person who has to approve it. It implements [toolhost.Inspector].
func (h *Host) Inspect(ctx context.Context, call provider.ToolCall) approval.Inspection {
	h = h.with("", tool.Edit, approval.DecisionOn(ctx).Concern)
	switch call.Name {
	case "run":
		return inspectRun(call.Input)
	case "edit_file":
		var p editParams
		if json.Unmarshal(call.Input, &p) != nil {
			return approval.Inspection{}
		}
		return approval.Inspection{Parts: []approval.Part{{Kind: approval.DiffPart, Name: p.Path, Text: h.wouldEdit(ctx, p)}}, Folder: h.folder(p.Path)}
	case "write_file":
		var p writeParams
		if json.Unmarshal(call.Input, &p) != nil {
			return approval.Inspection{}
		}
		return approval.Inspection{Parts: []approval.Part{h.wouldWrite(ctx, p)}, Folder: h.folder(p.Path)}
	}
	return approval.Inspection{}
}

// inspectRun shows the command, and then whatever else the call has.
func inspectRun(input json.RawMessage) approval.Inspection {
	var p runParams
	if json.Unmarshal(input, &p) != nil {
		return approval.Inspection{}
	}
	in := approval.Inspection{Parts: []approval.Part{{Kind: approval.CommandPart, Text: p.Command}}}
	if runtime.GOOS != "windows" { // its shell reads lines in another way
		in.Command = p.Command
	}
	for _, v := range approval.Values(input) {
		if v.Name != "command" {
			in.Parts = append(in.Parts, v)
		}
	}
	return in
}

// folder is the folder of a file, without links; empty if it does not exist or is outside the roots.
func (h *Host) folder(path string) string {
	s, err := h.at(path)
	if err != nil {
		return ""
	}
	defer s.Close()
	if link, err := s.Lstat(s.name); err == nil && link.Mode()&fs.ModeSymlink != 0 {
		return "" // it is written elsewhere
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(s.path()))
	if err != nil {
		return ""
	}
	if _, _, inside := h.below(folder); !inside {
		return ""
	}
	return folder
}

// wouldEdit is what an edit would change. If that cannot be found out, it is the edits themselves.
func (h *Host) wouldEdit(ctx context.Context, p editParams) string {
	old, err := h.current(ctx, p.Path)
	text := old
	if err == nil {
		text, err = applyAll(ctx, p.Edits, old)
	}
	d, small := "", true
	if err == nil {
		if d, small = hunks(old, text); d != "" {
			return d
		}
	}
	why := "which changes nothing"
	switch {
	case err != nil:
		why = "which does not fit the file as it is now"
	case !small:
		why = "of a change that is too large to be shown as a difference"
	}
	var b strings.Builder
	for i, e := range p.Edits {
		fmt.Fprintf(&b, "@@ edit %d of %d, %s @@\n", i+1, len(p.Edits), why)
		prefixLines(&b, "-", e.Old)
		prefixLines(&b, "+", e.New)
	}
	return b.String()
}

func prefixLines(b *strings.Builder, sign, text string) {
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		b.WriteString(sign + line + "\n")
	}
}

// wouldWrite is the whole text of a new file, or the changes in an existing one.
func (h *Host) wouldWrite(ctx context.Context, p writeParams) approval.Part {
	if old, err := h.current(ctx, p.Path); err == nil && ctx.Err() == nil {
		if d, _ := hunks(old, p.Content); d != "" {
			return approval.Part{Kind: approval.DiffPart, Name: p.Path, Text: d}
		}
	}
	return approval.Part{Kind: approval.ContentPart, Name: p.Path, Text: p.Content}
}

// current is the text of a file as it is now.
func (h *Host) current(ctx context.Context, path string) (string, error) {
	s, err := h.at(path)
	if err != nil {
		return "", err
	}
	defer s.Close()
	return h.read(ctx, s)
}
