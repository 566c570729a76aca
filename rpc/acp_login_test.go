package rpc

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/conntest"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/session"
)

// loginDesk is an editor that shows addresses, at a daemon with two plans. A login ends with what ends gives, or with its context.
func loginDesk(t *testing.T, play func(d *desk, ends chan error)) {
	t.Helper()
	onStage(t, "say hi", 0, func(s *stage) {
		ends := make(chan error)
		s.server.config.Providers = func() []service.ProviderStatus {
			return []service.ProviderStatus{{ID: "a", Auth: "missing"}, {ID: "copilot", Auth: "missing", Login: true, LoginSet: true}, {ID: "chatgpt", Auth: "missing", Login: true, LoginSet: true},
				{ID: "other", Auth: "missing", Login: true, LoginSet: true}}
		}
		s.server.config.Login = func(ctx context.Context, id string, show func(LoginPrompt)) error {
			prompt := LoginPrompt{URL: "https://example.com/" + id}
			if id == "copilot" {
				prompt.Code, prompt.Expires = "AB-12", 15*time.Minute
			}
			show(prompt)
			select {
			case err := <-ends:
				return err
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		d := s.sit(`{"auth":{"terminal":true},"elicitation":{"url":{}}}`)
		defer d.stand()
		play(d, ends)
	})
}

// of returns what the editor got of a method.
func (d *desk) of(method string) (list []gjson.Result) {
	for _, m := range d.got() {
		if m.Get("method").String() == method {
			list = append(list, m)
		}
	}
	return list
}

// reply answers the request for a login that the editor got last.
func (d *desk) reply(answer string) gjson.Result {
	d.Helper()
	list := d.of("elicitation/create")
	if len(list) == 0 {
		d.Fatal("the editor is not asked")
	}
	last := list[len(list)-1]
	if answer != "" {
		d.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, last.Get("id").Raw, answer))
		synctest.Wait() // a login that ends before the answer is taken takes its request back
	}
	return last.Get("params")
}

// TestACPPlanLogin logs in to plans from an editor: it shows the address and the code, and its request is answered when the login is there.
func TestACPPlanLogin(t *testing.T) {
	loginDesk(t, func(d *desk, ends chan error) {
		if got := d.got()[0].Get("result.authMethods.#.id").Raw; got != `["thinkd","copilot","chatgpt"]` {
			t.Errorf("methods %s", got)
		}
		for _, plan := range []struct{ id, says string }{{"copilot", "AB-12"}, {"chatgpt", "the machine on which thinkd runs"}} {
			id := d.ask("authenticate", fmt.Sprintf(`{"methodId":%q}`, plan.id))
			asked := d.reply(`"result":{"action":"accept"}`)
			if asked.Get("mode").String() != "url" || asked.Get("url").String() != "https://example.com/"+plan.id || asked.Get("requestId").Raw != id ||
				!strings.Contains(asked.Get("message").String(), plan.says) {
				t.Errorf("asked %s", asked)
			}
			if e := d.refused("authenticate", `{"methodId":"copilot"}`); e.Get("code").Int() != -32602 {
				t.Errorf("a second login: %s", e)
			}
			ends <- nil
			if got, place := d.answer(id); got.Get("result").Raw != "{}" {
				t.Errorf("%s", got)
			} else if over := d.got()[place-1]; over.Get("method").String() != "elicitation/complete" || over.Get("params.elicitationId").String() != asked.Get("elicitationId").String() {
				t.Errorf("before the answer comes %s", over)
			}
		}
		if list := d.of("$/cancel_request"); len(list) > 0 {
			t.Errorf("%v", list)
		}
	})
}

