package daemon

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session/mem"
)

// A vendor's list that never comes holds up nobody: not the start, not the list of models, not a turn, and not the
// client that has waited long enough.
func TestDeadListing(t *testing.T) {
	t.Parallel()
	asked, gone := make(chan struct{}, 1), make(chan struct{}, 1)
	dead := proof.Serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
		gone <- struct{}{}
	}))
	p := Options{LogTo: io.Discard, LogLevel: "error", LogFormat: "text",
		Getenv:     proof.Environment(append(proof.NobodyHere, "ANTHROPIC_API_KEY=sk", "ANTHROPIC_BASE_URL="+dead)...),
		ConfigPath: proof.WriteConfig(t, "model = \"sim/claude\"\nmodels_dev = \"\"")}
	d, err := p.open(t.Context(), mem.New())
	if err != nil {
		t.Fatal(err)
	}
	link := linked(t, d)
	ctx, cancel := context.WithCancelCause(t.Context())
	refreshed := make(chan error, 1)
	testgo.Go(t, func() { // ends with ctx, and is waited for below
		_, err := d.models.lists.Refresh(ctx, "")
		refreshed <- err
	})
	<-asked
	var list struct{ Models []json.RawMessage }
	if err := link.Call("models/list", map[string]any{}, &list); err != nil || len(list.Models) < 150 {
		t.Errorf("%d models, %v", len(list.Models), err)
	}
	newConversation(t, link, "sim/claude").say("Which date is later? [[sim: thinking=1 text=1 pace=0]]")
	select {
	case err := <-refreshed:
		t.Errorf("the refresh ended before its client did: %v", err)
	default:
	}
	enough := errors.New("enough")
	cancel(enough)
	if err := <-refreshed; !errors.Is(err, enough) {
		t.Errorf("%v", err)
	}
	<-gone
	if m := d.models.lists.Current().Model("anthropic", "claude-opus-5-5"); m.Source != provider.FromCatalog {
		t.Errorf("%+v", m)
	}
}

// askModels is a client that asks for all models, and looks at no more than where the answer ends.
func askModels(t testing.TB) (ask func()) {
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := Options{LogTo: io.Discard, LogLevel: "error", LogFormat: "text", Getenv: proof.Environment(proof.NobodyHere...), ConfigPath: path}
	d, err := p.open(t.Context(), mem.New())
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := net.Pipe()
	served := make(chan struct{})
	testgo.Go(t, func() { // ends when ours is closed; the cleanup waits
		defer close(served)
		d.server.Serve(context.WithoutCancel(t.Context()), theirs)
	})
	t.Cleanup(func() {
		ours.Close()
		<-served
		if err := d.close(); err != nil {
			t.Error(err)
		}
	})
	in := bufio.NewReaderSize(ours, 1<<20)
	return func() {
		if _, err := io.WriteString(ours, `{"jsonrpc":"2.0","id":1,"method":"models/list"}`+"\n"); err != nil {
			t.Fatal(err)
		}
		if answer, err := in.ReadSlice('\n'); err != nil || len(answer) < 20_000 {
			t.Fatalf("%d bytes, %v", len(answer), err)
		}
	}
}

// BenchmarkModelsList is the list of all models, from a client's request to its answer.
func BenchmarkModelsList(b *testing.B) {
	ask := askModels(b)
	b.ReportAllocs()
	for b.Loop() {
		ask()
	}
}
