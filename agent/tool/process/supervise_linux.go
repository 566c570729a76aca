package process

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const supervises = true

// The files that a supervisor is started with.
const (
	lifelineFile = 3
	doneFile     = 4
)

// inherit gives a supervisor its ends of the pipes, at fixed numbers.
func inherit(cmd *exec.Cmd, lifeline, done *os.File) (args []string, err error) {
	cmd.ExtraFiles = []*os.File{lifeline, done}
	return nil, nil
}

// endRest ends a supervisor that is late, and what has left its care but not its group.
func endRest(cmd *exec.Cmd) error { return EndGroup(cmd) }

// Supervise runs the program that args name, its path before its arguments, and returns its exit code. It is the whole of a
// process, which has no other children. If SIGTERM, SIGINT, SIGHUP or SIGKILL ended the program, it ends this process too. For other signals
// the exit code is 128 and the signal's number.
func Supervise(args []string) int {
	if len(args) < 2 {
		fmt.Fprintln(os.Stderr, "thinkd: this command is for thinkd itself")
		return 2
	}
	runtime.LockOSThread() // which the program's parent-death signal depends on
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fmt.Fprintln(os.Stderr, "thinkd: no supervisor of processes:", err)
		return 126
	}
	syscall.CloseOnExec(lifelineFile)
	syscall.CloseOnExec(doneFile)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	program, err := os.StartProcess(args[0], args[1:], &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}})
	if err != nil {
		fmt.Fprintln(os.Stderr, "thinkd: the program cannot be started:", err)
		return 127
	}
	over := make(chan struct{})
	go func() { // ends with the daemon or this process
		defer close(over)
		var one [1]byte
		for {
			if n, err := syscall.Read(lifelineFile, one[:]); err != syscall.EINTR && n <= 0 {
				return
			}
		}
	}()
	main, none := make(chan syscall.WaitStatus, 1), make(chan struct{})
	go reap(program.Pid, main, none) // ends when there are no children
	status := syscall.WaitStatus(0)
	select {
	case status = <-main:
	case <-over:
	case <-signals:
	}
	endAll(none)
	select {
	case status = <-main:
	default:
	}
	if !status.Signaled() {
		return status.ExitStatus()
	}
	switch status.Signal() {
	case syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGKILL: // others, such as SIGSEGV, make Go print its stacks
		signal.Reset()
		// A signal that a thread sends to itself is delivered before the call returns: this goroutine has its thread for itself.
		//nolint:errcheck // the exit code below says the same
		unix.Tgkill(os.Getpid(), unix.Gettid(), status.Signal())
	}
	return 128 + int(status.Signal())
}

// reap waits for all children, those that were left to us too.
func reap(program int, main chan<- syscall.WaitStatus, none chan<- struct{}) {
	defer close(none)
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return
		case pid == program:
			main <- status
		}
	}
}

// endAll kills all descendants until there is none. They are stopped first, so that they make no others meanwhile.
func endAll(none <-chan struct{}) {
	for deadline := time.Now().Add(releaseTime); time.Now().Before(deadline); {
		list := descendants(os.Getpid())
		for _, s := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
			for _, pid := range list {
				//nolint:errcheck // it may have ended already
				syscall.Kill(pid, s)
			}
		}
		select {
		case <-none:
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// descendants lists the processes below one, without those that have ended.
func descendants(of int) (list []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := make(map[int][]int)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		// The name in parentheses may have any character (proc(5)).
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		if len(fields) < 2 || fields[0][0] == 'Z' {
			continue
		}
		if parent, err := strconv.Atoi(string(fields[1])); err == nil {
			children[parent] = append(children[parent], pid)
		}
	}
	for next := children[of]; len(next) > 0; next = next[1:] {
		list = append(list, next[0])
		next = append(next, children[next[0]]...)
	}
	return list
}
