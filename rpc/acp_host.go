package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/wire"
	"github.com/thinkd/thinkd/session"
)

// editors are those that follow a session, in the order in which they came.
type editors struct {
	mu   sync.Mutex
	open map[session.ID][]*editor
}

func (l *editors) enter(id session.ID, e *editor) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = make(map[session.ID][]*editor)
	}
	l.removeLocked(id, e)
	l.open[id] = append(l.open[id], e)
}

func (l *editors) leave(id session.ID, e *editor) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.removeLocked(id, e)
}

func (l *editors) removeLocked(id session.ID, e *editor) {
	var rest []*editor
	for _, other := range l.open[id] {
		if other != e {
			rest = append(rest, other)
		}
	}
	if l.open[id] = rest; rest == nil {
		delete(l.open, id)
	}
}

// find is for the agent's goroutine too, so it takes no lock under which an agent is asked. It is the editor that a session's tools are to use: one whose user waits for the turn before one that looks on, and the
// last that came of those; nil if none is able to.
func (l *editors) find(id session.ID, able func(acpClientCapabilities) bool) *editor {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found *editor
	waits := false
	for _, e := range l.open[id] {
		th := e.thread(id)
		if th == nil || !able(e.can) {
			continue
		}
		if asked := th.waits.Load(); asked || !waits {
			found, waits = e, asked
		}
	}
	return found
}

// EditorFiles are the files of a session as an editor has them, unsaved changes included. It is safe for concurrent use.
type EditorFiles struct {
	e  *editor
	id session.ID
}

// EditorFiles are those of the editor that follows a session and can read and write for us; nil if there is none.
func (s *Server) EditorFiles(id session.ID) *EditorFiles {
	e := s.editors.find(id, func(c acpClientCapabilities) bool { return c.FS.Read && c.FS.Write })
	if e == nil {
		return nil
	}
	return &EditorFiles{e, id}
}

type acpFileParams struct {
	Session session.ID `json:"sessionId"`
	Path    string     `json:"path"`
	Content *string    `json:"content,omitempty"`
}

// Read is the text of a file, by its absolute path; fs.ErrNotExist where there is none.
func (f *EditorFiles) Read(ctx context.Context, path string) (string, error) {
	result, err := f.e.call(ctx, "fs/read_text_file", acpFileParams{Session: f.id, Path: path})
	if err != nil {
		return "", err
	}
	return gjson.GetBytes(result, "content").String(), nil
}

// Write replaces the text of a file, or makes it.
func (f *EditorFiles) Write(ctx context.Context, path, text string) error {
	_, err := f.e.call(ctx, "fs/write_text_file", acpFileParams{f.id, path, &text})
	return err
}

// call asks the client and waits. The error is for a model.
func (e *editor) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	r, err := e.ask(ctx, method, params)
	if err != nil {
		return nil, errors.New("the editor disconnected")
	}
	result, err := r.wait(ctx)
	refused, ok := errors.AsType[*conn.Error](err)
	switch {
	case ok && refused.Code == acpNotFound:
		return nil, fs.ErrNotExist
	case ok:
		return nil, fmt.Errorf("the editor refuses: %s", wire.Characters(refused.Message, 300))
	case errors.Is(err, conn.ErrGone):
		return nil, errors.New("the editor disconnected")
	}
	return result, err
}

// EditorTerminal runs commands where the user of an editor can watch. It is safe for concurrent use.
type EditorTerminal struct {
	e  *editor
	id session.ID
}

// EditorTerminal is that of the editor that follows a session and has one; nil if there is none.
func (s *Server) EditorTerminal(id session.ID) *EditorTerminal {
	e := s.editors.find(id, func(c acpClientCapabilities) bool { return c.Terminal })
	if e == nil {
		return nil
	}
	return &EditorTerminal{e, id}
}

// EditorExit is how a command ended.
type EditorExit struct {
	Output string // the end of it, where there was more than terminalBytes
	Code   int
	Signal string
}

const (
	terminalBytes = 128 << 10
	terminalLook  = 500 * time.Millisecond // between looks at what a command has told
	terminalEnd   = 5 * time.Second        // for an editor to end a command and let it go
)

type acpTerminalParams struct {
	Session  session.ID `json:"sessionId"`
	Terminal string     `json:"terminalId,omitempty"`
	Command  string     `json:"command,omitempty"`
	Args     []string   `json:"args,omitempty"`
	Dir      string     `json:"cwd,omitempty"`
	Limit    int        `json:"outputByteLimit,omitempty"`
}

// Run runs a program to its end, or ends it with ctx. The terminal is let go in any case.
func (t *EditorTerminal) Run(ctx context.Context, program []string, dir string, progress func(chunk string)) (exit EditorExit, err error) {
	made, err := t.e.call(ctx, "terminal/create", acpTerminalParams{Session: t.id, Command: program[0], Args: program[1:], Dir: dir, Limit: terminalBytes})
	if err != nil {
		return exit, err
	}
	p := acpTerminalParams{Session: t.id, Terminal: gjson.GetBytes(made, "terminalId").String()}
	defer func() {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), terminalEnd)
		defer cancel()
		if ctx.Err() != nil {
			_, killErr := t.e.call(late, "terminal/kill", p)
			err = errors.Join(err, killErr)
		}
		_, releaseErr := t.e.call(late, "terminal/release", p)
		err = errors.Join(err, releaseErr)
	}()

	watching, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { t.watch(watching, p, progress) }) // ended and awaited right below
	ended, err := t.e.call(ctx, "terminal/wait_for_exit", p)
	stop()
	watch.Wait()
	if err != nil {
		return exit, err
	}
	output, err := t.e.call(ctx, "terminal/output", p)
	exit = EditorExit{Output: gjson.GetBytes(output, "output").String(), Code: int(gjson.GetBytes(ended, "exitCode").Int()),
		Signal: gjson.GetBytes(ended, "signal").String()}
	return exit, err
}

// watch tells what a command tells, until its beginning is lost.
func (t *EditorTerminal) watch(ctx context.Context, p acpTerminalParams, progress func(chunk string)) {
	tick := time.NewTicker(terminalLook)
	defer tick.Stop()
	told := ""
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		result, err := t.e.call(ctx, "terminal/output", p)
		if err != nil || gjson.GetBytes(result, "truncated").Bool() {
			return // how it ends is for who waits
		}
		output := gjson.GetBytes(result, "output").String()
		if more, ok := strings.CutPrefix(output, told); ok && more != "" {
			progress(more)
			told = output
		}
	}
}
