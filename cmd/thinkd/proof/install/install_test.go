package install

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

func TestMain(m *testing.M) { proof.Main(m) }

const script = "../../../../packaging/install.sh"

// archiveName is that of the release for this machine.
var archiveName = fmt.Sprintf("thinkd_1.2.3_%s_%s.tar.gz", runtime.GOOS, runtime.GOARCH)

// A release is what a server offers below latest/download and download/v1.2.3.
type release map[string][]byte

func newRelease(t *testing.T, program []byte) release {
	t.Helper()
	var file bytes.Buffer
	z := gzip.NewWriter(&file)
	w := tar.NewWriter(z)
	for name, body := range map[string][]byte{"thinkd": program, "LICENSE": []byte("MIT\n")} {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(body))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	sums := fmt.Sprintf("%064d  install.sh\n%064d  thinkd_1.2.3_plan9_amd64.tar.gz\n%x  %s\n", 1, 2, sha256.Sum256(file.Bytes()), archiveName)
	return release{archiveName: file.Bytes(), "checksums.txt": []byte(sums)}
}

// serve returns the address for THINKD_RELEASES.
func (r release) serve(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		name, ok := strings.CutPrefix(q.URL.Path, "/latest/download/")
		if !ok {
			name, ok = strings.CutPrefix(q.URL.Path, "/download/v1.2.3/")
		}
		body, there := r[name]
		if !ok || !there {
			http.NotFound(w, q)
			return
		}
		w.Write(body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// run runs an installer in a home of its own, and returns what it printed.
func run(t *testing.T, home, text, releases string, env ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("sh", "-s")
	cmd.Stdin = strings.NewReader(text)
	cmd.Env = append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir(), "THINKD_RELEASES=" + releases, "no_proxy=*"}, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func installer(t *testing.T) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs: sh")
	}
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// echo is a program for a release: it prints its version.
func echo(version string) []byte { return []byte("#!/bin/sh\necho thinkd " + version + "\n") }

func TestInstall(t *testing.T) {
	t.Parallel()
	text, home := installer(t), t.TempDir()
	program := filepath.Join(home, ".local", "bin", "thinkd")
	for _, tt := range []struct {
		version string
		env     []string
		want    string
	}{
		{"1.2.3", nil, "Installed thinkd 1.2.3 as " + program + ".\n" + filepath.Dir(program) + " is not in PATH."},
		{"1.2.4", []string{"THINKD_VERSION=v1.2.3"}, "Installed thinkd 1.2.4 as " + program},                                 // an update
		{"1.2.5", []string{"THINKD_BIN=" + filepath.Join(home, "a b")}, "Installed thinkd 1.2.5 as " + home + "/a b/thinkd"}, // a directory with a space
	} {
		out, err := run(t, home, text, newRelease(t, echo(tt.version)).serve(t), tt.env...)
		if err != nil || !strings.HasPrefix(out, tt.want) {
			t.Errorf("%v: %v, printed %q, want %q", tt.env, err, out, tt.want)
		}
	}
	left, err := os.ReadDir(filepath.Dir(program))
	if err != nil || len(left) != 1 {
		t.Errorf("the directory has %v, %v", left, err)
	}
	proof.CheckMode(t, program, 0o755)
}

// A release that is not whole is not installed, and the program that was there stays.
func TestInstallRefuses(t *testing.T) {
	t.Parallel()
	text := installer(t)
	for name, tt := range map[string]struct {
		change func(r release)
		want   string
	}{
		"an archive that was changed": {func(r release) { r[archiveName] = append(r[archiveName], 0) }, "has the SHA-256 "},
		"an archive that is missing":  {func(r release) { delete(r, archiveName) }, "cannot download "},
		"no checksums":                {func(r release) { delete(r, "checksums.txt") }, "cannot download "},
		"no checksum of the archive": {func(r release) {
			r["checksums.txt"] = bytes.ReplaceAll(r["checksums.txt"], []byte(archiveName), []byte("thinkd.tar.gz"))
		}, "names no archive for "},
		"a short checksum": {func(r release) {
			sum := fmt.Sprintf("%x", sha256.Sum256(r[archiveName]))
			r["checksums.txt"] = bytes.ReplaceAll(r["checksums.txt"], []byte(sum), []byte(sum[:8]))
		}, "names no archive for "},
		"two archives": {func(r release) { r["checksums.txt"] = append(r["checksums.txt"], r["checksums.txt"]...) }, "names several archives for "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			program := filepath.Join(home, ".local", "bin", "thinkd")
			if err := os.MkdirAll(filepath.Dir(program), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(program, echo("1.0.0"), 0o755); err != nil {
				t.Fatal(err)
			}
			r := newRelease(t, echo("1.2.3"))
			tt.change(r)
			out, err := run(t, home, text, r.serve(t))
			if err == nil || !strings.Contains(out, "install.sh: ") || !strings.Contains(out, tt.want) {
				t.Errorf("%v, printed %q, want %q", err, out, tt.want)
			}
			if now, err := os.ReadFile(program); err != nil || !bytes.Equal(now, echo("1.0.0")) {
				t.Errorf("the old program is %q, %v", now, err)
			}
		})
	}
}

// A script whose download was cut off does nothing.
func TestInstallCutOff(t *testing.T) {
	t.Parallel()
	text, address := installer(t), newRelease(t, echo("1.2.3")).serve(t)
	last := strings.LastIndex(text, "main #")
	for _, size := range []int{last / 3, last / 2, last, last + 3} {
		home := t.TempDir()
		out, _ := run(t, home, text[:size], address)
		if left, err := os.ReadDir(home); err != nil || len(left) > 0 || strings.Contains(out, "Installed") {
			t.Errorf("%d bytes: %v, %v, printed %q", size, left, err, out)
		}
	}
}

// TestSnapshot installs the archive that goreleaser made, and starts the program of each package. It prints the time from the script to
// the first answer. $THINKD_SNAPSHOT is goreleaser's
// directory dist.
func TestSnapshot(t *testing.T) {
	dist := os.Getenv("THINKD_SNAPSHOT")
	if dist == "" {
		t.Skip("needs: THINKD_SNAPSHOT")
	}
	r := make(release)
	files, err := filepath.Glob(filepath.Join(dist, "*.*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if info, err := os.Stat(path); err != nil || info.IsDir() {
			continue // a directory of a binary
		}
		if r[filepath.Base(path)], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	checkSums(t, r)
	home := t.TempDir()
	begin := time.Now()
	out, err := run(t, home, installer(t), r.serve(t))
	if err != nil || !strings.HasPrefix(out, "Installed thinkd ") {
		t.Errorf("%v, printed %q", err, out)
	}
	answers(t, filepath.Join(home, ".local", "bin", "thinkd"))
	t.Logf("from the script to the first answer: %v", time.Since(begin).Round(10*time.Millisecond))
	proof.Judge(t, time.Since(begin) < time.Minute, "from the script to the first answer took %v, goal 1m", time.Since(begin))
	if rpm, err := exec.LookPath("rpm2cpio"); err == nil {
		found, err := filepath.Glob(filepath.Join(dist, "thinkd-[0-9]*."+map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]+".rpm"))
		if err != nil || len(found) != 1 {
			t.Fatalf("packages %v, %v", found, err)
		}
		unpack := exec.Command("sh", "-c", `"$0" "$1" | cpio -idm --quiet --no-absolute-filenames`, rpm, found[0])
		if unpack.Dir = filepath.Join(home, "rpm"); os.Mkdir(unpack.Dir, 0o700) != nil {
			t.Fatal(unpack.Dir)
		}
		if out, err := unpack.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		answers(t, filepath.Join(unpack.Dir, "usr", "bin", "thinkd"))
	}
	if dpkg, err := exec.LookPath("dpkg-deb"); err == nil {
		found, err := filepath.Glob(filepath.Join(dist, "thinkd_*_"+runtime.GOARCH+".deb"))
		if err != nil || len(found) != 1 {
			t.Fatalf("packages %v, %v", found, err)
		}
		if out, err := exec.Command(dpkg, "-x", found[0], filepath.Join(home, "deb")).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		answers(t, filepath.Join(home, "deb", "usr", "bin", "thinkd"))
		for _, path := range []string{"share/man/man1/thinkd.1.gz", "share/bash-completion/completions/thinkd", "share/doc/thinkd/copyright",
			"lib/systemd/user/thinkd.socket", "lib/systemd/user/thinkd.service", "lib/systemd/system/thinkd.service", "../etc/thinkd/config.toml"} {
			if _, err := os.Stat(filepath.Join(home, "deb", "usr", path)); err != nil {
				t.Error(err)
			}
		}
		storePackage(t, dpkg, dist, filepath.Join(home, "store"))
	}
}

// storePackage unpacks the package of the store server, and runs its program.
func storePackage(t *testing.T, dpkg, dist, to string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dist, "thinkd-store_*_"+runtime.GOARCH+".deb"))
	if err != nil || len(found) != 1 {
		t.Fatalf("packages %v, %v", found, err)
	}
	if out, err := exec.Command(dpkg, "-x", found[0], to).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.Command(filepath.Join(to, "usr", "bin", "thinkd-store"), "version").CombinedOutput(); err != nil || !bytes.HasPrefix(out, []byte("thinkd-store ")) {
		t.Errorf("version: %s, %v", out, err)
	}
	for _, path := range []string{"usr/lib/systemd/system/thinkd-store.service", "etc/thinkd-store/config.toml", "usr/share/doc/thinkd-store/copyright"} {
		if _, err := os.Stat(filepath.Join(to, path)); err != nil {
			t.Error(err)
		}
	}
}

// checkSums compares checksums.txt with the files.
func checkSums(t *testing.T, r release) {
	t.Helper()
	lines := 0
	for line := range strings.Lines(string(r["checksums.txt"])) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if body, ok := r[name]; ok && fmt.Sprintf("%x", sha256.Sum256(body)) == sum {
			lines++
		} else if name != "install.sh" { // it is not in dist
			t.Errorf("%s is missing, or has another checksum", name)
		}
	}
	if lines < 6+4+4+4 { // archives and packages of thinkd and of thinkd-store
		t.Errorf("checksums.txt has %d files", lines)
	}
}

// answers starts a program and its daemon, and lets the simulator answer.
func answers(t *testing.T, program string) {
	t.Helper()
	data := t.TempDir()
	cmd := exec.Command(program, "--data", data, "prompt", "hello")
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	cmd.Stderr = io.Discard
	out, err := cmd.Output()
	if err != nil || len(out) == 0 {
		t.Errorf("%s: %v, printed %q", program, err, out)
	}
	if err := proof.Quit(data); err != nil {
		t.Error(err)
	}
}
