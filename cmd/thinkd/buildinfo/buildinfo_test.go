package buildinfo

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDescribe(t *testing.T) {
	vcs := []debug.BuildSetting{{Key: "-trimpath", Value: "true"}, {Key: "vcs.revision", Value: "d76b35d"},
		{Key: "vcs.time", Value: "2026-11-23T02:05:50Z"}, {Key: "vcs.modified", Value: "true"}}
	for _, tt := range []struct {
		name, linked, stored string
		settings             []debug.BuildSetting
		want                 Build
	}{
		{"no version control", "", "(devel)", nil, Build{Version: Unknown}},
		{"no build information", "", "", nil, Build{Version: Unknown}},
		{"go install", "", "v1.2.3", nil, Build{Version: "1.2.3"}},
		{"a work tree with changes", "", "v0.0.0-20261123020550-d76b35dc6a12+dirty", vcs,
			Build{Version: "0.0.0-20261123020550-d76b35dc6a12+dirty", Revision: "d76b35d", Time: "2026-11-23T02:05:50Z", Modified: true}},
		{"a release", "1.2.3", "v0.0.0-20261123020550-d76b35dc6a12", vcs[:3],
			Build{Version: "1.2.3", Revision: "d76b35d", Time: "2026-11-23T02:05:50Z"}},
	} {
		tt.want.Go, tt.want.OS, tt.want.Arch = runtime.Version(), runtime.GOOS, runtime.GOARCH
		got := describe(tt.linked, &debug.BuildInfo{Main: debug.Module{Version: tt.stored}, Settings: tt.settings})
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestRead(t *testing.T) {
	if got := Read("v1.2.3"); got.Version != "1.2.3" || got.Go != runtime.Version() {
		t.Errorf("got %+v", got)
	}
}
