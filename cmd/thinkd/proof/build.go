package proof

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/lockedfile"
	"go.uber.org/goleak"
)

// Main runs the tests of a package, four in parallel: a system test is a chain of processes that wait for each other, so that as many tests
// as processors would leave these idle. The tests fail if they leave a goroutine behind.
func Main(m *testing.M) {
	if err := flag.Set("test.parallel", "4"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// Program is the path of the program. It is built with the race detector if the tests are, and with the tag proof, which
// adds package inside.
//
// All test processes of a clone share one file, and build it one after the other. The go command finds it up to date where no source has
// changed. That takes it a second of CPU time, so that it is asked once in a run of go test, and again only if a file changes in between.
func Program(t testing.TB) string {
	t.Helper()
	if !Raced() {
		return PlainProgram(t)
	}
	path, err := raced()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// PlainProgram is the same without the race detector, whatever the tests are: the race detector keeps several bytes for
// each byte of memory. It is built without cgo, as a release is.
func PlainProgram(t testing.TB) string {
	t.Helper()
	path, err := plain()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var (
	plain = sync.OnceValues(func() (string, error) { return build("plain", []string{"CGO_ENABLED=0"}) })
	raced = sync.OnceValues(func() (string, error) { return build("race", nil, "-race") })
)

func build(name string, env []string, flags ...string) (string, error) {
	root, err := goEnv("GOMOD")
	if err != nil {
		return "", err
	}
	root = filepath.Dir(root)
	sources, err := readSources(root)
	if err != nil {
		return "", err
	}
	dir, err := goEnv("GOCACHE")
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "thinkd-proof", fmt.Sprintf("%x", sha256.Sum256([]byte(root)))[:16], name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	unlock, err := lockedfile.MutexAt(filepath.Join(dir, "lock")).Lock()
	if err != nil {
		return "", err
	}
	defer unlock()
	path := filepath.Join(dir, "thinkd")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	// built has the run of go test that built the program last, and the state of its sources.
	built, run := filepath.Join(dir, "built"), testRun()
	state := run + "\n" + sources
	if last, err := os.ReadFile(built); err == nil && run != "" && string(last) == state {
		return path, nil
	}
	if err := os.RemoveAll(built); err != nil {
		return "", err
	}
	cmd := exec.Command("go", append(append([]string{"build", "-tags", "proof"}, flags...), "-o", path, "./cmd/thinkd")...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the program: %w\n%s", err, out)
	}
	return path, os.WriteFile(built, []byte(state), 0o600)
}

// testRun names the run of go test that this process is a part of: by the folder in which go test builds all test programs of a run. It is
// empty for a test program that was built with go test -c, and is anywhere.
func testRun() string {
	if dir := filepath.Dir(filepath.Dir(os.Args[0])); strings.HasPrefix(filepath.Base(dir), "go-build") {
		return dir
	}
	return ""
}

func goEnv(name string) (string, error) {
	out, err := exec.Command("go", "env", name).Output()
	if err == nil && len(strings.TrimSpace(string(out))) == 0 {
		err = errors.New("it is empty")
	}
	if err != nil {
		return "", fmt.Errorf("go env %s: %w", name, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// readSources lists all folders of the module, and returns a digest of the names, sizes and times of their files. The go command notes what
// tests read there, and runs a test again whose result it has if any file in them has changed: the test's own package does not import the
// program.
func readSources(root string) (digest string, err error) {
	sum := sha256.New()
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == ".git" || d.Name() == "node_modules" {
				return fs.SkipDir
			}
			return nil // its time changes with each temporary file
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a temporary file
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%q %d %d\n", path, info.Size(), info.ModTime().UnixNano())
		return nil
	})
	return fmt.Sprintf("%x", sum.Sum(nil)), err
}

// Raced reports whether the tests, and with them the program, run with the race detector, which takes time and memory.
func Raced() bool {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return false
	}
	for _, s := range info.Settings {
		if s.Key == "-race" && s.Value == "true" {
			return true
		}
	}
	return false
}
