package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/agent/retention"
)

func TestRetention(t *testing.T) {
	const day = 24 * time.Hour
	none := func(string) string { return "" }
	c, err := Parse("", []byte(`[retention]
older_than = "90d"
[[retention.rules]]
cwd = "/work/secret"
older_than = "12h"
keep_pinned = false
[[retention.rules]]
agent = "reviewer"
older_than = "never"
`), none)
	want := retention.Rules{{CWD: "/work/secret", OlderThan: 12 * time.Hour}, {Agent: "reviewer", KeepPinned: true}, {OlderThan: 90 * day, KeepPinned: true}}
	if diff := cmp.Diff(want, c.Retention); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if c, err := Parse("", nil, none); err != nil || len(c.Retention) > 0 {
		t.Errorf("without the table: %v, %v", c.Retention, err)
	}
	for doc, words := range map[string]string{
		"[retention]\nolder_than = \"90\"":                                           "retention.older_than: must be an age",
		"[retention]\nolder_than = \"0d\"":                                           "retention.older_than: must be an age",
		"[retention]\nolder_than = \"-1d\"":                                          "retention.older_than: must be an age",
		"[retention]\nolder_than = \"99999999d\"":                                    "retention.older_than: must be an age",
		"[retention]\nkeep_pinned = true":                                            "retention.keep_pinned: has no effect",
		"[retention]\n[[retention.rules]]\nolder_than = \"1d\"":                      "must have cwd or agent",
		"[retention]\n[[retention.rules]]\ncwd = \"work\"\nolder_than = \"1d\"":      "must be an absolute path",
		"[retention]\n[[retention.rules]]\nagent = \"a\"\nolder_than = \"tomorrow\"": "must be an age",
		"[retention]\nolder = \"1d\"":                                                "older",
	} {
		if _, err := Parse("", []byte(doc), none); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s\nwant %q: %v", doc, words, err)
		}
	}
}
