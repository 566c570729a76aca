package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/network"
	"github.com/thinkd/thinkd/cmd/thinkd/users"
	"github.com/thinkd/thinkd/cmd/thinkd/usersocket"
	"github.com/thinkd/thinkd/rpc"
	"github.com/thinkd/thinkd/rpc/cluster/heartbeat"
	"github.com/thinkd/thinkd/rpc/cluster/node"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/bolt"
)

// host opens the data directory's daemon. The caller runs it, which also closes it.
func (o Options) host(ctx context.Context, dir string, idle time.Duration) (*host, error) {
	d, err := o.open(ctx, nil)
	if err != nil {
		return nil, err
	}
	h := &host{version: o.Version, getenv: o.Getenv, daemon: d, log: d.log, dir: dir, idle: idle, asked: make(chan string, 1),
		clients: make(map[net.Conn]struct{}), quiet: time.Now(), started: time.Now()}
	if h.socket, err = openSocket(dir, o.Getenv); err != nil {
		return nil, errors.Join(err, d.close())
	}
	h.offers = h.local()
	if a := d.auth; a.Socket != "" {
		if h.users, err = usersocket.Open(usersocket.Config{Path: a.Socket, Users: a.SocketUsers, Limit: d.server.MessageBytes(), Serve: d.server.ServeFrames, Log: d.log, Refused: d.refused()}); err != nil {
			return nil, errors.Join(err, h.socket.Close(), d.close())
		}
		d.log.Info("socket of users", "path", a.Socket)
	}
	h.serving, h.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	return h, nil
}

// local is what commands of the same user may ask.
func (h *host) local() *rpc.Local {
	local := &rpc.Local{Status: h.status, Leave: h.makeWay, Stop: h.stopWhenIdle, Listen: h.listen,
		Config: func(context.Context) (door.DaemonConfig, error) {
			return door.DaemonConfig{Path: h.daemon.configPath, Facts: h.daemon.inputs.Facts}, nil
		}}
	if n := h.daemon.node; n != nil {
		local.Cluster, local.Drain = clusterStatus(n), h.beginDrain
	}
	if h.daemon.file != nil || h.daemon.node != nil {
		local.Users = h.admin()
	}
	if store := h.daemon.file; store != nil {
		local.Backup = func(ctx context.Context, path string) (door.StoreReport, error) { return h.backup(ctx, store, path) }
		local.Check = func(ctx context.Context) (door.StoreReport, error) {
			report, err := store.Check(ctx)
			return rpc.NewStoreReport(report), err
		}
		local.Compact = func(ctx context.Context) (door.Compaction, error) {
			before, after, err := store.Compact(ctx)
			return door.Compaction{Before: rpc.NewStoreReport(before), After: rpc.NewStoreReport(after)}, err
		}
	}
	return local
}

func (h *host) admin() *users.Admin {
	d := h.daemon
	a := &users.Admin{Dir: h.dir, Auth: d.auth, Tokens: d.tokens, Store: d.store, File: d.file, Blobs: d.blobs, Agents: d.agents, Expel: d.server.Expel, Forget: h.forget}
	if d.node != nil {
		a.Elsewhere = d.node.Forget
		d.node.ServeForgets(h.forgetHere)
	}
	return a
}

// keepOutTime is how long a user whom another node deletes is not let in here.
const keepOutTime = time.Minute

// forgetHere deletes a session that is loaded, or without an ID, ends all that is a user's at this node, because another node deletes the user. If that takes
// longer than keepOutTime and the user makes a session meanwhile, the deletion fails and is to be repeated.
func (h *host) forgetHere(ctx context.Context, ref session.Ref) (sessions int, err error) {
	if ref.Owner == session.Operator {
		return 0, session.ErrOwner
	}
	of := h.daemon.agents.For(ref.Owner)
	if ref.ID != "" {
		if !h.daemon.agents.Holds(ref) {
			return 0, nil
		}
		return 1, of.Delete(ctx, ref.ID)
	}
	readmit, err := h.daemon.server.Expel(ctx, ref.Owner)
	time.AfterFunc(keepOutTime, readmit) // it only removes an entry of a map
	if err != nil {
		return 0, err
	}
	if sessions, err = of.DeleteHere(ctx); err != nil {
		return sessions, err
	}
	_, err = h.forget(ref.Owner)
	return sessions, err
}

// forget is [daemon.forget] with the user's sign-ins in browsers.
func (h *host) forget(o session.Owner) (keys int, err error) {
	h.mu.Lock()
	l := h.network
	h.mu.Unlock()
	if l != nil {
		err = l.Forget(o)
	} else {
		err = network.ForgetSignIns(h.dir, o, h.log)
	}
	keys, failed := h.daemon.forget(o)
	return keys, errors.Join(err, failed)
}

