package web

import (
	"io"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
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
		"/":            {"text/html; charset=utf-8", `<a href="/protocol.md">`},
		"/protocol.md": {"text/plain; charset=utf-8", "\n## Methods\n"},
	} {
		w := httptest.NewRecorder()
		Pages()[path].ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		text, err := io.ReadAll(w.Body)
		if err != nil || w.Header().Get("Content-Type") != want.kind || !strings.Contains(string(text), want.text) {
			t.Errorf("%s: %v, %v, %s", path, err, w.Header(), text)
		}
	}
	for _, forbidden := range []string{"<script", "<style", "<img", "javascript:", "http://", "https://"} {
		if strings.Contains(index, forbidden) {
			t.Errorf("the page has %q in it", forbidden)
		}
	}
}
