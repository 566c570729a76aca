package conn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/rpc/conntest"
)

func TestAnswersKeepTheOrderOfRequests(t *testing.T) {
	var send, want strings.Builder
	for i := range 200 {
		send.WriteString(conntest.Ping(fmt.Sprint(i)) + "\n")
		want.WriteString(fmt.Sprintf(conntest.Pong, fmt.Sprint(i)) + "\n")
	}
	got, err := converse(t, testServer(t, 0), strings.NewReader(send.String()))
	if err != nil || got != want.String() {
		t.Errorf("%v, %s", err, got)
	}
}

func TestLateAnswersHoldUpNobody(t *testing.T) {
	p := connect(t, t.Context(), testServer(t, 0))
	p.Send(conntest.Request(1, "late", "{}"), conntest.Request(`"1"`, "late", "{}"), conntest.Ping("2"))
	p.Expect(fmt.Sprintf(conntest.Pong, "2"))

	p.Send(conntest.Request(1, "ping", "{}"))
	p.Expect(fmt.Sprintf(conntest.Refused, "1", "a request with this id is in flight"))

	p.Send(conntest.CancelRequest(`"2"`), conntest.CancelRequest("1.0"), conntest.CancelRequest(`"1"`))
	p.Expect(fmt.Sprintf(conntest.Cancelled, `"1"`))
	p.Send(conntest.CancelRequest("1"))
	p.Expect(fmt.Sprintf(conntest.Cancelled, "1"))

	p.Send(conntest.Ping("1"))
	p.Expect(fmt.Sprintf(conntest.Pong, "1"))
	if err := p.HangUp(); err != nil {
		t.Errorf("Serve ended with %v", err)
	}
}

// A batch frees its own ids when its array is out, and nobody else's.
func TestIDsOfBatches(t *testing.T) {
	p := connect(t, t.Context(), testServer(t, 0))
	p.Send(conntest.Request(1, "late", "{}"))
	for range 2 {
		p.Send("[" + conntest.Ping("1") + "," + conntest.Ping("2") + "]")
		p.Expect("[" + fmt.Sprintf(conntest.Refused, "1", "a request with this id is in flight") + "," + fmt.Sprintf(conntest.Pong, "2") + "]")
	}
	p.Send(conntest.Ping("1"), conntest.Ping("2"))
	p.Expect(fmt.Sprintf(conntest.Refused, "1", "a request with this id is in flight"))
	p.Expect(fmt.Sprintf(conntest.Pong, "2"))
	p.Send(conntest.CancelRequest("1"))
	p.Expect(fmt.Sprintf(conntest.Cancelled, "1"))
	if err := p.HangUp(); err != nil {
		t.Errorf("Serve ended with %v", err)
	}
}

func TestRequestsInFlightAreBounded(t *testing.T) {
	p := connect(t, t.Context(), testServer(t, 0))
	for i := range MaxInFlight {
		p.Send(conntest.Request(i, "late", "{}"))
	}
	p.Send(conntest.Ping(`"more"`))
	p.Expect(`{"jsonrpc":"2.0","id":"more","error":{"code":1009,"message":"256 requests are in flight","data":{"kind":"overloaded"}}}`)
	p.Send(`[` + conntest.Ping(`"more"`) + `]`)
	p.Expect(`[{"jsonrpc":"2.0","id":"more","error":{"code":1009,"message":"256 requests are in flight","data":{"kind":"overloaded"}}}]`)
	p.Send(conntest.Request(1000, "session/cancel", `{"session_id":"01K00000000000000000000000"}`)) // what all wait for may be ended
	p.Expect(`{"jsonrpc":"2.0","id":1000,"error":{"code":-32601,"message":"Method not found"}}`)    // it came through: this server has none
	p.Send(conntest.CancelRequest("17"))
	p.Expect(fmt.Sprintf(conntest.Cancelled, "17"))
	p.Send(conntest.Ping(`"more"`))
	p.Expect(fmt.Sprintf(conntest.Pong, `"more"`))
	if err := p.HangUp(); err != nil { // ends the other 255
		t.Errorf("Serve ended with %v", err)
	}
}

// Cancels come through where nothing else does, and are bounded too.
func TestCancelsInFlightAreBounded(t *testing.T) {
	s := testServer(t, 0)
	s.methods["session/cancel"] = s.methods["late"] // one that does not end
	p := connect(t, t.Context(), s)
	for i := range MaxInFlight {
		p.Send(conntest.Request(i, "late", "{}"))
	}
	for i := range maxUrgent {
		p.Send(conntest.Request(MaxInFlight+i, "session/cancel", "{}"))
	}
	for range 2 {
		p.Send(conntest.Request(1000, "session/cancel", "{}"))
		p.Expect(`{"jsonrpc":"2.0","id":1000,"error":{"code":1009,"message":"256 requests are in flight","data":{"kind":"overloaded"}}}`)
	}
	p.Send(conntest.CancelRequest("256")) // the first of the cancels
	p.Expect(fmt.Sprintf(conntest.Cancelled, "256"))
	p.Send(conntest.Request(1001, "session/cancel", "{}"), conntest.CancelRequest("1001"))
	p.Expect(fmt.Sprintf(conntest.Cancelled, "1001"))
	if err := p.HangUp(); err != nil {
		t.Errorf("Serve ended with %v", err)
	}
}

