package process

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/windows"

	"github.com/thinkd/thinkd/provider/testgo"
)

// TestMain makes the test binary a supervisor, a program that starts others and waits for a line, one that waits for its end, and
// a daemon that is killed.
func TestMain(m *testing.M) {
	word := ""
	if len(os.Args) > 1 {
		word = os.Args[1]
	}
	switch word {
	case "supervise":
		os.Exit(Supervise(os.Args[2:]))
	case "wait":
		forever()
	case "start":
		for _, flags := range []uint32{0, windows.CREATE_NEW_PROCESS_GROUP | windows.DETACHED_PROCESS} {
			cmd := exec.Command(os.Args[0], "wait")
			cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: flags}
			if err := cmd.Start(); err != nil {
				panic(err)
			}
			fmt.Println(cmd.Process.Pid)
		}
		fmt.Println(os.Getpid())
		bufio.NewReader(os.Stdin).ReadString('\n')
		os.Exit(3)
	case "daemon":
		cmd := exec.Command(os.Args[0], "start")
		cmd.Stdout = os.Stdout
		in, err := cmd.StdinPipe()
		if err != nil {
			panic(err)
		}
		defer in.Close()
		if _, err := own().Wrap(cmd); err != nil {
			panic(err)
		}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		forever()
	}
	os.Exit(m.Run())
}

// forever waits for the end of this process.
func forever() {
	_, err := windows.WaitForSingleObject(windows.CurrentProcess(), windows.INFINITE)
	panic(err)
}

func own() Supervisor { return Supervisor{os.Args[0], os.Args[0], "supervise"} }

// watched reads the ids of three processes and opens them, so that their end can be awaited.
func watched(t *testing.T, from io.Reader) (list []windows.Handle) {
	t.Helper()
	lines := bufio.NewScanner(from)
	for len(list) < 3 && lines.Scan() {
		pid, err := strconv.Atoi(strings.TrimSpace(lines.Text()))
		if err != nil {
			t.Fatal(err)
		}
		h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
		if err != nil {
			t.Fatalf("process %d: %v", pid, err)
		}
		list = append(list, h)
	}
	if len(list) < 3 {
		t.Fatalf("%d of 3 processes: %v", len(list), lines.Err())
	}
	return list
}

func allEnd(t *testing.T, what string, processes []windows.Handle) {
	t.Helper()
	for _, h := range processes {
		if event, err := windows.WaitForSingleObject(h, 60_000); event != windows.WAIT_OBJECT_0 {
			t.Errorf("%s: a process lives on: %d, %v", what, event, err)
		}
		windows.CloseHandle(h)
	}
}

// Whatever a program started ends when the program does, when its call is cancelled, and when the daemon is killed.
func TestHostileProcesses(t *testing.T) {
	testgo.Cost(t)
	start := func(end string) (*exec.Cmd, []windows.Handle, func() error) {
		cmd := exec.Command(os.Args[0], "start")
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
		processes := watched(t, out)
		if _, err := io.WriteString(in, end); err != nil {
			t.Fatal(err)
		}
		return cmd, processes, release
	}

	cmd, processes, release := start("\n")
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 3 {
		t.Errorf("a program that ends with 3: %v", err)
	}
	allEnd(t, "the end of the program", processes)
	if err := release(); err != nil {
		t.Error(err)
	}

	cmd, processes, release = start("")
	if err := release(); err != nil {
		t.Error(err)
	}
	allEnd(t, "the end of the call", processes)
	if err := cmd.Wait(); err == nil {
		t.Error("a program that was ended ended well")
	}

	daemon := exec.Command(os.Args[0], "daemon")
	daemon.Stderr = os.Stderr
	out, err := daemon.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	processes = watched(t, out)
	if err := daemon.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	allEnd(t, "a daemon that was killed", processes)
	if err := daemon.Wait(); err == nil {
		t.Error("a killed daemon ended well")
	}
}
