package rpc

import (
	"sync"
	"testing"

	"github.com/thinkd/thinkd/rpc/acptest"
)

var acpSchema = sync.OnceValues(func() (*acptest.Schema, error) { return acptest.Open("..") })

// checkACP holds messages against the schema. Where there is none it says nothing: acptest's own test does.
func checkACP(t *testing.T, messages []string) {
	t.Helper()
	schema, err := acpSchema()
	if acptest.Missing(err) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, message := range messages {
		if err := schema.Check(message); err != nil {
			t.Error(err)
		}
	}
}
