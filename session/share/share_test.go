package share

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider/durable"
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
