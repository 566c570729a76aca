package rpc

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/conntest"
)

// ask sends a request and gives its answer, which must be there at once.
func (s *stage) ask(method string, params map[string]any) gjson.Result {
	s.Helper()
	text, err := json.Marshal(params)
	if err != nil {
		s.Fatal(err)
	}
	id := fmt.Sprint(1000 + len(s.sent))
	s.send(conntest.Request(id, method, string(text)))
	synctest.Wait()
	return s.answer(id)
}

// messages is what came back so far.
func (s *stage) messages() []string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.heard)
}

func (s *stage) answer(id string) gjson.Result {
	s.Helper()
	for _, message := range s.messages() {
		if m := gjson.Parse(message); !m.Get("method").Exists() && m.Get("id").Raw == id {
			return m
		}
	}
	s.Fatalf("no answer to %s", id)
	return gjson.Result{}
}

// result is ask where nothing goes wrong.
func (s *stage) result(method string, params map[string]any) gjson.Result {
	s.Helper()
	a := s.ask(method, params)
	if !a.Get("result").Exists() {
		s.Fatalf("%s: %s", method, a.Raw)
	}
	return a.Get("result")
}

// refused is the code and the member of an answer that is an error.
func (s *stage) refused(method string, params map[string]any) string {
	s.Helper()
	e := s.ask(method, params).Get("error")
	return strings.TrimSpace(fmt.Sprint(e.Get("code").Int(), " ", e.Get("data.field").String()))
}

// onStage plays in a bubble.
func onStage(t *testing.T, script string, messageBytes int, play func(*stage)) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, script, messageBytes, "")
		defer s.close()
		play(s)
	})
}

func TestWaitEndsWithTheSession(t *testing.T) {
	onStage(t, "wait 1h", 0, func(s *stage) {
		id := s.result("session/new", map[string]any{"model_id": "anthropic/claude-opus-5-5"}).Get("session_id").String()
		turn := s.result("session/prompt", map[string]any{"session_id": id, "text": "one"}).Get("turn_id").String()
		s.send(conntest.Request(1, "turn/wait", fmt.Sprintf(`{"session_id":%q,"turn_id":%q}`, id, turn)))
		s.send(conntest.Request(2, "turn/wait", fmt.Sprintf(`{"session_id":%q,"turn_id":%q}`, id, id)))
		synctest.Wait()
		s.result("session/delete", map[string]any{"session_id": id})
		for _, wait := range []string{"1", "2"} {
			if code := s.answer(wait).Get("error.code").Int(); code != int64(conn.CodeNotFound) {
				t.Errorf("%s", s.answer(wait))
			}
		}
	})
}

// Pages hold no more than a message may, leave nothing out, and repeat nothing.
func TestPagesFit(t *testing.T) {
	const limit = 20_000
	var script strings.Builder
	for i := range 12 {
		fmt.Fprintf(&script, "think %s\nsay %s\n\n", strings.Repeat("a", 300*i), strings.Repeat("b", 500*i+1)) // an empty answer would be asked for again
	}
	fmt.Fprintf(&script, "say %s\npause\n\nsay %s\npause\n\nsay %s\npause\n\nsay %s…\nwait 1h",
		strings.Repeat("c", 30_000), strings.Repeat("d", 6000), strings.Repeat("e", 2000), strings.Repeat("f", 3000))
	onStage(t, script.String(), limit, func(s *stage) {
		on := map[string]any{"session_id": s.result("session/new", map[string]any{"model_id": "anthropic/claude-opus-5-5"}).Get("session_id").String()}
		with := func(more map[string]any) map[string]any {
			more["session_id"] = on["session_id"]
			return more
		}
		for range 13 {
			s.result("session/prompt", with(map[string]any{"text": "say"}))
			time.Sleep(time.Second)
		}

		var back, forth, exported []string
		cursor := with(map[string]any{"limit": 5})
		pages := 0
		for more := true; more; pages++ {
			r := s.result("session/history", cursor)
			page := ids(r.Get("messages"))
			back = append(page, back...)
			cursor["before"], more = page[0], r.Get("more").Bool()
		}
		if pages < 8 {
			t.Errorf("%d pages", pages)
		}
		cursor = with(map[string]any{"after": back[0]})
		forth = back[:1]
		for more := true; more; {
			r := s.result("session/history", cursor)
			forth = append(forth, ids(r.Get("messages"))...)
			cursor["after"], more = forth[len(forth)-1], r.Get("more").Bool()
		}
		if len(back) != 13+12+4 || !cmp.Equal(back, forth) {
			t.Errorf("%d messages backward, %d forward\n%s", len(back), len(forth), testgo.Excerpt(cmp.Diff(back, forth)))
		}
		cursor = with(map[string]any{"format": "json"})
		for more := true; more; {
			r := s.result("session/export", cursor)
			exported = append(exported, ids(r.Get("messages"))...)
			cursor["cursor"], more = r.Get("next_cursor").String(), r.Get("next_cursor").Exists()
		}
		if !cmp.Equal(back, exported) {
			t.Errorf("exported:\n%s", testgo.Excerpt(cmp.Diff(back, exported)))
		}
		cursor = with(map[string]any{"format": "markdown", "thinking": false})
		text := ""
		for more := true; more; {
			r := s.result("session/export", cursor)
			text += r.Get("text").String()
			cursor["cursor"], more = r.Get("next_cursor").String(), r.Get("next_cursor").Exists()
		}
		if strings.Count(text, "\n## ") != len(back) || strings.Count(text, "# say\n") != 1 || strings.Contains(text, "aaa") ||
			strings.Count(text, "cut: too large") != 1 {
			t.Errorf("%d headings in %d bytes of Markdown", strings.Count(text, "\n## "), len(text))
		}

		a := s.result("session/attach", on)
		open, older := a.Get("open"), ids(a.Get("messages"))
		shown := ids(open.Get("messages"))
		if !open.Get("more").Bool() || !a.Get("more").Bool() || !cmp.Equal(append(older, shown...)[len(older):], back[len(back)-len(shown):]) {
			t.Errorf("attach shows %d messages of the turn and %d older ones: %.300s", len(shown), len(older), open.Raw)
		}
		if last := open.Get("messages.@reverse.0"); !last.Get("open").Bool() || last.Get("content.0.text").String() != strings.Repeat("f", 3000) {
			t.Errorf("%.300s", last.Raw)
		}
		for _, message := range s.messages() {
			if len(message) > limit || strings.Contains(message, `"code":1007`) {
				t.Errorf("%d bytes: %.200s", len(message), message)
			}
			if strings.HasPrefix(message, `{"jsonrpc":"2.0","method":"stale"`) != strings.Contains(message, "after_seq") {
				t.Error(message)
			}
		}
	})
}

