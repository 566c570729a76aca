package proof

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Stories runs the browser tests of one folder below web/test, each *.test.mjs as a subtest of its own. They drive the program as users
// have it, without the race detector, since they measure how long things take. THINKD_SHOTS names a folder for screenshots. The tests
// are skipped where node, its packages or chromium are missing.
func Stories(t *testing.T, folder string) {
	t.Helper()
	node, dir := NodePackage(t, "web")
	chromium := browser(t)
	program := PlainProgram(t)
	cert, key := certificate(t)
	stories, err := filepath.Glob(filepath.Join(dir, "test", folder, "*.test.mjs"))
	if err != nil || len(stories) == 0 {
		t.Fatalf("no browser tests in web/test/%s: %v", folder, err)
	}
	for _, story := range stories {
		t.Run(strings.TrimSuffix(filepath.Base(story), ".test.mjs"), func(t *testing.T) {
			if !Alone() { // else its figures count
				t.Parallel()
			}
			cmd := exec.CommandContext(beforeDeadline(t), node, "--test-reporter=spec", story)
			cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it ends what it has started
			cmd.WaitDelay = 10 * time.Second
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "THINKD="+program, "CHROMIUM="+chromium, "THINKD_CERT="+cert, "THINKD_KEY="+key, "SHOTS="+os.Getenv("THINKD_SHOTS"))
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, Excerpt(string(out)))
			}
			t.Logf("%s", out)
		})
	}
}

// browser is the path of a browser. Chromium without its windows starts and draws with half of the CPU time. Figures that count are those of
// the browser that people have.
func browser(t *testing.T) string {
	if path, err := exec.LookPath("chromium-headless-shell"); err == nil && !Alone() {
		return path
	}
	return Needs(t, "chromium")
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
