package login

import (
	"errors"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/durable"
)

// The key of a user comes before that of the tenant. Users of the same name in other tenants have nothing in common.
func TestHolders(t *testing.T) {
	kept := new(durable.Memory)
	keys, err := OpenKeys(kept)
	if err != nil {
		t.Fatal(err)
	}
	ann, tenant := Holder{"acme", "ann"}, Holder{Tenant: "acme"}
	for h, key := range map[Holder]string{ann: "own", tenant: "shared", {User: "ann"}: "alone", {"other", "bob"}: "other"} {
		if err := keys.SetOf(h, "p", provider.NewSecret(key)); err != nil {
			t.Fatal(err)
		}
	}
	check := func(keys *Keys, want map[Holder]string) {
		t.Helper()
		for h, key := range want {
			got, whose := keys.Of(h, "p")
			if got.Reveal() != key || (key == "") != (whose == Holder{}) {
				t.Errorf("%+v: %q of %+v, want %q", h, got.Reveal(), whose, key)
			}
			if other, _ := keys.Of(h, "q"); !other.IsZero() {
				t.Errorf("%+v has a key of another provider", h)
			}
		}
	}
	all := map[Holder]string{ann: "own", {"acme", "bob"}: "shared", {User: "ann"}: "alone", {User: "bob"}: "", {"other", "ann"}: "", {}: ""}
	check(keys, all)
	again, err := OpenKeys(kept)
	if err != nil {
		t.Fatal(err)
	}
	check(again, all)
	if n, err := again.ForgetAllOf(ann); n != 1 || err != nil {
		t.Error(n, err)
	}
	all[ann] = "shared"
	check(again, all)
	if !again.Grant("p").IsZero() {
		t.Error("the operator has a key of a user")
	}
}

// A key that could not be stored does not apply.
func TestHolderKeyNotKept(t *testing.T) {
	keys, err := OpenKeys(new(full))
	if err != nil {
		t.Fatal(err)
	}
	h := Holder{User: "ann"}
	if err := keys.SetOf(h, "p", provider.NewSecret("k")); !errors.Is(err, ErrNotKept) {
		t.Error(err)
	}
	if key, _ := keys.Of(h, "p"); !key.IsZero() {
		t.Error("the key applies")
	}
}

// full takes nothing.
type full struct{ durable.Memory }

func (*full) Put([]byte) error { return errors.New("the disk is full") }
