// Package web serves the page for browsers, which is part of the binary. The page contains nothing secret: the token is in the fragment of
// its address, which browsers do not send.
//
// The page is written in TypeScript, in src, with the client library of clients/typescript. `npm run build` writes dist, which is committed,
// so a build of the program needs no node.
package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// protocol is protocol.md of the repository's top, which no package can embed from there.
//
//go:generate go run copy.go
//go:generate go run ../clients/generate ../clients
//go:embed protocol.md
var protocol string

//go:embed dist/index.html
var index string

//go:embed dist/app.js
var script string

// formulas is KaTeX, which the page loads when an answer has a formula.
//
//go:embed dist/katex.js
var formulas string

//go:embed src/icon.svg
var icon string

//go:embed src/icon.png
var bitmap string

//go:embed src/manifest.webmanifest
var manifest string

// Pages are the pages by path, for reading requests.
func Pages() map[string]http.Handler {
	return map[string]http.Handler{
		"/":                     styled(page("text/html; charset=utf-8", index)),
		"/app.js":               page("text/javascript; charset=utf-8", script),
		"/katex.js":             page("text/javascript; charset=utf-8", formulas),
		"/icon.svg":             page("image/svg+xml", icon),
		"/icon.png":             page("image/png", bitmap),
		"/manifest.webmanifest": page("application/manifest+json", manifest),
		"/protocol.md":          page("text/plain; charset=utf-8", protocol), // browsers show plain text, and save Markdown
	}
}

// styled adds the hash of the page's style sheet to the policy that the server has set. The sheet is a part of the page, because a browser
// paints nothing before it has the sheet, and a request of its own takes another round trip. The hash allows this sheet and no other.
func styled(page http.Handler) http.Handler {
	allowed := sync.OnceValue(func() string {
		sum := sha256.Sum256([]byte(sheet(index)))
		return "style-src 'self' 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		policy := w.Header().Get("Content-Security-Policy")
		w.Header().Set("Content-Security-Policy", strings.Replace(policy, "style-src 'self'", allowed(), 1))
		page.ServeHTTP(w, r)
	})
}

// sheet is the style sheet of a page.
func sheet(page string) string {
	_, rest, _ := strings.Cut(page, "<style>")
	text, _, _ := strings.Cut(rest, "</style>")
	return text
}

// page serves a file of the program. A browser keeps it, and asks each time whether it is still the same one: a reload then costs a
// line of the network, and an upgrade of the daemon is seen at once.
func page(kind, text string) http.Handler {
	packed := sync.OnceValue(func() packedFile { return pack(text) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, file := w.Header(), packed()
		h.Set("Content-Type", kind)
		h.Set("Cache-Control", "no-cache")
		h.Set("Vary", "Accept-Encoding")
		body, tag := text, file.tag
		if file.gzip != "" && acceptsGzip(r) {
			h.Set("Content-Encoding", "gzip")
			body, tag = file.gzip, tag+"-gzip"
		}
		h.Set("ETag", `"`+tag+`"`)
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(body)) // an error is the client's: it has gone
	})
}

// packedFile is what a file's first reader makes of it: the daemon of an editor, whose page nobody opens, makes nothing.
type packedFile struct {
	tag  string // the same for the same text
	gzip string // empty: compressed it would not be smaller
}

func pack(text string) packedFile {
	sum := sha256.Sum256([]byte(text))
	file := packedFile{tag: hex.EncodeToString(sum[:12])}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := io.WriteString(z, text)
	if err = errors.Join(err, z.Close()); err != nil {
		panic(err) // a buffer takes everything
	}
	if b.Len() < len(text) {
		file.gzip = b.String()
	}
	return file
}

// acceptsGzip reports whether a client names gzip, as all browsers do. One that accepts it by a wildcard gets the text as it is.
func acceptsGzip(r *http.Request) bool {
	for _, list := range r.Header.Values("Accept-Encoding") {
		for coding := range strings.SplitSeq(list, ",") {
			name, weight, _ := strings.Cut(coding, ";")
			if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
				continue
			}
			_, q, found := strings.Cut(weight, "=")
			q = strings.TrimSpace(q)
			return !found || strings.Trim(q, "0.") != ""
		}
	}
	return false
}
