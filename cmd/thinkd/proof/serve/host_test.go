package serve

import (
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/cmd/thinkd/proof/inside"
)

// A daemon in the foreground stays, whatever version asks it to leave.
func TestServeStays(t *testing.T) {
	t.Parallel()
	data := proof.DataDir(t)
	s := proof.StartServe(t, proof.Command(t, []string{inside.VersionVariable + "=1.0.0"}, proof.ServeArgs(data)...))
	p := proof.Door(t, data, []string{inside.VersionVariable + "=2.0.0"})
	p.Must("ping", nil, nil)
	if status := proof.TheDaemon(t, data); status.PID != s.Cmd.Process.Pid || status.Version != "1.0.0" {
		t.Errorf("the daemon is %+v", status)
	}
	p.End() // only then all of its standard error is here
	if log := p.Log(); !strings.Contains(log, "runs with version 1.0.0, not 2.0.0. To restart") {
		t.Errorf("the door says %q", log)
	}
	s.Terminate()
}
