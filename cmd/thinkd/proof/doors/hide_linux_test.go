package doors

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/testgo"
)

// No key is in the environment of a daemon that a command has started, where other programs of the user could read it; the
// daemon has the key all the same. Each process has hidden its memory.
func TestHostileEnvironmentOfTheDaemon(t *testing.T) {
	testgo.Cost(t)
	t.Parallel()
	env := vendorOf(t)
	env = append(env, "GITHUB_TOKEN=secret-of-a-forge", "SOME_VARIABLE=a\nb=c")
	key := ""
	for _, variable := range env {
		if name, value, _ := strings.Cut(variable, "="); name == "ANTHROPIC_API_KEY" {
			key = value
		}
	}
	if key == "" {
		t.Fatalf("the simulator's environment has no key: %q", env)
	}
	data := proof.DataDir(t)
	proof.Door(t, data, env).Must("ping", nil, nil)
	pid := proof.TheDaemon(t, data).PID
	seen, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		t.Logf("the environment of the daemon is not readable at all: %v", err)
		return
	}
	for _, secret := range []string{key, "secret-of-a-forge", "SOME_VARIABLE", "ANTHROPIC"} {
		if strings.Contains(string(seen), secret) {
			t.Errorf("the environment of the daemon has %s:\n%s", secret, strings.ReplaceAll(string(seen), "\x00", "\n"))
		}
	}
	if !strings.Contains(string(seen), "HOME=") {
		t.Error("the environment of the daemon is not read as it is")
	}
	out, err := proof.Command(t, env, "--data", data, "doctor").Output()
	if err != nil {
		t.Fatalf("doctor: %v\n%s", err, out)
	}
	for _, want := range []string{"ok    memory: ", "note  keys: every program of your user can read ANTHROPIC_API_KEY"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("doctor lacks %q:\n%s", want, out)
		}
	}
	out, err = proof.Command(t, append(env, "THINKD_DUMPABLE=1"), "--data", data, "doctor").Output()
	if err != nil || !strings.Contains(string(out), "note  memory: ") {
		t.Errorf("doctor with THINKD_DUMPABLE=1: %v\n%s", err, out)
	}
}
