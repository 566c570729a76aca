package rpc

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/conntest"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/session"
)

// house starts a daemon at each Dial: a server behind a pipe, which kill ends as a crash would.
type house struct {
	t       *testing.T
	server  *Server
	serving sync.WaitGroup
	refuse  error // of the next Dial

	mu    sync.Mutex
	dials int
	conn  net.Conn // the daemon's end of the present one
}

func newHouse(t *testing.T) *house {
	s := testServer(t, Config{MessageBytes: 1 << 10})
	s.byName["session/new"] = method.Define("session/new", method.Use, "", method.Now(func(_ context.Context, c *client, p newParams) (followParams, error) {
		id := testSession(p.Title)
		c.Follow(id, func(ctx context.Context) error {
			for n := range 3 {
				message := fmt.Sprintf(`{"jsonrpc":"2.0","method":"tick","params":{"session_id":"%s","seq":%d}}`, id, n+5)
				if err := c.Notify(ctx, []byte(message)); err != nil {
					return err
				}
			}
			return nil
		})
		return followParams{Session: id}, nil
	}))
	return &house{t: t, server: s}
}

func testSession(title string) session.ID { return session.ID(title) }

func (h *house) dial(ctx context.Context) (*door.Link, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refuse != nil {
		return nil, h.refuse
	}
	h.dials++
	ours, theirs := newHalves()
	h.conn = theirs
	local := &Local{Status: func(context.Context) (door.Status, error) { return door.Status{PID: h.dials}, nil }}
	h.serving.Go(testgo.Guard(h.t, func() { h.server.ServeLocal(context.Background(), theirs, local) })) // ends with the pipe
	return door.Greet(ctx, ours)
}

// halves is a pipe whose ends can be closed one way, as those of a socket.
type halves struct {
	net.Conn // to write
	in       net.Conn
}

func newHalves() (a, b *halves) {
	in, out := net.Pipe()
	in2, out2 := net.Pipe()
	return &halves{out, in2}, &halves{out2, in}
}

func (h *halves) Read(p []byte) (int, error) { return h.in.Read(p) }
func (h *halves) CloseWrite() error          { return h.Conn.Close() }
func (h *halves) Close() error               { return errors.Join(h.Conn.Close(), h.in.Close()) }

func (h *halves) SetDeadline(t time.Time) error {
	return errors.Join(h.Conn.SetDeadline(t), h.in.SetDeadline(t))
}

func (h *house) kill() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.conn.Close()
}

// visitor is a client on a door, with all messages that it received.
type visitor struct {
	*conntest.Peer
	house *house
	t     *testing.T
}

func visit(t *testing.T, h *house) *visitor {
	p := conntest.Connect(t, func(pipe net.Conn) error { return door.Door{Client: pipe, Dial: h.dial}.Run(t.Context()) }) // leave waits
	return &visitor{p, h, t}
}

func (v *visitor) leave() {
	v.t.Helper()
	if err := v.HangUp(); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		v.t.Errorf("Run ended with %v", err)
	}
	v.house.serving.Wait()
}

const lost = `{"jsonrpc":"2.0","id":%s,"error":{"code":1006,"message":"the daemon has ended; whether it did this is not known","data":{"kind":"closing"}}}`

