package vendors

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider"
)

// catalogued is a server that tells its models.
type catalogued struct {
	models []provider.Model
	err    error
	asked  atomic.Int32
}

func (c *catalogued) Models(context.Context) ([]provider.Model, error) {
	c.asked.Add(1)
	return c.models, c.err
}

func sought(t *testing.T, address string, lister provider.Lister) *presence {
	p := seek(address, lister, false, slog.New(slog.DiscardHandler))
	t.Cleanup(p.close)
	return p
}

// again makes what is known old, and asks until the answer is as wanted.
func (p *presence) again(t *testing.T, want bool) {
	t.Helper()
	p.mu.Lock()
	p.asked = p.asked.Add(-2 * newsFor)
	p.mu.Unlock()
	p.here()
	p.asking.Wait()
	if got := p.here(); got != want {
		t.Errorf("the server is here: %v", got)
	}
}

func TestPresence(t *testing.T) {
	redirecting := proof.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/elsewhere" {
			t.Error("a redirect on the same server was followed")
		}
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	}))
	refusing := proof.Serve(t, http.NotFoundHandler())
	for address, want := range map[string]bool{redirecting: true, refusing: true, proof.Nobody: false, "http://127.0.0.1:1/%": false} {
		p := sought(t, address, nil)
		if got := p.here(); got != want {
			t.Errorf("%s is here: %v", address, got)
		}
		if len(p.has()) > 0 {
			t.Errorf("%s has models", address)
		}
	}
}

// A server that takes a connection and says nothing holds up nobody for long.
func TestPresenceOfTheSilent(t *testing.T) {
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer silent.Close()
	began := time.Now()
	p := sought(t, silent.URL, nil)
	if p.here() {
		t.Error("a server that does not answer is here")
	}
	if took := time.Since(began); took < answersIn { // the server never answers, so that the result shows that the wait has an end
		t.Errorf("that took %v", took)
	}
}

// What a server has is asked for with the first answer, and again when that is old; a failure takes nothing away.
func TestPresenceLists(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	c := &catalogued{models: []provider.Model{{ID: "a"}}}
	p := sought(t, server.URL, c)
	for range 3 {
		if list := p.has(); len(list) != 1 || list[0].ID != "a" {
			t.Errorf("it has %+v", list)
		}
	}
	if n := c.asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
	c.models, c.err = nil, errors.New("busy")
	p.again(t, true)
	if n := c.asked.Load(); n != 2 || len(p.has()) != 1 {
		t.Errorf("asked %d times; it has %+v", n, p.has())
	}
	c.models, c.err = []provider.Model{{ID: "b"}, {ID: "c"}}, nil
	p.again(t, true)
	if list := p.has(); len(list) != 2 {
		t.Errorf("it has %+v", list)
	}
	server.Close()
	p.again(t, false)
	if list := p.has(); len(list) != 0 {
		t.Errorf("when it is gone it has %+v", list)
	}
}

// Only what runs on this machine or its network without a key is looked for.
func TestLocal(t *testing.T) {
	for _, tt := range []struct {
		address, key string
		want         bool
	}{
		{"http://localhost:11434", "", true},
		{"http://127.0.0.1:8000/v1", "", true},
		{"http://192.168.1.7:1234", "", true},
		{"http://localhost:11434", "KEY", false},
		{"https://api.example.com", "", false},
		{"", "", false},
	} {
		if got := (Config{BaseURL: tt.address, KeyEnv: tt.key}).Local(); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

// Who answers at an address that nobody has named is taken for a model server when it has told its models.
func TestPresenceOfStrangers(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	c := &catalogued{err: errors.New("an HTML page")}
	p := seek(server.URL, c, true, slog.New(slog.DiscardHandler))
	t.Cleanup(p.close)
	if p.here() || len(p.has()) > 0 {
		t.Error("any server is taken for a model server")
	}
	c.models, c.err = []provider.Model{{ID: "a"}}, nil
	p.again(t, true)
	c.err = errors.New("busy")
	p.again(t, true)
	if list := p.has(); len(list) != 1 {
		t.Errorf("it has %+v", list)
	}
	server.Close()
	p.again(t, false)
}
