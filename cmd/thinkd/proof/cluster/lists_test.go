//go:build long

package cluster

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/session/jet/jettest"
)

// listed is a list_update, and an answer to session/watch.
type listed struct {
	Sessions, Created, Changed []struct {
		ID     string `json:"session_id"`
		Title  string `json:"title"`
		Status string `json:"status"`
	}
	Removed []string
	Stale   bool
}

// shows waits for an update in which a session has a title and a status, and returns how long that took.
func (n *node) shows(p *proof.Process, id, title, status string) time.Duration {
	since := time.Now()
	p.Wait("the row "+title+", "+status, func(u proof.Update) bool {
		var l listed
		if u.Method != "list_update" || json.Unmarshal(u.Raw, &l) != nil {
			return false
		}
		for _, row := range append(l.Created, l.Changed...) {
			if row.ID == id && row.Title == title && row.Status == status {
				return true
			}
		}
		return false
	})
	return time.Since(since)
}

// TestWatchedLists: clients at one node watch the list while the sessions are at another one, which is killed in a turn.
func TestWatchedLists(t *testing.T) {
	c := begin(t, jettest.Start(t, 3), 2)
	a, b := c.start("a"), c.start("b")
	at, late, bt := a.door(), a.door(), b.door()
	at.Must("session/watch", map[string]any{}, nil)
	session := bt.NewSession()
	t.Logf("a new session is in the list of the other node after %v", a.shows(at, session, "", "idle"))
	bt.Must("session/update", map[string]any{"session_id": session, "title": "Bees"}, nil)
	t.Logf("a title after %v", a.shows(at, session, "Bees", "idle"))
	c.vendor.Script(thinks())
	bt.Say(session, "Think.")
	t.Logf("a turn after %v", a.shows(at, session, "Bees", "running"))
	late.Must("session/watch", map[string]any{}, nil)
	t.Logf("a client that begins to watch hears of the turn after %v", a.shows(late, session, "Bees", "running"))

	killed := time.Now()
	bt.House = b.House
	bt.Kill()
	at.Wait("a stale list", func(u proof.Update) bool {
		var l listed
		return u.Method == "list_update" && json.Unmarshal(u.Raw, &l) == nil && l.Stale
	})
	t.Logf("the list is stale %v after the kill", time.Since(killed))
	var list listed
	at.Must("session/watch", map[string]any{}, &list)
	if len(list.Sessions) != 1 {
		t.Fatalf("%+v", list)
	}
	if list.Sessions[0].Status != "idle" { // it was not taken over yet
		a.shows(at, session, "Bees", "idle")
	}
	t.Logf("the turn has ended in the list %v after the kill", time.Since(killed))

	b = c.start("b")
	bt = b.door()
	gone := bt.NewSession()
	a.shows(at, gone, "", "idle")
	bt.Must("session/delete", map[string]any{"session_id": gone}, nil)
	at.Wait("the deletion", func(u proof.Update) bool {
		var l listed
		return u.Method == "list_update" && json.Unmarshal(u.Raw, &l) == nil && len(l.Removed) == 1 && l.Removed[0] == gone
	})
	ends(at, late, bt, a, b)
}
