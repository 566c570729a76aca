package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/provider/testgo"
)

func request(id any, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":%q,"params":%s}`, id, method, params)
}

func cancelOf(id string) string {
	return `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":` + id + `}}`
}

const cancelled = `{"jsonrpc":"2.0","id":%s,"error":{"code":-32800,"message":"the request was cancelled","data":{"kind":"cancelled"}}}`

func TestAnswersKeepTheOrderOfRequests(t *testing.T) {
	var send, want strings.Builder
	for i := range 200 {
		send.WriteString(pingWith(fmt.Sprint(i)) + "\n")
		want.WriteString(fmt.Sprintf(pong, fmt.Sprint(i)) + "\n")
	}
	got, err := converse(t, testServer(t, Config{}), strings.NewReader(send.String()))
	if err != nil || got != want.String() {
		t.Errorf("%v, %s", err, got)
	}
}

func TestLateAnswersHoldUpNobody(t *testing.T) {
	p := connect(t, t.Context(), testServer(t, Config{}))
	p.send(request(1, "late", "{}"), request(`"1"`, "late", "{}"), pingWith("2"))
	p.expect(fmt.Sprintf(pong, "2"))

	p.send(request(1, "ping", "{}"))
	p.expect(fmt.Sprintf(refused, "1", "a request with this id is in flight"))

	p.send(cancelOf(`"2"`), cancelOf("1.0"), cancelOf(`"1"`))
	p.expect(fmt.Sprintf(cancelled, `"1"`))
	p.send(cancelOf("1"))
	p.expect(fmt.Sprintf(cancelled, "1"))

	p.send(pingWith("1"))
	p.expect(fmt.Sprintf(pong, "1"))
	p.send(request(3, "late_refused", "{}"))
	p.expect(`{"jsonrpc":"2.0","id":3,"error":{"code":1001,"message":"no such session","data":{"kind":"not_found"}}}`)
	if err := p.hangUp(); err != nil {
		t.Errorf("Serve ended with %v", err)
	}
}

// A batch frees its own ids when its array is out, and nobody else's.
func TestIDsOfBatches(t *testing.T) {
	p := connect(t, t.Context(), testServer(t, Config{}))
	p.send(request(1, "late", "{}"))
	for range 2 {
		p.send("[" + pingWith("1") + "," + pingWith("2") + "]")
		p.expect("[" + fmt.Sprintf(refused, "1", "a request with this id is in flight") + "," + fmt.Sprintf(pong, "2") + "]")
	}
	p.send(pingWith("1"), pingWith("2"))
	p.expect(fmt.Sprintf(refused, "1", "a request with this id is in flight"))
	p.expect(fmt.Sprintf(pong, "2"))
	p.send(cancelOf("1"))
	p.expect(fmt.Sprintf(cancelled, "1"))
	if err := p.hangUp(); err != nil {
		t.Errorf("Serve ended with %v", err)
	}
}

// Serve returns when all that runs for its client has ended, and writes no answer that the end itself caused.
func TestServeWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testServer(t, Config{})
		linger := func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(time.Minute)
			return ctx.Err()
		}
		s.byName["linger"] = defineLate(method{name: "linger"}, func(_ context.Context, c *client, _ nothing) (func(context.Context) (nothing, error), error) {
			c.follow("a", linger)
			return func(ctx context.Context) (nothing, error) { return nothing{}, linger(ctx) }, nil
		})
		began := time.Now()
		got, err := converse(t, s, strings.NewReader(request(1, "linger", "{}")))
		if waited := time.Since(began); err != nil || got != "" || waited != time.Minute {
			t.Errorf("Serve ended with %v after %v and wrote %q", err, waited, got)
		}
	})
}

