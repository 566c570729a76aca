package node

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider/testgo"
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
