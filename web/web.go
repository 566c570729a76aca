// Package web serves the page for browsers, which is part of the binary. The page contains nothing secret: the token is in the fragment of
// its address, which browsers do not send.
//
// The page is written in TypeScript, in src, with the client library of clients/typescript. `npm run build` writes dist, which is committed,
// so a build of the program needs no node.
package web

import (
	_ "embed"
	"io"
	"net/http"
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

//go:embed dist/style.css
var style string

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
		"/":                     page("text/html; charset=utf-8", index),
		"/app.js":               page("text/javascript; charset=utf-8", script),
		"/style.css":            page("text/css; charset=utf-8", style),
		"/katex.js":             page("text/javascript; charset=utf-8", formulas),
		"/icon.svg":             page("image/svg+xml", icon),
		"/icon.png":             page("image/png", bitmap),
		"/manifest.webmanifest": page("application/manifest+json", manifest),
		"/protocol.md":          page("text/plain; charset=utf-8", protocol), // browsers show plain text, and save Markdown
	}
}

func page(kind, text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		io.WriteString(w, text) // an error is the client's: it has gone
	})
}
