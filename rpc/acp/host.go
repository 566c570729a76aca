package acp

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/session"
)

// Files are the files of a session as an editor has them, unsaved changes included. It is safe for concurrent use.
type Files struct {
	e  *Editor
	id session.ID
}

// Files are those of the editor that follows a session and can read and write for us; nil if there is none.
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

// Read is the text of a file, by its absolute path; fs.ErrNotExist where there is none.
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

// Terminal is that of the editor that follows a session and has one; nil if there is none.
func (s *Server) Terminal(id session.ID) *Terminal {
	e := s.editors.find(id, func(c clientCapabilities) bool { return c.Terminal })
	if e == nil {
		return nil
	}
	return &Terminal{e, id}
}

// Exit is how a command ended.
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

// Run runs a program to its end, or ends it with ctx. The terminal is let go in any case.
func (t *Terminal) Run(ctx context.Context, program []string, dir string, progress func(chunk string)) (exit Exit, err error) {
	made, err := t.e.call(ctx, "terminal/create", terminalParams{Session: t.id, Command: program[0], Args: program[1:], Dir: dir, Limit: terminalBytes})
	if err != nil {
		return exit, err
	}
	p := terminalParams{Session: t.id, Terminal: gjson.GetBytes(made, "terminalId").String()}
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
	exit = Exit{Output: gjson.GetBytes(output, "output").String(), Code: int(gjson.GetBytes(ended, "exitCode").Int()),
		Signal: gjson.GetBytes(ended, "signal").String()}
	return exit, err
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
			return // how it ends is for who waits
		}
		output := gjson.GetBytes(result, "output").String()
		if more, ok := strings.CutPrefix(output, told); ok && more != "" {
			progress(more)
			told = output
		}
	}
}
