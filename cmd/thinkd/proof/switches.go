package proof

import (
	"testing"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/bolt"
)

// Stored reads a session's log from the file; no daemon runs.
func Stored(t *testing.T, data, id string) *session.View {
	t.Helper()
	store, err := bolt.Open(data, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	view, err := session.Load(t.Context(), store.For(session.Operator), session.ID(id))
	if err != nil {
		t.Fatal(err)
	}
	return view
}
