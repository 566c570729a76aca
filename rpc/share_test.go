package rpc

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/share"
)

// sharingStage is a daemon whose users can share sessions.
func sharingStage(t *testing.T, script string) *stage {
	s := usersStage(t, script)
	var err error
	if s.shares, err = share.Open(new(durable.Memory)); err != nil {
		t.Fatal(err)
	}
	s.config.Guests = s.shares.Guests
	s.restart()
	return s
}

// shownList is the list of sessions as a client shows it that watches it: what it got of each session, by id.
type shownList struct {
	*tenantClient
	rows map[string]gjson.Result
	read int // messages
}

func watchAs(v *tenantClient) *shownList {
	v.Helper()
	l := &shownList{tenantClient: v, rows: make(map[string]gjson.Result)}
	for _, row := range v.must("session/watch", `{"limit":100}`).Get("sessions").Array() {
		l.rows[row.Get("session_id").String()] = row
	}
	return l
}

// now applies the updates that have come. What an update has that is against the rules fails the test.
func (l *shownList) now() map[string]gjson.Result {
	l.Helper()
	synctest.Wait()
	l.mu.Lock()
	heard := l.heard[l.read:]
	l.read = len(l.heard)
	l.mu.Unlock()
	for _, message := range heard {
		m := gjson.Parse(message)
		if m.Get("method").Str != "list_update" {
			continue
		}
		p := m.Get("params")
		if p.Get("stale").Bool() || len(p.Map()) == 0 {
			l.Errorf("an update that is stale or empty: %s", p.Raw)
		}
		for _, row := range append(p.Get("created").Array(), p.Get("changed").Array()...) {
			l.rows[row.Get("session_id").String()] = row
		}
		for _, id := range p.Get("removed").Array() {
			delete(l.rows, id.String())
		}
	}
	return l.rows
}

// A guest who watches the list has a shared session in it from the moment at which it is shared: its title, its status and the guest's access.
// It goes with the end of the sharing, and with the session. Nothing of it comes to others, or later.
func TestSharedListUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sharingStage(t, "say of the guest")
		defer s.close()
		ann, bob, eve := s.visit("acme", "ann", false), s.visit("acme", "bob", false), s.visit("acme", "eve", false)
		for _, v := range []*tenantClient{ann, bob, eve} {
			defer v.leave()
		}
		his, hers := watchAs(bob), watchAs(eve)
		id := ann.must("session/new", `{"model_id":"mirror/claude-opus-4-6","title":"first"}`).Get("session_id").String()
		ann.must("session/update", fmt.Sprintf(`{"session_id":%q,"pinned":true}`, id))
		share := func(access string) {
			ann.must("session/share", fmt.Sprintf(`{"session_id":%q,"user":"bob","access":%q}`, id, access))
		}
		want := func(when, title, access string) {
			t.Helper()
			row := his.now()[id]
			if row.Get("title").String() != title || row.Get("access").String() != access || title != "" && row.Get("owner").String() != "ann" || row.Get("pinned").Exists() {
				t.Errorf("%s: %s", when, row.Raw)
			}
		}
		want("before", "", "")
		share("read")
		want("shared", "first", "read")
		ann.must("session/update", fmt.Sprintf(`{"session_id":%q,"title":"second"}`, id))
		want("a new title", "second", "read")
		share("write")
		want("another access", "second", "write")
		heard := len(bob.all())
		share("write")
		if since := bob.all()[heard:]; since != "" {
			t.Errorf("nothing has changed, and the guest hears %s", since)
		}
		heard = len(bob.all())
		ann.must("session/prompt", fmt.Sprintf(`{"session_id":%q,"text":"hello"}`, id))
		time.Sleep(time.Second)
		want("after a turn", "second", "write")
		if since := bob.all()[heard:]; !strings.Contains(since, `"status":"running"`) || his.rows[id].Get("status").String() != "idle" || his.rows[id].Get("needs").String() != "read" {
			t.Errorf("of a turn the guest hears %s", since)
		}
		share("none")
		want("after the end", "", "")
		ann.must("session/update", fmt.Sprintf(`{"session_id":%q,"title":"third"}`, id))
		want("after the end", "", "")
		share("read")
		want("shared again", "third", "read")
		ann.must("session/delete", fmt.Sprintf(`{"session_id":%q}`, id))
		want("deleted", "", "")
		if rows := hers.now(); len(rows) > 0 || strings.Contains(eve.all(), "list_update") {
			t.Errorf("somebody else hears %s", eve.all())
		}
	})
}

