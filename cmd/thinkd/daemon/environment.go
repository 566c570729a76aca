package daemon

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/thinkd/thinkd/agent/tool/process"
)

// Keys must not be where other programs of the same user can read them. Linux shows the environment that a process was started
// with, and its memory, to every program of the same user:
//
//	shell ──environment with keys──▶ thinkd stdio (hidden by prctl) ──pipe with keys──▶ thinkd daemon (hidden, no keys in its environment)
//	                                                                                     └─▶ commands and tool servers: usual variables
//
// So each process hides itself first of all, and a daemon gets the variables that are not known to be harmless through a pipe.
// Until a process has hidden itself its environment can be read, which for the daemon has nothing secret.

// dumpableVariable set to 1 leaves a process readable, for those who measure or debug it.
const dumpableVariable = "THINKD_DUMPABLE"

// EnvironmentFlag is the flag that has the daemon read what the process that starts it hands over: see [TakeEnvironment].
const EnvironmentFlag = "environment"

// maxEnvironment is in bytes. Systems have smaller bounds of their own.
const maxEnvironment = 16 << 20

// harmless reports whether a daemon may have a variable in its environment, where others can read it: what each program gets,
// what the runtime and the loader read before the program does, and our own.
func harmless(name string) bool {
	if process.Usual(name) {
		return true
	}
	for _, prefix := range []string{"GO", "LD_", "DYLD_", "THINKD_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return strings.HasPrefix(name, "=") // of Windows: folders by drive
}

// handOver divides an environment: env is for all to see, and the rest is for the pipe to the daemon's standard input. Each
// variable ends with a zero byte, and the list with another.
func handOver(environ []string) (env []string, pipe io.Reader) {
	env = []string{}
	var rest strings.Builder
	for _, variable := range environ {
		if name, _, _ := strings.Cut(variable, "="); name == "" || harmless(name) {
			env = append(env, variable)
		} else {
			rest.WriteString(variable + "\x00")
		}
	}
	rest.WriteByte(0)
	return env, strings.NewReader(rest.String())
}

// TakeEnvironment sets the variables that come through the pipe from the process that started this daemon.
func TakeEnvironment(pipe io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(pipe, maxEnvironment))
	if err != nil {
		return fmt.Errorf("--%s: %w", EnvironmentFlag, err)
	}
	list, whole := strings.CutSuffix(string(text), "\x00")
	if !whole || list != "" && !strings.HasSuffix(list, "\x00") {
		return fmt.Errorf("--%s: standard input has no whole list of variables; this command is for thinkd itself", EnvironmentFlag)
	}
	for variable := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		name, value, _ := strings.Cut(variable, "=")
		if name == "" {
			continue
		}
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("--%s: %w", EnvironmentFlag, err)
		}
	}
	return nil
}
