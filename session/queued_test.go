package session_test

import (
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/mem"
	"github.com/thinkd/thinkd/session/storetest"
)

// A queued prompt that is replaced and moved is the same in a view that is loaded, after Unload, and in a turn that is read again.
func TestReplacedAndMoved(t *testing.T) {
	store := mem.New().For(session.Operator)
	id := storetest.ID(1)
	storetest.Create(t, store, session.Session{ID: id})
	says := func(message session.MessageID, text string, replaces bool) session.Prompt {
		return session.Prompt{Message: message, Content: provider.Blocks{provider.Text{Text: text}}, Queued: true, Replaces: replaces}
	}
	for _, e := range []session.Entry{
		{Turn: "A", Body: says("MA", "a", false)}, {Turn: "B", Body: says("MB", "b", false)}, {Turn: "C", Body: says("MC", "c", false)},
		{Turn: "B", Body: says("MB", "changed", true)}, {Turn: "C", Body: session.Moved{Before: "A"}}, {Turn: "A", Body: session.Moved{}},
	} {
		storetest.Add(t, store, id, e)
	}
	view, err := session.Load(t.Context(), store, id)
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, q := range view.Queue() {
		view.Unload(q)
		whole, err := view.Whole(t.Context(), store, q)
		if err != nil {
			t.Fatal(err)
		}
		order = append(order, whole.Messages[0].Parts[0].Block.(provider.Text).Text)
	}
	if got := strings.Join(order, " "); got != "c changed a" || view.Session.Queued != 3 {
		t.Errorf("%s, %d wait", got, view.Session.Queued)
	}
	for what, e := range map[string]session.Entry{
		"a second prompt":                 {Turn: "A", Body: says("MA", "x", false)},
		"another message":                 {Turn: "A", Body: says("MX", "x", true)},
		"a move before nothing":           {Turn: "A", Body: session.Moved{Before: "X"}},
		"a move of a turn before itself":  {Turn: "A", Body: session.Moved{Before: "A"}},
		"a move of a turn that never was": {Turn: "X", Body: session.Moved{}},
	} {
		if err := view.Apply(e); err == nil {
			t.Errorf("%s was taken", what)
		}
	}
	if err := view.Apply(storetest.Started("B")); err != nil {
		t.Fatal(err)
	}
	for _, body := range []session.Body{says("MB", "x", true), session.Moved{}} {
		if err := view.Apply(session.Entry{Turn: "B", Body: body}); err == nil {
			t.Errorf("%T of a turn that runs was taken", body)
		}
	}
}
