//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/testgo"
)

// The browser gets a file that only its user can read, and no token in its arguments. The file leads to the page, and goes with the listener.
func TestServeOpen(t *testing.T) {
	dir, data := t.TempDir(), t.TempDir()
	seen, browser := filepath.Join(dir, "seen"), filepath.Join(dir, "browser")
	if err := unix.Mkfifo(seen, 0o600); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\n{ echo \"$@\"; ls -l \"$1\"; cat \"$1\"; } >%s\n", seen)
	if err := os.WriteFile(browser, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	p := newProgram(strings.NewReader(""), io.Discard, io.Discard, proof.Environment(append(proof.NobodyHere, "BROWSER="+browser)...))
	testgo.Go(t, func() {
		ended <- p.execute(ctx, []string{"serve", "--open", "--listen", "127.0.0.1:0", "--data", data, "--config", proof.WriteConfig(t, "")})
	})
	got, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	token, err := os.ReadFile(filepath.Join(data, "token"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitN(string(got), "\n", 3)
	page := filepath.Join(data, "open.html")
	if len(lines) != 3 || lines[0] != page || !strings.HasPrefix(lines[1], "-rw------- ") || !strings.Contains(lines[2], `url=http://127.0.0.1:`) ||
		!strings.Contains(lines[2], "/#token="+strings.TrimSpace(string(token))+`"`) {
		t.Errorf("the browser got %s", got)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(page); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is still there: %v", page, err)
	}
}