func staleOf(session string, after int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"stale","params":{"session_id":"%s","after_seq":%d}}`, session, after)
}

func TestDoorPassesOn(t *testing.T) {
	for _, f := range conntest.Framings {
		t.Run(f.Name, func(t *testing.T) {
			h := newHouse(t)
			spread := "{\n \"jsonrpc\": \"2.0\", \"id\": 4,\n \"method\": \"ping\"}" // a line break is white space
			if f.Name == "lines" {
				spread = strings.ReplaceAll(spread, "\n", "\t")
			}
			send := f.All(conntest.Ping("1"), "["+conntest.Ping("2")+`,1,`+conntest.Ping(`"x"`)+"]", `{"a`, spread,
				conntest.Request(5, "echo", `{"text":"`+strings.Repeat("x", 1<<10)+`"}`), conntest.Ping("6"), conntest.Request(7, door.MethodListen, "{}"))
			c := conntest.NewTranscript(strings.NewReader(send))
			if err := (door.Door{Client: c, Dial: h.dial}).Run(t.Context()); err != nil {
				t.Errorf("Run ended with %v", err)
			}
			h.serving.Wait()
			direct, err := converse(t, h.server, strings.NewReader(send))
			if err != nil {
				t.Fatal(err)
			}
			// What the door answers itself may overtake the daemon's answers; nothing else may change.
			got, want := sortedMessages(t, c.String()), sortedMessages(t, direct)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("through the door, other than directly:\n%s", diff)
			}
			if strings.HasPrefix(c.String(), "Content-Length") != (f.Name == "headers") {
				t.Errorf("wrong framing: %.80q", c.String())
			}
			if len(got) != 7 || h.dials != 1 {
				t.Errorf("%d messages by %d daemons: %q", len(got), h.dials, got)
			}
		})
	}
}

