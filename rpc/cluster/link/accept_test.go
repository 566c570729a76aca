package link_test

import (
	"errors"
	"log/slog"
	"net"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/thinkd/thinkd/rpc/cluster/link"
)

// failing is a listener that accepts nothing.
type failing struct {
	net.Listener
	errs []error // of Accept, in order
}

func (f *failing) Accept() (net.Conn, error) {
	err := f.errs[0]
	f.errs = f.errs[1:]
	return nil, err
}

func (*failing) Close() error { return nil }

// A node that is out of file descriptors for a while takes links again when it has some.
func TestAcceptFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &failing{errs: []error{syscall.EMFILE, syscall.EMFILE, net.ErrClosed}}
		o := &link.Owner{Config: link.Config{Log: slog.New(slog.DiscardHandler)}}
		if err := o.Run(t.Context(), l); !errors.Is(err, net.ErrClosed) || len(l.errs) > 0 {
			t.Errorf("it ends with %v, and does not call Accept %d times more", err, len(l.errs))
		}
	})
}
