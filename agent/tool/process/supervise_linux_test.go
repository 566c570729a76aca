package process

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/thinkd/thinkd/provider/testgo"
)

// TestMain makes the test binary a supervisor, and a daemon that runs a program and waits to be killed.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == "supervise":
		os.Exit(Supervise(os.Args[2:]))
	case len(os.Args) > 2 && os.Args[1] == "daemon":
		cmd := exec.Command("/bin/sh", "-c", os.Args[2])
		cmd.Stdout = os.Stdout
		if _, err := own().Wrap(cmd); err != nil {
			panic(err)
		}
		if err := cmd.Run(); err != nil { // it waits: the runtime ends a process that does nothing else as a deadlock
			panic(err)
		}
	}
	os.Exit(m.Run())
}

func own() Supervisor { return Supervisor{os.Args[0], os.Args[0], "supervise"} }

// escaping starts processes that try to outlive their call: in a session of their own, twice removed, without a terminal.
const escaping = `setsid sh -c 'sleep 1000 & echo $!; sleep 1000' & (setsid sleep 1000 & echo $!) & nohup sleep 1000 >/dev/null 2>&1 & echo $!; `

// watched reads the ids of that many processes and opens them, so that their end can be awaited.
func watched(t *testing.T, from io.Reader, n int) (list []int) {
	t.Helper()
	lines := bufio.NewScanner(from)
	for len(list) < n && lines.Scan() {
		pid, err := strconv.Atoi(strings.TrimSpace(lines.Text()))
		if err != nil {
			t.Fatal(err)
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			t.Fatalf("process %d: %v", pid, err)
		}
		list = append(list, fd)
	}
	if len(list) < n {
		t.Fatalf("%d of %d processes: %v", len(list), n, lines.Err())
	}
	return list
}

func allEnd(t *testing.T, what string, processes []int) {
	t.Helper()
	begun := time.Now()
	for _, fd := range processes {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := 0, error(unix.EINTR)
		for errors.Is(err, unix.EINTR) {
			n, err = unix.Poll(poll, 60_000)
		}
		if n != 1 || err != nil {
			t.Errorf("%s: a process lives on: %v", what, err)
		}
		unix.Close(fd)
	}
	t.Logf("%s: all ended after %v", what, time.Since(begun).Round(time.Millisecond))
}

// Whatever a program started ends when the program does, when its call is cancelled, and when the daemon is killed.
func TestHostileProcesses(t *testing.T) {
	testgo.Cost(t)
	start := func(script string, end string) (*exec.Cmd, []int, func() error) {
		cmd := exec.Command("/bin/sh", "-c", escaping+script)
		release, err := own().Wrap(cmd)
		if err != nil {
			t.Fatal(err)
		}
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		processes := watched(t, out, 3)
		if _, err := io.WriteString(in, end); err != nil {
			t.Fatal(err)
		}
		return cmd, processes, release
	}

	cmd, processes, release := start("read x; exit 3", "\n")
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 3 {
		t.Errorf("a program that ends with 3: %v", err)
	}
	allEnd(t, "the end of the program", processes)
	if err := release(); err != nil {
		t.Error(err)
	}

	cmd, processes, release = start("read x; kill -TERM $$", "\n")
	if err := cmd.Wait(); cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("a program that a signal ended: %v", err)
	}
	allEnd(t, "the program's signal", processes)
	if err := release(); err != nil {
		t.Error(err)
	}

	cmd, processes, release = start("trap '' TERM HUP INT; sleep 1000", "")
	if err := release(); err != nil {
		t.Error(err)
	}
	allEnd(t, "the end of the call", processes)
	if err := cmd.Wait(); err == nil {
		t.Error("a program that was ended ended well")
	}

	daemon := exec.Command(os.Args[0], "daemon", escaping+"sleep 1000")
	out, err := daemon.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	processes = watched(t, out, 3)
	if err := daemon.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	allEnd(t, "a daemon that was killed", processes)
	if err := daemon.Wait(); err == nil {
		t.Error("a killed daemon ended well")
	}
}

// A missing program is reported as a shell reports it.
func TestSupervisedProgramIsMissing(t *testing.T) {
	cmd := exec.Command("/nonexistent/program")
	release, err := own().Wrap(cmd)
	if err != nil {
		t.Fatal(err)
	}
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 127 || !strings.Contains(string(text), "cannot be started") {
		t.Errorf("%v: %s", err, text)
	}
	if err := release(); err != nil {
		t.Error(fmt.Errorf("release: %w", err))
	}
}

// A supervisor ends as its program does, and adds nothing to the program's output.
func TestSupervisorEndsAsItsProgram(t *testing.T) {
	for _, test := range []struct{ script, want string }{
		{"exit 3", "exit status 3"},
		{"kill -TERM $$", "signal: terminated"},
		{"kill -KILL $$", "signal: killed"},
		{"kill -SEGV $$", "exit status 139"},
		{"kill -ABRT $$", "exit status 134"},
		{"kill -PIPE $$", "exit status 141"},
	} {
		cmd := exec.Command("/bin/sh", "-c", test.script)
		release, err := own().Wrap(cmd)
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.CombinedOutput()
		if err == nil || err.Error() != test.want || len(out) > 0 {
			t.Errorf("%s ends with %v and the output %q, want %s", test.script, err, testgo.Excerpt(out), test.want)
		}
		if err := release(); err != nil {
			t.Error(err)
		}
	}
}
