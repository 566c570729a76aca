//go:build browser

package page

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"flag"
	"io/fs"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/testgo"
)

func TestMain(m *testing.M) { proof.Main(m) }

// TestPage runs the browser tests below web/test, each *.test.mjs as a subtest. They drive the program as users have it, without the race
// detector, since they measure how long things take. THINKD_SHOTS names a folder for screenshots. The tests are skipped where node, its
// packages or chromium are missing. They take minutes of two processors, so that go test runs them only with -tags browser. As many run at
// once as -parallel says, with ALONE=1 one, because its figures count.
func TestPage(t *testing.T) {
	t.Parallel()
	node, dir := proof.NodePackage(t, "web")
	chromium := browser(t)
	program := proof.PlainProgram(t)
	cert, key := certificate(t)
	run := func(t *testing.T, story string) {
		cmd := exec.CommandContext(beforeDeadline(t), node, "--test-reporter=spec", filepath.Join(dir, "test", filepath.FromSlash(story)))
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it ends what it has started
		cmd.WaitDelay = 10 * time.Second
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "THINKD="+program, "CHROMIUM="+chromium, "THINKD_CERT="+cert, "THINKD_KEY="+key, "SHOTS="+os.Getenv("THINKD_SHOTS"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, proof.Excerpt(string(out)))
		}
		t.Logf("%s", out)
	}
	list := stories(t, filepath.Join(dir, "test"))
	next := make(chan string, len(list))
	for _, story := range list {
		next <- story
	}
	close(next)
	var running sync.WaitGroup
	for range atOnce(t) {
		running.Go(testgo.Guard(t, func() { // ends with the list
			for story := range next {
				t.Run(strings.TrimSuffix(story, suffix), func(t *testing.T) { run(t, story) })
			}
		}))
	}
	running.Wait()
}

// atOnce is how many browser tests run at the same time. They do not call t.Parallel: it begins tests in any order, and the longest test
// could run alone at the end.
func atOnce(t *testing.T) int {
	if proof.Alone() {
		return 1
	}
	n, err := strconv.Atoi(flag.Lookup("test.parallel").Value.String())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

const suffix = ".test.mjs"

// longest are the tests that take longest. They begin first.
var longest = []string{"connect/signin" + suffix, "talk/daily" + suffix, "visit" + suffix}

// stories lists the browser tests below a folder, by their paths in it.
func stories(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, suffix) {
			list = append(list, path)
		}
		return err
	})
	if err != nil || len(list) == 0 {
		t.Fatalf("no browser tests in %s: %v", dir, err)
	}
	for _, story := range longest {
		if !slices.Contains(list, story) {
			t.Fatalf("no %s in %s", story, dir)
		}
	}
	return append(slices.Clone(longest), slices.DeleteFunc(list, func(story string) bool { return slices.Contains(longest, story) })...)
}

// browser is the path of a browser. Chromium without its windows starts and draws with half of the CPU time. Figures that count are those of
// the browser that people have.
func browser(t *testing.T) string {
	if path, err := exec.LookPath("chromium-headless-shell"); err == nil && !proof.Alone() {
		return path
	}
	return proof.Needs(t, "chromium")
}

// beforeDeadline ends half a minute before go test ends the process, which would leave the browsers and daemons of the stories behind.
func beforeDeadline(t *testing.T) context.Context {
	deadline, ok := t.Deadline()
	if !ok {
		return t.Context()
	}
	ctx, cancel := context.WithDeadline(t.Context(), deadline.Add(-30*time.Second))
	t.Cleanup(cancel)
	return ctx
}

// certificate makes the files of a certificate for 127.0.0.1 that signs itself.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, form, form, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: pkcs8}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}
