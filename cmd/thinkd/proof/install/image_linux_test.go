package install

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/rpc/conntest"
)

// A container is an image without its registry and without Docker: its files, which are read-only, and a data directory.
type container struct {
	t      *testing.T
	root   string
	data   string
	config string // the file; empty: none
	image  imageConfig
}

type imageConfig struct {
	Architecture string
	Config       struct {
		User                 string
		Env, Entrypoint, Cmd []string
		WorkingDir           string
		Healthcheck          struct{ Test []string }
	}
}

// A descriptor names a blob of an OCI image layout.
type descriptor struct {
	Digest   string
	Platform struct{ OS, Architecture string }
}

// blob opens a blob of a layout, and reads it as JSON if into is not nil.
func blob(t *testing.T, layout string, d descriptor, into any) *os.File {
	t.Helper()
	f, err := os.Open(filepath.Join(layout, "blobs", strings.Replace(d.Digest, ":", "/", 1)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if into != nil {
		if err := json.NewDecoder(f).Decode(into); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// newContainer unpacks the image for this machine. It reads the layout as the standard describes it, with nothing of packaging/image.
func newContainer(t *testing.T, layout string) *container {
	t.Helper()
	c := &container{t: t, root: t.TempDir(), data: t.TempDir()}
	var index struct{ Manifests []descriptor }
	text, err := os.ReadFile(filepath.Join(layout, "index.json"))
	if err == nil {
		err = json.Unmarshal(text, &index)
	}
	if err != nil || len(index.Manifests) != 1 {
		t.Fatalf("index.json: %v: %s", err, text)
	}
	blob(t, layout, index.Manifests[0], &index)
	for _, d := range index.Manifests {
		if d.Platform.OS != runtime.GOOS || d.Platform.Architecture != runtime.GOARCH {
			continue
		}
		var manifest struct {
			Config descriptor
			Layers []descriptor
		}
		blob(t, layout, d, &manifest)
		blob(t, layout, manifest.Config, &c.image)
		for _, l := range manifest.Layers {
			c.unpack(blob(t, layout, l, nil))
		}
	}
	if c.image.Architecture != runtime.GOARCH {
		t.Fatalf("there is no image for this machine: %+v", index)
	}
	for _, dir := range []string{"proc", "dev"} { // runtimes make the places of what they mount
		if err := os.Mkdir(filepath.Join(c.root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func (c *container) unpack(layer io.Reader) {
	c.t.Helper()
	z, err := gzip.NewReader(layer)
	if err != nil {
		c.t.Fatal(err)
	}
	in := tar.NewReader(z)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			c.t.Fatal(err)
		}
		path := filepath.Join(c.root, h.Name)
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o755)
		} else {
			var body []byte
			if body, err = io.ReadAll(in); err == nil {
				err = os.WriteFile(path, body, os.FileMode(h.Mode)|0o400)
			}
		}
		if err != nil {
			c.t.Fatal(err)
		}
	}
}

// command runs in the container, with the image's user and environment. It shares the network of this machine.
func (c *container) command(args ...string) *exec.Cmd {
	c.t.Helper()
	user, group, _ := strings.Cut(c.image.Config.User, ":")
	box := []string{"--unshare-all", "--share-net", "--die-with-parent", "--uid", user, "--gid", group, "--clearenv",
		"--ro-bind", c.root, "/", "--bind", c.data, "/var/lib/thinkd", "--tmpfs", "/tmp", "--proc", "/proc", "--dev", "/dev", "--chdir", c.image.Config.WorkingDir}
	if c.config != "" {
		box = append(box, "--tmpfs", "/etc/thinkd", "--ro-bind", c.config, "/etc/thinkd/config.toml")
	}
	for _, pair := range append(c.image.Config.Env, proof.NobodyHere...) {
		name, value, _ := strings.Cut(pair, "=")
		box = append(box, "--setenv", name, value)
	}
	return exec.Command(proof.Needs(c.t, "bwrap"), append(append(box, "--"), args...)...)
}

// run runs a command of the program.
func (c *container) run(args ...string) (string, error) {
	c.t.Helper()
	out, err := c.command(append(c.image.Config.Entrypoint, args...)...).CombinedOutput()
	return string(out), err
}

// serve starts the container, and returns the address of its page and what waits for its end.
func (c *container) serve() (address string, end func()) {
	c.t.Helper()
	cmd := c.command(append(append(c.image.Config.Entrypoint, c.image.Config.Cmd...), "--listen", "127.0.0.1:0")...)
	var problems conntest.Log
	cmd.Stderr = &problems
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { cmd.Process.Kill() }) // it may have ended
	lines := bufio.NewReader(stdout)
	first, err := lines.ReadString('\n')
	second, err2 := lines.ReadString('\n')
	if err := errors.Join(err, err2); err != nil || second != "token: /var/lib/thinkd/token\n" {
		c.t.Fatalf("printed %q, %q, %v\n%s", first, second, err, proof.Excerpt(problems.String()))
	}
	return strings.TrimSpace(first), func() {
		c.t.Helper()
		if out, err := c.run("stop"); err != nil {
			c.t.Errorf("stop: %v\n%s", err, out)
		}
		if err := cmd.Wait(); err != nil {
			c.t.Errorf("the container ends with %v\n%s", err, proof.Excerpt(problems.String()))
		}
	}
}

// TestImage runs the image that packaging/image made below $THINKD_SNAPSHOT: as its user, with all files read-only except the data
// directory and /tmp.
func TestImage(t *testing.T) {
	dist := os.Getenv("THINKD_SNAPSHOT")
	if dist == "" {
		t.Skip("needs: THINKD_SNAPSHOT")
	}
	c := newContainer(t, filepath.Join(dist, "image", "thinkd"))
	if user := c.image.Config.User; user == "" || strings.HasPrefix(user, "0") {
		t.Errorf("the user is %q", user)
	}
	health := c.image.Config.Healthcheck.Test
	if len(health) < 2 || health[0] != "CMD" {
		t.Fatalf("the health check is %q", health)
	}
	if out, err := c.command(health[1:]...).CombinedOutput(); err == nil {
		t.Errorf("healthy before the start: %s", out)
	}
	address, end := c.serve()
	if out, err := c.command(health[1:]...).CombinedOutput(); err != nil {
		t.Errorf("the health check: %v\n%s", err, out)
	}
	answer, err := http.Get(address + "healthz")
	if err != nil {
		t.Fatal(err)
	}
	if answer.Body.Close(); answer.StatusCode != http.StatusOK {
		t.Errorf("/healthz: %s", answer.Status)
	}
	if out, err := c.run("prompt", "hello [[sim: pace=0]]"); err != nil || !strings.Contains(out, "hello") {
		t.Errorf("prompt: %v\n%s", err, out)
	}
	end()
	for _, name := range []string{"thinkd.db", "token"} {
		if _, err := os.Stat(filepath.Join(c.data, name)); err != nil {
			t.Error(err)
		}
	}
	authorities, err := os.ReadFile(filepath.Join(c.root, "etc/ssl/certs/ca-certificates.crt"))
	if n := strings.Count(string(authorities), "BEGIN CERTIFICATE"); err != nil || n < 100 {
		t.Errorf("the image has %d certificates, %v", n, err)
	}
}

// The config in packaging/compose.yaml lets the proxy's requests in, and no others.
func TestCompose(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../packaging/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	doc := regexp.MustCompile(`(?s)\n  thinkd:\n    content: \|\n(.*?)\n  proxy:`).FindStringSubmatch(string(text))
	if doc == nil {
		t.Fatal("compose.yaml has no config for thinkd")
	}
	config := proof.WriteConfig(t, regexp.MustCompile(`\$\{THINKD_HOST[^}]*\}`).ReplaceAllString(doc[1], "thinkd.example.com"))
	data, at := proof.DataDir(t), strings.TrimPrefix(proof.ClosedAddress(t), "http://")
	_, port, _ := strings.Cut(at, ":")
	cmd := proof.Command(t, proof.NobodyHere, "--data", data, "--config", config, "serve", "--listen", "0.0.0.0:"+port, "--print-token")
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(proof.Quit(data), cmd.Wait()); err != nil {
			t.Error(err)
		}
	})
	address, err := bufio.NewReader(stdout).ReadString('\n')
	page, token, found := strings.Cut(strings.TrimSpace(address), "#token=")
	if err != nil || page != "https://thinkd.example.com/" || !found {
		t.Fatalf("printed %q, %v", address, err)
	}
	for _, tt := range []struct {
		host, origin string
		want         bool
	}{
		{"thinkd.example.com", "", true},
		{"thinkd.example.com", "https://thinkd.example.com", true},
		{"thinkd.example.com", "https://evil.example.com", false},
		{"evil.example.com", "", false},
		{"thinkd:7717", "", false},
	} {
		r, err := http.NewRequest("GET", "http://"+at+"/readyz", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host, r.Close = tt.host, true
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("X-Forwarded-For", "192.0.2.1")
		if tt.origin != "" {
			r.Header.Set("Origin", tt.origin)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if (answer.StatusCode == http.StatusOK) != tt.want {
			t.Errorf("host %s, origin %q: %s", tt.host, tt.origin, answer.Status)
		}
	}
}