// Drain returns when nothing runs for any client, and gives up with its context.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testServer(t, Config{})
		if err := s.Drain(t.Context()); err != nil {
			t.Errorf("nothing runs, and Drain ends with %v", err)
		}
		release := make(chan struct{})
		s.byName["linger"] = defineLate(method{name: "linger"}, func(_ context.Context, c *client, _ nothing) (func(context.Context) (nothing, error), error) {
			c.follow("a", func(context.Context) error { <-release; return nil })
			return func(context.Context) (nothing, error) { <-release; time.Sleep(time.Second); return nothing{}, nil }, nil
		})
		p := connect(t, t.Context(), s)
		p.send(request(1, "linger", "{}"))
		synctest.Wait()
		for range 2 {
			short, cancel := context.WithTimeout(t.Context(), time.Minute)
			if err := s.Drain(short); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Drain does not wait: %v", err)
			}
			cancel()
		}
		close(release)
		began := time.Now()
		if err := s.Drain(t.Context()); err != nil || time.Since(began) != time.Second {
			t.Errorf("Drain ended after %v with %v", time.Since(began), err)
		}
		p.expect(`{"jsonrpc":"2.0","id":1,"result":{}}`)
		if err := p.hangUp(); err != nil {
			t.Errorf("Serve ended with %v", err)
		}
	})
}

func TestRequestsInFlightAreBounded(t *testing.T) {
	p := connect(t, t.Context(), testServer(t, Config{}))
	for i := range maxInFlight {
		p.send(request(i, "late", "{}"))
	}
	p.send(pingWith(`"more"`))
	p.expect(`{"jsonrpc":"2.0","id":"more","error":{"code":1009,"message":"256 requests are in flight","data":{"kind":"overloaded"}}}`)
	p.send(`[` + pingWith(`"more"`) + `]`)
	p.expect(`[{"jsonrpc":"2.0","id":"more","error":{"code":1009,"message":"256 requests are in flight","data":{"kind":"overloaded"}}}]`)
	p.send(request(1000, "session/cancel", `{"session_id":"01K00000000000000000000000"}`))       // what all wait for may be ended
	p.expect(`{"jsonrpc":"2.0","id":1000,"error":{"code":-32601,"message":"Method not found"}}`) // it came through: this server has none
	p.send(cancelOf("17"))
	p.expect(fmt.Sprintf(cancelled, "17"))
	p.send(pingWith(`"more"`))
	p.expect(fmt.Sprintf(pong, `"more"`))
	if err := p.hangUp(); err != nil { // ends the other 255
		t.Errorf("Serve ended with %v", err)
	}
}

// Cancels come through where nothing else does, and are bounded too.
func TestCancelsInFlightAreBounded(t *testing.T) {
	s := testServer(t, Config{})
	s.byName["session/cancel"] = s.byName["late"] // one that does not end
	p := connect(t, t.Context(), s)
	for i := range maxInFlight {
		p.send(request(i, "late", "{}"))
	}
	for i := range maxCancels {
		p.send(request(maxInFlight+i, "session/cancel", "{}"))
	}
	for range 2 {
		p.send(request(1000, "session/cancel", "{}"))
		p.expect(`{"jsonrpc":"2.0","id":1000,"error":{"code":1009,"message":"256 requests are in flight","data":{"kind":"overloaded"}}}`)
	}
	p.send(cancelOf("256")) // the first of the cancels
	p.expect(fmt.Sprintf(cancelled, "256"))
	p.send(request(1001, "session/cancel", "{}"), cancelOf("1001"))
	p.expect(fmt.Sprintf(cancelled, "1001"))
	if err := p.hangUp(); err != nil {
		t.Errorf("Serve ended with %v", err)
	}
}

// What a request causes is written behind its answer, in a batch too, and a second follow ends the first.
func TestUpdatesFollowTheAnswer(t *testing.T) {
	for range 20 {
		p := connect(t, t.Context(), testServer(t, Config{}))
		tick := func(session string, n int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","method":"tick","params":{"session_id":"%s","n":%d}}`, session, n)
		}
		follow := func(id int, session string, updates int) string {
			return request(id, "follow", fmt.Sprintf(`{"session_id":%q,"updates":%d}`, session, updates))
		}
		p.send(follow(1, "a", 2))
		p.expect(fmt.Sprintf(pong, "1"))
		p.expect(tick("a", 0))
		p.expect(tick("a", 1))

		p.send("[" + follow(2, "b", 1) + "," + pingWith("3") + "]")
		p.expect("[" + fmt.Sprintf(pong, "2") + "," + fmt.Sprintf(pong, "3") + "]")
		p.expect(tick("b", 0))

		// The first pump is far from its end when the second begins, and is never heard again.
		p.send(follow(4, "c", 1_000_000))
		p.expect(fmt.Sprintf(pong, "4"))
		testgo.Go(t, func() { p.send(follow(5, "c", 1)) })
		for n := 0; ; n++ {
			got := p.receive()
			if got == fmt.Sprintf(pong, "5") {
				break
			}
			if got != tick("c", n) {
				t.Fatalf("got %s, want tick %d or the answer", got, n)
			}
		}
		p.expect(tick("c", 0))

		p.send(follow(6, "c", 1_000_000), request(7, "unfollow", `{"session_id":"c","updates":0}`))
		for got := p.receive(); got != fmt.Sprintf(pong, "7"); got = p.receive() {
		}
		p.send(pingWith("8"))
		p.expect(fmt.Sprintf(pong, "8"))
		p.send(follow(9, "d", 1_000_000))
		if err := p.hangUp(); err != nil && !errors.Is(err, io.ErrClosedPipe) { // reader or writer, whoever finds out first
			t.Fatalf("Serve ended with %v", err)
		}
	}
}

