package rpc

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/rpc/auth"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/session"
)

// tenantClient is a client of some principal. It reads everything at once.
type tenantClient struct {
	*testing.T
	conn   net.Conn
	served chan error
	read   chan struct{}
	last   int

	mu    sync.Mutex
	heard []string
}

// visit connects a client of a user of a tenant, who has the right to use the daemon; without a user, of the operator.
func (s *stage) visit(tenant, user string, editor bool) *tenantClient {
	s.Helper()
	p := method.Operator()
	if user != "" {
		var err error
		if p, err = auth.NewPrincipal(session.Owner{Tenant: tenant, User: user}, []string{"use"}); err != nil {
			s.Fatal(err)
		}
	}
	ours, theirs := net.Pipe()
	v := &tenantClient{T: s.T, conn: ours, served: make(chan error, 1), read: make(chan struct{})}
	frames := conn.NewByteFrames(theirs, 8<<20)
	lease := auth.NewLease(s.Context(), auth.Grant{Principal: p, Valid: s.Context()}, nil)
	testgo.Go(s, func() { // leave waits
		defer lease.Close()
		if editor {
			v.served <- s.server.ServeEditor(lease.Context(), lease, frames)
		} else {
			v.served <- s.server.ServeFrames(lease.Context(), lease, frames)
		}
	})
	testgo.Go(s, func() { // ends with the connection; leave waits
		defer close(v.read)
		in := bufio.NewScanner(ours)
		in.Buffer(nil, 8<<20)
		for in.Scan() {
			v.mu.Lock()
			v.heard = append(v.heard, in.Text())
			v.mu.Unlock()
		}
	})
	return v
}

func (v *tenantClient) leave() {
	v.conn.Close()
	<-v.served
	<-v.read
}

// call returns the answer to a request, or nothing if it has not come when everything rests.
func (v *tenantClient) call(name, params string) gjson.Result {
	v.Helper()
	v.last++
	if _, err := fmt.Fprintf(v.conn, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":%q,\"params\":%s}\n", v.last, name, params); err != nil {
		v.Fatal(err)
	}
	synctest.Wait()
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, message := range slices.Backward(v.heard) {
		if m := gjson.Parse(message); m.Get("id").Int() == int64(v.last) && !m.Get("method").Exists() {
			return m
		}
	}
	return gjson.Result{}
}

// must is the result of a call.
func (v *tenantClient) must(name, params string) gjson.Result {
	v.Helper()
	answer := v.call(name, params)
	if !answer.Get("result").Exists() {
		v.Fatalf("%s %s: %s", name, params, answer.Raw)
	}
	return answer.Get("result")
}

// all is everything that the client heard.
func (v *tenantClient) all() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return strings.Join(v.heard, "\n")
}

// belongings are ids of a session, by the member that names them in params.
type belongings map[string]string