func (h *host) status(context.Context) (door.Status, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	running := h.daemon.agents.RunningSessions()
	return door.Status{Version: h.version, PID: os.Getpid(), Started: h.started.UnixMilli(),
		Inputs: h.daemon.inputs.Sum, Variables: strings.Join(h.daemon.inputs.Variables, " "),
		Running: len(running), Sessions: strings.Join(words(running), " "), Parked: h.daemon.agents.Parked(), Clients: len(h.clients), Listen: h.daemon.listening()}, nil
}

// makeWay ends the daemon for a newer one, at once or as soon as no turn runs. A turn that begins after the look is interrupted.
func (h *host) makeWay(context.Context) (door.Leaving, error) {
	if h.idle == 0 {
		return door.Leaving{}, &conn.Error{Code: conn.CodeBusy, Message: "this daemon was started to stay"}
	}
	if h.daemon.agents.Running() > 0 {
		h.replaced.Store(true) // wait looks
		return door.Leaving{Later: true}, nil
	}
	h.end(whyReplaced)
	return door.Leaving{}, nil
}

// end has run end the daemon; the first reason counts.
func (h *host) end(why string) {
	select {
	case h.asked <- why:
	default:
	}
}

// clusterStatus is [rpc.Local.Cluster].
func clusterStatus(n *node.Node) func(context.Context) (door.ClusterStatus, error) {
	return func(ctx context.Context) (door.ClusterStatus, error) {
		s, err := n.Status(ctx)
		out := door.ClusterStatus{Node: nodeOf(s.Self), Contact: s.Contact, Durability: string(s.Durability), Open: s.Marks, Servers: []door.ClusterServer{}, Peers: []door.ClusterNode{}}
		for _, server := range s.Servers {
			out.Servers = append(out.Servers, door.ClusterServer{URL: server.URL, Connected: server.Connected, Syncs: string(server.Syncs)})
		}
		for _, p := range s.Peers {
			out.Peers = append(out.Peers, nodeOf(p))
		}
		return out, err
	}
}

func nodeOf(p heartbeat.Peer) door.ClusterNode {
	return door.ClusterNode{Name: p.Name, Number: fmt.Sprintf("%x", uint64(p.Node)), Link: p.Link, Draining: p.Draining, Turns: p.Turns}
}

// beginDrain is [rpc.Local.Drain].
func (h *host) beginDrain() door.Draining {
	h.end(whyDrained)
	return door.Draining{Turns: h.daemon.agents.Running()}
}

// runningLook is how often a stop looks whether a turn still runs.
const runningLook = 50 * time.Millisecond

// stopWhenIdle is [rpc.Local.Stop]. Turns may begin during the wait: it is bounded.
func (h *host) stopWhenIdle(ctx context.Context, limit time.Duration) (door.Stopping, error) {
	late := time.NewTimer(limit)
	defer late.Stop()
	tick := time.NewTicker(runningLook)
	defer tick.Stop()
	for waiting := true; waiting && h.daemon.agents.Running() > 0; {
		select {
		case <-tick.C:
		case <-late.C:
			waiting = false
		case <-ctx.Done():
			return door.Stopping{}, context.Cause(ctx)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	s := door.Stopping{Interrupted: words(h.daemon.agents.RunningSessions()), Clients: len(h.clients) - 1}
	h.end("thinkd stop")
	return s, nil
}

func words(ids []session.ID) (list []string) {
	for _, id := range ids {
		list = append(list, string(id))
	}
	return list
}

// BlobsOf is where a backup has its images and documents.
func BlobsOf(path string) string { return path + ".blobs" }

// backup copies the store, then what its sessions refer to: that is only ever added to, and removed by a start alone.
func (h *host) backup(ctx context.Context, store *bolt.Store, path string) (door.StoreReport, error) {
	if _, err := os.Lstat(BlobsOf(path)); err == nil {
		return door.StoreReport{}, &fs.PathError{Op: "mkdir", Path: BlobsOf(path), Err: fs.ErrExist}
	}
	report, err := store.Backup(ctx, path)
	if err != nil {
		return door.StoreReport{}, err
	}
	r := rpc.NewStoreReport(report)
	r.Blobs, r.LostBlobs, err = h.daemon.blobs.Copy(ctx, BlobsOf(path))
	if err != nil {
		return r, fmt.Errorf("%s is whole; its images and documents: %w", path, err)
	}
	return r, nil
}
