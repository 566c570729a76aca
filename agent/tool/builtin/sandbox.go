package builtin

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

// SandboxKind says what holds commands back.
type SandboxKind string

const (
	SandboxOff   SandboxKind = "off"   // nothing does
	SandboxAuto  SandboxKind = "auto"  // the best that this machine has
	SandboxBwrap SandboxKind = "bwrap" // bubblewrap (Linux)
)

// UnmarshalText reads a kind as configs write it.
func (k *SandboxKind) UnmarshalText(text []byte) error {
	switch word := SandboxKind(text); word {
	case SandboxOff, SandboxAuto, SandboxBwrap:
		*k = word
		return nil
	}
	return fmt.Errorf("%q is not one of off, auto, bwrap", text)
}

// Sandbox is what commands of run can reach. The zero Sandbox holds nothing back. In any other, a command sees the whole file
// system except protected files and secret places, can write below the session's folder and in a temporary folder of its own
// only, sees no process but its own, and has no network unless that is allowed. A command is refused if the sandbox cannot be
// made.
type Sandbox struct {
	Kind    SandboxKind
	Network bool
}

func (s Sandbox) on() bool { return s.Kind != "" && s.Kind != SandboxOff }

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

// Check says why the sandbox cannot be made on this machine, nil if it can.
func (s Sandbox) Check() error {
	if !s.on() {
		return nil
	}
	_, err := bwrap()
	return err
}

// isolation is what all sandboxes have. Capabilities go, so that no command can take the mounts off again.
func isolation(network bool) []string {
	args := []string{"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/run",
		"--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL", "--die-with-parent"}
	if network {
		return append(args, "--ro-bind-try", "/run/systemd/resolve", "/run/systemd/resolve") // where names are looked up
	}
	return append(args, "--unshare-net")
}

// wrap is a command in the sandbox. roots are the session's folders, and dir is where it runs.
func (s Sandbox) wrap(ctx context.Context, g *guard.Guard, roots []string, dir string, program []string) ([]string, error) {
	if !s.on() {
		return program, nil
	}
	path, err := bwrap()
	if err != nil {
		return nil, fmt.Errorf("the config demands a sandbox for commands, and there is none, so the command was not run: %w", err)
	}
	hidden, err := g.Hidden(ctx, roots)
	if err != nil {
		return nil, fmt.Errorf("the secret places of the session's folder cannot be found, so the command was not run: %w", err)
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
