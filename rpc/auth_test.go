package rpc

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/conntest"
	"github.com/thinkd/thinkd/rpc/service"
)

// doorkeeper is what the daemon does about keys and logins.
type doorkeeper struct {
	t      *testing.T
	key    string
	broken error
	ends   chan error // what a login ends with
	ended  chan error // what ended one that was not waited for
	log    conntest.Log
}

func (d *doorkeeper) server() *Server {
	return NewServer(Config{Config: service.Config{
		Log: slog.New(slog.NewTextHandler(&d.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Providers: func() []service.ProviderStatus {
			a := service.ProviderStatus{ID: "a", Auth: "missing"}
			if d.key != "" {
				a.Auth, a.AuthSource = "ready", "keys"
			}
			return []service.ProviderStatus{a, {ID: "plan", Auth: "missing", Login: true}, {ID: "sim", Auth: "not_needed"}}
		}},
		SetKey: func(id, name string, key provider.Secret) error {
			if id != "a" {
				d.t.Errorf("a key for %s", id)
			}
			if d.broken == nil {
				d.key = key.Reveal()
			}
			return d.broken
		},
		Login: func(ctx context.Context, id string, show func(LoginPrompt)) error {
			show(LoginPrompt{URL: "https://example.com/device", Code: "AB-12", Expires: time.Minute})
			select {
			case err := <-d.ends:
				return err
			case <-ctx.Done():
				d.ended <- context.Cause(ctx)
				return context.Cause(ctx)
			}
		},
	})
}

func TestSetKey(t *testing.T) {
	const canary = "sk-canary-1"
	d := &doorkeeper{t: t}
	p := connect(t, t.Context(), d.server())
	ask := func(params, want string) {
		t.Helper()
		p.Send(conntest.Request(1, "auth/set_key", params))
		if got := p.Receive(); !strings.Contains(got, want) || strings.Contains(got, "canary") {
			t.Errorf("%s: got %s, want %s", params, got, want)
		}
	}
	for _, tt := range [][2]string{
		{`{"provider":"a"}`, `"code":-32602,"message":"key: is missing"`},
		{`{"key":"k"}`, `"code":-32602,"message":"provider: is missing"`},
		{`{"provider":"a","key":["` + canary + `"]}`, `"message":"key: must be a string, not array"`},
		{`{"provider":"b","key":"` + canary + `"}`, `"code":1003,"message":"no such provider: b; there are: a, plan, sim","data":{"candidates":["a","plan","sim"]`},
		{`{"provider":"sim","key":"` + canary + `"}`, `"message":"provider: sim needs no key"`},
		{`{"provider":"a","key":"https://canary@example.com"}`, `"message":"key: must be the key alone, not an address: that is the operator's to set"`},
		{`{"provider":"a","key":"can ary"}`, `"message":"key: is not a key:`},
		{`{"provider":"a","key":"a\u0000canary"}`, `"message":"key: is not a key:`},
		{`{"provider":"a","key":"kanarienvögel"}`, `"message":"key: is not a key:`},
		{`{"provider":"a","key":"` + strings.Repeat("k", maxKey+1) + `"}`, `"message":"key: is not a key:`},
	} {
		ask(tt[0], tt[1])
		if d.key != "" {
			t.Fatalf("%s: the key is %q", tt[0], d.key)
		}
	}
	ask(`{"provider":"a","key":" `+canary+`\n"}`, `"result":{"provider":"a","state":"ready","source":"keys"}`)
	if d.key != canary {
		t.Errorf("the key is %q", d.key)
	}
	d.broken = errors.New("/etc/passwd is full")
	ask(`{"provider":"a","key":"other"}`, `"code":-32603,"message":"internal error"`)
	d.broken = provider.ErrVariableName
	ask(`{"provider":"a","key":"A_KEY"}`, `"code":-32602,"message":"key: is the name of a variable: set its value"`)
	d.broken = nil
	ask(`{"provider":"a","key":""}`, `"result":{"provider":"a","state":"missing"}`)
	if d.key != "" {
		t.Errorf("the key is %q after it was removed", d.key)
	}
	if err := p.HangUp(); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
	if log := d.log.String(); strings.Contains(log, "canary") || !strings.Contains(log, "/etc/passwd is full") {
		t.Errorf("the log: %s", log)
	}
}

// TestLogin: the answer comes first, then what to do, then the end. Another login of the same client takes the place of
// one that waits; the end of the connection ends it.
func TestLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &doorkeeper{t: t, ends: make(chan error), ended: make(chan error, 10)}
		p := connect(t, t.Context(), d.server())
		const (
			started = `{"jsonrpc":"2.0","id":1,"result":{"provider":"plan","state":"started"}}`
			waiting = `{"jsonrpc":"2.0","method":"auth_update","params":{"provider":"plan","state":"waiting","url":"https://example.com/device","code":"AB-12","expires_in_ms":60000}}`
		)
		begin := func() {
			t.Helper()
			p.Send(conntest.Request(1, "auth/login", `{"provider":"plan"}`))
			p.Expect(started)
			p.Expect(waiting)
		}
		p.Send(conntest.Request(1, "auth/login", `{"provider":"a"}`))
		p.Expect(`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"provider: there is no login for a: it takes a key, see auth/set_key or ` + "`thinkd auth set a`" + `","data":{"field":"provider","kind":"invalid_params"}}}`)
		begin()
		d.ends <- nil
		p.Expect(`{"jsonrpc":"2.0","method":"auth_update","params":{"provider":"plan","state":"ready"}}`)

		begin()
		d.ends <- &provider.Error{Provider: "plan", Kind: provider.KindAuth, Message: "the login was declined"}
		p.Expect(`{"jsonrpc":"2.0","method":"auth_update","params":{"provider":"plan","state":"failed","error":{"code":1004,"message":"plan: the login was declined","data":{"kind":"auth"}}}}`)

		begin()
		d.ends <- errors.New("canary /etc/shadow")
		if got := p.Receive(); !strings.Contains(got, `"state":"failed","error":{"code":-32603,"message":"internal error"`) || strings.Contains(got, "canary") {
			t.Errorf("got %s", got)
		}

		begin()
		begin() // replaces the first one, which publishes nothing more
		<-d.ended
		p.Send(conntest.Request(2, "ping", `{}`))
		p.Expect(`{"jsonrpc":"2.0","id":2,"result":{}}`)
		p.HangUp()
		<-d.ended
	})
}