// logged is a log that can be read while it is written.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// A panic or an unknown error fails one request and tells the client nothing but a reference, which the log has.
func TestInternalErrors(t *testing.T) {
	var log logged
	p := connect(t, t.Context(), testServer(t, Config{Log: slog.New(slog.NewTextHandler(&log, nil))}))
	defer p.hangUp()
	shape := regexp.MustCompile(`^\{"jsonrpc":"2\.0","id":1,"error":\{"code":-32603,"message":"internal error","data":\{"kind":"internal","ref":"([A-Z2-7]{26})"\}\}\}$`)
	for method, secret := range map[string]string{"panic": "canary", "fail": "canary", "late_panic": "late"} {
		p.send(request(1, method, "{}"))
		got := p.receive()
		m := shape.FindStringSubmatch(got)
		if m == nil {
			t.Fatalf("%s: got %s", method, got)
		}
		if text := log.String(); !strings.Contains(text, m[1]) || !strings.Contains(text, secret) {
			t.Errorf("%s: the log has neither %s nor the cause:\n%s", method, m[1], text)
		}
		p.send(pingWith("2"))
		p.expect(fmt.Sprintf(pong, "2"))
	}
	if !strings.Contains(log.String(), "conn_test.go") {
		t.Error("the log has no stack")
	}
}

func TestAnswerTooLarge(t *testing.T) {
	const limit = 2000
	s := testServer(t, Config{MessageBytes: limit})
	large := func(id int, size int) string {
		return request(id, "echo", fmt.Sprintf(`{"text":"x","times":%d}`, size))
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
		talk func(t *testing.T, p *peer)
	}{
		{"answers", func(t *testing.T, p *peer) { p.send(pingWith("1")) }},
		{"updates", func(t *testing.T, p *peer) {
			p.send(request(1, "follow", `{"session_id":"a","updates":1000000}`))
			p.receive()
		}},
		{"a large answer, a part of it taken", func(t *testing.T, p *peer) {
			p.send(request(1, "echo", `{"text":"xxxxxxxxxx","times":100000}`))
			time.Sleep(stallLimit - time.Second)
			if _, err := io.CopyN(io.Discard, p.conn, 5*pieceSize); err != nil {
				t.Error(err)
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := connect(t, t.Context(), testServer(t, Config{}))
				tc.talk(t, p)
				synctest.Wait()
				stalled := time.Now()
				if err := <-p.served; !errors.Is(err, errStalled) {
					t.Errorf("Serve ended with %v", err)
				}
				if waited := time.Since(stalled); waited != stallLimit {
					t.Errorf("it took %v", waited)
				}
				p.conn.Close()
			})
		})
	}
}

// A client that reads slowly, but reads, stays.
func TestSlowClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, t.Context(), testServer(t, Config{}))
		p.send(request(1, "echo", `{"text":"xxxxxxxxxx","times":30000}`))
		total := len(`{"jsonrpc":"2.0","id":1,"result":{"text":""}}`) + 300000 + 1
		for total > 0 {
			time.Sleep(stallLimit - time.Second)
			n, err := io.CopyN(io.Discard, p.conn, int64(min(total, pieceSize)))
			if err != nil {
				t.Fatal(err)
			}
			total -= int(n)
		}
		if err := p.hangUp(); err != nil {
			t.Errorf("Serve ended with %v", err)
		}
	})
}

