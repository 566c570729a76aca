package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/daemon/systemd"
	"github.com/thinkd/thinkd/cmd/thinkd/network"
	"github.com/thinkd/thinkd/cmd/thinkd/usersocket"
	"github.com/thinkd/thinkd/rpc"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/session"
)

// host is a daemon with its door open: it serves who comes to the data directory's socket, until nobody needs it any
// more or it gets a signal to end.
type host struct {
	version string
	getenv  func(string) string
	started time.Time
	daemon  *daemon
	log     *slog.Logger
	dir     string
	socket  *socket
	users   *usersocket.Socket // nil: there is none
	idle    time.Duration      // without clients and turns, after which it ends; 0: it stays, even if another program asks it to leave

	serving context.Context // of all connections
	stop    context.CancelCauseFunc
	asked   chan string // one fits: why the daemon is to end
	offers  *rpc.Local  // what commands of the same user may ask

	replaced atomic.Bool // a newer version waits until no turn runs

	connections sync.WaitGroup

	mu         sync.Mutex
	clients    map[net.Conn]struct{}
	quiet      time.Time         // when it was last seen that there was a client or a turn
	ending     bool              // nobody is let in
	network    *network.Listener // where browsers are served; nil: nowhere
	endNetwork func() error      // closes that, once
}

const (
	// drainTime is how long the end waits for clients that are slow to read how their turns ended.
	drainTime = 2 * time.Second

	// endLimit is when all connections are closed that have not ended by then. All has to be over in 10 s.
	endLimit = 6 * time.Second

	// endTime is how long others wait for the store after the daemon has begun to end, without the drain of a node.
	endTime = 15 * time.Second
)

var errEnded = errors.New("the daemon ends")

// whyReplaced is why a daemon ends for a newer one.
const whyReplaced = "a newer version asked for the place"

// run serves until ctx ends, until a newer version asks for the place, until nobody has needed the daemon for the idle
// time, or until the store is lost, which is the error then. At the end turns are interrupted, clients hear of it, and
// nothing is left running.
func (h *host) run(ctx context.Context) error {
	h.notify(systemd.Ready)
	h.log.Info("daemon", "version", h.version, "pid", os.Getpid(), "socket", h.socket.path)
	var accepting sync.WaitGroup
	accepting.Go(h.accept) // ends when the socket is closed
	if h.getenv("GOGC") == "" {
		keepSpare()
	}
	why, err := h.wait(ctx)
	h.drain(why)
	h.log.Info("daemon ends", "because", why, "err", err)
	h.notify(systemd.Stopping)

	return errors.Join(err, h.close(&accepting))
}

// whyDrained is why a node ends that was asked to drain, and whyAsked why a daemon ends at a signal.
const (
	whyDrained = "thinkd cluster drain"
	whyAsked   = "it was asked to stop"
)

// briefDrain is for a node that is to end at once: sessions in which nothing runs leave.
const briefDrain = 2 * time.Second

// drain has the sessions of a node move to other nodes. A second signal ends the process meanwhile.
func (h *host) drain(why string) {
	d := h.daemon
	if d.node == nil {
		return
	}
	limit := briefDrain
	if why == whyDrained || why == whyAsked {
		limit = d.drainTime
	}
	h.notify(systemd.Extend(limit + endTime))
	h.log.Info("the sessions of this node move to other nodes", "because", why, "for_at_most", limit)
	ctx, cancel := context.WithTimeout(h.serving, limit)
	defer cancel()
	d.node.Drain(ctx)
}

// notify sends a state to the service manager, if there is one.
func (h *host) notify(state string) {
	if err := systemd.Notify(h.getenv, state); err != nil {
		h.log.Warn("service manager", "err", err)
	}
}

// close ends in order: no more clients, the turns, the clients, the store.
func (h *host) close(accepting *sync.WaitGroup) error {
	h.mu.Lock()
	h.ending = true
	listener, endNetwork := h.network, h.endNetwork
	h.mu.Unlock()
	err := h.socket.Close()
	if h.users != nil {
		err = errors.Join(err, h.users.Refuse())
	}
	if listener != nil {
		err = errors.Join(err, listener.Refuse())
	}
	accepting.Wait()
	late := time.AfterFunc(endLimit, h.hangUp)
	defer late.Stop()
	err = errors.Join(err, h.daemon.agents.Close())
	told, cancel := context.WithTimeout(h.serving, drainTime)
	defer cancel()
	if err := h.daemon.server.Drain(told); err != nil {
		h.log.Warn("a client does not read; it does not get the end of its turns", "err", err)
	}
	h.stop(errEnded)
	if h.users != nil {
		err = errors.Join(err, h.users.Close())
	}
	if listener != nil {
		err = errors.Join(err, endNetwork())
	}
	h.connections.Wait()
	return errors.Join(err, h.daemon.close())
}

