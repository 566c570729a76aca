package login_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/provider/login"
	"github.com/thinkd/thinkd/provider/testgo"
)

func openTable(t *testing.T, table durable.Table) *login.Keys {
	t.Helper()
	keys, err := login.OpenTable(table)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func loginOf(token string) login.Grant {
	return login.Grant{Token: provider.NewSecret(token), ByLogin: true, Account: "acc"}
}

// Two nodes have the same keys, of all kinds, and neither brings back what the other has removed.
func TestKeysOfTwoNodes(t *testing.T) {
	table := new(durable.MemoryTable)
	a, b := openTable(t, table), openTable(t, table)
	ann := login.Holder{Tenant: "acme", User: `a"nn`}
	set(t, a, "x", login.Grant{Token: provider.NewSecret("key-x")})
	set(t, b, "y", loginOf("token-y"))
	for _, err := range []error{a.SetNamed("x", "work", provider.NewSecret("key-work")), b.SetOf(ann, "x", provider.NewSecret("key-ann")), a.SetOf(ann.ForTenant(), "x", provider.NewSecret("key-acme"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range []*login.Keys{a, b, openTable(t, table)} {
		if got := fmt.Sprintln(k.Providers(), k.Grant("x").Token.Reveal(), k.Grant("y").Token.Reveal(), k.Grant("y").ByLogin, k.Named("x", "work").Reveal(), len(k.NamedKeys("x"))); got != "[x y] key-x token-y true key-work 1\n" {
			t.Error(got)
		}
		if key, whose := k.Of(ann, "x"); key.Reveal() != "key-ann" || whose != ann {
			t.Errorf("%s, %v", key.Reveal(), whose)
		}
		if key, whose := k.Of(login.Holder{Tenant: "acme", User: "bob"}, "x"); key.Reveal() != "key-acme" || whose != ann.ForTenant() {
			t.Errorf("%s, %v", key.Reveal(), whose)
		}
	}
	if n, err := b.ForgetAllOf(ann); n != 1 || err != nil {
		t.Error(n, err)
	}
	if err := a.Set("x", login.Grant{}); err != nil {
		t.Fatal(err)
	}
	if key, _ := a.Of(ann, "x"); key.Reveal() != "key-acme" || !b.Grant("x").IsZero() {
		t.Error("a key that was removed is there")
	}
	if err := table.Change(t.Context(), `["","","x",""]`, func([]byte) ([]byte, error) { return []byte(`{"key":5,"canary":1`), nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := login.OpenTable(table); err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("a damaged row: %v", err)
	}
	if !a.Grant("x").IsZero() || a.Grant("y").IsZero() {
		t.Error("a damaged row is read, or another one is not")
	}
}

// Of nodes that renew a login at once one does, and all have what it got. A node that renews the old one later gets the new one.
func TestOneNodeRenews(t *testing.T) {
	table := new(durable.MemoryTable)
	set(t, openTable(t, table), "x", loginOf("old"))
	used := make(chan string, 10)
	var ends []<-chan struct{}
	old := openTable(t, table).Grant("x")
	for i := range 4 {
		keys := openTable(t, table)
		ends = append(ends, testgo.Go(t, func() {
			got, err := keys.Renew(t.Context(), "x", old, func(context.Context) (login.Grant, error) {
				next := fmt.Sprint("new", i)
				used <- next
				return loginOf(next), nil
			})
			if err != nil || got.Token.Reveal() == "old" || got != keys.Grant("x") {
				t.Errorf("%s, %v", got.Token.Reveal(), err)
			}
		}))
	}
	for _, end := range ends {
		<-end
	}
	if len(used) != 1 {
		t.Fatalf("the login was used %d times", len(used))
	}
	if next := <-used; openTable(t, table).Grant("x").Token.Reveal() != next {
		t.Error("another login is kept")
	}
}

// A node that fails to renew lets the next one try. A logout meanwhile stays one.
func TestFailedRenewal(t *testing.T) {
	table := new(durable.MemoryTable)
	a, b := openTable(t, table), openTable(t, table)
	set(t, a, "x", loginOf("old"))
	failed := errors.New("no answer")
	if got, err := a.Renew(t.Context(), "x", a.Grant("x"), func(context.Context) (login.Grant, error) { return login.Grant{}, failed }); !errors.Is(err, failed) || got != a.Grant("x") {
		t.Error(got, err)
	}
	got, err := b.Renew(t.Context(), "x", b.Grant("x"), func(context.Context) (login.Grant, error) {
		return loginOf("new"), a.Set("x", login.Grant{})
	})
	if err != nil || !got.IsZero() || !b.Grant("x").IsZero() {
		t.Errorf("%+v, %v", got, err)
	}
}

// A node that dies while it renews may have used the login up. The others do not use it again. A new login is fine, and so is the answer if it comes late.
func TestLostRenewal(t *testing.T) {
	for _, late := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			table := new(durable.MemoryTable)
			dead, alive := openTable(t, table), openTable(t, table)
			set(t, dead, "x", loginOf("old"))
			old, answer := dead.Grant("x"), make(chan struct{})
			ended := testgo.Go(t, func() {
				_, err := dead.Renew(t.Context(), "x", old, func(context.Context) (login.Grant, error) {
					<-answer
					return loginOf("new"), nil
				})
				if err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
			again := func(context.Context) (login.Grant, error) {
				t.Error("the login is used twice")
				return loginOf("twice"), nil
			}
			began := time.Now()
			for range 2 {
				if _, err := alive.Renew(t.Context(), "x", old, again); !errors.Is(err, login.ErrUsedUp) {
					t.Errorf("with a login that may be used up: %v", err)
				}
			}
			if waited := time.Since(began); waited != 30*time.Second {
				t.Errorf("the others waited %v", waited)
			}
			if !late {
				set(t, alive, "x", loginOf("fresh"))
			}
			close(answer)
			<-ended
			want := map[bool]string{false: "fresh", true: "new"}[late]
			got, err := alive.Renew(t.Context(), "x", alive.Grant("x"), func(context.Context) (login.Grant, error) { return loginOf(want + "er"), nil })
			if err != nil || got.Token.Reveal() != want+"er" {
				t.Errorf("after that: %s, %v", got.Token.Reveal(), err)
			}
		})
	}
}

// The servers do not answer: the new login counts in this process.
func TestRenewalNotKept(t *testing.T) {
	table := new(failing)
	keys := openTable(t, table)
	set(t, keys, "x", loginOf("old"))
	got, err := keys.Renew(t.Context(), "x", keys.Grant("x"), func(context.Context) (login.Grant, error) {
		table.err = errors.New("no answer")
		return loginOf("new"), nil
	})
	if !errors.Is(err, login.ErrNotKept) || got.Token.Reveal() != "new" || keys.Grant("x").Token.Reveal() != "new" {
		t.Errorf("%s, %v", got.Token.Reveal(), err)
	}
	if err := keys.Set("y", loginOf("y")); !errors.Is(err, login.ErrNotKept) || !keys.Grant("y").IsZero() {
		t.Error(err)
	}
}

type failing struct {
	durable.MemoryTable
	err error
}

func (f *failing) Change(ctx context.Context, key string, change func([]byte) ([]byte, error)) error {
	if f.err != nil {
		return f.err
	}
	return f.MemoryTable.Change(ctx, key, change)
}

// countedFlow replaces the login at each exchange, as some vendors do.
type countedFlow struct{ n int }

func (*countedFlow) Login(context.Context, func(login.Prompt)) (login.Grant, error) {
	return login.Grant{}, login.ErrNoLogin
}
func (*countedFlow) Direct(login.Grant) (login.Credential, bool) { return login.Credential{}, false }

func (f *countedFlow) Exchange(_ context.Context, g login.Grant) (login.Credential, login.Grant, error) {
	f.n++
	next := loginOf(fmt.Sprint("login", f.n))
	return login.Lasting(login.Credential{Key: next.Token.Passing(fmt.Sprint("access", f.n)), Account: "acc", Headers: map[string]string{"x": "y"}}, time.Hour), next, nil
}

// Nodes call with the credential that one of them got, until it is to be renewed.
func TestCredentialOfAnotherNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, flow := new(durable.MemoryTable), new(countedFlow)
		set(t, openTable(t, table), "x", loginOf("login0"))
		var nodes []*login.Source
		for range 2 {
			s := login.NewSource(login.Config{Provider: "x", Keys: openTable(t, table), Flow: flow, Log: slog.New(slog.DiscardHandler)})
			defer s.Close()
			nodes = append(nodes, s)
		}
		var key provider.Secret
		same := func(step int) {
			t.Helper()
			for range 2 {
				for i, s := range nodes {
					c, err := s.Credential(t.Context())
					if key = c.Key; err != nil || c.Key.Reveal() != fmt.Sprint("access", step) || c.Account != "acc" || c.Headers["x"] != "y" || flow.n != step {
						t.Errorf("step %d, node %d: %s, %v, %d exchanges", step, i, c.Key.Reveal(), err, flow.n)
					}
				}
			}
		}
		same(1)
		if c, ok, err := nodes[1].Renew(t.Context(), key); err != nil || !ok || c.Key.Reveal() != "access2" { // the vendor refused it
			t.Errorf("renewed: %s, %v, %v", c.Key.Reveal(), ok, err)
		}
		same(2)
		time.Sleep(2 * time.Hour) // of the bubble
		same(3)
	})
}
