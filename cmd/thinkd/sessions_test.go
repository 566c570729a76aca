package main

import (
	"strings"
	"testing"
	"time"
)

// On a terminal each session has one line, which shows the title. In a pipe nothing is cut, and columns keep their places.
func TestSessionsFit(t *testing.T) {
	s := listedSession{ID: "01KAQ7M3GZ8M6C1V4J5N2R0T9W", Title: "Make the discounts independent of the zone of time", Status: "running", Needs: "approval"}
	s.Model.Provider, s.Model.ID = "anthropic", "claude-sonnet-5"
	began := time.UnixMilli(0).Format("2006-01-02 15:04")
	for columns, want := range map[int]string{
		0:  "01KAQ7M3GZ8M6C1V4J5N2R0T9W  " + began + "  running, needs approval  anthropic/claude-sonnet-5  0 tokens  -  " + s.Title,
		80: "01KAQ7M3GZ8M6C1V4J5N2R0T9W  " + began + "  Make the discounts …  running, ne…",
	} {
		var out strings.Builder
		if err := (sessionPage{Sessions: []listedSession{s}}).printIn(&out, columns); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSuffix(out.String(), "\n"); got != want {
			t.Errorf("at %d: %q, want %q", columns, got, want)
		}
	}
}
