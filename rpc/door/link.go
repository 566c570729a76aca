package door

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"time"

	"github.com/thinkd/thinkd/rpc/conn"
)

// Link is a connection to the daemon from one of its own commands. One goroutine reads and one writes.
type Link struct {
	// Status is the daemon's answer to daemon/status when the link was made.
	Status Status

	// Notify gets the notifications that come while an answer is waited for; its error ends the wait. nil: they are
	// dropped.
	Notify func(Notification) error

	pipe   net.Conn // nil: the daemon is on another machine
	frames conn.Frames
	calls  int
	skip   bool // the answer to becomeDoor is still to be read, before all else that the daemon says
}

// Notification is one of the daemon's. Its parts are valid until the next read.
type Notification struct {
	Method string
	Params json.RawMessage
	Raw    []byte // the whole message
}

// greetLimit is how long a daemon may take to say who it is, or to take an old client's place.
const greetLimit = 5 * time.Second

// linkBuffer is for reading: a command has one link, whose daemon has much to say.
const linkBuffer = 64 << 10

// Greet makes a link of a fresh connection: it asks the daemon who it is. One that is about to end does not answer. With
// an error the connection has been closed.
func Greet(ctx context.Context, pipe net.Conn) (*Link, error) {
	l := &Link{pipe: pipe, frames: conn.NewHeaderFrames(pipe, math.MaxInt32, linkBuffer)} // the daemon has its own limit
	stop := context.AfterFunc(ctx, func() { pipe.Close() })
	err := l.bounded(func() error { return l.Call(MethodStatus, struct{}{}, &l.Status) })
	if !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		pipe.Close()
		return nil, fmt.Errorf("greeting the daemon: %w", err)
	}
	return l, nil
}

// Remote makes a link to the daemon of another machine. Its Status is not known, and none of the private methods can be called.
func Remote(f conn.Frames) *Link { return &Link{frames: f} }

// bounded runs f, in which nothing may take longer than greetLimit.
func (l *Link) bounded(f func() error) error {
	if l.pipe == nil {
		late := time.AfterFunc(greetLimit, func() { l.Close() })
		defer late.Stop()
		return f()
	}
	if err := l.pipe.SetDeadline(time.Now().Add(greetLimit)); err != nil {
		return err
	}
	return errors.Join(f(), l.pipe.SetDeadline(time.Time{}))
}

// becomeDoor leaves the link to a door's client, and is false if the daemon has gone. The answer is not waited for: it says
// nothing, and comes before those to the client. A refusal is that of another version.
func (l *Link) becomeDoor(protocol string) bool {
	if l.pipe == nil { // the address says what is spoken there
		return true
	}
	_, err := l.Send(MethodDoor, Params{protocol})
	l.skip = true
	return err == nil
}

// ask sends a request and waits for its answer. It is false if the daemon has gone. A refusal is that of another version,
// and for the client to find out about.
func (l *Link) ask(method string, params any) bool {
	err := l.bounded(func() error { return l.Call(method, params, nil) })
	_, refused := errors.AsType[*conn.Error](err)
	return err == nil || refused
}

// Config describes the config of the daemon.
func (l *Link) Config() (c DaemonConfig, err error) {
	err = l.bounded(func() error { return l.Call(MethodConfig, struct{}{}, &c) })
	return c, err
}

// Leave asks the daemon to end when no turn runs. later: a turn runs now. A daemon that was started to stay refuses.
func (l *Link) Leave() (later bool, err error) {
	var r Leaving
	err = l.bounded(func() error { return l.Call(MethodLeave, struct{}{}, &r) })
	return r.Later, err
}

// Stop has the daemon end when no turn runs, or after so long at the latest. Closing the link during the wait takes it back.
func (l *Link) Stop(wait time.Duration) (s Stopping, err error) {
	return s, l.Call(MethodStop, StopParams{wait.Milliseconds()}, &s)
}

// Listen has the daemon serve browsers at a TCP address as long as this link lives, and returns the page's address.
func (l *Link) Listen(address string) (url string, err error) {
	var r ListenResult
	err = l.Call(MethodListen, ListenParams{address}, &r)
	return r.URL, err
}

