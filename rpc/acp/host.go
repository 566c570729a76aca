package acp

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/rpc/acp/blocks"
	"github.com/thinkd/thinkd/session"
)

// Files are the files of a session as an editor has them, unsaved changes included. It is safe for concurrent use.
type Files struct {
	e  *Editor
	id session.ID
}

// Files returns the files of an editor that follows a session and can read and write for us; nil if there is none.
func (s *Server) Files(id session.ID) *Files {
	e := s.editors.find(id, func(c clientCapabilities) bool { return c.FS.Read && c.FS.Write })
	if e == nil {
		return nil
	}
	return &Files{e, id}
}

type fileParams struct {
	Session session.ID `json:"sessionId"`
	Path    string     `json:"path"`
	Content *string    `json:"content,omitempty"`
}

// Read returns the text of a file, by its absolute path. The error is fs.ErrNotExist if there is none.
func (f *Files) Read(ctx context.Context, path string) (string, error) {
	result, err := f.e.call(ctx, "fs/read_text_file", fileParams{Session: f.id, Path: path})
	if err != nil {
		return "", err
	}
	return gjson.GetBytes(result, "content").String(), nil
}

// Write replaces the text of a file, or makes it.
func (f *Files) Write(ctx context.Context, path, text string) error {
	_, err := f.e.call(ctx, "fs/write_text_file", fileParams{f.id, path, &text})
	return err
}

// Terminal runs commands where the user of an editor can watch. It is safe for concurrent use.
type Terminal struct {
	e  *Editor
	id session.ID
}

// Terminal returns the terminal of an editor that follows a session and has one; nil if there is none.
func (s *Server) Terminal(id session.ID) *Terminal {
	e := s.editors.find(id, func(c clientCapabilities) bool { return c.Terminal })
	if e == nil {
		return nil
	}
	return &Terminal{e, id}
}

// Exit says how a command ended.
type Exit struct {
	Output string // the end of it, where there was more than terminalBytes
	Code   int
	Signal string
}

const (
	terminalBytes = 128 << 10
	terminalLook  = 500 * time.Millisecond // between two reads of what a command has written
	terminalEnd   = 5 * time.Second        // for an editor to end a command and let it go
)

type terminalParams struct {
	Session  session.ID `json:"sessionId"`
	Terminal string     `json:"terminalId,omitempty"`
	Command  string     `json:"command,omitempty"`
	Args     []string   `json:"args,omitempty"`
	Dir      string     `json:"cwd,omitempty"`
	Limit    int        `json:"outputByteLimit,omitempty"`
}

// Command is a program for a [Terminal].
type Command struct {
	Program []string // with its arguments
	Dir     string   // absolute
	Call    string   // the id of the tool call that runs it
}

// Run runs a program to its end, or ends it with ctx. The editor shows the terminal as content of the tool call. The terminal is released
// in any case.
func (t *Terminal) Run(ctx context.Context, c Command, progress func(chunk string)) (exit Exit, err error) {
	made, err := t.e.call(ctx, "terminal/create", terminalParams{Session: t.id, Command: c.Program[0], Args: c.Program[1:], Dir: c.Dir, Limit: terminalBytes})
	if err != nil {
		return exit, err
	}
	p := terminalParams{Session: t.id, Terminal: gjson.GetBytes(made, "terminalId").String()}
	th := t.e.thread(t.id)
	if err := th.embed(ctx, c.Call, p.Terminal); err != nil {
		return exit, errors.Join(err, t.release(ctx, p))
	}
	defer func() {
		th.released(c.Call)
		err = errors.Join(err, t.release(ctx, p))
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
	exit = Exit{Output: gjson.GetBytes(output, "output").String(), Code: int(gjson.GetBytes(ended, "exitCode").Int()),
		Signal: gjson.GetBytes(ended, "signal").String()}
	return exit, err
}

// release lets a terminal go. If ctx is over, it ends the command first.
func (t *Terminal) release(ctx context.Context, p terminalParams) (err error) {
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), terminalEnd)
	defer cancel()
	if ctx.Err() != nil {
		_, err = t.e.call(late, "terminal/kill", p)
	}
	_, releaseErr := t.e.call(late, "terminal/release", p)
	return errors.Join(err, releaseErr)
}

// watch reports what a command writes, until its beginning is lost.
func (t *Terminal) watch(ctx context.Context, p terminalParams, progress func(chunk string)) {
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
			return // the caller that waits for the end reports it
		}
		output := gjson.GetBytes(result, "output").String()
		if more, ok := strings.CutPrefix(output, told); ok && more != "" {
			progress(more)
			told = output
		}
	}
}

// A terminal of the client runs a call on a goroutine of the agent, while the sender writes the call's updates. Whichever comes second
// shows the terminal: embed, if the sender has sent the call already, or else the sender, when it sends the call. A terminal that was
// released before the call was sent is not shown, because ACP allows a terminal in a call only before its release.

func terminalContent(id string) []blocks.Tool {
	return []blocks.Tool{{Type: "terminal", Terminal: id}}
}

// embed shows the terminal of a call as its content, or leaves that to the sender. It is safe for concurrent use; th may be nil.
func (th *thread) embed(ctx context.Context, call, terminal string) error {
	if th == nil || call == "" || terminal == "" {
		return nil
	}
	th.mu.Lock()
	th.terminals[call] = terminal
	sent := th.started[call]
	th.mu.Unlock()
	if sent == "" {
		return nil
	}
	message, err := encode(envelope{Version: "2.0", Method: "session/update", Params: notification{th.id,
		update{Kind: "tool_call_update", Call: sent, Status: "in_progress", Content: terminalContent(terminal)}}}) // the sender owns th.pending
	if err != nil {
		return err
	}
	return th.e.Notify(ctx, message)
}

// released forgets a terminal that was not shown. It is safe for concurrent use; th may be nil.
func (th *thread) released(call string) {
	if th == nil {
		return
	}
	th.mu.Lock()
	defer th.mu.Unlock()
	if th.started[call] == "" {
		delete(th.terminals, call)
	}
}

// begun notes that a call was sent, and returns the terminal that runs it, empty if there is none. It is for the sender.
func (th *thread) begun(call, id string) (terminal string) {
	th.mu.Lock()
	defer th.mu.Unlock()
	th.started[call] = id
	return th.terminals[call]
}

// terminal is the terminal that a call shows, empty if it shows none.
func (th *thread) terminal(call string) string {
	th.mu.Lock()
	defer th.mu.Unlock()
	return th.terminals[call]
}

// over forgets a call, and returns the terminal that it shows.
func (th *thread) over(call string) (terminal string) {
	th.mu.Lock()
	defer th.mu.Unlock()
	terminal = th.terminals[call]
	delete(th.terminals, call)
	delete(th.started, call)
	return terminal
}