// in puts the ids in the place of others. What has no id of its own kind goes.
func (b belongings) in(params string) string {
	var members map[string]any
	if err := json.Unmarshal([]byte(params), &members); err != nil {
		panic(err)
	}
	for member := range members {
		if id, ok := b[member]; ok {
			members[member] = id
		}
		switch member {
		case "remove", "revoke":
			members[member] = []string{b["turn_id"]}
		case "before", "after", "cursor":
			delete(members, member)
		}
	}
	text, err := json.Marshal(members)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// hidden has names for the ids in a text.
func (b belongings) hidden(text string) string {
	for _, member := range slices.Sorted(maps.Keys(b)) {
		text = strings.ReplaceAll(text, b[member], "<"+member+">")
	}
	return text
}

// strangers are ids of nothing.
func strangers() belongings {
	b := belongings{}
	for _, member := range []string{"session_id", "sessionId", "turn_id", "message_id", "before_message_id", "summary_id", "confirm_id"} {
		b[member] = string(session.NewID())
	}
	b["sessionId"] = b["session_id"]
	return b
}

const (
	secretScript = "think canary-thought\nsay canary-answer\n\ncall toolu_1 weigh {\"canary\":1}\n\nsay canary-more"
	secretNew    = `{"model_id":"mirror/claude-opus-4-6","title":"canary-title","system_prompt":"canary-system","cwd":"/canary","client_id":"c1","tools":[{"name":"weigh","description":"canary-tool","input_schema":{"type":"object"}}]}`
)

// secrets make the client a session with a turn that has ended, one that waits for a tool, and a prompt that is pending.
func (v *tenantClient) secrets() belongings {
	v.Helper()
	id := v.must("session/new", secretNew).Get("session_id").String()
	session := fmt.Sprintf(`"session_id":%q`, id)
	v.must("session/prompt", `{`+session+`,"text":"canary-prompt"}`)
	time.Sleep(time.Second)
	turn := v.must("session/prompt", `{`+session+`,"text":"canary-second"}`)
	time.Sleep(time.Second)
	v.must("session/prompt", `{`+session+`,"text":"canary-pending"}`)
	v.must("session/update", `{`+session+`,"metadata":{"note":"canary-note"}}`)
	b := strangers()
	b["session_id"], b["sessionId"], b["turn_id"], b["call_id"] = id, id, turn.Get("turn_id").String(), "toolu_1"
	b["message_id"] = turn.Get("message_id").String()
	b["before_message_id"] = b["message_id"]
	return b
}

// usersStage is a daemon with the operator's limits, keys and settings, which users must not learn of.
func usersStage(t *testing.T, script string) *stage {
	s := newStage(t, script, 0, "hand")
	s.paid.Store(&session.Payer{Payer: provider.Payer{Kind: provider.PaidByKey, Name: "CANARY_API_KEY"}, Account: "canary-account"})
	return s
}

// Asked about the session of another user, each method of both protocols answers what it answers about a session that does not exist, and
// does nothing. The operator is another user as well, in both directions.
func TestSessionsOfOtherUsers(t *testing.T) {
	for _, pair := range [][2]string{{"acme/ann", "acme/bob"}, {"acme/ann", "other/ann"}, {"acme/ann", "/ann"}, {"acme/ann", "/"}, {"/", "acme/bob"}} {
		t.Run(strings.ReplaceAll(strings.Join(pair[:], " and "), "/", ":"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := usersStage(t, secretScript)
				defer s.close()
				tenant, user, _ := strings.Cut(pair[0], "/")
				owner := s.visit(tenant, user, false)
				defer owner.leave()
				own, none := owner.secrets(), strangers()
				none["call_id"] = "toolu_2"
				ref := session.Ref{Owner: session.Owner{Tenant: tenant, User: user}, ID: session.ID(own["session_id"])}
				before := s.logOf(ref)

				tenant, user, _ = strings.Cut(pair[1], "/")
				other, editor := s.visit(tenant, user, false), s.visit(tenant, user, true)
				defer other.leave()
				defer editor.leave()
				editor.must("initialize", `{"protocolVersion":1}`)
				asked := 0
				same := func(v *tenantClient, name, params string) {
					t.Helper()
					asked++
					theirs, nobodys := v.call(name, own.in(params)), v.call(name, none.in(params))
					answer := func(m gjson.Result, b belongings) string {
						return b.hidden(m.Get("result").Raw + m.Get("error").Raw)
					}
					got, want := answer(theirs, own), answer(nobodys, none)
					if got == "" || cmp.Diff(want, got) != "" {
						t.Errorf("%s %s\nabout another's session: %s\nabout none:              %s", name, params, got, want)
					}
				}
				for name, m := range s.server.byName {
					if m.Session == "" {
						continue
					}
					for _, e := range examples()[name] {
						same(other, name, e.Params)
					}
				}
				anything := `"cwd":"` + srv + `","mcpServers":[],"prompt":[{"type":"text","text":"x"}],"modeId":"ask","modelId":"sim/claude","configId":"mode","value":"ask",` +
					`"session_id":"x","model_id":"sim/claude","level":"low","turn_id":"x","message_id":"x"`
				for name, m := range s.server.editorMethods() {
					if m.Session != "" {
						same(editor, name, fmt.Sprintf(`{%q:"x",%s}`, m.Session, anything))
					}
				}
				if asked < 60 {
					t.Errorf("only %d requests", asked)
				}
				if diff := cmp.Diff(before, s.logOf(ref)); diff != "" {
					t.Errorf("the session has changed\n%s", diff)
				}

				// What names no session shows none of others'.
				for _, request := range [][2]string{{"session/list", "{}"}, {"session/watch", "{}"}, {"session/list", `{"query":"canary"}`}, {"session/search", `{"text":"canary"}`},
					{"usage/report", `{"by":"session"}`}, {"usage/report", `{"by":"payer"}`}} {
					other.must(request[0], request[1])
				}
				editor.must("session/list", "{}")
				owner.must("session/update", fmt.Sprintf(`{"session_id":%q,"title":"canary-new"}`, own["session_id"])) // a change that the list's watcher must not hear of
				synctest.Wait()
				made := other.must("session/new", strings.ReplaceAll(secretNew, "canary", "mine")).Get("session_id").String()
				if made == own["session_id"] {
					t.Error("the stamp of another user's request counts")
				}
				for _, v := range []*tenantClient{other, editor} {
					heard := v.all()
					for _, secret := range []string{"canary", "CANARY"} {
						if i := strings.Index(heard, secret); i >= 0 && !strings.Contains(heard[max(0, i-200):i], "ignored") {
							t.Errorf("it has heard …%s…", heard[max(0, i-200):min(len(heard), i+100)])
						}
					}
				}
			})
		})
	}
}

