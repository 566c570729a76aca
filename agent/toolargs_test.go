package agent

import (
	"encoding/json"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/registry"
)

// A call whose arguments are no JSON object goes back to its own vendor with the error that answered it, and no stand-in
// refuses that.
func TestArgumentsThatAreNoJSON(t *testing.T) {
	catalog := registry.Default()
	for _, s := range seats {
		p := s.place(t, catalog)
		if !p.row.Tools {
			continue
		}
		t.Run(p.String(), func(t *testing.T) {
			for _, input := range []string{`{"path": "a`, `not JSON`, `[1]`, `"text"`} {
				r, end := on(nil)
				turn := r.prompt(p, provider.Text{Text: "Read it."})
				m, err := r.call(t.Context(), p, turn, sim.Part{Kind: sim.Call, Name: "read", Input: json.RawMessage(input)})
				if err != nil {
					t.Fatalf("%s: %v", input, err)
				}
				calls := m.Calls()
				if len(calls) != 1 {
					t.Fatalf("%s: %d calls", input, len(calls))
				}
				if calls[0].Invalid == "" && len(calls[0].Input) > 0 && calls[0].Input[0] != '{' {
					t.Errorf("%s came as arguments", input)
				}
				r.results(p, turn, m, 1)
				if _, err := r.call(t.Context(), p, turn, answered); err != nil {
					t.Errorf("%s: after the result: %v", input, err)
				}
				if err := end(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
