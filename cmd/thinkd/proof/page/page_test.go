package page

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// TestPage drives the page in a browser: web/test/*.test.mjs, a story each. It runs the program as users have it, since
// it measures how long things take; the race detector has it in the other tests. THINKD_SHOTS names a folder for
// screenshots.
func TestPage(t *testing.T) {
	t.Parallel()
	node, dir := proof.NodePackage(t, "web")
	chromium := proof.Needs(t, "chromium")
	program := proof.PlainProgram(t)
	stories, err := filepath.Glob(filepath.Join(dir, "test", "*.test.mjs"))
	if err != nil || len(stories) == 0 {
		t.Fatalf("no browser tests: %v", err)
	}
	for _, story := range stories {
		t.Run(strings.TrimSuffix(filepath.Base(story), ".test.mjs"), func(t *testing.T) {
			if os.Getenv("ALONE") == "" { // else its figures count
				t.Parallel()
			}
			cmd := exec.Command(node, "--test", "--test-reporter=spec", story)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "THINKD="+program, "CHROMIUM="+chromium, "SHOTS="+os.Getenv("THINKD_SHOTS"))
			out, err := cmd.CombinedOutput()
			t.Logf("%s", out)
			if err != nil {
				t.Error(err)
			}
		})
	}
}