// logOf is a session's record and entries, as the store has them.
func (s *stage) logOf(ref session.Ref) string {
	s.Helper()
	of := s.store.For(ref.Owner)
	record, err := of.Get(s.Context(), ref.ID)
	if err != nil {
		s.Fatal(err)
	}
	entries, err := of.Entries(s.Context(), ref.ID, 0, 0)
	if err != nil {
		s.Fatal(err)
	}
	text, err := json.Marshal(struct {
		Record  session.Session
		Entries []session.Entry
	}{record, entries})
	if err != nil {
		s.Fatal(err)
	}
	return string(text)
}

// A user learns nothing about keys, limits and settings of the operator, and cannot change what is for everybody.
func TestUsersLearnNothingOfTheOperator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := usersStage(t, "say done")
		s.config.Limits.Spending.Day = provider.MoneyOf(4321987)
		s.restart()
		defer s.close()
		ann, operator := s.visit("", "ann", false), s.visit("", "", false)
		defer ann.leave()
		defer operator.leave()
		if got := operator.must("usage/report", "{}").Get("budgets").Raw; !strings.Contains(got, "4321987") {
			t.Errorf("the operator sees %s", got)
		}
		id := ann.must("session/new", `{"model_id":"mirror/claude-opus-4-6"}`).Get("session_id").String()
		ann.must("session/prompt", fmt.Sprintf(`{"session_id":%q,"text":"x"}`, id))
		time.Sleep(time.Second)
		for _, request := range [][2]string{{"initialize", "{}"}, {"models/list", "{}"}, {"providers/list", "{}"}, {"auth/status", "{}"}, {"agents/list", "{}"}, {"usage/report", `{"by":"payer"}`},
			{"session/state", fmt.Sprintf(`{"session_id":%q}`, id)}, {"session/history", fmt.Sprintf(`{"session_id":%q}`, id)}} {
			ann.must(request[0], request[1])
		}
		heard := ann.all()
		for _, secret := range []string{"CANARY", "canary", "ANTHROPIC_API_KEY", `"limits":[`, "ends_in", `"reasoning_defaults":{`, "4321987"} {
			if i := strings.Index(heard, secret); i >= 0 {
				t.Errorf("a user reads …%s…", heard[max(0, i-100):min(len(heard), i+100)])
			}
		}
		if got := ann.call("initialize", "{}"); !got.Get("error").Exists() {
			t.Error(got)
		}
		for name, params := range map[string]string{
			"models/list":    `{"refresh":true}`,
			"agents/set":     `{"agent":"reviewer","remove":true}`,
			"providers/set":  `{"provider":"sim"}`,
			"auth/set_key":   `{"provider":"anthropic","key":"k","scope":"operator"}`,
			"auth/login":     `{"provider":"anthropic"}`,
			"daemon/status":  `{}`,
			"daemon/door":    `{}`,
			"daemon/listen":  `{"address":"127.0.0.1:0"}`,
			"daemon/compact": `{}`,
		} {
			got := ann.call(name, params)
			forbidden := got.Get("error.code").Int() == int64(conn.CodeForbidden) && got.Get("error.data.kind").String() == "forbidden" && got.Get("error.data.right").String() != ""
			if !forbidden && got.Get("error.code").Int() != int64(conn.CodeMethodNotFound) {
				t.Errorf("%s: %s", name, got)
			}
		}
		for params, want := range map[string]string{
			`{"tools":["builtin"]}`:                                                                   "tools",
			`{"mcp_servers":[{"name":"a","command":["/bin/sh"]}]}`:                                    "mcp_servers",
			`{"mcp_servers":[{"name":"a","url":"http://127.0.0.1:1/"}]}`:                              "mcp_servers",
			`{"options":{"fallbacks":[{"model_id":"sim/claude","key":"work"}]}}`:                      "options.fallbacks.0.key",
			`{"model_id":"sim/claude","options":{"fallbacks":[{"model_id":"sim/claude","key":"x"}]}}`: "options.fallbacks.0.key",
		} {
			if got := ann.call("session/new", params); got.Get("error.data.field").String() != want {
				t.Errorf("%s: %s", params, got)
			}
		}
	})
}

