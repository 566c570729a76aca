package dispatch

import (
	"errors"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/session"
)

// Expel ends the connections of one user, waits for what runs for them, and lets nobody in for the user until readmit.
func TestExpel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		s := NewServer(log, nil, nil, nil, nil)
		ann, bob := session.Owner{User: "ann"}, session.Owner{User: "bob"}
		over := make(map[string]chan error)
		var pipes []net.Conn
		serve := func(name string, o session.Owner) *Client {
			ours, theirs := net.Pipe()
			pipes = append(pipes, theirs)
			c := s.NewClient(conn.New(t.Context(), conn.NewByteFrames(ours, 1<<20), conn.Config{Log: log, Limit: 1 << 20}), method.Principal{Owner: o})
			ended := make(chan error, 1)
			over[name] = ended
			testgo.Go(t, func() { ended <- c.Serve() }) // awaited below
			return c
		}
		a := serve("ann", ann)
		serve("ann's other", ann)
		serve("bob", bob)
		serve("operator", session.Operator)
		synctest.Wait()
		ends := make(chan struct{})
		a.Run(func() { <-ends }) // a late answer
		expelled := make(chan func(), 1)
		testgo.Go(t, func() { // awaited below
			readmit, err := s.Expel(t.Context(), ann)
			if err != nil {
				t.Error(err)
			}
			expelled <- readmit
		})
		synctest.Wait()
		select {
		case <-expelled:
			t.Fatal("a late answer still runs")
		default:
		}
		serve("ann again", ann)
		for _, name := range []string{"ann's other", "ann again"} {
			if err := <-over[name]; !errors.Is(err, conn.ErrRevoked) {
				t.Errorf("%s: %v", name, err)
			}
		}
		close(ends)
		readmit := <-expelled
		if err := <-over["ann"]; !errors.Is(err, conn.ErrRevoked) {
			t.Error(err)
		}
		readmit()
		readmit()
		serve("ann at last", ann)
		synctest.Wait()
		if n := s.Clients(); n != 3 {
			t.Errorf("%d clients", n)
		}
		for _, p := range pipes {
			p.Close()
		}
		for _, name := range []string{"bob", "operator", "ann at last"} {
			if err := <-over[name]; errors.Is(err, conn.ErrRevoked) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
