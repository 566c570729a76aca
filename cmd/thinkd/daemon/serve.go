package daemon

import (
	"context"
	"errors"
	neturl "net/url"
	"strings"
	"sync"

	"github.com/thinkd/thinkd/cmd/thinkd/daemon/systemd"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/session/bolt"
)

// Serve is the daemon in the foreground, with a listener at addr: it returns when ctx ends. If a daemon runs already, it listens
// for as long as this process lives. When it ends, this process takes its place, at the same address. announce is called
// once, with the address of the page; notice for each line about the other daemon that is for the user.
func (o Options) Serve(ctx context.Context, addr string, announce func(url string) error, notice func(line string)) error {
	dir, err := o.Data()
	if err != nil {
		return err
	}
	announced := false
	tell := func(url string) error {
		if announced {
			return nil
		}
		announced = true
		if u, err := neturl.Parse(url); err == nil && strings.HasSuffix(addr, ":0") {
			addr = u.Host // the port that was free is the one to come back to
		}
		return announce(url)
	}
	for {
		h, err := o.host(ctx, dir, 0)
		if _, other := errors.AsType[*bolt.LockedError](err); !other {
			if err != nil {
				return err
			}
			return h.serve(ctx, addr, tell)
		}
		if err := o.serveThere(ctx, addr, tell, notice); err != nil || ctx.Err() != nil {
			return err
		}
	}
}

// serve runs the daemon and its listener.
func (h *host) serve(ctx context.Context, addr string, tell func(url string) error) error {
	url, _, err := h.listen(addr)
	if err == nil {
		err = tell(url)
	}
	if err != nil {
		return errors.Join(err, h.close(new(sync.WaitGroup)))
	}
	return h.run(ctx)
}

// serveThere has the running daemon listen until ctx ends (nil) or that daemon does (nil).
func (o Options) serveThere(ctx context.Context, addr string, tell func(url string) error, notice func(line string)) error {
	link, line, err := o.Connect(ctx)
	if err != nil {
		return err
	}
	if line != "" {
		notice(line)
	}
	defer link.Close()
	url, err := link.Listen(addr)
	if errors.Is(err, door.ErrDaemonGone) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := errors.Join(tell(url), systemd.Notify(o.Getenv, systemd.Ready)); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { link.Close() })()
	for err == nil {
		_, err = link.Next()
	}
	return nil
}