// A user's turn that reaches a limit for all sessions waits. The user can try again, and can neither raise the limit nor pass it.
func TestUsersCannotPassLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := usersStage(t, "say one\n\nsay two\n\nsay three")
		s.config.Limits.Spending.Day = 1
		s.restart()
		defer s.close()
		ann := s.visit("", "ann", false)
		defer ann.leave()
		id := ann.must("session/new", `{"model_id":"mirror/claude-opus-4-6"}`).Get("session_id").String()
		turn := ann.must("session/prompt", fmt.Sprintf(`{"session_id":%q,"text":"x"}`, id)).Get("turn_id").String()
		time.Sleep(time.Second)
		parked := func() bool {
			return ann.must("session/state", fmt.Sprintf(`{"session_id":%q}`, id)).Get("session.status").String() == "parked"
		}
		if !parked() {
			t.Fatal("the limit does not count for users")
		}
		if got := ann.call("turn/resume", fmt.Sprintf(`{"session_id":%q,"turn_id":%q,"raise":5}`, id, turn)); got.Get("error.code").Int() != int64(conn.CodeForbidden) {
			t.Errorf("raise: %s", got)
		}
		ann.must("turn/resume", fmt.Sprintf(`{"session_id":%q,"turn_id":%q}`, id, turn))
		time.Sleep(time.Second)
		if !parked() {
			t.Error("a call went through the limit")
		}
	})
}

// The cursors of a user say nothing about how many changes the others make, and are of no use to others.
func TestCursorsOfUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := usersStage(t, "")
		defer s.close()
		ann, bob, operator := s.visit("", "ann", false), s.visit("", "bob", false), s.visit("", "", false)
		for _, v := range []*tenantClient{ann, bob, operator} {
			defer v.leave()
			for range 5 {
				id := v.must("session/new", "{}").Get("session_id").String()
				v.must("session/append", fmt.Sprintf(`{"session_id":%q,"text":"word"}`, id))
			}
		}
		for method, params := range map[string]string{"session/list": `{"limit":2%s}`, "session/search": `{"text":"word","limit":2%s}`} {
			first := ann.must(method, fmt.Sprintf(params, "")).Get("next_cursor").String()
			again := ann.must(method, fmt.Sprintf(params, "")).Get("next_cursor").String()
			if first == "" || first == again || len(first) < 60 {
				t.Errorf("%s: cursors %s and %s", method, first, again)
			}
			next := fmt.Sprintf(params, fmt.Sprintf(`,"cursor":%q`, first))
			ann.must(method, next)
			plain := operator.must(method, fmt.Sprintf(params, "")).Get("next_cursor").String()
			for _, v := range []*tenantClient{bob, operator} {
				if got := v.call(method, next); got.Get("error.data.field").String() != "cursor" {
					t.Errorf("%s: a cursor of another user: %s", method, got)
				}
			}
			if got := ann.call(method, fmt.Sprintf(params, fmt.Sprintf(`,"cursor":%q`, plain))); got.Get("error.data.field").String() != "cursor" {
				t.Errorf("%s: a cursor of the operator: %s", method, got)
			}
		}
	})
}

var userSeed = flag.Int64("userseed", 0, "repeat this run of TestTenUsers; 0: another one each time")

