package presence

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNoWallClock: who is gone, who may claim, and how old an append is, depend on no clock that somebody can set. The times of Go have a monotonic reading too,
// which counts as long as nobody makes a date or a number of them. Presence reads the clock that its caller gives it.
func TestNoWallClock(t *testing.T) {
	dates := regexp.MustCompile(`\.(Unix|UnixMilli|UnixMicro|UnixNano|UTC|Local|Round|Format|AppendFormat)\(|time\.(Date|Unix|UnixMilli)\(`)
	for dir, no := range map[string]*regexp.Regexp{
		".":                      regexp.MustCompile(`time\.(Now|Since|Until)\(`),
		"../../../session/lease": regexp.MustCompile(`"time"`),
		"../heartbeat":           dates,
		"../lists":               dates,
		"../node":                dates,
		"../../../session/jet":   dates,
	} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%d files in %s, %v", len(files), dir, err)
		}
		for _, name := range files {
			source, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if found := no.Find(source); found != nil && !strings.HasSuffix(name, "_test.go") {
				t.Errorf("%s has %s", name, found)
			}
		}
	}
}
