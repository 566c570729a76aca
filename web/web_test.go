package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider/testgo"
)

func TestProtocolIsTheRepositorys(t *testing.T) {
	want, err := os.ReadFile("../protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	if protocol != string(want) {
		t.Error("web/protocol.md is not the protocol.md of the repository: run `go generate ./web`")
	}
}

func TestPages(t *testing.T) {
	for path, want := range map[string]struct{ kind, text string }{
		"/":                     {"text/html; charset=utf-8", `<a href="/protocol.md"`},
		"/app.js":               {"text/javascript; charset=utf-8", "thinkd.v1"},
		"/katex.js":             {"text/javascript; charset=utf-8", "katex"},
		"/icon.svg":             {"image/svg+xml", "<svg"},
		"/icon.png":             {"image/png", "PNG"},
		"/manifest.webmanifest": {"application/manifest+json", `"/icon.png"`},
		"/protocol.md":          {"text/plain; charset=utf-8", "\n## Methods\n"},
	} {
		w := httptest.NewRecorder()
		Pages()[path].ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		text, err := io.ReadAll(w.Body)
		if err != nil || w.Header().Get("Content-Type") != want.kind || !strings.Contains(string(text), want.text) {
			t.Errorf("%s: %v, %v, %s", path, err, w.Header(), text)
		}
	}
	style := sheet(index)
	if !strings.Contains(style, "light-dark(") || strings.Count(index, "<style") != 1 {
		t.Error("the page has no style sheet, or more than one")
	}
	// The policy that goes with the page refuses all of these; they are not there to be refused.
	for _, forbidden := range []string{" style=", "<script>", "onclick", "javascript:", "http://", "https://"} {
		if strings.Contains(index, forbidden) {
			t.Errorf("the page has %q in it", forbidden)
		}
	}
	if strings.Contains(style, "url(") || strings.Contains(style, "@import") {
		t.Error("the style sheet loads something")
	}
}

// The policy of the page allows its own style sheet by the hash, and is otherwise the server's. Other files keep the server's policy.
func TestPolicyAllowsStyleSheet(t *testing.T) {
	const policy = "default-src 'none'; style-src 'self'; img-src 'self'"
	sum := sha256.Sum256([]byte(sheet(index)))
	for path, want := range map[string]string{
		"/":       "default-src 'none'; style-src 'self' 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; img-src 'self'",
		"/app.js": policy,
	} {
		w := httptest.NewRecorder()
		w.Header().Set("Content-Security-Policy", policy)
		Pages()[path].ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if got := w.Header().Get("Content-Security-Policy"); got != want {
			t.Errorf("%s: the policy is %q, want %q", path, got, want)
		}
	}
}

// A client gets a file compressed if it accepts that, and nothing if it has the file: each of both forms has its own tag.
func TestPageIsCompressed(t *testing.T) {
	get := func(accept, known string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", "/app.js", nil)
		if accept != "" {
			r.Header.Set("Accept-Encoding", accept)
		}
		if known != "" {
			r.Header.Set("If-None-Match", known)
		}
		w := httptest.NewRecorder()
		Pages()["/app.js"].ServeHTTP(w, r)
		return w
	}
	tags := make(map[string]string)
	for accept, packed := range map[string]bool{
		"": false, "gzip": true, "br, gzip;q=0.5": true, "deflate, GZIP ; q=1": true, "gzip;q=0": false, "gzip; q=0.000": false, "gzipped": false, "identity": false,
	} {
		w := get(accept, "")
		body, err := io.ReadAll(w.Body)
		if packed && err == nil {
			var z *gzip.Reader
			if z, err = gzip.NewReader(bytes.NewReader(body)); err == nil {
				body, err = io.ReadAll(z)
			}
		}
		h := w.Header()
		if err != nil || string(body) != script || (h.Get("Content-Encoding") == "gzip") != packed || h.Get("Vary") != "Accept-Encoding" {
			t.Errorf("Accept-Encoding %q: %d bytes, %v, %v", accept, len(body), err, h)
		}
		tags[h.Get("ETag")] = accept
		if again := get(accept, h.Get("ETag")); again.Code != http.StatusNotModified || again.Body.Len() > 0 {
			t.Errorf("Accept-Encoding %q: a client that has the file gets %d and %d bytes", accept, again.Code, again.Body.Len())
		}
	}
	if len(tags) != 2 {
		t.Errorf("tags %v, want one for each form", tags)
	}
}

// The whole script stays small.
func TestScriptIsSmall(t *testing.T) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, script); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	const most = 150 << 10 // without formulas
	t.Logf("%d bytes, compressed %d", len(script), b.Len())
	if b.Len() > most {
		t.Errorf("the script has %d bytes compressed, more than %d", b.Len(), most)
	}
}

// What is committed is what the sources make, and the sources pass their compiler.
func TestBundleIsFresh(t *testing.T) {
	node, missing := exec.LookPath("node")
	if missing == nil {
		_, missing = os.Stat("node_modules")
	}
	if missing != nil {
		t.Skip("needs: node, and `npm ci --prefix web`")
	}
	for _, args := range [][]string{{"build.mjs", "--check"}, {"node_modules/typescript/bin/tsc"}} {
		if out, err := exec.Command(node, args...).CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", args, err, testgo.Excerpt(out))
		}
	}
}

// No file of the page depends on itself through others.
func TestSourcesDependOneWay(t *testing.T) {
	files, err := filepath.Glob("src/*.ts")
	if err != nil || len(files) == 0 {
		t.Fatalf("no sources: %v", err)
	}
	imports := regexp.MustCompile(`from "\./(\w+)\.js"`)
	uses := make(map[string][]string)
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(f), ".ts")
		for _, m := range imports.FindAllSubmatch(text, -1) {
			uses[name] = append(uses[name], string(m[1]))
		}
	}
	var visit func(name string, path []string)
	done := make(map[string]bool)
	visit = func(name string, path []string) {
		if i := slices.Index(path, name); i >= 0 {
			t.Errorf("these files depend on each other: %s", strings.Join(append(path[i:], name), " -> "))
			return
		}
		if done[name] {
			return
		}
		for _, used := range uses[name] {
			visit(used, append(slices.Clone(path), name))
		}
		done[name] = true
	}
	for name := range uses {
		visit(name, nil)
	}
	if len(uses["main"]) == 0 {
		t.Error("no import was found")
	}
}
