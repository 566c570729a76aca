package thinkd

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// A Transport opens connections to a daemon, one after the other.
type Transport interface {
	Open(ctx context.Context) (Line, error)
}

// A Line is a connection that carries whole JSON-RPC messages. All methods may be called in parallel. Close ends the others; it may be
// called more than once.
type Line interface {
	Send(ctx context.Context, message []byte) error

	// Receive returns the next message. After an error there are no more; [ErrRefused] says that another connection has no use.
	Receive(ctx context.Context) ([]byte, error)
	Close() error
}

// Stdio is the transport of a command that speaks the protocol on its standard input and output. Its standard error goes to ours. Without
// a command it is `thinkd stdio`, which starts the daemon if none runs.
func Stdio(command ...string) Transport {
	if len(command) == 0 {
		command = []string{"thinkd", "stdio"}
	}
	return stdio(command)
}

type stdio []string

// exitLimit is how long the command may take to exit after the end of its input.
const exitLimit = 5 * time.Second

func (s stdio) Open(context.Context) (Line, error) {
	cmd := exec.Command(s[0], s[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &pipe{cmd: cmd, in: in, lines: bufio.NewReader(out)}
	p.close = sync.OnceValue(p.exit)
	return p, nil
}

type pipe struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Reader
	close func() error
}

func (p *pipe) Send(_ context.Context, message []byte) error {
	_, err := p.in.Write(append(message[:len(message):len(message)], '\n'))
	return err
}

func (p *pipe) Receive(context.Context) ([]byte, error) {
	line, err := p.lines.ReadBytes('\n')
	return bytes.TrimSpace(line), err
}

// Close ends the command's input, and waits until it exits.
func (p *pipe) Close() error { return p.close() }

func (p *pipe) exit() error {
	err := p.in.Close()
	late := time.AfterFunc(exitLimit, func() { p.cmd.Process.Kill() })
	defer late.Stop()
	waited := p.cmd.Wait() // it closes out, which ends Receive
	if exit := (*exec.ExitError)(nil); errors.As(waited, &exit) {
		return err // how the command ends says nothing about the client
	}
	return errors.Join(err, waited)
}