// What waits for a guest that does not read is not sent after the sharing has ended.
func TestEndOfSharingHidesChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sharingStage(t, "")
		defer s.close()
		ann, bob := s.visit("acme", "ann", false), s.visit("acme", "bob", false)
		defer ann.leave()
		defer bob.leave()
		id := ann.must("session/new", `{"title":"first"}`).Get("session_id").String()
		ref, guest := session.Ref{Owner: session.Owner{Tenant: "acme", User: "ann"}, ID: session.ID(id)}, session.Owner{Tenant: "acme", User: "bob"}
		ann.must("session/share", fmt.Sprintf(`{"session_id":%q,"user":"bob"}`, id))
		c := s.server.newClient(t.Context(), method.Principal{Owner: guest}, conn.NewByteFrames(deafPipe{}, 1<<20))
		w := &watched{c: c, changes: s.group.For(guest).Watch()}
		defer w.changes.Close()
		ann.must("session/update", fmt.Sprintf(`{"session_id":%q,"title":"canary"}`, id))
		if err := s.shares.Set(ref, "bob", ""); err != nil {
			t.Fatal(err)
		}
		if message, last, err := w.next(); message != nil || last || err != nil {
			t.Errorf("%s, %v, %v", message, last, err)
		}
	})
}

// deafPipe is a pipe that nobody writes to.
type deafPipe struct{}

func (deafPipe) Read([]byte) (int, error)    { return 0, io.EOF }
func (deafPipe) Write(p []byte) (int, error) { return len(p), nil }
func (deafPipe) Close() error                { return nil }

