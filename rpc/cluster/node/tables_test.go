package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/login"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/provider/vault"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/rpc/auth"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/jet/jettest"
	"github.com/thinkd/thinkd/session/share"
)

func openTables(t *testing.T, servers *jettest.Servers) Tables {
	t.Helper()
	tables, err := OpenTables(t.Context(), Config{Name: t.Name(), Servers: []string{servers.URL(0)}, Prefix: "thinkd", Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	return tables
}

// A token that one node creates lets its bearer in at another, until the first one revokes it. No file of the store has the token.
func TestTokensOfTwoNodes(t *testing.T) {
	servers := jettest.Start(t, 1)
	a, b := openTables(t, servers), openTables(t, servers)
	here := auth.Shared{Table: a.Table("tokens")}
	tokens := auth.NewTokens(auth.Shared{Table: b.Table("tokens")}, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	watching := testgo.Go(t, func() { tokens.Watch(ctx) })
	made, token, err := here.Create(auth.Record{User: "ann", Tenant: "acme", Rights: []string{"use"}, Note: "canary-note"})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Table("tokens").Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	g, ok, err := tokens.Admit(t.Context(), token.Reveal())
	if err != nil || !ok || g.Principal.Owner != (session.Owner{Tenant: "acme", User: "ann"}) {
		t.Fatalf("%+v, %v, %v", g, ok, err)
	}
	began := time.Now()
	if err := here.Revoke(made.ID); err != nil {
		t.Fatal(err)
	}
	<-g.Valid.Done()
	t.Logf("the other node ended the connection after %v", time.Since(began))
	if cause := context.Cause(g.Valid); !errors.Is(cause, conn.ErrRevoked) {
		t.Error(cause)
	}
	stop()
	<-watching
	if _, _, err := here.Create(auth.Record{User: "ann", Rights: []string{"use"}, Note: "canary-note"}); err != nil {
		t.Fatal(err)
	}
	a.Close()
	a = openTables(t, servers) // a node that starts again
	if list, err := (auth.Shared{Table: a.Table("tokens")}).List(); err != nil || len(list) != 1 || list[0].ID == made.ID {
		t.Errorf("after a restart: %+v, %v", list, err)
	}
	a.Close()
	b.Close()
	servers.Stop(0)
	if file := servers.Stored(token.Reveal()); file != "" {
		t.Errorf("%s has the token", file)
	}
}

// A session that is shared at one node is there for the guest at another, which hears of the end of the sharing as well.
func TestSharesOfTwoNodes(t *testing.T) {
	servers := jettest.Start(t, 1)
	a, b := openTables(t, servers), openTables(t, servers)
	defer a.Close()
	defer b.Close()
	here, err := share.OpenTable(a.Table("shares"))
	if err != nil {
		t.Fatal(err)
	}
	there, err := share.OpenTable(b.Table("shares"))
	if err != nil {
		t.Fatal(err)
	}
	ref := session.Ref{Owner: session.Owner{Tenant: "acme", User: "ann"}, ID: session.NewID()}
	bob := session.Owner{Tenant: "acme", User: "bob"}
	heard := make(chan session.Access, 8)
	ctx, stop := context.WithCancel(t.Context())
	watching := testgo.Go(t, func() { there.Watch(ctx, func(_, after share.Share) { heard <- after.Access }) })
	for _, access := range []session.Access{session.WriteAccess, ""} {
		if err := here.Set(ref, "bob", access); err != nil {
			t.Fatal(err)
		}
		if got := <-heard; got != access {
			t.Errorf("the other node hears %q, want %q", got, access)
		}
		if got, ok := there.Access(bob, ref.ID); got != access || ok != (access != "") {
			t.Errorf("the guest has %q at the other node, want %q", got, access)
		}
	}
	stop()
	<-watching
}

// A key that is set at one node is there at another. A node with another master key is refused. No file of the store, no subject and no log has a key.
func TestKeysOfTwoNodes(t *testing.T) {
	const canary = "sk-canary-0123456789abcdef"
	servers := jettest.Start(t, 1)
	subjects := make(chan *nats.Msg, 1000)
	link := servers.Dial()
	if _, err := link[0].ChanSubscribe("thinkd.>", subjects); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	log := slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug}))
	open := func(in Tables, letter string) (*login.Keys, error) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "master")
		if err := os.WriteFile(path, []byte(strings.Repeat(letter, 64)), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := vault.FromFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sealed, _, err := vault.OpenTable(t.Context(), in.Table("keys"), "keys.json", m, log)
		if err != nil {
			return nil, err
		}
		return login.OpenTable(sealed)
	}
	a, b := openTables(t, servers), openTables(t, servers)
	here, err := open(a, "a")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Table("keys").Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	there, err := open(b, "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open(b, "b"); err == nil || !strings.Contains(err.Error(), "is encrypted with the master key") {
		t.Errorf("with another key: %v", err)
	}
	user := login.Holder{Tenant: "acme", User: "canary-ann"}
	g := login.Grant{Token: provider.NewSecret(canary), ByLogin: true}
	for _, err := range []error{here.Set("anthropic", login.Grant{Token: provider.NewSecret(canary)}), there.Set("chatgpt", g), here.SetOf(user, "anthropic", provider.NewSecret(canary)), here.SetNamed("anthropic", "work", provider.NewSecret(canary))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	next, err := there.Renew(t.Context(), "chatgpt", g, func(context.Context) (login.Grant, error) {
		return login.Grant{Token: provider.NewSecret(canary + "2"), ByLogin: true}, nil
	})
	if err != nil || next.Token.Reveal() != canary+"2" {
		t.Error(next, err)
	}
	for _, in := range []Tables{a, b} {
		if err := in.Table("keys").Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range []*login.Keys{here, there} {
		if key, _ := k.Of(user, "anthropic"); key.Reveal() != canary || k.Grant("chatgpt").Token.Reveal() != canary+"2" || k.Named("anthropic", "work").Reveal() != canary {
			t.Error("a key of another node is not there")
		}
	}
	if err := here.SetOf(user, "anthropic", provider.Secret{}); err != nil {
		t.Error(err)
	}
	a.Close()
	b.Close()
	if err := link[0].Flush(); err != nil {
		t.Fatal(err)
	}
	if len(subjects) == 0 {
		t.Error("no message was heard")
	}
	for len(subjects) > 0 {
		m := <-subjects
		var row struct{ Text []byte } // in base64
		if err := json.Unmarshal(m.Data, &row); len(m.Data) > 0 && (err != nil || len(row.Text) == 0) {
			t.Errorf("%s: %v", m.Data, err)
		}
		if strings.Contains(m.Subject, "canary") || bytes.Contains(m.Data, []byte(canary)) || bytes.Contains(row.Text, []byte(canary)) {
			t.Errorf("the message %s has a key", m.Subject)
		}
	}
	if strings.Contains(said.String(), canary) {
		t.Errorf("the log has a key: %s", said.String())
	}
	servers.Stop(0)
	if file := servers.Stored(canary); file != "" {
		t.Errorf("%s has a key", file)
	}
	if servers.Stored("master_key") == "" && servers.Stored("thinkd.table.") == "" {
		t.Error("the files that were searched have nothing of the table")
	}
}

// An agent that is set at one node is there at another, also after a restart.
func TestSettingsOfTwoNodes(t *testing.T) {
	servers := jettest.Start(t, 1)
	a, b := openTables(t, servers), openTables(t, servers)
	here, err := registry.OpenTable(nil, nil, a.Table("settings"))
	if err != nil {
		t.Fatal(err)
	}
	if err := here.SetAgent("brief", func(a *registry.Agent) error { a.System = "Be brief."; return nil }); err != nil {
		t.Fatal(err)
	}
	a.Close()
	a = openTables(t, servers)
	defer a.Close()
	defer b.Close()
	if err := b.Table("settings").Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, in := range []Tables{a, b} {
		s, err := registry.OpenTable(nil, nil, in.Table("settings"))
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := s.Agent("brief"); got.System != "Be brief." {
			t.Errorf("%+v", got)
		}
	}
}