// wait is why the daemon ends.
func (h *host) wait(ctx context.Context) (why string, err error) {
	look := time.Second
	if h.idle > 0 {
		look = min(look, max(h.idle/4, time.Millisecond))
	}
	tick := time.NewTicker(look)
	defer tick.Stop()
	var memory tidy
	for {
		select {
		case <-ctx.Done():
			return whyAsked, nil
		case err := <-h.daemon.lost:
			return "the store is lost", err
		case why := <-h.asked:
			return why, nil
		case now := <-tick.C:
			if err := h.networkFailed(); err != nil {
				return "its listener failed", err
			}
			if h.unused(now) {
				return "no client and no turn needs it", nil
			}
			if h.replaced.Load() && h.daemon.agents.Running() == 0 {
				return whyReplaced, nil
			}
			if h.daemon.agents.Running() == 0 && memory.due() {
				memory.collect()
			}
		}
	}
}

// unused reports whether it is time to leave, and lets nobody in from then on.
func (h *host) unused(now time.Time) bool {
	if h.idle == 0 {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.clients) > 0 || h.users != nil && h.users.Clients() > 0 || h.daemon.agents.Running() > 0 || h.daemon.agents.Parked() > 0 {
		h.quiet = now
		return false
	}
	h.ending = now.Sub(h.quiet) >= h.idle
	return h.ending
}

func (h *host) accept() {
	for {
		conn, err := h.socket.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // for want of file descriptors, say
			h.log.Warn("a client was refused", "err", err)
			wait(h.serving, maxPause)
			continue
		}
		if !h.enter(conn) {
			conn.Close() // a new client finds the next daemon
			continue
		}
		h.connections.Go(func() { // ends with the client or with h.serving; run waits
			defer h.leave(conn)
			err := h.daemon.server.ServeLocal(h.serving, conn, h.offers)
			h.log.Debug("a client disconnected", "err", err)
		})
	}
}

func (h *host) enter(conn net.Conn) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ending {
		return false
	}
	h.clients[conn] = struct{}{}
	return true
}

func (h *host) leave(conn net.Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.clients, conn)
	h.quiet = time.Now()
}

// hangUp ends all connections at once.
func (h *host) hangUp() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for conn := range h.clients {
		conn.Close()
	}
}

// listen serves browsers at a TCP address until end is called; there is one listener at most.
func (h *host) listen(address string) (url string, end func() error, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.network != nil {
		return "", nil, &conn.Error{Code: conn.CodeBusy, Message: "the daemon listens already, at " + h.network.Address()}
	}
	if h.ending {
		return "", nil, session.ErrClosed
	}
	l, err := network.Open(h.daemon.serve, h.daemon.auth, h.dir, h.daemon.tokens, address, h.daemon.server,
		network.Health{Ready: h.daemon.ready, Durability: h.daemon.durability(), Metrics: h.daemon.telemetry.Handler(), Refused: h.daemon.refused()}, h.log)
	if err != nil {
		return "", nil, err
	}
	h.network = l
	h.daemon.url.Store(l.Address())
	h.endNetwork = sync.OnceValue(func() error {
		err := l.Close()
		h.mu.Lock()
		defer h.mu.Unlock()
		h.daemon.url.Store("")
		h.network = nil // the address is free for the next one
		return err
	})
	return l.URL(), h.endNetwork, nil
}

// networkFailed is why the listener accepts nobody any more. Where a serve has asked for it, only that is over.
func (h *host) networkFailed() error {
	h.mu.Lock()
	l := h.network
	h.mu.Unlock()
	if l == nil {
		return nil
	}
	select {
	case err := <-l.Failed():
		h.log.Error("listener", "url", l.Address(), "err", err)
		if h.idle == 0 {
			return err
		}
	default:
	}
	return nil
}
