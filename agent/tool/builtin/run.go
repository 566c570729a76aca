package builtin

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/thinkd/thinkd/agent/tool/process"
)

// Bounds of a command.
const (
	usualTime = 2 * time.Minute
	maxTime   = time.Hour
	maxOutput = 128 << 10 // bytes of its output in the result: half of the beginning, half of the end
)

type runParams struct {
	Command string `json:"command"`
	Path    string `json:"path"`
	Seconds int    `json:"timeout_seconds"`
}

// errTime is the cause of a command's end when its time is over.
var errTime = errors.New("its time is over")

func run(ctx context.Context, h *Host, p runParams, progress func(string)) (string, bool, error) {
	s, err := h.at(p.Path)
	if err != nil {
		return "", false, err
	}
	defer s.Close()
	if info, err := s.Stat(s.name); err != nil {
		return "", false, s.refused(err)
	} else if !info.IsDir() {
		return "", false, fmt.Errorf("%s is no folder", p.Path)
	}
	if err := s.admitted(); err != nil {
		return "", false, err
	}
	limit := usualTime
	if p.Seconds > 0 {
		limit = min(time.Duration(p.Seconds)*time.Second, maxTime)
	}
	timed, cancel := context.WithTimeoutCause(ctx, limit, errTime)
	defer cancel()
	c := Command{Line: p.Command, Dir: s.path(), Call: h.call}
	var exit Exit
	if h.place.Terminal != nil && !h.tools.config.Sandbox.On() { // an editor has no sandbox
		exit, err = h.place.Terminal.Run(timed, c, progress)
	} else {
		exit, err = h.tools.run(timed, c, h.place.Roots, progress)
	}
	over := context.Cause(timed) == errTime
	if err != nil && !over {
		return "", false, err
	}
	return exit.result(over, limit), over || exit.Code != 0 || exit.Signal != "", nil
}

// result is how a command ended, for a model.
func (e Exit) result(over bool, limit time.Duration) string {
	text := strings.ToValidUTF8(e.Output, "\uFFFD")
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	switch {
	case over:
		return text + fmt.Sprintf("[stopped: it ran for %s]", limit)
	case e.Signal != "":
		return text + fmt.Sprintf("[ended by the signal %s]", e.Signal)
	}
	return text + fmt.Sprintf("[exit code %d]", e.Code)
}

// Shell is the program that runs a command line, with its arguments.
func Shell(line string) []string {
	if runtime.GOOS == "windows" {
		return []string{"cmd", "/C", line}
	}
	return []string{"/bin/sh", "-c", line}
}

// run runs a command. When it returns, no process of the command is left, see [process.Supervisor].
func (t *Tools) run(ctx context.Context, c Command, roots []string, progress func(string)) (Exit, error) {
	program, clean, err := t.config.Sandbox.Wrap(ctx, t.config.Guard, roots, c.Dir, Shell(c.Line))
	if err != nil {
		return Exit{}, err
	}
	exit, err := t.supervised(ctx, c, program, progress)
	return exit, errors.Join(err, clean())
}

// supervised runs a program for a command, and ends everything that the program leaves behind.
func (t *Tools) supervised(ctx context.Context, c Command, program []string, progress func(string)) (Exit, error) {
	cmd := exec.CommandContext(ctx, program[0], program[1:]...)
	cmd.Dir, cmd.Env = c.Dir, process.Environ(t.config.PassEnv, map[string]string{"TERM": "dumb"})
	out := &output{progress: progress}
	cmd.Stdout, cmd.Stderr = out, out // the same one: the library then makes one pipe, which keeps their order
	release, err := t.config.Supervisor.Wrap(cmd)
	if err != nil {
		return Exit{}, err
	}
	if err := cmd.Start(); err != nil {
		return Exit{}, errors.Join(errors.New("the system's shell cannot be started"), release())
	}
	err = cmd.Wait()
	left := release()
	exit := Exit{Output: out.text(), Code: cmd.ProcessState.ExitCode(), Signal: signalOf(cmd.ProcessState)}
	if _, ended := errors.AsType[*exec.ExitError](err); ended || errors.Is(err, exec.ErrWaitDelay) {
		err = nil // as exit says
	}
	return exit, errors.Join(err, left)
}

// output keeps the beginning and the end of what is written, and reports everything as progress. One goroutine writes to it.
type output struct {
	progress   func(string)
	head, tail []byte
	lost       int
}

func (o *output) Write(p []byte) (int, error) {
	o.progress(string(p))
	n := min(len(p), maxOutput/2-len(o.head))
	o.head = append(o.head, p[:n]...)
	o.tail = append(o.tail, p[n:]...)
	if len(o.tail) > maxOutput { // now and then, not for each piece
		o.trim()
	}
	return len(p), nil
}

func (o *output) trim() {
	cut := max(len(o.tail)-maxOutput/2, 0)
	for cut > 0 && cut < len(o.tail) && !utf8.RuneStart(o.tail[cut]) {
		cut++
	}
	o.lost += cut
	o.tail = append(o.tail[:0], o.tail[cut:]...)
}

func (o *output) text() string {
	o.trim()
	if o.lost == 0 {
		return string(o.head) + string(o.tail)
	}
	return fmt.Sprintf("%s\n[%d bytes are left out here]\n%s", o.head, o.lost, o.tail)
}
