package share

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
)

var (
	ann   = session.Owner{Tenant: "acme", User: "ann"}
	bob   = session.Owner{Tenant: "acme", User: "bob"}
	other = session.Owner{Tenant: "other", User: "bob"}
	ref   = session.Ref{Owner: ann, ID: session.NewID()}
)

func open(t *testing.T, kept durable.Value) *Shares {
	t.Helper()
	s, err := Open(kept)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A share is for one user of the same tenant, outlives a restart, and ends when the owner says so.
func TestShares(t *testing.T) {
	kept := new(durable.Memory)
	s := open(t, kept)
	if err := s.Set(ref, "bob", session.ReadAccess); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Shares{s, open(t, kept)} {
		if one, ok := s.Of(bob, ref.ID); !ok || one != (Share{ref, bob, session.ReadAccess}) {
			t.Errorf("%+v, %v", one, ok)
		}
		for _, nobody := range []session.Owner{ann, other, {User: "bob"}, session.Operator} {
			if one, ok := s.Of(nobody, ref.ID); ok {
				t.Errorf("%s has %+v", nobody, one)
			}
		}
		if _, ok := s.Of(bob, session.NewID()); ok {
			t.Error("another session is shared")
		}
	}
	if err := s.Set(ref, "bob", session.WriteAccess); err != nil {
		t.Error(err)
	}
	if a, _ := s.Access(bob, ref.ID); a != session.WriteAccess || len(s.With(ref)) != 1 || len(s.To(bob)) != 1 {
		t.Errorf("%s, %v, %v", a, s.With(ref), s.To(bob))
	}
	if err := s.Set(ref, "bob", ""); err != nil {
		t.Error(err)
	}
	if _, ok := s.Of(bob, ref.ID); ok || len(open(t, kept).To(bob)) != 0 {
		t.Error("it is shared after its end")
	}
}

// What is deleted is shared with nobody, and its id is not in the file.
func TestForget(t *testing.T) {
	kept := new(durable.Memory)
	s := open(t, kept)
	second := session.Ref{Owner: bob, ID: session.NewID()}
	third := session.Ref{Owner: ann, ID: session.NewID()}
	for _, set := range []error{s.Set(ref, "bob", session.ReadAccess), s.Set(second, "ann", session.ReadAccess), s.Set(third, "carl", session.ReadAccess)} {
		if set != nil {
			t.Fatal(set)
		}
	}
	if err := s.Forget(ref); err != nil || len(s.To(bob)) != 0 || len(s.To(ann)) != 1 {
		t.Error(err, s.To(bob), s.To(ann))
	}
	if err := s.ForgetUser(ann); err != nil {
		t.Error(err)
	}
	text, err := kept.Get()
	if err != nil || strings.Contains(string(text), "session_id") {
		t.Errorf("%s, %v", text, err)
	}
}

func TestRefusedShares(t *testing.T) {
	s := open(t, new(durable.Memory))
	if err := s.Set(session.Ref{ID: ref.ID}, "bob", session.ReadAccess); !errors.Is(err, ErrOperator) {
		t.Error(err)
	}
	if err := s.Set(ref, "ann", session.ReadAccess); !errors.Is(err, ErrSelf) {
		t.Error(err)
	}
	for i := range maxGuests {
		if err := s.Set(ref, fmt.Sprint("guest", i), session.ReadAccess); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Set(ref, "bob", session.ReadAccess); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
	if err := s.Set(ref, "guest1", session.WriteAccess); err != nil { // no further guest
		t.Error(err)
	}
	twin := session.Ref{Owner: session.Owner{Tenant: "acme", User: "eve"}, ID: ref.ID}
	if err := s.Set(twin, "guest1", session.WriteAccess); err == nil {
		t.Error("another owner's session of the same id replaces a share")
	}
	full := open(t, new(broken))
	if err := full.Set(ref, "bob", session.ReadAccess); !errors.Is(err, ErrNotKept) || len(full.To(bob)) != 0 {
		t.Error(err, full.To(bob))
	}
}

type broken struct{ durable.Memory }

func (*broken) Put([]byte) error { return errors.New("the disk is full") }

func TestDamagedFile(t *testing.T) {
	for _, text := range []string{"{", `{"version":2}`, `{"version":1,"shares":[{"user":"","session_id":"x","guest":"bob","access":"read"}]}`,
		`{"version":1,"shares":[{"user":"ann","session_id":"x","guest":"bob","access":"all"}]}`} {
		if _, err := Open(durable.NewMemory([]byte(text))); err == nil {
			t.Errorf("%s is read", text)
		}
	}
}

// Two nodes see each other's shares, and neither brings back what the other has ended.
func TestSharedTable(t *testing.T) {
	table := new(durable.MemoryTable)
	a, b := openTable(t, table), openTable(t, table)
	second := session.Ref{Owner: ann, ID: session.NewID()}
	for _, set := range []error{a.Set(ref, "bob", session.ReadAccess), b.Set(ref, "carl", session.WriteAccess), b.Set(second, "bob", session.WriteAccess), a.Set(ref, "bob", session.WriteAccess)} {
		if set != nil {
			t.Fatal(set)
		}
	}
	for _, s := range []*Shares{a, b, openTable(t, table)} {
		if access, ok := s.Access(bob, ref.ID); !ok || access != session.WriteAccess || len(s.With(ref)) != 2 || len(s.To(bob)) != 2 || len(s.Guests(ref)) != 2 {
			t.Errorf("%v %v, %v, %v", access, ok, s.With(ref), s.To(bob))
		}
	}
	if err := b.Set(ref, "bob", ""); err != nil {
		t.Error(err)
	}
	if _, ok := a.Of(bob, ref.ID); ok {
		t.Error("a share that another node has ended is there")
	}
	twin := session.Ref{Owner: session.Owner{Tenant: "acme", User: "eve"}, ID: ref.ID}
	if err := a.Set(twin, "dora", session.ReadAccess); !errors.Is(err, ErrFull) {
		t.Errorf("another owner's session of the same id: %v", err)
	}
	if err := a.Forget(ref); err != nil || len(b.With(ref)) != 0 {
		t.Error(err, b.With(ref))
	}
	if err := a.ForgetUser(bob); err != nil || len(b.To(bob)) != 0 {
		t.Error(err, b.To(bob))
	}
	if rows, _ := table.Rows(); len(rows) != 0 {
		t.Errorf("rows are left: %s", rows)
	}
}

// Nodes that add guests to one session at once add no more than it may have.
func TestGuestsAtOnce(t *testing.T) {
	table := new(durable.MemoryTable)
	nodes := []*Shares{openTable(t, table), openTable(t, table)}
	var full atomic.Int32
	var ends []<-chan struct{}
	for i := range 2 * maxGuests {
		ends = append(ends, testgo.Go(t, func() {
			err := nodes[i%2].Set(ref, fmt.Sprint("guest", i), session.ReadAccess)
			switch {
			case errors.Is(err, ErrFull):
				full.Add(1)
			case err != nil:
				t.Error(err)
			}
		}))
	}
	for _, end := range ends {
		<-end
	}
	if n := len(nodes[0].With(ref)); n != maxGuests || full.Load() != maxGuests {
		t.Errorf("%d guests, and %d were refused", n, full.Load())
	}
}

// Who watches hears of each change, of this node and of others.
func TestWatch(t *testing.T) {
	table := new(durable.MemoryTable)
	a, b := openTable(t, table), openTable(t, table)
	type change struct{ before, after session.Access }
	heard := make(chan change)
	ctx, stop := context.WithCancel(t.Context())
	done := testgo.Go(t, func() {
		a.Watch(ctx, func(before, after Share) {
			if g := before.Guest; g != bob && after.Guest != bob {
				t.Errorf("%+v, %+v", before, after)
			}
			heard <- change{before.Access, after.Access}
		})
	})
	for i, one := range []change{{"", session.ReadAccess}, {session.ReadAccess, session.WriteAccess}, {session.WriteAccess, ""}} {
		from := []*Shares{b, a}[i%2]
		if err := from.Set(ref, "bob", one.after); err != nil {
			t.Fatal(err)
		}
		if got := <-heard; got != one {
			t.Errorf("%+v, want %+v", got, one)
		}
	}
	stop()
	<-done
	open(t, new(durable.Memory)).Watch(t.Context(), nil) // which returns
}

// A row that cannot be read is an error at the start, and shares nothing later.
func TestDamagedRow(t *testing.T) {
	for _, text := range []string{"{", `{"version":2}`, `{"version":1,"shares":[{"user":"","session_id":"x","guest":"bob","access":"read"}]}`,
		`{"version":1,"shares":[{"user":"ann","session_id":"y","guest":"bob","access":"read"}]}`} {
		table := new(durable.MemoryTable)
		running := openTable(t, table)
		if err := running.Set(ref, "bob", session.ReadAccess); err != nil {
			t.Fatal(err)
		}
		if err := table.Change(t.Context(), "x", func([]byte) ([]byte, error) { return []byte(text), nil }); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenTable(table); err == nil {
			t.Errorf("%s is read", text)
		}
		if len(running.To(bob)) != 1 {
			t.Errorf("%s: %v", text, running.To(bob))
		}
	}
}

func openTable(t *testing.T, table durable.Table) *Shares {
	t.Helper()
	s, err := OpenTable(table)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
