package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/rpc/conntest"
	"github.com/thinkd/thinkd/rpc/door"
)

// The time in which a client should reconnect grows by 1 ms for each client that is there when it connects, up to 15 s.
func TestReconnectGrows(t *testing.T) {
	s := testServer(t, Config{})
	hello := func() (*conntest.Peer, reconnect) {
		t.Helper()
		p := connect(t, t.Context(), s)
		p.Send(conntest.Request(1, "initialize", "{}"))
		var told reconnect
		if err := json.Unmarshal([]byte(gjson.Get(p.Receive(), "result.reconnect").Raw), &told); err != nil {
			t.Fatal(err)
		}
		return p, told
	}
	var all []*conntest.Peer
	for n := range 100 {
		p, told := hello()
		if want := (reconnect{100, 250 + int64(n) + 1}); told != want {
			t.Fatalf("client %d gets %+v, want %+v", n, told, want)
		}
		all = append(all, p)
	}
	for _, p := range all {
		p.HangUp()
	}
	for others, want := range map[int]reconnect{0: {100, 251}, 4_999: {100, 5_250}, 14_000: {100, 14_251}, 1 << 40: {100, 15_000}} {
		s.crowd = func() int { return s.Clients() + others }
		p, told := hello()
		if told != want {
			t.Errorf("with %d others, a client gets %+v, want %+v", others, told, want)
		}
		p.HangUp()
	}
}

// The doors of a daemon that went look for the next one apart from each other, in the time that their number wants, and
// one whose client leaves meanwhile looks for none.
func TestDoorsKeepApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const others = 5000
		h := newHouse(t)
		h.server.crowd = func() int { return h.server.Clients() + others }
		var found []time.Duration
		var killed time.Time
		dial := func(ctx context.Context) (*door.Link, error) {
			if !killed.IsZero() {
				found = append(found, time.Since(killed))
			}
			return h.dial(ctx)
		}
		p := conntest.Connect(t, func(pipe net.Conn) error { return door.Door{Client: pipe, Dial: dial}.Run(t.Context()) }) // leave waits
		p.Send(conntest.Ping("1"))
		p.Expect(fmt.Sprintf(conntest.Pong, "1"))
		const kills = 200
		for range kills {
			killed = time.Now()
			h.kill()
			synctest.Wait() // the door has seen it
			p.Send(conntest.Ping("2"))
			p.Expect(fmt.Sprintf(conntest.Pong, "2"))
		}
		slices.Sort(found)
		if len(found) != kills || found[0] > time.Second || found[kills-1] < 4*time.Second || found[kills-1] >= 5001*time.Millisecond {
			t.Errorf("%d were looked for, the first after %v, the last after %v", len(found), found[0], found[kills-1])
		}

		h.kill()
		synctest.Wait()
		left := time.Now()
		(&visitor{p, h, t}).leave()
		if len(found) != kills || time.Since(left) != 0 {
			t.Errorf("%d were looked for, and the door ended after %v", len(found), time.Since(left))
		}
	})
}
