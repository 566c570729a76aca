package doctor

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/thinkd/thinkd/cmd/thinkd/daemon"
	"github.com/thinkd/thinkd/cmd/thinkd/printable"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/door"
)

// A Doctor checks the installation that the options select.
type Doctor struct {
	Report
	Options daemon.Options
	All     bool // lists each protected place, where the findings otherwise count them
}

// A Report makes findings. Found gets each as soon as it is made: it prints the finding, or keeps it for [ProblemsFirst].
type Report struct{ Found func(Finding) }

// State says what a finding means.
type State string

const (
	Bad  State = "bad"  // a problem
	Note State = "note" // nothing protects this; the installation works
	OK   State = "ok"
)

// Words lists all states, problems first.
func (State) Words() []string { return provider.Words(Bad, Note, OK) }

// A Finding is one thing that was checked.
type Finding struct {
	State State  `json:"state"`
	What  string `json:"what"` // was checked, such as "store" or "provider openai"
	Text  string `json:"text"` // may have several lines
}

// Print writes the finding for a person. On a terminal, lines break between words.
func (f Finding) Print(out io.Writer) error {
	text := fmt.Sprintf("%-5s %s: %s", f.State, f.What, f.Text)
	_, err := fmt.Fprintln(out, printable.Wrap(text, printable.Columns(out), len("note  ")))
	return err
}

// ProblemsFirst sorts findings by their states, and keeps the order of those with the same state.
func ProblemsFirst(list []Finding) {
	rank := (State("")).Words()
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Compare(slices.Index(rank, string(a.State)), slices.Index(rank, string(b.State)))
	})
}

// Add makes a finding: that something is as it should be, or what is wrong with it. It reports which of both.
func (r Report) Add(what string, err error, text string) bool {
	if err != nil {
		r.Found(Finding{Bad, what, err.Error()})
		return false
	}
	r.Found(Finding{OK, what, text})
	return true
}

// Note makes a finding about what nothing protects. It is no fault of the installation.
func (r Report) Note(what, text string) { r.Found(Finding{Note, what, text}) }

// Store makes the findings of a check of a store, one for each session that is damaged.
func (r Report) Store(what, path string, s door.StoreReport) bool {
	well := r.Add(what, nil, fmt.Sprintf("%s: %d sessions, %d entries; %d KiB, of which %d KiB are free",
		path, s.Sessions, s.Entries, s.Size>>10, s.Free>>10))
	for _, damage := range s.Damaged {
		well = r.Add("session "+string(damage.Session), fmt.Errorf("%s", damage.Error), "") && well
	}
	return well
}
