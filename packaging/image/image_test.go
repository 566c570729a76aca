package main

import (
	"archive/tar"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

func example() (release, certificates) {
	return release{version: "1.2.3", commit: "d76b35d", time: time.Date(2026, 11, 23, 5, 0, 0, 0, time.UTC),
		programs: map[string][]byte{"amd64": []byte("an amd64 program"), "arm64": []byte("an arm64 program")},
		texts:    map[string][]byte{"LICENSE": []byte("MIT"), "THIRD_PARTY_LICENSES.txt": []byte("BSD")}}, certificates{"20230311", []byte("PEM")}
}

func newExample(t *testing.T, p product) v1.ImageIndex {
	t.Helper()
	r, c := example()
	index, err := newIndex(p, r, c)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// imageOf returns the image of a platform.
func imageOf(t *testing.T, index v1.ImageIndex, platform string) v1.Image {
	t.Helper()
	m, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range m.Manifests {
		if d.Platform.String() == platform {
			image, err := index.Image(d.Digest)
			if err != nil {
				t.Fatal(err)
			}
			return image
		}
	}
	t.Fatalf("there is no image for %s", platform)
	return nil
}

func TestIndex(t *testing.T) {
	index := newExample(t, products[0])
	first, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := newExample(t, products[0]).Digest(); err != nil || again != first {
		t.Errorf("the second image is %s, the first was %s, %v", again, first, err)
	}
	file, err := imageOf(t, index, "linux/arm64").ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if c := file.Config; c.User != "65532:65532" || strings.Join(append(c.Entrypoint, c.Cmd...), " ") != "/usr/bin/thinkd serve" ||
		strings.Join(c.Healthcheck.Test, " ") != "CMD /usr/bin/thinkd status" || file.Architecture != "arm64" || !file.Created.Equal(time.Date(2026, 11, 23, 5, 0, 0, 0, time.UTC)) {
		t.Errorf("the config is %+v", file)
	}
}

// Only the data directory belongs to the user, and nothing has more rights than its file needs.
func TestFiles(t *testing.T) {
	for _, p := range products {
		t.Run(p.name, func(t *testing.T) { testFiles(t, p, newExample(t, p)) })
	}
}

func testFiles(t *testing.T, p product, index v1.ImageIndex) {
	for _, platform := range platforms {
		layers, err := imageOf(t, index, "linux/"+platform).Layers()
		if err != nil {
			t.Fatal(err)
		}
		found := make(map[string]bool)
		for _, l := range layers {
			packed, err := l.Uncompressed()
			if err != nil {
				t.Fatal(err)
			}
			in := tar.NewReader(packed)
			for h, err := in.Next(); err != io.EOF; h, err = in.Next() {
				if err != nil {
					t.Fatal(err)
				}
				dir, _ := filepath.Split(strings.TrimSuffix(h.Name, "/"))
				if found[h.Name] || dir != "" && !found[dir] {
					t.Errorf("%s is there twice, or before its directory", h.Name)
				}
				found[h.Name] = true
				ours := h.Name == "var/lib/"+p.name+"/"
				if (h.Uid == userID) != ours || h.Uid != h.Gid || h.Mode&0o6022 != 0 && h.Name != "tmp/" {
					t.Errorf("%s has the owner %d:%d and the mode %o", h.Name, h.Uid, h.Gid, h.Mode)
				}
				if h.Name == "usr/bin/"+p.name {
					if body, err := io.ReadAll(in); err != nil || string(body) != "an "+platform+" program" {
						t.Errorf("the program is %q, %v", body, err)
					}
				}
			}
		}
		if !found["usr/bin/"+p.name] || !found["etc/"+p.name+"/"] || !found["etc/ssl/certs/ca-certificates.crt"] {
			t.Errorf("the files are %v", found)
		}
	}
}

func TestPush(t *testing.T) {
	s := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer s.Close()
	reference := strings.TrimPrefix(s.URL, "http://") + "/thinkd/thinkd:1.2.3"
	index := newExample(t, products[0])
	var out strings.Builder
	if err := push(&out, index, reference); err != nil {
		t.Fatal(err)
	}
	digest, err := index.Digest()
	if err != nil || !strings.HasSuffix(out.String(), "/thinkd/thinkd@"+digest.String()+"\n") {
		t.Errorf("printed %q, %v", out.String(), err)
	}
	from, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	pulled, err := remote.Index(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(pulled); err != nil {
		t.Error(err)
	}
}

// build reads what goreleaser wrote, and refuses programs of another commit.
func TestBuild(t *testing.T) {
	if _, err := exec.LookPath("dpkg-query"); err != nil {
		t.Skip("needs: Debian")
	}
	dist := filepath.Join(t.TempDir(), "dist")
	source := t.TempDir()
	command := func(dir, name string, args ...string) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOFLAGS=-buildvcs=true", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
	}
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(source, "go.mod"), "module example.com/thinkd\n\ngo 1.26\n")
	write(filepath.Join(source, "main.go"), "package main\n\nfunc main() {}\n")
	command(source, "git", "init", "-q")
	command(source, "git", "add", ".")
	command(source, "git", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "a")
	for _, platform := range platforms {
		t.Setenv("GOARCH", platform)
		command(source, "go", "build", "-o", filepath.Join(dist, "thinkd_linux_"+platform+"_v1", "thinkd"))
		command(source, "go", "build", "-o", filepath.Join(dist, "thinkd-store_linux_"+platform+"_v1", "thinkd-store"))
	}
	commit, err := exec.Command("git", "-C", source, "rev-parse", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(dist, "..", "LICENSE"), "MIT")
	write(filepath.Join(dist, "..", "packaging", "out", "THIRD_PARTY_LICENSES.txt"), "BSD")
	write(filepath.Join(dist, "metadata.json"), `{"version":"1.2.3","commit":"0000000"}`)
	if err := run(io.Discard, []string{"build", dist}); err == nil || !strings.Contains(err.Error(), "vcs.revision") {
		t.Errorf("of another commit: %v", err)
	}
	write(filepath.Join(dist, "metadata.json"), `{"version":"1.2.3","commit":"`+strings.TrimSpace(string(commit))+`"}`)
	var out strings.Builder
	for _, command := range []string{"build", "build", "list"} {
		if err := run(&out, []string{command, dist}); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.SplitN(out.String(), "\n", 5)
	for i, begin := range []string{"thinkd:1.2.3 sha256:", "thinkd-store:1.2.3 sha256:"} {
		if !strings.HasPrefix(lines[i], begin) || lines[i] != lines[i+2] {
			t.Errorf("two builds: %q, %q", lines[i], lines[i+2])
		}
	}
	for _, want := range []string{"linux/amd64 sha256:", "linux/arm64 sha256:", "runs /usr/bin/thinkd serve as 65532:65532, health check /usr/bin/thinkd status\n",
		"drwx------ 65532:65532          0 /var/lib/thinkd/\n", "dtrwxrwxrwx     0:0              0 /tmp/\n", " /usr/bin/thinkd\n", "runs /usr/bin/thinkd-store --config /etc/thinkd-store/config.toml as 65532:65532, health check none\n",
		"drwx------ 65532:65532          0 /var/lib/thinkd-store/\n"} {
		if !strings.Contains(lines[4], want) {
			t.Errorf("want %q in\n%s", want, lines[4])
		}
	}
}
