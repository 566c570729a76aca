package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/thinkd/thinkd/agent/tool/guard"
)

// rules is what a command that [Confine] runs can reach.
type rules struct {
	Roots   []string // folders that it can change
	Temp    string   // a folder of its own, which TMPDIR names
	Hidden  []string // files and folders that it cannot read
	Network bool
}

// confined is a program that [Confine] runs.
func (s Sandbox) confined(hidden []guard.Hidden, roots, program []string) (wrapped []string, release func() error, err error) {
	temp, err := os.MkdirTemp("", "thinkd-run-")
	if err != nil {
		return nil, nil, fmt.Errorf("no temporary folder for the sandbox, so the command was not run: %w", err)
	}
	r := rules{Roots: roots, Temp: temp, Network: s.Network}
	for _, h := range hidden {
		r.Hidden = append(r.Hidden, h.Path)
	}
	return slices.Concat(s.Confine, r.args(), program), func() error { return removeAll(temp) }, nil
}

// args is the rules for a command line. The program comes after them.
func (r rules) args() []string {
	args := []string{"--temp", r.Temp}
	if r.Network {
		args = append(args, "--network")
	}
	for _, root := range r.Roots {
		args = append(args, "--root", root)
	}
	for _, path := range r.Hidden {
		args = append(args, "--hide", path)
	}
	return append(args, "--")
}

var errArgs = errors.New("this command is for thinkd itself")

// parse reads what args wrote, and the program after it.
func parse(args []string) (r rules, program []string, err error) {
	for len(args) > 1 {
		word, value := args[0], args[1]
		switch word {
		case "--":
			if r.Temp == "" {
				return r, nil, errArgs
			}
			return r, args[1:], nil
		case "--network":
			r.Network, args = true, args[1:]
			continue
		case "--temp":
			r.Temp = value
		case "--root":
			r.Roots = append(r.Roots, value)
		case "--hide":
			r.Hidden = append(r.Hidden, value)
		default:
			return r, nil, errArgs
		}
		if !filepath.IsAbs(value) {
			return r, nil, fmt.Errorf("%s %q: must be an absolute path", word, value)
		}
		args = args[2:]
	}
	return r, nil, errArgs
}

// removeAll removes a folder, also one in which a command made folders that nobody may write to.
func removeAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, _ error) error {
		if e != nil && e.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return nil
	})
	return errors.Join(err, os.RemoveAll(dir))
}
