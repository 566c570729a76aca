package proof

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/logins"
)

// LoginHouse is a vendor that one logs in to: its login, and its API behind it.
type LoginHouse struct {
	Logins *logins.Server
	Vendor *sim.Server
	Data   string
	Flags  []string
	Said   []string // what processes wrote
}

// NothingLeaks looks for every secret that the login has handed out in all that was written. keys.json may have what
// lasts, and is for its owner alone.
func (h *LoginHouse) NothingLeaks(t *testing.T) {
	t.Helper()
	secrets := h.Logins.Issued()
	if len(secrets) < 3 {
		t.Errorf("%d secrets were handed out", len(secrets))
	}
	look := func(where, text string, kept bool) {
		for _, secret := range secrets {
			lasts := strings.HasPrefix(secret, "ghu_") || strings.HasPrefix(secret, "rt_")
			if strings.Contains(text, secret) && !(kept && lasts) {
				t.Errorf("%s has a secret: …%s…", where, secret)
			}
		}
	}
	for _, text := range h.Said {
		look("a process", text, false)
	}
	logged := false
	err := filepath.WalkDir(h.Data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		look(d.Name(), string(text), d.Name() == KeysFileName)
		logged = logged || d.Name() == LogFileName && strings.Contains(string(text), "DBG")
		if info, err := d.Info(); d.Name() == KeysFileName && (err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600) {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
		return err
	})
	if err != nil || !logged {
		t.Errorf("the files: %v; the log at debug is there: %v", err, logged)
	}
}

// LastRequest is the newest one that the API took.
func (h *LoginHouse) LastRequest(t *testing.T) sim.Request {
	t.Helper()
	all := h.Vendor.Requests()
	if len(all) == 0 {
		t.Fatal("no request came")
	}
	return all[len(all)-1]
}

// Begin runs a daemon of the house as commands do, and a client.
func (h *LoginHouse) Begin(t *testing.T) *Process {
	t.Helper()
	return StartCommand(t, Command(t, nil, append(append([]string{"--data", h.Data}, h.Flags...), "stdio")...), writerFunc(func(b []byte) (int, error) {
		h.Said = append(h.Said, string(b))
		return len(b), nil
	}))
}

func (h *LoginHouse) End(p *Process) {
	p.T.Helper()
	p.End()
	if err := Quit(h.Data); err != nil {
		p.T.Error(err)
	}
	h.Said = append(h.Said, p.Log())
}

// Progress waits for a word on a login.
func (h *LoginHouse) Progress(t *testing.T, p *Process, want string, do func(url, code string)) {
	t.Helper()
	var u struct{ Provider, State, URL, Code string }
	p.Wait("a login that is "+want, func(n Update) bool {
		if n.Method != "auth_update" {
			return false
		}
		if err := json.Unmarshal(n.Raw, &u); err != nil {
			t.Error(err)
		}
		if u.State == "failed" {
			t.Fatalf("the login failed: %s", n.Raw)
		}
		return u.State == want
	})
	if do != nil {
		do(u.URL, u.Code)
	}
}
