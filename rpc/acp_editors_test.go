package rpc

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/conntest"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/session"
)

// TestACPCodeCompanion plays what CodeCompanion 19 sends with the adapter of docs/editors.md, and reads what the plugin's source reads of
// the answers. The plugin itself needs a newer Neovim than the tests.
func TestACPCodeCompanion(t *testing.T) {
	onStage(t, "think hm\nsay hi\n\nsay again", 0, func(s *stage) {
		d := s.sit(`{"fs":{"readTextFile":true,"writeTextFile":true}}`)
		defer d.stand()
		greeting := d.got()[0].Get("result")
		if greeting.Get("protocolVersion").Int() != 1 || len(greeting.Get("authMethods").Array()) > 0 ||
			!greeting.Get("agentCapabilities.loadSession").Bool() || !greeting.Get("agentCapabilities.sessionCapabilities.list").Exists() {
			t.Errorf("initialize: %s", greeting)
		}
		made := d.result("session/new", `{"mcpServers":[],"cwd":"`+srv+`/app"}`)
		id := made.Get("sessionId").String()
		options := made.Get("configOptions").Array()
		for _, o := range options {
			current, offered := o.Get("currentValue").String(), fmt.Sprint(o.Get("options.#.value"))
			if o.Get("id").String() == "" || o.Get("name").String() == "" || o.Get("type").String() != "select" || !strings.Contains(offered, `"`+current+`"`) {
				t.Errorf("option %s", o)
			}
			set := d.result("session/set_config_option", fmt.Sprintf(`{"value":%q,"sessionId":%q,"configId":%q}`, current, id, o.Get("id").String()))
			if len(set.Get("configOptions").Array()) != len(options) {
				t.Errorf("set_config_option: %s", set)
			}
		}
		if len(options) == 0 {
			t.Error("there are no options")
		}
		from := len(d.got())
		asked := d.ask("session/prompt", fmt.Sprintf(`{"prompt":[{"type":"text","text":"Why?"},{"type":"resource","resource":{"uri":"file://%s/app/a.lua","text":"return 1"}}],"sessionId":%q}`, srv, id))
		time.Sleep(time.Second)
		var thought, said string
		for _, m := range d.got()[from:] {
			u := m.Get("params.update")
			switch u.Get("sessionUpdate").String() {
			case "agent_thought_chunk":
				thought += u.Get("content.text").String()
			case "agent_message_chunk":
				said += u.Get("content.text").String()
			}
		}
		if end, _ := d.answer(asked); end.Get("result.stopReason").String() != "end_turn" || thought != "hm" || said != "hi" {
			t.Errorf("thought %q, said %q: %s", thought, said, end)
		}
		if list := d.result("session/list", `{"cwd":"`+srv+`/app"}`).Get("sessions").Array(); len(list) != 1 || list[0].Get("sessionId").String() != id || list[0].Get("cwd").String() != srv+"/app" {
			t.Errorf("session/list: %v", list)
		}
		loaded := d.result("session/load", fmt.Sprintf(`{"mcpServers":[],"sessionId":%q,"cwd":"%s/app"}`, id, srv))
		if len(loaded.Get("configOptions").Array()) != len(options) {
			t.Errorf("session/load: %s", loaded)
		}
	})
}

// Editors that can run a command in a terminal get a way to log in; auth/status says what there is.
func TestACPLogin(t *testing.T) {
	onStage(t, "say hi", 0, func(s *stage) {
		d := s.sit(`{"auth":{"terminal":true}}`)
		defer d.stand()
		greeting := d.got()[0].Get("result")
		if m := greeting.Get("authMethods"); len(m.Array()) != 1 || m.Get("0.type").String() != "terminal" || m.Get("0.args").Raw != `["--login"]` ||
			!greeting.Get("agentCapabilities.auth.status").Exists() {
			t.Errorf("initialize: %s", greeting)
		}
		if got := d.result("auth/status", `{}`); got.Get("state").String() == "" || got.Get("state").String() == "unauthenticated" {
			t.Errorf("auth/status: %s", got.Raw)
		}
		if e := d.refused("authenticate", `{"methodId":"thinkd"}`); e.Get("code").Int() != -32602 || !strings.Contains(e.Get("message").String(), "thinkd auth set") {
			t.Errorf("authenticate: %s", e.Raw)
		}
	})
}

