package aside

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/session"
)

// full is a value that cannot be written.
type full struct{ durable.Memory }

func (*full) Put([]byte) error { return errors.New("no space left") }

// What side questions used is there after a restart, until the session is deleted.
func TestBook(t *testing.T) {
	value := new(durable.Memory)
	open := func() *Book {
		t.Helper()
		b, err := OpenBook(value)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	cost := &provider.Cost{Amount: provider.MoneyOf(0.25), Currency: "USD"}
	b := open()
	for range 2 {
		if err := NewLedger(b, "a").End(NewLedger(b, "a").Used(), provider.Usage{Input: 100, Output: 10, Cost: cost}); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Add("b", provider.Usage{}); err != nil {
		t.Fatal(err)
	}
	if text, _ := value.Get(); strings.Contains(string(text), `"b"`) {
		t.Errorf("nothing was used, and the book is %s", text)
	}
	b = open()
	if u := b.Used("a"); u.Input != 200 || u.Output != 20 || u.Cost == nil || u.Cost.Amount != provider.MoneyOf(0.5) {
		t.Errorf("after a restart: %+v", u)
	}
	if err := b.Forget("a"); err != nil {
		t.Fatal(err)
	}
	if u := open().Used("a"); u.Input != 0 {
		t.Errorf("after the deletion: %+v", u)
	}
	for i := range maxBook + 5 {
		b.used[session.ID(fmt.Sprintf("%08d", i))] = provider.Usage{Input: 1}
	}
	for i := range 10 {
		if err := b.Add(session.ID(fmt.Sprintf("9%d", i)), provider.Usage{Input: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if b.Used("00000000").Input != 0 || b.Used("99").Input != 1 {
		t.Error("the oldest session is not the one that was forgotten")
	}

	if b, err := OpenBook(durable.NewMemory([]byte(`{"a":`))); err == nil || b.Add("a", provider.Usage{Input: 1}) != nil || b.Used("a").Input != 1 {
		t.Errorf("a damaged book: %v", err)
	}
	if b, err := OpenBook(new(full)); err != nil || b.Add("a", provider.Usage{Input: 1}) == nil || b.Used("a").Input != 1 {
		t.Errorf("a full disk: %v", err)
	}
}
