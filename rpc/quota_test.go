package rpc

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/agent/gate"
	"github.com/thinkd/thinkd/rpc/auth"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/session"
)

// A prompt of a user whose quota is used up is refused with the time at which it resets. Other users and the operator go on, and the report
// by user has what each used.
func TestQuotaOfPrompts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := usersStage(t, "say one\n\nsay two\n\nsay three\n\nsay four")
		s.config.Quota = func(o session.Owner) gate.Quota { return gate.Quota{DayTokens: map[string]int{"ann": 5000}[o.User]} }
		s.restart()
		defer s.close()
		ann, bob, operator := s.visit("", "ann", false), s.visit("acme", "bob", false), s.visit("", "", false)
		prompt := func(v *tenantClient) (answer int64) {
			t.Helper()
			id := v.must("session/new", `{"model_id":"mirror/claude-opus-4-6"}`).Get("session_id").String()
			got := v.call("session/prompt", fmt.Sprintf(`{"session_id":%q,"text":"x"}`, id))
			time.Sleep(time.Second)
			if got.Get("error").Exists() {
				midnight := time.Now().UTC().Truncate(24 * time.Hour).Add(24 * time.Hour).UnixMilli()
				if got.Get("error.data.kind").String() != "quota" || got.Get("error.data.which").String() != "tokens_day" || got.Get("error.data.resets_at").Int() != midnight {
					t.Error(got)
				}
			}
			return got.Get("error.code").Int()
		}
		for _, want := range []int64{0, int64(conn.CodeQuota)} {
			if got := prompt(ann); got != want {
				t.Errorf("prompt: %d, want %d", got, want)
			}
		}
		if got := prompt(bob); got != 0 {
			t.Errorf("another user: %d", got)
		}
		if got := prompt(operator); got != 0 {
			t.Errorf("the operator: %d", got)
		}
		rows := operator.must("usage/report", `{"by":"user"}`).Get("rows").Array()
		users := map[string]int64{}
		for _, row := range rows {
			users[row.Get("tenant").String()+"/"+row.Get("user").String()] = row.Get("usage.input_tokens").Int() + row.Get("usage.output_tokens").Int()
		}
		if len(users) != 3 || users["/ann"] != 1200 || users["acme/bob"] != 1200 || users["/"] != 1200 {
			t.Errorf("by user: %v", users)
		}
		if got := ann.call("usage/report", `{"by":"user"}`); got.Get("error.code").Int() != int64(conn.CodeForbidden) {
			t.Errorf("a user: %s", got)
		}
		for _, v := range []*tenantClient{ann, bob, operator} {
			v.leave()
		}
	})
}

// The requests of a user are counted over all connections and protocols. Those of others are not delayed.
func TestQuotaOfRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := usersStage(t, "")
		config := s.server.config
		config.Meter = auth.NewRates(func(o session.Owner) int { return map[string]int{"ann": 3}[o.User] })
		s.server = NewServer(config)
		defer s.close()
		one, two, editor, bob, operator := s.visit("", "ann", false), s.visit("", "ann", false), s.visit("", "ann", true), s.visit("", "bob", false), s.visit("", "", false)
		one.must("ping", "{}")
		two.must("ping", "{}")
		editor.must("initialize", `{"protocolVersion":1}`)
		for _, v := range []*tenantClient{one, two} {
			got := v.call("ping", "{}")
			if got.Get("error.code").Int() != int64(conn.CodeQuota) || got.Get("error.data.which").String() != "requests" || got.Get("error.data.resets_at").Int() <= time.Now().UnixMilli() {
				t.Error(got)
			}
		}
		if got := editor.call("session/list", "{}"); !got.Get("error").Exists() {
			t.Error(got)
		}
		for range 10 {
			bob.must("ping", "{}")
			operator.must("ping", "{}")
		}
		time.Sleep(20 * time.Second)
		one.must("ping", "{}")
		for _, v := range []*tenantClient{one, two, editor, bob, operator} {
			v.leave()
		}
	})
}

// A user whose sessions take all that the quota has makes no session and sends no prompt, until one is deleted. Others go on.
func TestQuotaOfStoredBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := usersStage(t, "say one\n\nsay two\n\nsay three")
		s.config.Stored = func(o session.Owner) int64 { return map[string]int64{"ann": 60_000}[o.User] }
		s.restart()
		defer s.close()
		ann, bob := s.visit("", "ann", false), s.visit("", "bob", false)
		defer ann.leave()
		defer bob.leave()
		id := ann.must("session/new", `{"model_id":"mirror/claude-opus-4-6"}`).Get("session_id").String()
		text := strings.Repeat("x", 50_000)
		ann.must("session/prompt", fmt.Sprintf(`{"session_id":%q,"text":%q}`, id, text))
		time.Sleep(time.Second)
		refused := func() {
			t.Helper()
			for name, params := range map[string]string{"session/prompt": fmt.Sprintf(`{"session_id":%q,"text":%q}`, id, text), "session/append": fmt.Sprintf(`{"session_id":%q,"text":%q}`, id, text),
				"session/new": fmt.Sprintf(`{"system_prompt":%q}`, text)} {
				if got := ann.call(name, params); got.Get("error.code").Int() != int64(conn.CodeQuota) || got.Get("error.data.which").String() != "stored_bytes" || got.Get("error.data.resets_at").Exists() {
					t.Errorf("%s: %s", name, got)
				}
			}
		}
		refused()
		s.restart() // what is stored counts
		ann, bob = s.visit("", "ann", false), s.visit("", "bob", false)
		defer ann.leave()
		defer bob.leave()
		refused()
		bob.must("session/new", fmt.Sprintf(`{"system_prompt":%q}`, text+text))
		ann.must("session/delete", fmt.Sprintf(`{"session_id":%q}`, id))
		id = ann.must("session/new", `{"model_id":"mirror/claude-opus-4-6"}`).Get("session_id").String()
		ann.must("session/prompt", fmt.Sprintf(`{"session_id":%q,"text":"x"}`, id))
		time.Sleep(time.Second)
	})
}
