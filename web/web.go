// Package web is what a browser is shown: static pages in the binary. They hold nothing secret, and no script.
package web

import (
	_ "embed"
	"io"
	"net/http"
)

// protocol is protocol.md of the repository's top, which no package can embed from there.
//
//go:generate go run copy.go
//go:generate go run ../clients/typescript/generate ../clients/typescript/src/types.ts
//go:embed protocol.md
var protocol string

//go:embed index.html
var index string

// Pages are the pages by path, for reading requests.
func Pages() map[string]http.Handler {
	return map[string]http.Handler{
		"/":            page("text/html; charset=utf-8", index),
		"/protocol.md": page("text/plain; charset=utf-8", protocol), // browsers show plain text, and save Markdown
	}
}

func page(kind, text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		io.WriteString(w, text) // an error is the client's: it has gone
	})
}
