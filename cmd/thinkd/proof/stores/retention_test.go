package stores

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/bolt"
	"github.com/thinkd/thinkd/session/storetest"
)

// A daemon with [retention] deletes the sessions that are old enough when it starts, and no byte of them is left in its files.
func TestRetention(t *testing.T) {
	t.Parallel()
	const secret = "canary of an old session"
	data := t.TempDir()
	store, err := bolt.Open(data, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	of := store.For(session.Operator)
	now := time.Now()
	for n, age := range []time.Duration{0, 100, 200, 300} {
		at := now.Add(-age * 24 * time.Hour).UnixMilli()
		s := session.Session{ID: storetest.ID(n), Created: at, Updated: at, Settings: session.Settings{Model: session.ModelRef{Provider: "sim", ID: "claude"}}}
		said := storetest.Said(storetest.TurnA, secret)
		switch n {
		case 0:
			said = storetest.Said(storetest.TurnA, "a new session")
		case 3:
			s.Pinned, said = []session.MessageID{"UT"}, storetest.Said(storetest.TurnA, "pinned")
		}
		prompt := said.Body.(session.Prompt)
		prompt.Append = true // no model is called
		said.Time, said.Body = at, prompt
		storetest.Create(t, of, s)
		storetest.Add(t, of, s.ID, said, session.Entry{Time: at, Turn: storetest.TurnA, Body: session.TurnEnd{StopReason: session.StopEndTurn}})
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	_, env := proof.Simulator(t, sim.Config{})
	config := proof.WriteConfig(t, "[retention]\nolder_than = \"90d\"\n")
	p := proof.Start(t, data, env, "--config", config)
	var list struct {
		Sessions []struct {
			ID string `json:"session_id"`
		}
	}
	left := func() int {
		p.Must("session/list", map[string]any{}, &list)
		return len(list.Sessions)
	}
	gone := func() bool {
		text, err := os.ReadFile(filepath.Join(data, "thinkd.db"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return left() == 2 && !bytes.Contains(text, []byte(secret))
	}
	for begun := time.Now(); !gone(); proof.Moment(10 * time.Millisecond) {
		if time.Since(begun) > proof.Patience {
			t.Fatalf("%d sessions are left, or their bytes", left())
		}
	}
	p.End()
	report, err := bolt.CheckFile(t.Context(), filepath.Join(data, "thinkd.db"))
	if err != nil || report.Sessions != 2 {
		t.Errorf("%+v, %v", report, err)
	}
}