// Ten users use one daemon at random. Each sees the sessions of their own, all of them, and nothing else.
func TestTenUsers(t *testing.T) {
	seed := *userSeed
	if seed == 0 {
		seed = time.Now().UnixNano()
	}
	t.Logf("repeat it with -userseed %d", seed)
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewSource(seed))
		s := usersStage(t, "")
		defer s.close()
		type user struct {
			*tenantClient
			name string
			own  map[string]bool // sessions
		}
		var users []*user
		for i := range 10 {
			u := &user{name: fmt.Sprintf("user-%c", 'a'+i), own: map[string]bool{}}
			u.tenantClient = s.visit(fmt.Sprint("tenant", i%3), u.name, false)
			defer u.leave()
			u.must("session/watch", "{}")
			users = append(users, u)
		}
		var all []string
		for step := range 400 {
			u := users[random.Intn(len(users))]
			id := string(session.NewID())
			if len(all) > 0 {
				id = all[random.Intn(len(all))]
			}
			one := fmt.Sprintf(`{"session_id":%q,"text":"of %s","title":"of %s"}`, id, u.name, u.name)
			switch n := random.Intn(10); n {
			case 0, 1:
				id = u.must("session/new", fmt.Sprintf(`{"title":"of %s","client_id":"%d"}`, u.name, step)).Get("session_id").String()
				u.own[id], all = true, append(all, id)
			case 2:
				var listed []string
				for _, row := range u.must("session/list", `{"limit":1000}`).Get("sessions").Array() {
					listed = append(listed, row.Get("session_id").String())
				}
				slices.Sort(listed)
				if want := slices.Sorted(maps.Keys(u.own)); !slices.Equal(listed, want) {
					t.Fatalf("%s lists %v, has %v", u.name, listed, want)
				}
			case 3:
				if u.must("session/delete", one); u.own[id] {
					delete(u.own, id)
					all = slices.DeleteFunc(all, func(one string) bool { return one == id })
				}
			default:
				name := []string{"session/append", "session/state", "session/attach", "session/update", "session/fork", "session/history", "session/read"}[n%7]
				got := u.call(name, one)
				if found := got.Get("error.data.kind").String() != "not_found"; found != u.own[id] {
					t.Fatalf("%s %s of a session of another user: %v; %s", u.name, name, !u.own[id], got)
				}
				if made := got.Get("result.session_id").String(); name == "session/fork" && made != "" {
					u.own[made], all = true, append(all, made)
				}
			}
		}
		for _, u := range users {
			heard := u.all()
			for _, other := range users {
				if other != u && strings.Contains(heard, other.name) {
					t.Errorf("%s has heard of %s", u.name, other.name)
				}
			}
			if len(u.own) > 0 && !strings.Contains(heard, u.name) {
				t.Errorf("%s has heard nothing", u.name)
			}
		}
	})
}

// Renewing a connection gives it the rights of the new token, and keeps its user.
func TestRenew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := usersStage(t, "")
		defer s.close()
		p, err := auth.NewPrincipal(session.Owner{User: "ann"}, []string{"use", "settings"})
		if err != nil {
			t.Fatal(err)
		}
		less := p
		less.Rights = p.Rights[:1]
		ours, theirs := net.Pipe()
		v := &tenantClient{T: t, conn: ours, served: make(chan error, 1), read: make(chan struct{})}
		lease := auth.NewLease(t.Context(), auth.Grant{Principal: p, Valid: t.Context(), Expires: time.Now().Add(time.Minute)}, func(token string) (auth.Grant, error) {
			switch token {
			case "less":
				return auth.Grant{Principal: less, Valid: t.Context(), Expires: time.Now().Add(time.Hour)}, nil
			case "operator":
				return auth.Grant{Principal: method.Operator(), Valid: t.Context()}, nil
			}
			return auth.Grant{}, &auth.Refusal{Reason: "wrong", RetryAfter: time.Second}
		})
		defer lease.Close()
		testgo.Go(t, func() { v.served <- s.server.ServeFrames(lease.Context(), lease, conn.NewByteFrames(theirs, 8<<20)) }) // leave waits
		testgo.Go(t, func() {                                                                                                // the same
			defer close(v.read)
			for in := bufio.NewScanner(ours); in.Scan(); {
				v.mu.Lock()
				v.heard = append(v.heard, in.Text())
				v.mu.Unlock()
			}
		})
		defer v.leave()
		if got := v.must("initialize", "{}").Get("identity"); got.Get("user").String() != "ann" || got.Get("rights").Raw != `["use","settings"]` || got.Get("expires_at").Int() == 0 {
			t.Error(got)
		}
		v.must("providers/set", `{"provider":"sim"}`)
		for token, message := range map[string]string{"operator": auth.ErrOtherOwner.Error(), "x": "wrong"} {
			got := v.call("auth/renew", fmt.Sprintf(`{"token":%q}`, token))
			if got.Get("error.code").Int() != int64(conn.CodeUnauthorized) || got.Get("error.message").String() != message || strings.Contains(got.Raw, "operator\"") {
				t.Errorf("%s: %s", token, got)
			}
		}
		v.must("providers/set", `{"provider":"sim"}`)
		if got := v.must("auth/renew", `{"token":"less"}`).Get("identity.rights").Raw; got != `["use"]` {
			t.Error(got)
		}
		if got := v.call("providers/set", `{"provider":"sim"}`); got.Get("error.code").Int() != int64(conn.CodeForbidden) {
			t.Errorf("after the rights were narrowed: %s", got)
		}
		if got := v.call("auth/renew", `{}`); got.Get("error.data.field").String() != "token" {
			t.Error(got)
		}
	})
}
