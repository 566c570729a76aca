package rpc

import (
	"fmt"
	"net"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/rpc/conntest"
	"github.com/thinkd/thinkd/rpc/network"
)

// listenOn serves s on a port of loopback to the bearers of conntest.Token.
func listenOn(t testing.TB, s *Server) (*network.Handler, net.Addr) {
	t.Helper()
	h := network.New(network.Config{Log: s.config.Log, Authenticator: network.NewToken(provider.NewSecret(conntest.Token), nil, false),
		Hosts: []string{"thinkd.test:0"}, Port: 1,
		Endpoints: []network.Endpoint{{Path: "/rpc", Limit: s.MessageBytes(),
			Serve: s.ServeFrames}}})
	t.Cleanup(h.Close)
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return h, server.Listener.Addr()
}

// The end of the daemon closes all connections, after what their sessions still had to say.
func TestEndOfDaemon(t *testing.T) {
	s := testServer(t, Config{})
	h, addr := listenOn(t, s)
	c := conntest.Dial(t, addr)
	c.Send(conntest.Frame(conntest.Fin|conntest.Text, conntest.Request(1, "follow", `{"session_id":"a","updates":3}`)))
	if _, got, err := c.Receive(); err != nil || got != fmt.Sprintf(conntest.Pong, "1") {
		t.Fatal(got, err)
	}
	closed := make(chan struct{})
	testgo.Go(t, func() { // as the daemon ends; awaited below
		defer close(closed)
		if err := s.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		h.Close()
	})
	tick := `{"jsonrpc":"2.0","method":"tick","params":{"session_id":"a","n":%d}}`
	want := []string{fmt.Sprintf(tick, 0), fmt.Sprintf(tick, 1), fmt.Sprintf(tick, 2), "close 1001"}
	if diff := cmp.Diff(want, c.Rest(-1)); diff != "" {
		t.Error(diff)
	}
	<-closed
}
