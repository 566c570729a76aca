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

// passed are the variables of the daemon that programs get. No others are passed, because the environment has the keys of
// providers.
var passed = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TMP", "TEMP",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "APPDATA", "LOCALAPPDATA",
	"PROGRAMDATA", "PROGRAMFILES", "USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH", "WINDIR"}

// Environ returns the environment of a program that a tool runs: the usual variables, those named in more, and those of own, which
// replace others of the same name.
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

// Usual reports whether every program gets the variable of this name. Such a variable is no secret.
func Usual(name string) bool {
	if runtime.GOOS == "windows" {
		name = strings.ToUpper(name)
	}
	return slices.Contains(passed, name) || strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_")
}

// releaseTime is how long a supervisor has to kill what is left.
const releaseTime = 2 * time.Second

// leftoverTime is how long the output is read after a program has ended. A child of the program may keep the pipe open for ever.
const leftoverTime = time.Second

// Group makes cmd the leader of a process group, so that [EndGroup] reaches its children. It must be called before cmd starts. When
// the context of cmd ends, so does the whole group.
func Group(cmd *exec.Cmd) {
	group(cmd)
	cmd.WaitDelay = leftoverTime
	if cmd.Cancel != nil { // it was made with a context
		cmd.Cancel = func() error { return EndGroup(cmd) }
	}
}

// EndGroup kills a program and its process group. It is no error if they have ended, or never started.
func EndGroup(cmd *exec.Cmd) error {
	if cmd.Process == nil {
		return nil
	}
	return endGroup(cmd.Process)
}