// What a request causes is written behind its Answer, in a batch too, and a second follow ends the first.
func TestUpdatesFollowTheAnswer(t *testing.T) {
	for range 20 {
		p := connect(t, t.Context(), testServer(t, 0))
		tick := func(session string, n int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","method":"tick","params":{"session_id":"%s","n":%d}}`, session, n)
		}
		follow := func(id int, session string, updates int) string {
			return conntest.Request(id, "follow", fmt.Sprintf(`{"session_id":%q,"updates":%d}`, session, updates))
		}
		p.Send(follow(1, "a", 2))
		p.Expect(fmt.Sprintf(conntest.Pong, "1"))
		p.Expect(tick("a", 0))
		p.Expect(tick("a", 1))

		p.Send("[" + follow(2, "b", 1) + "," + conntest.Ping("3") + "]")
		p.Expect("[" + fmt.Sprintf(conntest.Pong, "2") + "," + fmt.Sprintf(conntest.Pong, "3") + "]")
		p.Expect(tick("b", 0))

		// The first goroutine is far from its end when the second begins, and sends nothing more.
		p.Send(follow(4, "c", 1_000_000))
		p.Expect(fmt.Sprintf(conntest.Pong, "4"))
		testgo.Go(t, func() { p.Send(follow(5, "c", 1)) })
		for n := 0; ; n++ {
			got := p.Receive()
			if got == fmt.Sprintf(conntest.Pong, "5") {
				break
			}
			if got != tick("c", n) {
				t.Fatalf("got %s, want tick %d or the answer", got, n)
			}
		}
		p.Expect(tick("c", 0))

		p.Send(follow(6, "c", 1_000_000), conntest.Request(7, "unfollow", `{"session_id":"c","updates":0}`))
		for got := p.Receive(); got != fmt.Sprintf(conntest.Pong, "7"); got = p.Receive() {
		}
		p.Send(conntest.Ping("8"))
		p.Expect(fmt.Sprintf(conntest.Pong, "8"))
		p.Send(follow(9, "d", 1_000_000))
		if err := p.HangUp(); err != nil && !errors.Is(err, io.ErrClosedPipe) { // the reader or the writer notices it first
			t.Fatalf("Serve ended with %v", err)
		}
	}
}

