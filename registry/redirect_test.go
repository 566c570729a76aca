package registry

import (
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider"
)

// A name that its vendor redirects has its own rules until the day, and the successor's from midnight UTC on.
func TestRedirect(t *testing.T) {
	var now time.Time
	catalog := Default().At(func() time.Time { return now })
	at := func(text string) {
		t.Helper()
		var err error
		if now, err = time.Parse(time.RFC3339, text); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		at, pro, flash, proAs, flashAs string
		input                          float64 // of pro, USD per million tokens
	}{
		{"2026-11-22T00:00:00Z", "budget low medium high*", "budget off low medium high*", "", "", 1.25},
		{"2026-11-30T23:59:59Z", "budget low medium high*", "budget off low medium high*", "", "", 1.25},
		{"2026-12-01T01:30:00+02:00", "budget low medium high*", "budget off low medium high*", "", "", 1.25},
		{"2026-12-01T00:00:00Z", levelsOf(catalog.Model("gemini", "gemini-3.8-flash")), levelsOf(catalog.Model("gemini", "gemini-3.5-flash-lite")), "gemini-3.8-flash", "gemini-3.5-flash-lite", 0.75},
		{"2027-06-01T00:00:00Z", levelsOf(catalog.Model("gemini", "gemini-3.8-flash")), levelsOf(catalog.Model("gemini", "gemini-3.5-flash-lite")), "gemini-3.8-flash", "gemini-3.5-flash-lite", 0.75},
	} {
		at(test.at)
		pro, flash := catalog.Model("gemini", "gemini-2.5-pro"), catalog.Model("gemini", "gemini-2.5-flash")
		if levelsOf(pro) != test.pro || levelsOf(flash) != test.flash || pro.As != test.proAs || flash.As != test.flashAs {
			t.Errorf("%s: %s as %q, %s as %q; want %+v", test.at, levelsOf(pro), pro.As, levelsOf(flash), flash.As, test)
		}
		if pro.ID != "gemini-2.5-pro" || pro.Ref() != "gemini/gemini-2.5-pro" || !pro.Lifecycle.Redirects || pro.Price.Input != test.input {
			t.Errorf("%s: %+v", test.at, pro)
		}
		if (test.proAs != "") != (pro.Thinking.Off == provider.OffNever && flash.Thinking.Control == provider.ControlEffort) {
			t.Errorf("%s: %+v, %+v", test.at, pro.Thinking, flash.Thinking)
		}
		if found, err := catalog.Find("gemini/gemini-2.5-pro"); err != nil || found.As != test.proAs {
			t.Errorf("%s: found as %q, %v", test.at, found.As, err)
		}
		for _, m := range catalog.Models() {
			if m.Ref() == pro.Ref() && m.As != test.proAs {
				t.Errorf("%s: listed as %q", test.at, m.As)
			}
		}
		if lite := catalog.Model("gemini", "gemini-2.5-flash-lite"); lite.As != "" || lite.Thinking.Control != provider.ControlBudget {
			t.Errorf("%s: 2.5-flash-lite is not redirected, and is %+v", test.at, lite)
		}
	}
}

// What the operator configures for a model's thinking stays, also if the vendor redirects the model to another one.
func TestRedirectOfStatedRow(t *testing.T) {
	later := func() time.Time { return time.Date(2026, 12, 2, 0, 0, 0, 0, time.UTC) }
	for _, test := range []struct {
		row Row
		as  string
	}{
		{Row{ID: "gemini-2.5-pro", Control: provider.ControlBudget, Levels: []provider.Level{provider.High}}, ""},
		{Row{ID: "gemini-2.5-pro", Name: "Mine"}, "gemini-3.8-flash"},
	} {
		catalog, err := New([]Provider{{ID: "gemini", Vendor: "gemini", Rows: []Row{test.row}}})
		if err != nil {
			t.Fatal(err)
		}
		if m := catalog.At(later).Model("gemini", "gemini-2.5-pro"); m.As != test.as {
			t.Errorf("%+v: answered as %q, want %q", test.row, m.As, test.as)
		}
	}
}
