package daemon

import (
	"context"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/door"
)

// While a daemon listens for one command, it refuses to listen for another. It stops listening when that command ends, or when the
// daemon itself ends.
func TestListenForACommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := Options{LogTo: io.Discard, Getenv: proof.Environment(), ConfigPath: proof.WriteConfig(t, ""), DataDir: dir,
		LogLevel: "warn", LogFormat: "text"}
	h, err := p.host(t.Context(), dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	testgo.Go(t, func() { ended <- h.run(ctx) })
	greeted := func() *door.Link {
		t.Helper()
		link, err := Greet(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		return link
	}
	a, b := greeted(), greeted()
	if _, err := a.Listen("nowhere"); err == nil || !strings.Contains(err.Error(), "address") {
		t.Errorf("listening nowhere: %v", err)
	}
	url, err := a.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	token, err := os.ReadFile(filepath.Join(dir, "token"))
	if err != nil || !strings.HasSuffix(url, "/#token="+strings.TrimSpace(string(token))) {
		t.Errorf("the address is %s, %v", url, err)
	}
	page, _, _ := strings.Cut(url, "#")
	if _, err := b.Listen("127.0.0.1:0"); err == nil || err.Error() != "the daemon listens already, at "+page {
		t.Errorf("a second listener: %v", err)
	}
	c := greeted()
	if want := (door.Status{Version: h.version, PID: os.Getpid(), Started: h.started.UnixMilli(), Inputs: h.daemon.inputs.Sum,
		Variables: strings.Join(h.daemon.inputs.Variables, " "), Clients: 3, Listen: page, MessageBytes: 8 << 20, SpreadMS: 3}); c.Status != want {
		t.Errorf("the status is %+v, want %+v", c.Status, want)
	}
	if theirs, err := c.Config(); err != nil || theirs.Path != h.daemon.configPath || !maps.Equal(theirs.Facts, h.daemon.inputs.Facts) {
		t.Errorf("the config is %+v, %v; want %+v", theirs, err, h.daemon.inputs.Facts)
	}
	if !healthy(page) {
		t.Error("nobody listens")
	}
	a.Close()
	for { // the place is free soon after its end
		if url, err = b.Listen("127.0.0.1:0"); err == nil {
			break
		}
		if _, busy := err.(*conn.Error); !busy {
			t.Fatal(err)
		}
	}
	if healthy(page) {
		t.Error("the first listener is still there")
	}
	page, _, _ = strings.Cut(url, "#")
	end()
	if err := <-ended; err != nil {
		t.Errorf("the daemon ends with %v", err)
	}
	if healthy(page) {
		t.Error("the second listener outlives the daemon")
	}
	b.Close()
	c.Close()
}

func healthy(page string) bool {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get(page + "healthz")
	if err != nil {
		return false
	}
	answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}
