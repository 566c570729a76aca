package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/thinkd/thinkd/cmd/thinkd-store/demo"
)

// runDemo runs a cluster on this machine until ctx ends, or until the terminal is closed.
func runDemo(ctx context.Context, args []string, in io.Reader, out, log io.Writer) error {
	set := flag.NewFlagSet("thinkd-store demo", flag.ContinueOnError)
	c := demo.Config{In: in, Out: out}
	set.StringVar(&c.Dir, "dir", "", "a new `DIR` for all files, which stays; empty: a folder that is removed at the end")
	set.StringVar(&c.Listen, "listen", "127.0.0.1:7700", "the `ADDRESS` for clients")
	set.StringVar(&c.Thinkd, "thinkd", "", "the `PROGRAM` thinkd; empty: the one beside this program, or in PATH")
	if err := parse(set, args, log); err != nil {
		return err
	}
	host, _, err := splitAddress(c.Listen)
	if err != nil || host != "127.0.0.1" {
		return errors.New("--listen: must be an address of this machine, such as 127.0.0.1:7700")
	}
	if c.Store, err = os.Executable(); err != nil {
		return err
	}
	if c.Thinkd, err = findThinkd(c.Thinkd, c.Store); err != nil {
		return err
	}
	c.Credentials = func(dir string) error { return makeCredentials([]string{dir}, io.Discard, log) }
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP)
	defer stop()
	return demo.Run(ctx, c)
}

// findThinkd is the path of the program thinkd.
func findThinkd(given, self string) (string, error) {
	if given != "" {
		return filepath.Abs(given)
	}
	name := "thinkd"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	beside := filepath.Join(filepath.Dir(self), name)
	if _, err := os.Stat(beside); err == nil {
		return beside, nil
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("--thinkd: the program thinkd is neither in %s nor in PATH: %w", filepath.Dir(self), err)
	}
	return filepath.Abs(path)
}