// logout removes the stored keys and logins of all providers, further keys too, and nothing else. Callers without the right are not
// offered it.
func TestACPLogout(t *testing.T) {
	onStage(t, "say hi", 0, func(s *stage) {
		d := s.sit(`{}`)
		defer d.stand()
		if !d.got()[0].Get("result.agentCapabilities.auth.logout").IsObject() {
			t.Error("logout is not announced")
		}
		s.server.config.Providers = func() []service.ProviderStatus {
			return []service.ProviderStatus{{ID: "a", Auth: "ready", AuthSource: "keys", Keys: []provider.NamedKey{{Name: "team"}}},
				{ID: "b", Auth: "ready", AuthSource: "login", Login: true}, {ID: "sim", Auth: "not_needed"}}
		}
		s.server.config.Servers = func() []service.ProviderStatus {
			return []service.ProviderStatus{{ID: "mcp:x", Auth: "ready", Login: true}}
		}
		var removed []string
		var broken error
		s.server.config.SetKey = func(id, name string, key provider.Secret) error {
			if !key.IsZero() {
				t.Errorf("a key is set for %s", id)
			}
			if id == "sim" {
				return provider.ErrNoKeyNeeded
			}
			removed = append(removed, id+" "+name)
			if id == "a" {
				return broken
			}
			return nil
		}
		if got := d.result("logout", `{}`); got.Raw != "{}" {
			t.Errorf("logout: %s", got)
		}
		if diff := cmp.Diff([]string{"a ", "a team", "b "}, removed); diff != "" {
			t.Errorf("removed (-want +got)\n%s", diff)
		}
		removed, broken = nil, session.ErrReadOnly
		if e := d.refused("logout", `{}`); e.Get("code").Int() != -32603 || len(removed) != 3 {
			t.Errorf("logout that cannot be stored: %s, %q", e, removed)
		}
	})
	s := quietServer(Config{})
	user := conntest.Connect(t, func(pipe net.Conn) error {
		c := s.newClient(t.Context(), method.Principal{Name: "ann", Owner: session.Owner{User: "ann"}, Rights: []method.Right{method.Use}}, conn.NewByteFrames(pipe, s.MessageBytes()))
		c.beEditor()
		return c.Serve()
	})
	defer user.HangUp()
	user.Send(conntest.Request(1, "initialize", `{"protocolVersion":1}`))
	if can := gjson.Parse(user.Receive()).Get("result.agentCapabilities.auth"); !can.Get("status").Exists() || can.Get("logout").Exists() {
		t.Errorf("a caller without the right is offered %s", can)
	}
}

// Editors choose in _meta of session/new what a session keeps. models/list states which storages its model allows.
func TestACPPrivacy(t *testing.T) {
	onStage(t, "say hi", 0, func(s *stage) {
		d := s.sit(`{}`)
		defer d.stand()
		params := func(meta string) string { return `{"mcpServers":[],"cwd":"` + srv + `/app","_meta":` + meta + `}` }
		state := func(made gjson.Result) gjson.Result {
			return d.result("_thinkd/session/state", fmt.Sprintf(`{"session_id":%q}`, made.Get("sessionId").String())).Get("session")
		}
		if got := state(d.result("session/new", params(`{"thinkd.dev/ephemeral":true,"x":1}`))); !got.Get("ephemeral").Bool() {
			t.Errorf("not ephemeral: %s", got)
		}
		model := state(d.result("session/new", params(`null`))).Get("model")
		listed := d.result("_thinkd/models/list", `{}`).Get(fmt.Sprintf(`models.#(id==%q).thinking_storages`, model.Get("id").String())).String()
		if !strings.Contains(listed, `"full"`) {
			t.Errorf("models/list has %q for %s", listed, model)
		}
		for _, word := range []string{"full", "opaque", "none", "some"} {
			meta := fmt.Sprintf(`{"thinkd.dev/thinking_storage":%q}`, word)
			if !strings.Contains(listed, `"`+word+`"`) {
				if e := d.refused("session/new", params(meta)); e.Get("code").Int() != -32602 || !strings.Contains(e.Get("message").String(), "thinking_storage: ") {
					t.Errorf("%s: %s", word, e)
				}
			} else if got := state(d.result("session/new", params(meta))); got.Get("thinking_storage").String() != word {
				t.Errorf("%s: %s", word, got)
			}
		}
	})
}