// A client that takes no answers is not read any further, so that it costs bounded memory while it stalls.
func TestAnswersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, t.Context(), testServer(t, Config{}))
		sent := 0
		testgo.Go(t, func() {
			for i := range 1000 {
				if _, err := p.conn.Write([]byte(request(i, "echo", `{"text":"xxxxxxxxxx","times":100000}`) + "\n")); err != nil {
					return // the server ended the connection
				}
				sent++
			}
		})
		synctest.Wait()
		if most := bounds[answer]/1_000_000 + 2; sent == 0 || sent > most {
			t.Errorf("%d requests were read, want at most %d", sent, most)
		}
		if err := <-p.served; !errors.Is(err, errStalled) {
			t.Errorf("Serve ended with %v", err)
		}
		p.conn.Close()
	})
}

func TestEndOfTheContext(t *testing.T) {
	why := errors.New("going down")

	t.Run("idle, late and followed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			p := connect(t, ctx, testServer(t, Config{}))
			p.send(request(1, "late", "{}"), request(2, "follow", `{"session_id":"a","updates":0}`))
			p.expect(fmt.Sprintf(pong, "2"))
			began := time.Now()
			cancel(why)
			if err := <-p.served; err != why {
				t.Errorf("Serve ended with %v", err)
			}
			if waited := time.Since(began); waited != 0 {
				t.Errorf("it took %v", waited)
			}
			if _, err := p.conn.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("the client's end is %v", err)
			}
		})
	})

	t.Run("what waits is written", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			p := connect(t, ctx, testServer(t, Config{}))
			p.send(request(1, "echo", `{"text":"xxxxxxxxxx","times":100000}`))
			synctest.Wait()
			cancel(why)
			time.Sleep(drainLimit / 2)
			if got := p.receive(); len(got) < 1_000_000 {
				t.Errorf("got %d bytes", len(got))
			}
			if err := <-p.served; err != why {
				t.Errorf("Serve ended with %v", err)
			}
		})
	})

	t.Run("nobody takes it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			p := connect(t, ctx, testServer(t, Config{}))
			p.send(request(1, "echo", `{"text":"xxxxxxxxxx","times":100000}`))
			synctest.Wait()
			began := time.Now()
			cancel(why)
			if err := <-p.served; err != why {
				t.Errorf("Serve ended with %v", err)
			}
			if waited := time.Since(began); waited != drainLimit {
				t.Errorf("it took %v", waited)
			}
			p.conn.Close()
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
		testgo.Go(t, func() { served <- testServer(t, Config{}).Serve(t.Context(), brokenPipe{theirs, broken}) })
		if _, err := ours.Write([]byte(request(1, "late", "{}") + "\n" + pingWith("2") + "\n")); err != nil {
			t.Fatal(err)
		}
		if err := <-served; err != broken {
			t.Errorf("Serve ended with %v", err)
		}
		ours.Close()
	})
}

func TestPumpThatFailsEndsTheConnection(t *testing.T) {
	var log logged
	s := testServer(t, Config{Log: slog.New(slog.NewTextHandler(&log, nil)), MessageBytes: 100})
	answered := make(chan struct{})
	s.byName["bad_pump"] = define(method{name: "bad_pump"}, func(_ context.Context, c *client, _ nothing) (nothing, error) {
		c.follow("a", func(ctx context.Context) error { <-answered; panic("canary") })
		return nothing{}, nil
	})
	p := connect(t, t.Context(), s)
	p.send(request(1, "bad_pump", "{}"))
	p.expect(fmt.Sprintf(pong, "1"))
	close(answered)
	if err := <-p.served; err == nil {
		t.Error("Serve ended well")
	}
	if !strings.Contains(log.String(), "canary") {
		t.Errorf("the log has no cause:\n%s", log.String())
	}
	p.conn.Close()
}

func TestUpdateTooLarge(t *testing.T) {
	s := newStream(t.Context(), newByteFrames(&transcript{}, 100), 100)
	if err := s.notify(t.Context(), make([]byte, 101)); known(err) == nil || known(err).Code != CodeTooLarge {
		t.Errorf("got %v", err)
	}
	if err := s.notify(t.Context(), make([]byte, 100)); err != nil {
		t.Errorf("got %v", err)
	}
}
