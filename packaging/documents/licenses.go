package main

import (
	"fmt"
	"io"
	"strings"
)

// licenses writes the list as a page of the documentation. It has no versions: it changes only if a component comes or goes, or
// changes its licence.
func licenses(out io.Writer, list []component) error {
	var b strings.Builder
	b.WriteString(`# Third-party licences

These components are part of a program or of its page. Each release contains their licences in full, in the file
` + "`THIRD_PARTY_LICENSES.txt`" + `. The command ` + "`go run ./packaging/documents licenses`" + ` writes this page, and a test compares it with the modules that
the builds for Linux, macOS and Windows link. What ` + "`thinkd`" + ` has, ` + "`thinkd-store`" + ` may have too.

| component | part of | licence |
|---|---|---|
`)
	for _, c := range list {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.name, c.where, c.license)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// texts writes each licence once, below the names of the components that have it.
func texts(out io.Writer, list []component) error {
	var b strings.Builder
	b.WriteString("thinkd contains the components below. Their licences follow.\n")
	names, order := make(map[string][]string), []string{}
	for _, c := range list {
		if names[c.text] == nil {
			order = append(order, c.text)
		}
		names[c.text] = append(names[c.text], c.name+" "+c.version)
	}
	for _, text := range order {
		fmt.Fprintf(&b, "\n%s\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(names[text], "\n"), strings.Repeat("=", 80), strings.Trim(text, "\n"))
	}
	_, err := io.WriteString(out, b.String())
	return err
}