func TestAnswerTooLarge(t *testing.T) {
	const limit = 2000
	s := testServer(t, limit)
	large := func(id int, size int) string {
		return conntest.Request(id, "echo", fmt.Sprintf(`{"text":"x","times":%d}`, size))
	}
	got, err := converse(t, s, strings.NewReader(large(1, limit)+"\n"+large(2, 10)+"\n"))
	want := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"error":{"code":1007,"message":"the answer is larger than %d bytes","data":{"kind":"too_large","limit":%[1]d}}}`, limit) +
		"\n" + `{"jsonrpc":"2.0","id":2,"result":{"text":"xxxxxxxxxx"}}` + "\n"
	if err != nil || got != want {
		t.Errorf("%v, got %s", err, got)
	}

	// Together they are too large: the largest gives way, and that is enough.
	got, err = converse(t, s, strings.NewReader("["+large(1, 900)+","+large(2, 1000)+","+large(3, 100)+"]\n"))
	if err != nil || len(got) > limit+1 || !strings.Contains(got, `"id":1,"result"`) ||
		!strings.Contains(got, `"id":2,"error":{"code":1007`) || !strings.Contains(got, `"id":3,"result"`) {
		t.Errorf("%v, got %d bytes: %s", err, len(got), got)
	}
}

// A client that takes nothing is disconnected when its time is over, not before, and leaves nothing behind: the
// bubble would not end.
func TestStalledClient(t *testing.T) {
	for _, tc := range []struct {
		name string
		talk func(t *testing.T, p *conntest.Peer)
	}{
		{"answers", func(t *testing.T, p *conntest.Peer) { p.Send(conntest.Ping("1")) }},
		{"updates", func(t *testing.T, p *conntest.Peer) {
			p.Send(conntest.Request(1, "follow", `{"session_id":"a","updates":1000000}`))
			p.Receive()
		}},
		{"a large Answer, a part of it taken", func(t *testing.T, p *conntest.Peer) {
			p.Send(conntest.Request(1, "echo", `{"text":"xxxxxxxxxx","times":100000}`))
			time.Sleep(stallLimit - time.Second)
			if _, err := io.CopyN(io.Discard, p.Conn, 5*pieceSize); err != nil {
				t.Error(err)
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := connect(t, t.Context(), testServer(t, 0))
				tc.talk(t, p)
				synctest.Wait()
				stalled := time.Now()
				if err := <-p.Served; !errors.Is(err, ErrStalled) {
					t.Errorf("Serve ended with %v", err)
				}
				if waited := time.Since(stalled); waited != stallLimit {
					t.Errorf("it took %v", waited)
				}
				p.Conn.Close()
			})
		})
	}
}

// A client that reads slowly, but reads, stays.
func TestSlowClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, t.Context(), testServer(t, 0))
		p.Send(conntest.Request(1, "echo", `{"text":"xxxxxxxxxx","times":30000}`))
		total := len(`{"jsonrpc":"2.0","id":1,"result":{"text":""}}`) + 300000 + 1
		for total > 0 {
			time.Sleep(stallLimit - time.Second)
			n, err := io.CopyN(io.Discard, p.Conn, int64(min(total, pieceSize)))
			if err != nil {
				t.Fatal(err)
			}
			total -= int(n)
		}
		if err := p.HangUp(); err != nil {
			t.Errorf("Serve ended with %v", err)
		}
	})
}

// A client that takes no answers is not read any further, so that it costs bounded memory while it stalls.
func TestAnswersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, t.Context(), testServer(t, 0))
		sent := 0
		testgo.Go(t, func() {
			for i := range 1000 {
				if _, err := p.Conn.Write([]byte(conntest.Request(i, "echo", `{"text":"xxxxxxxxxx","times":100000}`) + "\n")); err != nil {
					return // the server ended the connection
				}
				sent++
			}
		})
		synctest.Wait()
		if most := bounds[Answer]/1_000_000 + 2; sent == 0 || sent > most {
			t.Errorf("%d requests were read, want at most %d", sent, most)
		}
		if err := <-p.Served; !errors.Is(err, ErrStalled) {
			t.Errorf("Serve ended with %v", err)
		}
		p.Conn.Close()
	})
}

func TestEndOfTheContext(t *testing.T) {
	why := errors.New("going down")

	t.Run("idle, late and followed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			p := connect(t, ctx, testServer(t, 0))
			p.Send(conntest.Request(1, "late", "{}"), conntest.Request(2, "follow", `{"session_id":"a","updates":0}`))
			p.Expect(fmt.Sprintf(conntest.Pong, "2"))
			began := time.Now()
			cancel(why)
			if err := <-p.Served; err != why {
				t.Errorf("Serve ended with %v", err)
			}
			if waited := time.Since(began); waited != 0 {
				t.Errorf("it took %v", waited)
			}
			if _, err := p.Conn.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("the client's end is %v", err)
			}
		})
	})

	t.Run("what waits is written", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			p := connect(t, ctx, testServer(t, 0))
			p.Send(conntest.Request(1, "echo", `{"text":"xxxxxxxxxx","times":100000}`))
			synctest.Wait()
			cancel(why)
			time.Sleep(DrainLimit / 2)
			if got := p.Receive(); len(got) < 1_000_000 {
				t.Errorf("got %d bytes", len(got))
			}
			if err := <-p.Served; err != why {
				t.Errorf("Serve ended with %v", err)
			}
		})
	})

	t.Run("nobody takes it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			p := connect(t, ctx, testServer(t, 0))
			p.Send(conntest.Request(1, "echo", `{"text":"xxxxxxxxxx","times":100000}`))
			synctest.Wait()
			began := time.Now()
			cancel(why)
			if err := <-p.Served; err != why {
				t.Errorf("Serve ended with %v", err)
			}
			if waited := time.Since(began); waited != DrainLimit {
				t.Errorf("it took %v", waited)
			}
			p.Conn.Close()
		})
	})
}

// brokenPipe is a client that has gone, but whose end of input never comes.
type brokenPipe struct {
	net.Conn
	err error
}

func (p brokenPipe) Write([]byte) (int, error) { return 0, p.err }

func TestBrokenOutputEndsTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		broken := errors.New("broken pipe")
		served := make(chan error, 1)
		testgo.Go(t, func() { served <- testServer(t, 0).Serve(t.Context(), brokenPipe{theirs, broken}) })
		if _, err := ours.Write([]byte(conntest.Request(1, "late", "{}") + "\n" + conntest.Ping("2") + "\n")); err != nil {
			t.Fatal(err)
		}
		if err := <-served; err != broken {
			t.Errorf("Serve ended with %v", err)
		}
		ours.Close()
	})
}

func TestUpdateTooLarge(t *testing.T) {
	s := newStream(t.Context(), NewByteFrames(conntest.NewTranscript(nil), 100), 100, Protocol{})
	if err := s.notify(t.Context(), make([]byte, 101)); !isTooLarge(err) {
		t.Errorf("got %v", err)
	}
	if err := s.notify(t.Context(), make([]byte, 100)); err != nil {
		t.Errorf("got %v", err)
	}
}

func isTooLarge(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == CodeTooLarge
}
