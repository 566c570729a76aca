package doctor

import (
	"fmt"
	"io"
	"strings"

	"github.com/thinkd/thinkd/cmd/thinkd/daemon"
	"github.com/thinkd/thinkd/rpc/door"
)

// A Doctor checks the installation that the options select.
type Doctor struct {
	Report
	Options daemon.Options
}

// A Report is lines for a person.
type Report struct{ Out io.Writer }

// Finding prints one line: that something is as it should be, or what is wrong with it. It reports which of both.
func (r Report) Finding(what string, err error, text string) bool {
	if err != nil {
		fmt.Fprintf(r.Out, "bad   %s: %v\n", what, err)
		return false
	}
	fmt.Fprintf(r.Out, "ok    %s: %s\n", what, text)
	return true
}

// problemsFirst moves the findings that are bad to the front. A finding may have several lines: all but its first have no word in front.
func problemsFirst(text string) string {
	var bad, rest strings.Builder
	to := &rest
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "bad   "):
			to = &bad
		case strings.HasPrefix(line, "ok    "), strings.HasPrefix(line, "note  "):
			to = &rest
		}
		to.WriteString(line)
	}
	return bad.String() + rest.String()
}

// Store prints what a check found, a line for each session that is damaged.
func (r Report) Store(what, path string, s door.StoreReport) bool {
	well := r.Finding(what, nil, fmt.Sprintf("%s: %d sessions, %d entries; %d KiB, of which %d KiB are free",
		path, s.Sessions, s.Entries, s.Size>>10, s.Free>>10))
	for _, d := range s.Damaged {
		well = r.Finding("session "+string(d.Session), fmt.Errorf("%s", d.Error), "") && well
	}
	return well
}

// unprotected prints a line about what nothing protects. It is no fault of the installation.
func (r Report) unprotected(what, text string) { fmt.Fprintf(r.Out, "note  %s: %s\n", what, text) }
