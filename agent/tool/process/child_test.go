package process

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// A program that a tool runs gets the variables that are listed, and no other: names say nothing of what is a secret.
func TestEnviron(t *testing.T) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "GITHUB_TOKEN", "HF_TOKEN", "AWS_SESSION_TOKEN", "NPM_TOKEN", "SSH_AUTH_SOCK", "DATABASE_URL",
		"THINKD_TOKEN", "PGPASSWORD", "PATHS", "HOMEX", "LD_PRELOAD", "HTTP_PROXY"} {
		t.Setenv(name, "secret of "+name)
	}
	t.Setenv("WANTED", "passed")
	got := Environ([]string{"WANTED"}, map[string]string{"OWN": "own"})
	for _, variable := range got {
		if strings.Contains(variable, "secret of") {
			t.Errorf("a child gets %s", variable)
		}
	}
	for _, want := range []string{"WANTED=passed", "OWN=own", "PATH=" + os.Getenv("PATH")} {
		if !slices.Contains(got, want) {
			t.Errorf("%q lacks %s", got, want)
		}
	}
}
