package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/thinkd/thinkd/agent/tool/guard"
)

// probeTime bounds the look whether a sandbox can be made.
const probeTime = 10 * time.Second

// bwrap is the path of bubblewrap, and why it cannot be used. It is looked for once.
var bwrap = sync.OnceValues(func() (string, error) {
	if runtime.GOOS != "linux" {
		return "", errors.New("there is a sandbox on Linux only")
	}
	path, err := exec.LookPath("bwrap")
	if err != nil {
		return "", errors.New("bwrap is not installed (package bubblewrap)")
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	args := append(isolation(false), "true")
	if out, err := exec.CommandContext(ctx, path, args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("bwrap does not work here: %v: %s", err, strings.TrimSpace(string(out)))
	}
	return path, nil
})

// isolation is what all sandboxes have. Capabilities go, so that no command can take the mounts off again.
func isolation(network bool) []string {
	args := []string{"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/run",
		"--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL", "--die-with-parent"}
	if network {
		return append(args, "--ro-bind-try", "/run/systemd/resolve", "/run/systemd/resolve") // where names are looked up
	}
	return append(args, "--unshare-net")
}

// bubble is a program in bubblewrap.
func (s Sandbox) bubble(hidden []guard.Hidden, roots []string, dir string, program []string) ([]string, error) {
	path, err := bwrap()
	if err != nil {
		return nil, err
	}
	args := append([]string{path}, isolation(s.Network)...)
	for _, root := range roots {
		args = append(args, "--bind", root, root)
	}
	for _, h := range hidden {
		if h.Folder {
			args = append(args, "--perms", "0000", "--tmpfs", h.Path, "--remount-ro", h.Path)
		} else {
			args = append(args, "--ro-bind", "/dev/null", h.Path)
		}
	}
	return slices.Concat(args, []string{"--chdir", dir, "--setenv", "TMPDIR", "/tmp", "--"}, program), nil
}