// TestACPPlanLoginEnds are the ends of a login without one: the user declines, the editor cannot ask, cancels, or the vendor refuses. Each
// leaves the editor free for the next one.
func TestACPPlanLoginEnds(t *testing.T) {
	loginDesk(t, func(d *desk, ends chan error) {
		for _, tt := range []struct {
			name, answer string
			act          func(id string)
			code         int64
			says         string
			takenBack    int
		}{
			{"declined", `"result":{"action":"decline"}`, nil, -32000, "declined", 0},
			{"cancelled by the user", `"result":{"action":"cancel"}`, nil, -32000, "declined", 0},
			{"the editor fails", `"error":{"code":-32601,"message":"not found"}`, nil, -32601, "not found", 0},
			{"cancelled by the editor", "", func(id string) {
				d.say(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":` + id + `}}`)
			}, -32800, "", 1},
			{"refused by the vendor", `"result":{"action":"accept"}`, func(string) {
				ends <- &provider.Error{Kind: provider.KindAuth, Message: "the code is not valid any more"}
			}, -32000, "not valid", 0},
			{"refused before an answer", "", func(string) {
				ends <- &provider.Error{Kind: provider.KindAuth, Message: "the code is not valid any more"}
			}, -32000, "not valid", 1},
		} {
			before := len(d.of("$/cancel_request"))
			id := d.ask("authenticate", `{"methodId":"copilot"}`)
			d.reply(tt.answer)
			if tt.act != nil {
				tt.act(id)
			}
			got, _ := d.answer(id)
			if e := got.Get("error"); e.Get("code").Int() != tt.code || !strings.Contains(e.Get("message").String(), tt.says) {
				t.Errorf("%s: %s", tt.name, got)
			}
			if n := len(d.of("$/cancel_request")) - before; n != tt.takenBack {
				t.Errorf("%s: %d requests are taken back", tt.name, n)
			}
		}
		if list := d.of("elicitation/complete"); len(list) > 0 {
			t.Errorf("%v", list)
		}
		d.ask("authenticate", `{"methodId":"copilot"}`) // the end of the connection ends it
	})
}

// TestACPPlanLoginNotOffered: an editor that shows no addresses, and a caller who may not set the operator's keys, get no login.
func TestACPPlanLoginNotOffered(t *testing.T) {
	loginDesk(t, func(d *desk, _ chan error) {
		plain := d.stage.sit(`{"elicitation":{"form":{}}}`)
		defer plain.stand()
		if got := plain.got()[0].Get("result.authMethods").Raw; got != "[]" {
			t.Errorf("offered %s", got)
		}
		if e := plain.refused("authenticate", `{"methodId":"copilot"}`); e.Get("code").Int() != -32602 {
			t.Errorf("%s", e)
		}
	})
	s := quietServer(Config{})
	s.config.Providers = func() []service.ProviderStatus {
		return []service.ProviderStatus{{ID: "copilot", Auth: "missing", Login: true}}
	}
	operator := conntest.Connect(t, func(pipe net.Conn) error {
		c := s.newClient(t.Context(), method.Operator(), conn.NewByteFrames(pipe, s.MessageBytes()))
		c.beEditor()
		return c.Serve()
	})
	defer operator.HangUp()
	operator.Send(conntest.Request(1, "initialize", `{"protocolVersion":1,"clientCapabilities":{"elicitation":{"url":{}}}}`))
	if got := gjson.Parse(operator.Receive()).Get("result.authMethods").Raw; got != "[]" {
		t.Errorf("a plan without an application is offered: %s", got)
	}
	s.config.Providers = func() []service.ProviderStatus {
		return []service.ProviderStatus{{ID: "copilot", Auth: "missing", Login: true}}
	}
	user := conntest.Connect(t, func(pipe net.Conn) error {
		c := s.newClient(t.Context(), method.Principal{Name: "ann", Owner: session.Owner{User: "ann"}, Rights: []method.Right{method.Use, method.Keys}}, conn.NewByteFrames(pipe, s.MessageBytes()))
		c.beEditor()
		return c.Serve()
	})
	defer user.HangUp()
	user.Send(conntest.Request(1, "initialize", `{"protocolVersion":1,"clientCapabilities":{"elicitation":{"url":{}}}}`))
	if got := gjson.Parse(user.Receive()).Get("result.authMethods").Raw; got != "[]" {
		t.Errorf("a user is offered %s", got)
	}
	user.Send(conntest.Request(2, "authenticate", `{"methodId":"copilot"}`))
	if got := gjson.Parse(user.Receive()); got.Get("error.code").Int() != -32602 {
		t.Errorf("%s", got)
	}
}
