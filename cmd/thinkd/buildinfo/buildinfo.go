package buildinfo

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"strings"
)

// Unknown is the version of a binary that was built without version control. Any release is newer.
const Unknown = "0.0.0-dev"

// Build describes a binary. Its JSON is the output of `thinkd version --json`.
type Build struct {
	Version  string `json:"version"`            // a semantic version, without the v
	Revision string `json:"revision,omitempty"` // the commit; empty: unknown
	Time     string `json:"time,omitempty"`     // of the commit, RFC 3339 in UTC; empty: unknown
	Modified bool   `json:"modified"`           // the work tree had changes that are in no commit
	Go       string `json:"go"`                 // the version of Go
	OS       string `json:"os"`                 // GOOS
	Arch     string `json:"arch"`               // GOARCH
}

// Read describes this process's binary. linked is the version that a linker flag set; empty: there was none.
func Read(linked string) Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return describe(linked, info)
}

func describe(linked string, info *debug.BuildInfo) Build {
	stored := info.Main.Version
	if stored == "(devel)" {
		stored = ""
	}
	b := Build{Version: strings.TrimPrefix(cmp.Or(linked, stored, Unknown), "v"), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}