// Each method of both protocols treats a guest as the table says: readers read, writers write, and what is the owner's fails with 1012. For
// others, also of the owner's name in another tenant, the session does not exist. So it is for the guest when the sharing has ended.
func TestGuests(t *testing.T) {
	for _, access := range []session.Access{session.ReadAccess, session.WriteAccess} {
		t.Run(string(access), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := sharingStage(t, secretScript)
				defer s.close()
				ann, bob, editor := s.visit("acme", "ann", false), s.visit("acme", "bob", false), s.visit("acme", "bob", true)
				eve, twin := s.visit("acme", "eve", false), s.visit("other", "bob", false)
				for _, v := range []*tenantClient{ann, bob, editor, eve, twin} {
					defer v.leave()
				}
				editor.must("initialize", `{"protocolVersion":1}`)
				own := ann.secrets()
				at := fmt.Sprintf(`{"session_id":%q}`, own["session_id"])
				if got := ann.must("session/share", fmt.Sprintf(`{"session_id":%q,"user":"bob","access":%q}`, own["session_id"], access)); got.Raw != fmt.Sprintf(`{"guests":[{"user":"bob","access":%q}]}`, access) {
					t.Error(got.Raw)
				}
				if got := bob.must("session/shared", "{}").Get("sessions"); len(got.Array()) != 1 || got.Get("0.user").String() != "ann" || got.Get("0.access").String() != string(access) || got.Get("0.title").String() != "canary-title" {
					t.Error(got)
				}
				for _, v := range []*tenantClient{eve, twin, ann} {
					if got := v.must("session/shared", "{}").Raw; got != `{"sessions":[]}` {
						t.Error(got)
					}
				}
				if got := bob.must("session/list", "{}").Get("sessions"); len(got.Array()) != 1 || got.Get("0.owner").String() != "ann" || got.Get("0.access").String() != string(access) || got.Get("0.session_id").String() != own["session_id"] {
					t.Errorf("the guest's list: %s", got)
				}
				if got := bob.must("session/search", `{"text":"canary"}`).Get("found"); len(got.Array()) != 1 || got.Get("0.session.owner").String() != "ann" {
					t.Errorf("the guest's search: %s", got)
				}
				for _, name := range []string{"session/state", "session/attach"} {
					if got := bob.must(name, at).Get("session"); got.Get("owner").String() != "ann" || got.Get("access").String() != string(access) {
						t.Errorf("%s says to the guest: %s", name, got)
					}
					if got := ann.must(name, at).Get("session"); got.Get("owner").Exists() || got.Get("access").Exists() {
						t.Errorf("%s says to the owner: %s", name, got)
					}
				}
				guests := 0
				for name, m := range s.server.byName {
					if m.Session == "" {
						continue
					}
					for _, e := range examples()[name] {
						params := own.in(e.Params)
						if !strings.Contains(params, own["session_id"]) {
							continue // it names no session
						}
						allowed := m.Guests == session.ReadAccess || m.Guests == session.WriteAccess && access == session.WriteAccess
						got := bob.call(name, params)
						forbidden := got.Get("error.code").Int() == int64(conn.CodeForbidden)
						if forbidden == allowed || !forbidden && got.Get("error.data.kind").String() == "not_found" && got.Get("error.message").String() == "no such session" {
							t.Errorf("%s %s: %s", name, params, got)
						}
						if allowed {
							guests++
						}
						for _, v := range []*tenantClient{eve, twin} {
							if got := v.call(name, params); strings.Contains(got.Raw, "canary") || got.Get("error.code").Int() == int64(conn.CodeForbidden) {
								t.Errorf("%s for somebody else: %s", name, got)
							}
						}
					}
				}
				if guests < 9 {
					t.Errorf("only %d requests of a guest were answered", guests)
				}
				for name, m := range s.server.editorMethods() {
					if m.Session == "" {
						continue
					}
					got := editor.call(name, fmt.Sprintf(`{%q:%q,"cwd":"/","mcpServers":[],"prompt":[{"type":"text","text":"x"}],"modeId":"ask","modelId":"sim/claude","configId":"mode","value":"ask","session_id":%q}`, m.Session, own["session_id"], own["session_id"]))
					if strings.Contains(got.Raw, "canary") && m.Guests == "" {
						t.Errorf("%s for a guest's editor: %s", name, got)
					}
				}

				// The end of the sharing: it is as if there were no such session, and the subscription ends with stale.
				bob.must("session/attach", at)
				heard := len(bob.all())
				if got := ann.must("session/share", fmt.Sprintf(`{"session_id":%q,"user":"bob","access":"none"}`, own["session_id"])); got.Raw != `{"guests":[]}` {
					t.Error(got.Raw)
				}
				synctest.Wait()
				if since := bob.all()[heard:]; !strings.Contains(since, `"method":"stale"`) {
					t.Errorf("after the end the guest hears %s", since)
				}
				heard = len(bob.all())
				ann.must("session/update", fmt.Sprintf(`{"session_id":%q,"title":"canary-later"}`, own["session_id"]))
				time.Sleep(time.Second)
				for _, name := range []string{"session/attach", "session/state", "session/history", "session/prompt"} {
					if got := bob.call(name, fmt.Sprintf(`{"session_id":%q,"text":"x"}`, own["session_id"])); got.Get("error.data.kind").String() != "not_found" {
						t.Errorf("%s after the end: %s", name, got)
					}
				}
				if since := bob.all()[heard:]; strings.Contains(since, "canary") {
					t.Errorf("after the end the guest hears %s", since)
				}
			})
		})
	}
}

