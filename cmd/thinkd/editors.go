package main

import (
	"context"

	"github.com/thinkd/thinkd/agent/tool/builtin"
	"github.com/thinkd/thinkd/rpc"
	"github.com/thinkd/thinkd/session"
)

// editors is what the editors on a session lend to its built-in tools; nil: nothing.
func (d *daemon) editors(id session.ID) (files builtin.Files, terminal builtin.Terminal) {
	if f := d.server.EditorFiles(id); f != nil {
		files = f
	}
	if t := d.server.EditorTerminal(id); t != nil {
		terminal = editorTerminal{t}
	}
	return files, terminal
}

// editorTerminal has a command line read by the shell that the daemon itself would use.
type editorTerminal struct{ *rpc.EditorTerminal }

func (t editorTerminal) Run(ctx context.Context, c builtin.Command, progress func(string)) (builtin.Exit, error) {
	exit, err := t.EditorTerminal.Run(ctx, builtin.Shell(c.Line), c.Dir, progress)
	return builtin.Exit{Output: exit.Output, Code: exit.Code, Signal: exit.Signal}, err
}
