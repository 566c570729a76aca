package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

const supervises = true

// inherit gives a supervisor its end of the lifeline and of done, as numbers in its arguments: this system has no further files at
// fixed numbers.
func inherit(cmd *exec.Cmd, lifeline, done *os.File) (args []string, err error) {
	for _, f := range []*os.File{lifeline, done} {
		handle := windows.Handle(f.Fd())
		if err := windows.SetHandleInformation(handle, windows.HANDLE_FLAG_INHERIT, windows.HANDLE_FLAG_INHERIT); err != nil {
			return nil, err
		}
		cmd.SysProcAttr.AdditionalInheritedHandles = append(cmd.SysProcAttr.AdditionalInheritedHandles, syscall.Handle(handle))
		args = append(args, strconv.FormatUint(uint64(handle), 10))
	}
	return args, nil
}

// endRest ends a supervisor that is late, and so its job. The number of one that has ended may be that of another process by now,
// so nothing is ended by number.
func endRest(cmd *exec.Cmd) error {
	if cmd.ProcessState != nil { // it was waited for
		return nil
	}
	if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// Supervise runs the program that args name, its path before its arguments, and returns its exit code. This process is in a job
// that none of its children can leave, and it has the only handle of the job. So when this process ends, for whatever reason, the
// system ends all processes in the job.
func Supervise(args []string) int {
	if len(args) < 4 {
		fmt.Fprintln(os.Stderr, "thinkd: this command is for thinkd itself")
		return 2
	}
	if err := enterJob(); err != nil {
		fmt.Fprintln(os.Stderr, "thinkd: no supervisor of processes:", err)
		return 126
	}
	lifeline, err := handleOf(args[0], "lifeline")
	if err == nil {
		_, err = handleOf(args[1], "done") // open until this process ends
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "thinkd: no supervisor of processes:", err)
		return 126
	}
	cmd := &exec.Cmd{Path: args[2], Args: args[3:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		SysProcAttr: &syscall.SysProcAttr{HideWindow: true}}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "thinkd: the program cannot be started:", err)
		return 127
	}
	go func() { // ends with the daemon or this process
		//nolint:errcheck // whatever ends the reading, the lifeline is of no use any more
		lifeline.Read(make([]byte, 1))
		os.Exit(1)
	}()
	//nolint:errcheck // the exit code says the same
	cmd.Wait()
	return cmd.ProcessState.ExitCode()
}

// handleOf opens an inherited handle, which no program that is started from here inherits.
func handleOf(number, name string) (*os.File, error) {
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return nil, err
	}
	if err := windows.SetHandleInformation(windows.Handle(n), windows.HANDLE_FLAG_INHERIT, 0); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return os.NewFile(uintptr(n), name), nil
}

// enterJob puts this process into a job that ends with its last handle. Nobody closes the handle.
func enterJob() error {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return fmt.Errorf("job: %w", err)
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err == nil {
		err = windows.AssignProcessToJobObject(job, windows.CurrentProcess())
	}
	if err != nil {
		return errors.Join(fmt.Errorf("job: %w", err), windows.CloseHandle(job))
	}
	return nil
}
