package proof

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Needs is the path of a program that a test cannot do without. The test is skipped where it is missing.
func Needs(t testing.TB, name string) (path string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skip("needs: " + name)
	}
	return path
}

// NodePackage is where a package of the repository lies whose dependencies are installed, and node. The test is skipped
// where one of them is missing.
func NodePackage(t testing.TB, dir string) (node, path string) {
	t.Helper()
	node = Needs(t, "node")
	path, err := filepath.Abs(filepath.Join("..", "..", "..", "..", filepath.FromSlash(dir)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(path, "node_modules")); err != nil {
		t.Skip("needs: npm ci --prefix " + dir)
	}
	return node, path
}

// Alone reports whether the machine does nothing else, so that the clock can judge.
func Alone() bool { return os.Getenv("ALONE") != "" }

// Judge reports what depends on the machine and on what else it does: a time, a ratio, an amount of memory. With ALONE=1 in
// the environment, as in the long forms, it fails the test. Otherwise it is a line in the test's log.
func Judge(t testing.TB, fine bool, format string, args ...any) {
	t.Helper()
	switch {
	case fine:
	case Alone():
		t.Errorf(format, args...)
	default:
		t.Logf("judged with ALONE=1 only: "+format, args...)
	}
}
