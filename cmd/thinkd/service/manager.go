package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// manager is the service manager of a user.
type manager struct {
	name  string
	files map[string]string // by path: the text
	start [][]string        // commands after the files were written
	stop  [][]string        // commands before they are removed
	after [][]string        // commands after they were removed
	state []string          // a command whose exit status is 0 if the service is active
}

// managerOf is that of a system. home is the user's home, configDir where the user's units of systemd are.
func managerOf(goos, home, configDir string, uid int, p Program) (manager, error) {
	switch goos {
	case "linux":
		units := filepath.Join(configDir, "systemd", "user")
		ctl := func(args ...string) []string { return append([]string{"systemctl", "--user"}, args...) }
		return manager{
			name: "systemd",
			files: map[string]string{
				filepath.Join(units, "thinkd.socket"):  SocketUnit(p, false),
				filepath.Join(units, "thinkd.service"): ServiceUnit(p, false),
			},
			start: [][]string{ctl("daemon-reload"), ctl("enable", "--now", "thinkd.socket")},
			stop:  [][]string{ctl("disable", "--now", "thinkd.socket"), ctl("stop", "thinkd.service")},
			after: [][]string{ctl("daemon-reload")},
			state: ctl("is-active", "--quiet", "thinkd.socket"),
		}, nil
	case "darwin":
		path, domain := filepath.Join(home, "Library", "LaunchAgents", Label+".plist"), "gui/"+strconv.Itoa(uid)
		return manager{
			name:  "launchd",
			files: map[string]string{path: LaunchAgent(p)},
			start: [][]string{{"launchctl", "bootstrap", domain, path}},
			stop:  [][]string{{"launchctl", "bootout", domain + "/" + Label}},
			state: []string{"launchctl", "print", domain + "/" + Label},
		}, nil
	}
	return manager{}, fmt.Errorf("thinkd has no service for %s: every command starts the daemon if none runs", goos)
}

// here is the manager of this user.
func here(p Program) (manager, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return manager{}, err
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return manager{}, err
	}
	return managerOf(runtime.GOOS, home, dir, os.Getuid(), p)
}

// run runs commands in order, and stops at the first that fails.
func run(ctx context.Context, commands [][]string) error {
	for _, c := range commands {
		out, err := exec.CommandContext(ctx, c[0], c[1:]...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w %s", strings.Join(c, " "), err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}

// installed reports whether all files are there. same: they have the texts of this program.
func (m manager) installed() (all, same bool, err error) {
	all, same = true, true
	for path, want := range m.files {
		got, err := os.ReadFile(path)
		switch {
		case errors.Is(err, os.ErrNotExist):
			all, same = false, false
		case err != nil:
			return false, false, err
		case string(got) != want:
			same = false
		}
	}
	return all, same, nil
}
