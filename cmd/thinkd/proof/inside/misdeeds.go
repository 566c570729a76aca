package inside

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// MisdeedVariable names what the program does at its start that it must not do in a directory that it does not trust.
const MisdeedVariable = "THINKD_TEST_MISDEED"

// Misdeeds are done in the directory in which the program was started. Who looks for such has to see each of them.
var Misdeeds = map[string]func(dir string) error{
	"opens a file":                 func(string) error { _, err := os.ReadFile("CLAUDE.md"); return err },
	"opens a file by its path":     func(dir string) error { _, err := os.ReadFile(filepath.Join(dir, ".mcp.json")); return err },
	"opens a file below a handle":  func(dir string) error { return belowHandle(filepath.Dir(dir), filepath.Base(dir)+"/.env") },
	"looks whether a file's there": func(string) error { _, err := os.Stat(".vscode/settings.json"); return err },
	"lists the directory":          func(string) error { _, err := os.ReadDir("."); return err },
	"makes a file":                 func(string) error { return os.WriteFile("pwned", nil, 0o600) },
	"makes a file elsewhere":       func(dir string) error { return os.WriteFile(dir+".pwned", nil, 0o600) },
	"removes a file elsewhere":     func(dir string) error { return removeMissing(dir + ".missing") },
	"starts a program":             func(string) error { return exec.Command("/bin/true").Run() },
	"starts the directory's":       func(dir string) error { return exec.Command(filepath.Join(dir, "run.sh")).Run() },
}

func belowHandle(dir, name string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	_, err = root.ReadFile(name)
	return errors.Join(err, root.Close())
}

func removeMissing(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// offerMisdeed does one, if the process was started for that, and nothing else: where it is, the test says.
func offerMisdeed() error {
	misdeed := Misdeeds[os.Getenv(MisdeedVariable)]
	if misdeed == nil {
		return nil
	}
	return misdeed(os.Getenv("PWD"))
}