// Call sends a request and reads until its answer. An error that the daemon answered is an [*conn.Error]. A result of nil
// is not looked at.
func (l *Link) Call(method string, params, result any) error {
	id, err := l.Send(method, params)
	if err != nil {
		return err
	}
	for {
		m, err := l.read()
		switch {
		case err != nil:
			return err
		case m.Method != "":
			if err := l.notify(m); err != nil {
				return err
			}
		case m.ID == nil || *m.ID != id: // the answer to an earlier Send
			l.skip = false
		case m.Error != nil:
			return m.Error
		case result == nil:
			return nil
		default:
			return json.Unmarshal(m.Result, result)
		}
	}
}

// Send sends a request and returns its id. Its answer is skipped, or returned by [Link.Receive].
func (l *Link) Send(method string, params any) (id int, err error) {
	l.calls++
	request, err := json.Marshal(struct {
		Version string `json:"jsonrpc"`
		ID      int    `json:"id"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{"2.0", l.calls, method, params})
	if err != nil {
		return 0, err
	}
	return l.calls, l.gone(l.frames.Write([][]byte{request}))
}

// Cancel cancels the request with this id, which then fails. A request that was answered already stays as it is.
func (l *Link) Cancel(id int) error {
	cancel := fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":%d}}`, id)
	return l.gone(l.frames.Write([][]byte{cancel}))
}

// Next is the next notification; Notify is not called. Answers are skipped.
func (l *Link) Next() (Notification, error) {
	for {
		if m, err := l.read(); err != nil || m.Method != "" {
			return Notification{m.Method, m.Params, m.raw}, err
		}
	}
}

// Answer is the daemon's to the request that [Link.Send] gave the ID to. Either there is an Error, or a Result.
type Answer struct {
	ID     int
	Result json.RawMessage
	Error  *conn.Error
}

// Receive is the next message, in the order of the daemon: a notification, or an answer, which is nil then. It is for
// commands that ask while they watch: an answer stands before what it caused. Its parts are valid until the next read.
func (l *Link) Receive() (Notification, *Answer, error) {
	for {
		m, err := l.read()
		switch {
		case err != nil:
			return Notification{}, nil, err
		case m.Method != "":
			return Notification{m.Method, m.Params, m.raw}, nil, nil
		case m.ID != nil:
			return Notification{}, &Answer{*m.ID, m.Result, m.Error}, nil
		}
	}
}

func (l *Link) notify(m received) error {
	if l.Notify == nil {
		return nil
	}
	return l.Notify(Notification{m.Method, m.Params, m.raw})
}

type received struct {
	ID     *int            `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *conn.Error     `json:"error"`
	raw    []byte
}

func (l *Link) read() (received, error) {
	frame, err := l.frames.Read()
	if err != nil {
		return received{}, l.gone(err)
	}
	m := received{raw: frame}
	if err := json.Unmarshal(frame, &m); err != nil {
		return received{}, fmt.Errorf("message of the daemon: %w", err)
	}
	return m, nil
}

// ErrDaemonGone says that the daemon ended during a call.
var ErrDaemonGone = errors.New("the daemon has ended")

func (l *Link) gone(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) {
		return ErrDaemonGone
	}
	return err
}

// halves reports whether the requests can end before the answers do.
func (l *Link) halves() bool {
	_, ok := l.pipe.(interface{ CloseWrite() error })
	return ok
}

// closeWrite ends the requests. The daemon still answers those that it has.
func (l *Link) closeWrite() error {
	if half, ok := l.pipe.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return l.Close()
}

// Close ends the link, a read or write under way too.
func (l *Link) Close() error { return l.frames.Close(nil) }

// Backup has the daemon copy its store to a new file and check the copy. The path is absolute.
func (l *Link) Backup(path string) (r StoreReport, err error) {
	return r, l.Call(MethodBackup, BackupParams{path}, &r)
}

// Check has the daemon check all of its store while it is in use.
func (l *Link) Check() (r StoreReport, err error) {
	return r, l.Call(MethodCheck, struct{}{}, &r)
}

// Compact has the daemon rewrite the store's file without what was deleted, while it is in use.
func (l *Link) Compact() (c Compaction, err error) {
	return c, l.Call(MethodCompact, struct{}{}, &c)
}
