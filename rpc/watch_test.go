package rpc

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/session"
)

// listUpdates are those that the client has read so far.
func (s *stage) listUpdates() (list []gjson.Result) {
	synctest.Wait()
	for _, message := range s.messages() {
		if m := gjson.Parse(message); m.Get("method").Str == "list_update" {
			list = append(list, m.Get("params"))
		}
	}
	return list
}

// A client that does not read holds up no session. It gets what fits, learns that it missed the rest, and watches again.
func TestWatchBySlowClient(t *testing.T) {
	onStage(t, "say Hello.", 0, func(s *stage) {
		s.result("session/watch", map[string]any{"limit": 0})
		<-s.gate // it reads no more
		sessions := s.group.For(session.Operator)
		const n = 5000
		for i := range n {
			if i == 1 {
				synctest.Wait() // the first one is on its way to the client before the others come
			}
			_, err := sessions.Create(s.Context(), session.Session{Title: fmt.Sprint(i), Settings: session.Settings{Model: session.ModelRef{Provider: "sim", ID: "claude"}}})
			if err != nil {
				s.Fatal(err)
			}
		}
		s.gate <- struct{}{} // it reads again
		updates := s.listUpdates()
		seen := 0
		for _, u := range updates {
			seen += int(u.Get("created.#").Int())
		}
		if last := updates[len(updates)-1]; !last.Get("stale").Bool() || seen == 0 || seen > n/2 {
			t.Errorf("%d sessions came in %d updates, the last of them %.100s", seen, len(updates), last.Raw)
		}
		list := s.result("session/watch", map[string]any{"limit": 2})
		if list.Get("sessions.#").Int() != 2 || list.Get("sessions.0.title").Str != fmt.Sprint(n-1) || list.Get("next_cursor").Str == "" {
			t.Errorf("%.300s", list.Raw)
		}
		id := s.result("session/new", map[string]any{"model_id": "anthropic/claude-opus-5-5"}).Get("session_id").Str
		s.result("session/prompt", map[string]any{"session_id": id, "text": "Hi"})
		time.Sleep(time.Second)
		again := s.listUpdates()[len(updates):]
		if len(again) == 0 || again[0].Get("created.0.session_id").Str != id || again[len(again)-1].Get("changed.0.needs").Str != "read" {
			t.Errorf("%v", again)
		}
	})
}

// A session that is larger than an update has one alone, and nothing comes after unwatch.
func TestWatchBounds(t *testing.T) {
	onStage(t, "", 0, func(s *stage) {
		id := s.result("session/new", map[string]any{}).Get("session_id").Str
		s.result("session/watch", map[string]any{"limit": 0})
		large := strings.Repeat("y", 60<<10)
		s.result("session/update", map[string]any{"session_id": id, "metadata": map[string]any{"large": large}})
		s.result("session/unwatch", map[string]any{})
		s.result("session/update", map[string]any{"session_id": id, "title": "after"})
		updates := s.listUpdates()
		if len(updates) != 1 || updates[0].Get("changed.0.metadata.large").Str != large {
			t.Errorf("%d updates", len(updates))
		}
	})
}