func ids(messages gjson.Result) (list []string) {
	for _, m := range messages.Array() {
		list = append(list, m.Get("id").String())
	}
	return list
}

// Growth in one piece that no message holds makes the subscription stale; attaching shows its beginning.
func TestDeltaTooLarge(t *testing.T) {
	const limit = 20_000
	onStage(t, "say short|"+strings.Repeat("b", limit)+"|more…\nwait 1h", limit, func(s *stage) {
		id := s.result("session/new", map[string]any{"model_id": "anthropic/claude-opus-5-5"}).Get("session_id").String()
		s.result("session/prompt", map[string]any{"session_id": id, "text": "say"})
		time.Sleep(time.Second)
		heard := s.messages()
		if got := heard[len(heard)-1]; !strings.Contains(got, `"method":"stale"`) || gjson.Get(got, "params.after_seq").Int() != 4 {
			t.Errorf("%.300s", got)
		}
		block := s.result("session/attach", map[string]any{"session_id": id}).Get("open.messages.@reverse.0.content.0")
		if !block.Get("truncated").Bool() || !block.Get("open").Bool() || !strings.HasPrefix(block.Get("text").String(), "shortbbb") {
			t.Errorf("%.300s", block.Raw)
		}
		for after, want := range map[int]bool{4: false, 5: true} { // to attach after what came last leads out of it too
			a := s.result("session/attach", map[string]any{"session_id": id, "after_seq": after})
			if a.Get("updates").Exists() != want || a.Get("open").Exists() == want {
				t.Errorf("after %d: %.300s", after, a.Raw)
			}
		}
	})
}

// The list and the state of a session name the same status at each step of its life.
func TestListAndStateHaveTheSameStatus(t *testing.T) {
	onStage(t, "say Three.\n\nsay A summary.\nwait 1h\n\nthink Let me see.\nwait 1h", 0, func(s *stage) {
		id := s.result("session/new", map[string]any{"model_id": "anthropic/claude-opus-5-5"}).Get("session_id").String()
		in := map[string]any{"session_id": id}
		same := func(when, want string) {
			s.Helper()
			listed := s.result("session/list", map[string]any{}).Get("sessions.0.status").String()
			state := s.result("session/state", in).Get("session.status").String()
			if listed != want || state != want {
				s.Errorf("%s: session/list says %q and session/state %q, want %q", when, listed, state, want)
			}
		}
		prompt := func(text string) { s.result("session/prompt", map[string]any{"session_id": id, "text": text}) }
		same("nothing was said", "idle")
		prompt("one")
		time.Sleep(time.Minute) // of the bubble: the model takes its time
		same("a turn has ended", "idle")
		s.send(conntest.Request(1, "session/compact", fmt.Sprintf(`{"session_id":%q}`, id))) // which no turn is
		same("a compaction runs", "running")
		s.result("session/cancel", in)
		same("it was cancelled", "idle")
		prompt("two")
		same("a turn runs", "running")
		prompt("three")
		same("a turn runs and one waits", "running")
	})
}