// A guest who writes has a turn in the session, which the owner sees and pays for.
func TestGuestPrompts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sharingStage(t, "say of the guest")
		defer s.close()
		ann, bob := s.visit("", "ann", false), s.visit("", "bob", false)
		defer ann.leave()
		defer bob.leave()
		id := ann.must("session/new", `{"model_id":"mirror/claude-opus-4-6"}`).Get("session_id").String()
		ann.must("session/share", fmt.Sprintf(`{"session_id":%q,"user":"bob","access":"write"}`, id))
		bob.must("session/prompt", fmt.Sprintf(`{"session_id":%q,"text":"a prompt of bob"}`, id))
		time.Sleep(time.Second)
		if heard := ann.all(); !strings.Contains(heard, "a prompt of bob") || !strings.Contains(heard, "of the guest") {
			t.Errorf("the owner hears %s", heard)
		}
		if got := ann.must("usage/report", "{}").Get("total.calls").Int(); got != 1 && !strings.Contains(ann.all(), `"calls":1`) {
			t.Errorf("the owner has %d calls", got)
		}
		if got := bob.must("usage/report", "{}"); strings.Contains(got.Raw, `"calls":1`) {
			t.Errorf("the guest pays: %s", got)
		}
		ann.must("session/delete", fmt.Sprintf(`{"session_id":%q}`, id))
		if got := bob.call("session/state", fmt.Sprintf(`{"session_id":%q}`, id)); got.Get("error.data.kind").String() != "not_found" {
			t.Error(got)
		}
		if got := bob.must("session/shared", "{}").Raw; got != `{"sessions":[]}` {
			t.Errorf("a deleted session is shared: %s", got)
		}
	})
}

// Who may share what with whom, and what is said otherwise.
func TestRefusedSharing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sharingStage(t, "")
		defer s.close()
		ann, operator := s.visit("acme", "ann", false), s.visit("", "", false)
		defer ann.leave()
		defer operator.leave()
		id, theirs := ann.must("session/new", "{}").Get("session_id").String(), operator.must("session/new", "{}").Get("session_id").String()
		for params, want := range map[string]string{
			fmt.Sprintf(`{"session_id":%q,"user":"ann"}`, id):                 "user",
			fmt.Sprintf(`{"session_id":%q,"user":"a\u0007"}`, id):             "user",
			fmt.Sprintf(`{"session_id":%q,"access":"write"}`, id):             "user",
			fmt.Sprintf(`{"session_id":%q,"user":"bob","access":"all"}`, id):  "access",
			fmt.Sprintf(`{"session_id":%q,"user":"bob"}`, session.NewID()):    "",
			fmt.Sprintf(`{"session_id":%q,"user":"bob"}`, theirs):             "",
			fmt.Sprintf(`{"session_id":%q,"user":"bob","access":null}`, "no"): "session_id",
		} {
			if got := ann.call("session/share", params); !got.Get("error").Exists() || got.Get("error.data.field").String() != want {
				t.Errorf("%s: %s", params, got)
			}
		}
		if got := operator.call("session/share", fmt.Sprintf(`{"session_id":%q,"user":"bob"}`, theirs)); got.Get("error.data.field").String() != "session_id" {
			t.Error(got)
		}
	})
}

var shareSeed = flag.Int64("shareseed", 0, "repeat this run of TestTenUsersShare; 0: another one each time")