func TestDoorFindsTheNextDaemon(t *testing.T) {
	h := newHouse(t)
	v := visit(t, h)
	v.Send(conntest.Request(1, "initialize", `{"client":{"name":"a"}}`))
	if got := v.Receive(); !strings.Contains(got, `"server":{"name":"thinkd","version":"1.2.3"}`) {
		t.Fatal(got)
	}
	for i, id := range []string{"A", "B"} {
		v.Send(conntest.Request(i+2, "session/new", fmt.Sprintf(`{"title":%q}`, id)))
		v.Expect(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"session_id":%q,"updates":0}}`, i+2, id))
		for n := range 3 {
			v.Expect(fmt.Sprintf(`{"jsonrpc":"2.0","method":"tick","params":{"session_id":"%s","seq":%d}}`, id, n+5))
		}
	}
	for round := range 3 {
		v.Send(conntest.Request(7, "late", "{}"), conntest.Request(`"l"`, "late", "{}"), conntest.Ping("8"))
		v.Expect(fmt.Sprintf(conntest.Pong, "8"))
		h.kill()
		v.Expect(fmt.Sprintf(lost, `"l"`))
		v.Expect(fmt.Sprintf(lost, "7"))
		v.Expect(staleOf("A", 7))
		v.Expect(staleOf("B", 7))

		// The new daemon knows the client: a second initialize is refused.
		v.Send(conntest.Request(9, "initialize", "{}"))
		v.Expect(fmt.Sprintf(conntest.Refused, "9", "initialize was called before on this connection"))
		if h.dials != round+2 {
			t.Errorf("%d daemons in round %d", h.dials, round)
		}
	}
	v.leave()
}

func TestDoorAnswersBatches(t *testing.T) {
	h := newHouse(t)
	block, release := make(chan struct{}), make(chan struct{})
	h.server.byName["block"] = method.Define("block", method.Use, "", method.Now(func(context.Context, *client, method.Nothing) (method.Nothing, error) {
		block <- struct{}{}
		<-release
		return method.Nothing{}, nil
	}))
	v := visit(t, h)
	v.Send(`[` + conntest.Request(1, "block", "{}") + `,{"jsonrpc":"2.0","method":"ping"},1,` + conntest.Ping(`"2"`) + `]`)
	<-block
	h.kill()
	v.Expect("[" + fmt.Sprintf(lost, "1") + `,{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}},` + fmt.Sprintf(lost, `"2"`) + "]")
	v.Send(conntest.Ping("3"))
	v.Expect(fmt.Sprintf(conntest.Pong, "3"))
	close(release)
	v.leave()
}

// What the client says while there is no daemon waits for the next one.
func TestDoorKeepsWhatWaits(t *testing.T) {
	h := newHouse(t)
	searching, found := make(chan struct{}), make(chan struct{})
	dial := func(ctx context.Context) (*door.Link, error) {
		if h.dials == 1 {
			close(searching)
			<-found
		}
		return h.dial(ctx)
	}
	ours, theirs := net.Pipe()
	p := conntest.ConnectOver(t, ours, theirs, func(pipe net.Conn) error { return door.Door{Client: pipe, Dial: dial}.Run(t.Context()) })
	p.Send(conntest.Ping("1"))
	p.Expect(fmt.Sprintf(conntest.Pong, "1"))
	h.kill()
	<-searching
	p.Send(conntest.Ping("2"), "["+conntest.Ping("3")+"]", conntest.Request(4, "late", "{}"), conntest.CancelRequest("4"))
	close(found)
	p.Expect(fmt.Sprintf(conntest.Pong, "2"))
	p.Expect("[" + fmt.Sprintf(conntest.Pong, "3") + "]")
	p.Expect(fmt.Sprintf(conntest.Cancelled, "4"))
	(&visitor{p, h, t}).leave()
}

func TestDoorWithoutDaemon(t *testing.T) {
	why := errors.New("config.toml:3: no")
	h := newHouse(t)
	v := visit(t, h)
	v.Send(conntest.Request(1, "late", "{}"), conntest.Ping("2"))
	v.Expect(fmt.Sprintf(conntest.Pong, "2"))
	h.mu.Lock()
	h.refuse = why
	h.mu.Unlock()
	h.kill()
	v.Expect(fmt.Sprintf(lost, "1"))
	if _, err := v.Conn.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the client's side ended with %v", err)
	}
	if err := <-v.Served; !errors.Is(err, why) {
		t.Errorf("Run ended with %v", err)
	}
	h.serving.Wait()
	if err := (door.Door{Client: conntest.NewTranscript(nil), Dial: h.dial}).Run(t.Context()); !errors.Is(err, why) {
		t.Errorf("Run ended with %v", err)
	}
}

// The client leaves while a daemon is looked for: none is started for nobody, and what waits has its answer.
func TestDoorLeftInSearch(t *testing.T) {
	h := newHouse(t)
	searching := make(chan struct{})
	dial := func(ctx context.Context) (*door.Link, error) {
		if h.dials == 1 {
			close(searching)
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		return h.dial(ctx)
	}
	ours, theirs := newHalves()
	p := conntest.ConnectOver(t, ours, theirs, func(pipe net.Conn) error { return door.Door{Client: pipe, Dial: dial}.Run(t.Context()) })
	p.Send(conntest.Request(1, "late", "{}"), conntest.Ping("2"))
	p.Expect(fmt.Sprintf(conntest.Pong, "2"))
	h.kill()
	<-searching
	p.Expect(fmt.Sprintf(lost, "1"))
	p.Send(conntest.Ping("3"))
	ours.CloseWrite()
	p.Expect(fmt.Sprintf(lost, "3"))
	if err := p.HangUp(); err != nil || h.dials != 1 {
		t.Errorf("%d daemons; Run ended with %v", h.dials, err)
	}
	h.serving.Wait()
}

// A daemon that ends at once each time is not started for ever.
func TestDoorGivesUp(t *testing.T) {
	const maxShortLives = 5
	h := newHouse(t)
	var dials int
	ours, theirs := net.Pipe()
	err := door.Door{Client: theirs, Dial: func(ctx context.Context) (*door.Link, error) {
		dials++
		link, err := h.dial(ctx)
		if err == nil {
			h.kill()
		}
		if dials == maxShortLives+1 {
			t.Error("no end")
			ours.Close()
		}
		return link, err
	}}.Run(t.Context())
	ours.Close()
	h.serving.Wait()
	if err == nil || !strings.Contains(err.Error(), "the daemon ends as soon as it has started") || dials != maxShortLives {
		t.Errorf("after %d daemons Run ended with %v", dials, err)
	}
}

func TestDoorEndsWithItsContext(t *testing.T) {
	h := newHouse(t)
	ctx, end := context.WithCancelCause(t.Context())
	ours, theirs := net.Pipe()
	ended := make(chan error, 1)
	testgo.Go(t, func() { ended <- door.Door{Client: theirs, Dial: h.dial}.Run(ctx) })
	in := bufio.NewReader(ours)
	fmt.Fprintln(ours, conntest.Ping("1"))
	if line, err := in.ReadString('\n'); err != nil || line != fmt.Sprintf(conntest.Pong, "1")+"\n" {
		t.Fatal(line, err)
	}
	why := errors.New("asked to")
	end(why)
	if err := <-ended; err != why {
		t.Errorf("Run ended with %v", err)
	}
	h.serving.Wait()
}

// A client that takes nothing is let go, and nothing hangs.
func TestDoorWithAClientThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		ours, theirs := net.Pipe()
		ended := make(chan error, 1)
		testgo.Go(t, func() { ended <- door.Door{Client: theirs, Dial: h.dial}.Run(t.Context()) })
		began := time.Now()
		for i := range 100 {
			fmt.Fprintln(ours, conntest.Request(i, "echo", `{"text":"x","times":900}`))
		}
		if err := <-ended; !errors.Is(err, conn.ErrStalled) || time.Since(began) > 10*time.Second+conn.DrainLimit {
			t.Errorf("Run ended with %v after %v", err, time.Since(began))
		}
		h.serving.Wait()
	})
}

func TestPrivateMethods(t *testing.T) {
	s := testServer(t, Config{MessageBytes: 77777})
	var log []string
	later := false
	local := &Local{
		Status: func(context.Context) (door.Status, error) {
			return door.Status{Version: "1.2.3", PID: 7, Listen: "http://a"}, nil
		},
		Leave: func(context.Context) (door.Leaving, error) {
			if later {
				return door.Leaving{Later: true}, nil
			}
			return door.Leaving{}, &conn.Error{Code: conn.CodeBusy, Message: "a turn is running", Data: map[string]any{"running": 2.0}}
		},
		Listen: func(address string) (string, func() error, error) {
			if address == "" {
				return "", nil, errors.New("listen tcp: no address")
			}
			log = append(log, "listen "+address)
			return "http://" + address, func() error { log = append(log, "close "+address); return nil }, nil
		},
	}
	ours, theirs := net.Pipe()
	served := make(chan error, 1)
	testgo.Go(t, func() { served <- s.ServeLocal(t.Context(), theirs, local) })
	link, err := door.Greet(t.Context(), ours)
	if err != nil {
		t.Fatal(err)
	}
	if want := (door.Status{Version: "1.2.3", PID: 7, Listen: "http://a", MessageBytes: 77777, SpreadMS: 1}); link.Status != want {
		t.Errorf("got %+v, want %+v", link.Status, want)
	}
	_, err = link.Leave()
	refusal, ok := errors.AsType[*conn.Error](err)
	if want := (&conn.Error{Code: conn.CodeBusy, Message: "a turn is running", Data: map[string]any{"running": 2.0}}); !ok || !cmp.Equal(refusal, want, cmp.AllowUnexported(conn.Error{})) {
		t.Errorf("got %+v, want %+v", refusal, want)
	}
	later = true
	if got, err := link.Leave(); !got || err != nil {
		t.Errorf("got %v, %v; want an end after the turn", got, err)
	}
	if _, err := link.Listen(""); err == nil || !strings.Contains(err.Error(), "address: listen tcp: no address") {
		t.Errorf("listen without an address: %v", err)
	}
	if url, err := link.Listen("a:1"); url != "http://a:1" || err != nil {
		t.Errorf("listen: %s, %v", url, err)
	}
	if _, err := link.Listen("a:2"); err == nil {
		t.Error("one link listens twice")
	}
	link.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"listen a:1", "close a:1"}, log); diff != "" {
		t.Error(diff)
	}

	// Elsewhere they do not exist.
	for _, m := range slices.Concat(localMethods(), userMethods()) {
		got, err := converse(t, s, strings.NewReader(conntest.Request(1, m.Name, "{}")))
		if want := `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}` + "\n"; got != want || err != nil {
			t.Errorf("%s: %s, %v", m.Name, got, err)
		}
	}
}

// A client that sends only malformed messages is disconnected through a door as well: the daemon ends the connection, and the door opens no
// other one.
func TestDoorEndsAfterMalformedMessages(t *testing.T) {
	s := testServer(t, Config{})
	sound := conntest.Ping("1")
	for name, tc := range map[string]struct {
		input string
		want  error
	}{
		"not JSON":        {strings.Repeat("nonsense\n", 10*conn.MaxMalformed), conn.ErrMalformed},
		"no JSON-RPC":     {strings.Repeat(`{"id":7,"method":"ping"}`+"\n", 10*conn.MaxMalformed), conn.ErrMalformed},
		"batches":         {strings.Repeat("[1,2]\n", 10*conn.MaxMalformed), conn.ErrMalformed},
		"sound at times":  {strings.Repeat(strings.Repeat("nonsense\n", conn.MaxMalformed-1)+sound+"\n", 5), nil},
		"unknown methods": {strings.Repeat(`{"jsonrpc":"2.0","id":7,"method":"x"}`+"\n", 10*conn.MaxMalformed), nil},
	} {
		h := &house{t: t, server: s}
		err := door.Door{Client: conntest.NewTranscript(strings.NewReader(tc.input)), Dial: h.dial}.Run(t.Context())
		h.serving.Wait()
		if !errors.Is(err, tc.want) || err != nil && tc.want == nil || h.dials != 1 {
			t.Errorf("%s: %v, with %d connections", name, err, h.dials)
		}
	}
}

// sortedMessages are the messages in what was written, without the framing, in an order of their own.
func sortedMessages(t *testing.T, output string) []string {
	var list []string
	for _, message := range conntest.Messages(t, output) {
		var parts []string
		for _, part := range message {
			parts = append(parts, part.Raw)
		}
		list = append(list, strings.Join(parts, ","))
	}
	slices.Sort(list)
	return list
}

// FuzzDoor: whatever a client sends, it receives the same through a door as directly, except for the order of the responses that
// the door gives itself.
func FuzzDoor(f *testing.F) {
	for _, tc := range conntest.Shapes() {
		if len(tc.Send) < 500 {
			f.Add([]byte(tc.Send + "\n" + conntest.Ping("1")))
			f.Add([]byte(conntest.Framings[1].All(tc.Send, conntest.Ping("1"))))
		}
	}
	f.Add([]byte("Content-Length: 5\r\n\r\n" + conntest.Ping("1") + conntest.Framings[1].Wrap(conntest.Ping("2"))))
	f.Add([]byte(strings.Repeat("[", 2000) + "\n" + conntest.Ping("3")))
	s := testServer(f, Config{MessageBytes: 1 << 10})
	delete(s.byName, "late") // a late answer comes before the end of input or not at all
	delete(s.byName, "late_panic")
	f.Fuzz(func(t *testing.T, input []byte) {
		direct, directErr := converse(t, s, bytes.NewReader(input))
		if errors.Is(directErr, conn.ErrMalformed) {
			return // each side counts what it sees
		}
		h := &house{t: t, server: s}
		c := conntest.NewTranscript(bytes.NewReader(input))
		err := door.Door{Client: c, Dial: h.dial}.Run(t.Context())
		h.serving.Wait()
		if !errors.Is(err, directErr) || h.dials != 1 {
			t.Errorf("directly %v, through the door %v, with %d daemons", directErr, err, h.dials)
		}
		want, got := sortedMessages(t, conntest.WithoutRefs(direct)), sortedMessages(t, conntest.WithoutRefs(c.String()))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("through the door, other than directly:\n%s", diff)
		}
	})
}
