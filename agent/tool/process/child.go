package process

import (
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// passed are the variables of the daemon that programs get. Its environment has the keys of providers: what is not
// listed here stays out.
var passed = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TMP", "TEMP",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "APPDATA", "LOCALAPPDATA",
	"PROGRAMDATA", "PROGRAMFILES", "USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH", "WINDIR"}

// Environ is the environment of a program that a tool runs: what every program needs, the variables whose names are in
// more, and those of own over them.
func Environ(more []string, own map[string]string) []string {
	env := make(map[string]string)
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		if Usual(name) || slices.Contains(more, name) {
			env[name] = value
		}
	}
	maps.Copy(env, own)
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}

// Usual reports whether each program needs a variable of this name, which then is no secret.
func Usual(name string) bool {
	if runtime.GOOS == "windows" {
		name = strings.ToUpper(name)
	}
	return slices.Contains(passed, name) || strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_")
}

// releaseTime is how long a supervisor has to kill what is left.
const releaseTime = 2 * time.Second

// leftoverTime is how long the output of an ended program is read on: a child of it may hold the other end for ever.
const leftoverTime = time.Second

// Group makes cmd, which has not been started, the first of a process group, so that [EndGroup] reaches its children.
// When its context ends, the whole group does.
func Group(cmd *exec.Cmd) {
	group(cmd)
	cmd.WaitDelay = leftoverTime
	if cmd.Cancel != nil { // it was made with a context
		cmd.Cancel = func() error { return EndGroup(cmd) }
	}
}

// EndGroup ends a started program and its children, at once. Nothing that is over is an error.
func EndGroup(cmd *exec.Cmd) error {
	if cmd.Process == nil {
		return nil
	}
	return endGroup(cmd.Process)
}