// Ten users of two tenants share sessions at random, and use them. At each moment a user can do what the shares say, and nothing else.
func TestTenUsersShare(t *testing.T) {
	seed := *shareSeed
	if seed == 0 {
		seed = time.Now().UnixNano()
	}
	t.Logf("repeat it with -shareseed %d", seed)
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewSource(seed))
		s := sharingStage(t, "")
		defer s.close()
		type user struct {
			*tenantClient
			tenant, name string
			list         *shownList
		}
		var users []*user
		for i := range 10 {
			u := &user{tenant: fmt.Sprint("tenant", i%2), name: fmt.Sprintf("user-%c", 'a'+i/2)} // the same names in both
			u.tenantClient = s.visit(u.tenant, u.name, false)
			defer u.leave()
			u.list = watchAs(u.tenantClient)
			users = append(users, u)
		}
		type right struct {
			id   string
			user *user
		}
		owners, access, ids := map[string]*user{}, map[right]string{}, []string{}
		for _, u := range users {
			id := u.must("session/new", fmt.Sprintf(`{"title":"x of %s of %s"}`, u.name, u.tenant)).Get("session_id").String()
			owners[id], ids = u, append(ids, id)
		}
		slices.Sort(ids)
		writes := map[string]bool{"session/append": true}
		forOwners := map[string]bool{"session/update": true, "session/fork": true, "session/share": true}
		for range 600 {
			u, id := users[random.Intn(len(users))], ids[random.Intn(len(ids))]
			owner := owners[id]
			if random.Intn(3) == 0 {
				guest, to := users[random.Intn(len(users))], []string{"read", "write", "none"}[random.Intn(3)]
				got := owner.call("session/share", fmt.Sprintf(`{"session_id":%q,"user":%q,"access":%q}`, id, guest.name, to))
				if fails := got.Get("error").Exists(); fails != (guest.name == owner.name) {
					t.Fatalf("shared with %s: %s", guest.name, got)
				} else if fails {
					continue
				}
				for _, one := range users {
					if one.name == guest.name && one.tenant == owner.tenant {
						access[right{id, one}] = to
					}
				}
				continue
			}
			if random.Intn(4) == 0 { // lists and searches have the user's own sessions and those that are shared, and no others
				want := map[string]string{}
				for _, id := range ids {
					if a := access[right{id, u}]; owners[id] == u {
						want[id] = ""
					} else if a == "read" || a == "write" {
						want[id] = owners[id].name + " " + a
					}
				}
				shown := map[string]string{}
				for id, row := range u.list.now() {
					shown[id] = strings.TrimSpace(row.Get("owner").String() + " " + row.Get("access").String())
				}
				if !maps.Equal(shown, want) {
					t.Fatalf("the list that %s of %s watches: %v, want %v", u.name, u.tenant, shown, want)
				}
				for _, method := range []string{"session/list", "session/search"} {
					got, cursor := map[string]string{}, ""
					for pages := 0; pages == 0 || cursor != ""; pages++ {
						if pages > 30 {
							t.Fatalf("%s: %d pages", method, pages)
						}
						r := u.must(method, fmt.Sprintf(`{"limit":%d,"cursor":%q%s}`, 1+random.Intn(4), cursor, map[string]string{"session/search": `,"text":"x"`}[method]))
						for _, s := range append(r.Get("sessions").Array(), r.Get("found.#.session").Array()...) {
							if _, twice := got[s.Get("session_id").String()]; twice {
								t.Errorf("%s has %s twice", method, s.Get("session_id"))
							}
							got[s.Get("session_id").String()] = strings.TrimSpace(s.Get("owner").String() + " " + s.Get("access").String())
						}
						cursor = r.Get("next_cursor").String()
					}
					if !maps.Equal(got, want) {
						t.Fatalf("%s of %s of %s: %v, want %v", method, u.name, u.tenant, got, want)
					}
				}
				continue
			}
			names := []string{"session/append", "session/state", "session/attach", "session/history", "session/update", "session/fork", "session/share"}
			name := names[random.Intn(len(names))]
			got := u.call(name, fmt.Sprintf(`{"session_id":%q,"text":"x","title":"x"}`, id))
			has := access[right{id, u}]
			want := ""
			switch {
			case u == owner:
			case has == "" || has == "none":
				want = "not_found"
			case forOwners[name] || writes[name] && has == "read":
				want = "forbidden"
			}
			if made := got.Get("result.session_id").String(); name == "session/fork" && made != "" {
				owners[made], ids = u, append(ids, made)
			}
			if kind := got.Get("error.data.kind").String(); kind != want {
				t.Fatalf("%s of %s with the access %q calls %s for a session of %s of %s: %q, want %q", u.name, u.tenant, has, name, owner.name, owner.tenant, kind, want)
			}
		}
		for _, u := range users {
			for _, other := range users {
				if heard := u.all(); u.tenant != other.tenant && strings.Contains(heard, other.tenant) {
					t.Errorf("%s of %s has heard of %s", u.name, u.tenant, other.tenant)
				}
			}
		}
	})
}
