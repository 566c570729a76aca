package link_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/thinkd/thinkd/rpc/cluster/link"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/session"
)

// A session is where a claim says that it is. If that node is not known, Serving asks three times, and does not serve the session here.
func TestPlaces(t *testing.T) {
	b := link.Peer{Node: link.Node{Name: "b", Run: 7}, Address: "b:1"}
	for _, k := range []struct {
		name  string
		open  []error // the results of claims, one after the other
		peers []link.Peer
		want  link.Peer
		here  bool
		fails bool
	}{
		{name: "here", open: []error{nil}, here: true},
		{name: "no such session", open: []error{session.ErrNotFound}, here: true},
		{name: "at b", open: []error{&session.ElsewhereError{Node: "b"}}, peers: []link.Peer{b}, want: b},
		{name: "at b, which lets it go", open: []error{&session.ElsewhereError{Node: "b"}, nil}, here: true},
		{name: "at c, and then at b", open: []error{&session.ElsewhereError{Node: "c"}, &session.ElsewhereError{Node: "b"}}, peers: []link.Peer{b}, want: b},
		{name: "at a node without links", open: []error{&session.ElsewhereError{Node: "b"}, &session.ElsewhereError{Node: "b"}, &session.ElsewhereError{Node: "b"}},
			peers: []link.Peer{{Node: b.Node}}, fails: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			p := link.Places{Peers: func() []link.Peer { return k.peers }, Open: func(context.Context, method.Principal, session.ID) error {
				asked++
				return k.open[asked-1]
			}}
			n, address, here, err := p.Serving(t.Context(), method.Operator(), session.NewID())
			_, elsewhere := errors.AsType[*session.ElsewhereError](err)
			if n != k.want.Node || address != k.want.Address || here != k.here || elsewhere != k.fails || asked != len(k.open) {
				t.Errorf("%s: %v %q %v %v after %d", k.name, n, address, here, err, asked)
			}
			if p.Present(b.Node) != (len(k.peers) > 0) || p.Present(link.Node{Name: "b", Run: 8}) {
				t.Errorf("%s: present", k.name)
			}
		})
	}
}
