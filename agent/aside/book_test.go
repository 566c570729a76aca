package aside

import (
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/durable"
)

// The file of earlier builds becomes lines of the ledger.
func TestReadBook(t *testing.T) {
	const id = "01K9A8V0000000000000000000"
	used, err := ReadBook(durable.NewMemory([]byte(`{"` + id + `":{"input_tokens":200,"output_tokens":20,"cost":{"amount":0.5,"currency":"USD"}}}`)))
	if err != nil {
		t.Fatal(err)
	}
	lines := Lines(used)
	if len(lines) != 1 {
		t.Fatalf("%+v", lines)
	}
	l := lines[0]
	if l.Usage.Input != 200 || l.Usage.Cost == nil || l.Usage.Cost.Amount != provider.MoneyOf(0.5) || l.Ref.ID != id || l.Purpose != "aside" {
		t.Errorf("%+v", l)
	}
	if _, err := time.Parse(time.DateOnly, string(l.Day)); err != nil || l.Day < "2025" {
		t.Errorf("the day is %q", l.Day)
	}
	if used, err := ReadBook(new(durable.Memory)); used != nil || err != nil {
		t.Errorf("no file: %v, %v", used, err)
	}
	if used, err := ReadBook(durable.NewMemory([]byte(`{"a":`))); used != nil || err == nil {
		t.Errorf("a damaged file: %v, %v", used, err)
	}
}
