package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/cmd/thinkd/config"
	"github.com/thinkd/thinkd/rpc"
	"github.com/thinkd/thinkd/rpc/auth"
	"github.com/thinkd/thinkd/rpc/cluster/link"
	"github.com/thinkd/thinkd/rpc/cluster/node"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/session"
)

// nodeLinks are those of a node with other nodes.
type nodeLinks struct {
	listener net.Listener
	address  string // where other nodes connect to
	identity *link.Identity
	tokens   *auth.Tokens // nil before serve
	log      *slog.Logger

	edge    *link.Edge // nil before route
	config  link.Config
	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
}

// listen takes the address for links. It is before the first heartbeat, which tells it to the other nodes.
func listen(c config.Cluster, log *slog.Logger) (*nodeLinks, error) {
	identity, err := link.NewIdentity(c.Prefix, c.Name, link.Files{CA: c.Link.CA, Cert: c.Link.Cert, Key: c.Link.Key})
	if err != nil {
		return nil, fmt.Errorf("[cluster] links: %w", err)
	}
	l, err := net.Listen("tcp", c.Link.Listen)
	if err != nil {
		return nil, fmt.Errorf("[cluster] link_listen: %w", err)
	}
	s := &nodeLinks{listener: l, address: cmp.Or(c.Link.Address, l.Addr().String()), identity: identity, log: log}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s, nil
}

// route makes the router of the server.
func (s *nodeLinks) route(n *node.Node, agents *agent.Group, sessions func(method.Principal) service.Sessions, limit int) *link.Edge {
	peers := func() (list []link.Peer) {
		for _, p := range n.Peers() {
			list = append(list, link.Peer{Node: link.Node{Name: p.Name, Run: uint64(p.Node)}, Address: p.Link})
		}
		return list
	}
	open := func(ctx context.Context, p method.Principal, id session.ID) error {
		return sessions(p).Do(ctx, id, func(*agent.Agent) error { return nil })
	}
	s.config = link.Config{Nodes: link.Places{Open: open, Peers: peers}, Identity: s.identity, Run: uint64(n.Number()),
		Wait: link.WaitTime, Limit: max(cmp.Or(limit, conn.DefaultMessageBytes), door.ACPMessageBytes), Log: s.log, Now: time.Now}
	s.edge = link.NewEdge(s.config)
	return s.edge
}

// serve serves the other nodes. Clients with API tokens need one of records.
func (s *nodeLinks) serve(server *rpc.Server, records auth.Records) {
	s.tokens = auth.NewTokens(records, s.log)
	owner := &link.Owner{Config: s.config, Confirm: s.tokens.ByID, Serve: server.ServeLink}
	s.running.Go(func() { // these end with ctx
		if err := owner.Run(s.ctx, s.listener); err != nil {
			s.log.Error("other nodes cannot connect any more", "err", err)
		}
	})
	s.running.Go(func() { s.tokens.Watch(s.ctx) })
	s.running.Go(func() { s.identity.Watch(s.ctx, s.log) })
	s.running.Go(s.reload)
}

// reload reads the certificate again at each SIGHUP.
func (s *nodeLinks) reload() {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	for {
		select {
		case <-hup:
		case <-s.ctx.Done():
			return
		}
		if err := s.identity.Reload(); err != nil {
			s.log.Error("the certificate for links cannot be read again", "err", err)
		} else {
			s.log.Info("the certificate for links was read again")
		}
	}
}

// close ends the links of other nodes, and those to other nodes.
func (s *nodeLinks) close() error {
	s.stop()
	err := s.listener.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	s.running.Wait()
	if s.edge != nil {
		s.edge.Close()
	}
	return err
}
