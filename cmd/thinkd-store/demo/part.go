package demo

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

// part is a process of the demo: a store server or a node.
type part struct {
	name    string
	address string
	program string
	args    []string
	dir     string   // that it works in
	env     []string // of the process
	log     string   // the file that its standard error is appended to

	mu    sync.Mutex
	pid   int           // 0: it does not run
	ended chan struct{} // closed when the process has ended
	why   error         // how it ended
	ready chan struct{} // closed at the first line that it prints
	stop  func(os.Signal) error
}

// start starts the process. over is called when it has ended.
func (p *part) start(over func()) error {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own
	cmd := exec.Command(p.program, p.args...)
	cmd.Dir, cmd.Env, cmd.Stderr = p.dir, p.env, log
	apart(cmd)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	started := make(chan error, 1)
	ended, ready := make(chan struct{}), make(chan struct{})
	go func() { // ends with the process; p.end stops that
		runtime.LockOSThread() // on Linux, the process is killed when the thread ends that started it
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		p.mu.Lock()
		p.pid, p.ended, p.ready, p.why, p.stop = cmd.Process.Pid, ended, ready, nil, cmd.Process.Signal
		p.mu.Unlock()
		started <- nil
		lines := bufio.NewReader(out)
		if _, err := lines.ReadString('\n'); err == nil { // else it ends without a line
			close(ready)
		}
		_, _ = io.Copy(io.Discard, lines)
		why := cmd.Wait()
		p.mu.Lock()
		p.pid, p.why = 0, why
		p.mu.Unlock()
		close(ended)
		over()
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}

// running is the number of the process; 0: it does not run.
func (p *part) running() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pid
}

// how is how the process ended.
func (p *part) how() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.why == nil {
		return "exit status 0"
	}
	return p.why.Error()
}

// endTime is how long a part may take to end: a node drains for drainTime first.
const endTime = 30 * time.Second

// end ends the process, and returns when it has ended.
func (p *part) end() error {
	p.mu.Lock()
	pid, ended, stop := p.pid, p.ended, p.stop
	p.mu.Unlock()
	if pid == 0 {
		return nil
	}
	if err := stop(terminate); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	late := time.NewTimer(endTime)
	defer late.Stop()
	select {
	case <-ended:
		return nil
	case <-late.C:
	}
	err := stop(os.Kill)
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	<-ended
	return errors.Join(err, fmt.Errorf("%s did not end in %v, and was killed", p.name, endTime))
}

// lastLines is the end of a part's log.
func (p *part) lastLines() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}
