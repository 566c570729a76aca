package loaded

import (
	"context"
	"slices"
	"testing"

	"github.com/thinkd/thinkd/session"
)

// A model is unloaded when its last session has left, if the last call left it to stay.
func TestModels(t *testing.T) {
	var m Models
	var gone []string
	unload := func(name string) Unload {
		return func(context.Context) error { gone = append(gone, name); return nil }
	}
	leave := func(id session.ID, want ...string) {
		t.Helper()
		gone = nil
		for _, u := range m.Leave(id) {
			if err := u(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if slices.Sort(gone); !slices.Equal(gone, want) {
			t.Errorf("%s left: %q were unloaded, want %q", id, gone, want)
		}
	}
	use := func(id session.ID, model string, unload Unload) {
		m.Use(id, Model{"host", model}, unload)
	}
	leave("a")
	use("a", "x", unload("x"))
	use("a", "y", unload("y"))
	use("b", "x", unload("x"))
	m.Use("a", Model{"other host", "x"}, unload("other x"))
	leave("a", "other x", "y")
	leave("a")
	leave("b", "x")

	use("a", "x", unload("x"))
	use("b", "x", nil) // the server's own time counts since this call
	leave("a")
	leave("b")
	use("a", "x", nil)
	use("b", "x", unload("x"))
	leave("b")
	leave("a", "x")
	if len(m.models) != 0 {
		t.Errorf("%d models are left", len(m.models))
	}
}
