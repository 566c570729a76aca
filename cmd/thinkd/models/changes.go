package models

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
)

// Changes prints what a refresh has changed, and who says so.
func Changes(out io.Writer, answer json.RawMessage) error {
	var list struct {
		Changes []registry.Change
		More    int
	}
	if err := json.Unmarshal(answer, &list); err != nil {
		return fmt.Errorf("models/list: %w", err)
	}
	for _, c := range list.Changes {
		switch {
		case c.Fact == "model":
			fmt.Fprintf(out, "thinkd: new: %s: %s (%s)\n", c.Model, cmp.Or(c.To, "levels unknown"), because(c.Is))
		default:
			fmt.Fprintf(out, "thinkd: changed: %s: %s: %s (%s) -> %s (%s)\n", c.Model, c.Fact, cmp.Or(c.From, "unknown"), because(c.Was), cmp.Or(c.To, "unknown"), because(c.Is))
		}
	}
	if list.More > 0 {
		fmt.Fprintf(out, "thinkd: and %d more changes\n", list.More)
	}
	return nil
}

// because is who states a fact, how sure it is, and of which day.
func because(f *provider.Fact) string {
	if f == nil {
		return "nobody says"
	}
	return strings.TrimSpace(fmt.Sprintf("%s: %s %s", f.State, f.Source, f.AsOf))
}

// Refreshed prints which vendors gave their list, and why the others did not. It reports whether one failed.
func Refreshed(out io.Writer, answer json.RawMessage) (failed bool, err error) {
	var list struct{ Refresh []registry.Refreshed }
	if err := json.Unmarshal(answer, &list); err != nil {
		return false, fmt.Errorf("models/list: %w", err)
	}
	for _, r := range list.Refresh {
		if r.Error != "" {
			failed = true
			fmt.Fprintf(out, "thinkd: %s\n", r.Error)
			continue
		}
		fmt.Fprintf(out, "thinkd: %s lists %d models\n", r.Provider, r.Models)
		for _, row := range r.Skipped {
			fmt.Fprintf(out, "thinkd: left out: %s\n", row)
		}
	}
	return failed, nil
}