func TestSessionsInPages(t *testing.T) {
	const limit = 20_000
	onStage(t, "", limit, func(s *stage) {
		var want []string
		for i := range 12 {
			title := fmt.Sprintf("%02d %s", i, strings.Repeat("é", 190))
			r := s.result("session/new", map[string]any{"title": title, "cwd": strings.Repeat("/", 700*(i%3))})
			s.result("session/update", map[string]any{"session_id": r.Get("session_id").String(), "metadata": map[string]any{"n": i}})
			want = append([]string{title}, want...)
			time.Sleep(time.Millisecond)
		}
		var got []string
		cursor, pages := map[string]any{}, 0
		for more := true; more; pages++ {
			r := s.result("session/list", cursor)
			for _, one := range r.Get("sessions").Array() {
				got = append(got, one.Get("title").String())
			}
			cursor["cursor"], more = r.Get("next_cursor").String(), r.Get("next_cursor").Exists()
		}
		if diff := cmp.Diff(want, got); diff != "" || pages < 3 {
			t.Errorf("%d pages\n%s", pages, diff)
		}
	})
}

func TestWhatClientsHangOnASession(t *testing.T) {
	onStage(t, "", 0, func(s *stage) {
		id := s.result("session/new", map[string]any{"title": "  A\ttitle\r\nof lines "}).Get("session_id").String()
		title := func() string {
			return s.result("session/state", map[string]any{"session_id": id}).Get("session.title").String()
		}
		if got := title(); got != "A title of lines" {
			t.Errorf("title %q", got)
		}
		update := func(member string, value any) map[string]any { return map[string]any{"session_id": id, member: value} }
		for _, tc := range []struct {
			method string
			params map[string]any
			want   string
		}{
			{"session/update", update("title", strings.Repeat("é", 201)), "-32602 title"},
			{"session/new", map[string]any{"title": strings.Repeat("é", 201)}, "-32602 title"},
			{"session/new", map[string]any{"cwd": strings.Repeat("/", 5000)}, "-32602 cwd"},
			{"session/update", update("metadata", map[string]any{"a": strings.Repeat("x", 70_000)}), "-32602 metadata"},
			{"session/update", update("metadata", map[string]any{"a": strings.Repeat("x", 40_000)}), "0"},
			{"session/update", update("metadata", map[string]any{"b": strings.Repeat("x", 40_000)}), "-32602 metadata"},
			{"session/update", update("metadata", map[string]any{"a": strings.Repeat("y", 60_000)}), "0"},
			{"session/update", update("metadata", map[string]any{"a": nil, "b": strings.Repeat("z", 60_000)}), "0"},
			{"session/update", update("metadata", []any{1}), "-32602 metadata"},
			{"session/update", update("title", nil), "-32602 title"},
		} {
			if got := s.refused(tc.method, tc.params); got != tc.want {
				t.Errorf("%s %.80v: %s, want %s", tc.method, tc.params, got, tc.want)
			}
		}
		if m := s.result("session/state", map[string]any{"session_id": id}).Get("session.metadata"); m.Get("a").Exists() || len(m.Get("b").String()) != 60_000 {
			t.Errorf("metadata %.100s", m.Raw)
		}
	})
}

func TestModelNames(t *testing.T) {
	onStage(t, "", 0, func(s *stage) {
		id := s.result("session/new", map[string]any{}).Get("session_id").String()
		for _, tc := range []struct{ provider, model, want string }{
			{"", "anthropic/claude-opus-5-5", "anthropic/claude-opus-5-5"},
			{"mirror", "claude-opus-5-5", "mirror/claude-opus-5-5"},
			{"mirror", "mirror/claude-opus-5-5", "mirror/claude-opus-5-5"},
			{"mirror", "anthropic/claude-opus-5-5", "mirror/anthropic/claude-opus-5-5"}, // such ids exist at hosts
			{"", "claude-always", "1003"},
			{"sim", "claude-always", "sim/claude-always"},
			{"", "claude-opus-5-5", "-32602"},
			{"nobody", "claude-opus-5-5", "1003"},
			{"nobody/x", "claude-opus-5-5", "1003"},
			{"", "", "1003"},
			{"sim", "", "1003"},
		} {
			params := map[string]any{"session_id": id, "model_id": tc.model}
			if tc.provider != "" {
				params["provider"] = tc.provider
			}
			a := s.ask("model/set", params)
			got := a.Get("error.code").String()
			if m := a.Get("result.model"); m.Exists() {
				got = m.Get("provider").String() + "/" + m.Get("id").String()
			}
			if got != tc.want {
				t.Errorf("%q at %q: %s, want %s", tc.model, tc.provider, got, tc.want)
			}
		}
	})
}
