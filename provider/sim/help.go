package sim

import (
	"fmt"
	"strings"
)

// Help describes the marker, with which a prompt requests a particular answer.
func Help() string {
	var b strings.Builder
	b.WriteString(`The simulator checks each request as the vendor would. It answers with thinking and text made from
the prompt. A marker in the last prompt requests a particular answer, for example

  Which date is later? [[sim: thinking=300 text=200 pace=50 fault=overloaded after=20]]

Words of the marker:

`)
	for _, w := range words {
		fmt.Fprintf(&b, "  %-14s %s\n", w.usage, w.help)
	}
	b.WriteString(`
Several markers that follow each other are the steps of one turn: a tool each, and at last the answer.

  [[sim: tool=todo args={"items":[{"content":"Look","status":"pending"}]}]] [[sim: tool=run]] [[sim: text=40]]

Each tool is called after the results of the one before. The last marker also describes the answer after its tool.
If the request does not offer a tool, or args do not fit its schema, the answer is a text that says so.

Faults:

`)
	line := " "
	for _, f := range faults {
		if len(line)+1+len(f) > 90 {
			b.WriteString(line + "\n")
			line = " "
		}
		line += " " + string(f)
	}
	b.WriteString(line + "\n")
	b.WriteString(`
The first twelve are errors of the vendor: an HTTP status, or with after= an error inside the stream.
cut breaks the connection, end ends the body without its last event, and stall sends nothing more.
Without after= these come before the answer, and a stall even before its header.
The simulator keeps nothing between requests, except the number of tries for times=.
`)
	for _, f := range faces() {
		b.WriteString("\n" + f.Help())
	}
	return b.String()
}
