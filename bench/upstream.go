package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/thinkd/thinkd/provider/sim"
	_ "github.com/thinkd/thinkd/provider/sim/faces"
)

// upstream is the model API, in a process of its own. Every prompt contains an [order], which has the number of deltas of the
// answer and their pace. The frames are the simulator's. They are recorded once, so that measurements do not wait for them. The
// simulator answers other requests itself, such as the list of models.
type upstream struct {
	models *sim.Server

	mu      sync.Mutex
	calls   map[string]call // the first, by path
	streams map[streamKey]*stream
	wholes  map[wholeKey][]byte
	waiting int           // answers of an incomplete crowd
	full    chan struct{} // closed when the crowd is complete; nil: no answer waits
}

type streamKey struct {
	path     string
	thoughts int
}

type wholeKey struct {
	streamKey
	deltas int
}

// order describes the answer that a prompt requests of the upstream.
type order struct {
	deltas   int
	thoughts int // the number of blocks that contain the deltas
	pace     int // deltas per second, each with the time at which it is sent; 0: as fast as they are read
	crowd    int // paced answers begin after this number of requests; 0: immediately
}

func (o order) String() string {
	return fmt.Sprintf("bench deltas=%d thoughts=%d pace=%d crowd=%d.", o.deltas, o.thoughts, o.pace, o.crowd)
}

var orderPattern = regexp.MustCompile(`bench deltas=(\d+) thoughts=(\d+) pace=(\d+) crowd=(\d+)\.`)

// lastOrder returns the order of the last prompt.
func lastOrder(body []byte) (o order, ok bool) {
	at := bytes.LastIndex(body, []byte("bench deltas="))
	if at < 0 {
		return o, false
	}
	m := orderPattern.FindSubmatch(body[at:])
	if m == nil {
		return o, false
	}
	for i, n := range []*int{&o.deltas, &o.thoughts, &o.pace, &o.crowd} {
		var err error
		if *n, err = strconv.Atoi(string(m[i+1])); err != nil {
			return o, false
		}
	}
	return o, o.deltas >= o.thoughts && o.thoughts > 0
}

// runUpstream serves until standard input ends. It prints its address in one line.
func runUpstream() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	u := &upstream{models: sim.New(sim.Config{NoJournal: true}), calls: make(map[string]call), streams: make(map[streamKey]*stream), wholes: make(map[wholeKey][]byte)}
	server := &http.Server{Handler: u}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }() // ends with Close, below
	fmt.Println("http://" + l.Addr().String())
	_, err = io.Copy(io.Discard, os.Stdin)
	err = errors.Join(err, server.Close())
	if e := <-served; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return err
}

// ServeHTTP answers orders, and passes other requests to the simulator.
func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := readWhole(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	o, ok := lastOrder(body)
	if r.Method != http.MethodPost || !ok {
		r.Body = io.NopCloser(bytes.NewReader(body))
		u.models.ServeHTTP(w, r)
		return
	}
	if err := u.answer(w, r, body, o); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError) // has no effect if the answer has begun
	}
}

// readWhole reads the body of a request into memory of its size: a long conversation's would be copied many times otherwise, and a client
// waits for that.
func readWhole(r *http.Request) ([]byte, error) {
	if r.ContentLength < 0 {
		return io.ReadAll(r.Body)
	}
	body := make([]byte, r.ContentLength)
	_, err := io.ReadFull(r.Body, body)
	return body, err
}

func (u *upstream) answer(w http.ResponseWriter, r *http.Request, body []byte, o order) error {
	key := streamKey{r.URL.Path, o.thoughts}
	s, whole, err := u.find(r, body, key, o)
	if err != nil {
		return err
	}
	if o.pace > 0 {
		return s.send(w, o, u.gather(o.crowd))
	}
	for name, values := range s.header {
		w.Header()[name] = values
	}
	// In pieces that fit into the buffers of a connection, so that the first does not wait for the last.
	for piece := range chunks(whole, 256<<10) {
		if _, err := w.Write(piece); err != nil {
			return nil // the client disconnected
		}
	}
	return nil
}

// find returns the stream for a path, and all of its bytes if the order has no pace. It records the answer to the first request
// on that path: later requests contain thinking that the simulator did not sign.
func (u *upstream) find(r *http.Request, body []byte, key streamKey, o order) (*stream, []byte, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := u.streams[key]
	if s == nil {
		first, ok := u.calls[key.path]
		if !ok {
			first = call{r.Clone(context.Background()), body}
		}
		var err error
		if s, err = first.record(key.thoughts); err != nil {
			return nil, nil, err
		}
		u.calls[key.path], u.streams[key] = first, s
	}
	if o.pace > 0 {
		return s, nil, nil
	}
	whole := u.wholes[wholeKey{key, o.deltas}]
	if whole == nil {
		whole = s.whole(o.deltas)
		u.wholes[wholeKey{key, o.deltas}] = whole
	}
	return s, whole, nil
}

// gather returns a channel that is closed when the answers of the crowd may begin.
func (u *upstream) gather(crowd int) <-chan struct{} {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.full == nil {
		u.full = make(chan struct{})
	}
	full := u.full
	if u.waiting++; u.waiting >= crowd {
		close(full)
		u.full, u.waiting = nil, 0
	}
	return full
}

func chunks(b []byte, size int) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(b) > 0 {
			n := min(size, len(b))
			if !yield(b[:n]) {
				return
			}
			b = b[n:]
		}
	}
}

// send sends a stream at its pace on a hijacked connection. With net/http, a flush would cost more than the measured program,
// which shares the machine with two thousand streams. Each delta is one chunk and one write.
func (s *stream) send(w http.ResponseWriter, o order, begin <-chan struct{}) error {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return err
	}
	defer conn.Close()
	out := []byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n")
	for name, values := range s.header {
		out = fmt.Appendf(out, "%s: %s\r\n", name, values[0])
	}
	out = append(out, "\r\n"...)
	p := &pacer{conn: conn, out: out, gap: time.Second / time.Duration(o.pace)}
	sequence := 0
	var texts [][]byte
	for _, part := range s.parts {
		if !part.delta {
			p.chunk(part.append(p.body[:0], func(n int) []byte { return texts[n] }, &sequence))
			continue
		}
		if len(texts) == 0 {
			if p.flush() != nil {
				return nil // the client disconnected
			}
			<-begin // a crowd that loses a client never begins: then this waits for the end of the process
		}
		var text []byte
		for range s.share(len(texts), o.deltas) {
			if p.wait() != nil {
				return nil // the client disconnected
			}
			stamp := appendStamp(p.stamp[:0], time.Now())
			text = append(text, stamp...)
			p.chunk(part.append(p.body[:0], func(int) []byte { return stamp }, &sequence))
		}
		texts = append(texts, text)
	}
	p.out = append(p.out, "0\r\n\r\n"...)
	p.flush() // an error means that the client has disconnected
	return nil
}

// pacer writes chunks to a connection. It flushes before each pause.
type pacer struct {
	conn  net.Conn
	gap   time.Duration
	next  time.Time // when the next delta is due
	out   []byte    // chunks that wait
	body  []byte    // room for the next one
	stamp [deltaSize]byte
}

func (p *pacer) chunk(body []byte) {
	p.body = body
	if len(body) == 0 {
		return
	}
	p.out = strconv.AppendInt(p.out, int64(len(body)), 16)
	p.out = append(p.out, "\r\n"...)
	p.out = append(p.out, body...)
	p.out = append(p.out, "\r\n"...)
}

// wait flushes and returns when the next delta is due.
func (p *pacer) wait() error {
	if err := p.flush(); err != nil {
		return err
	}
	if p.next.IsZero() {
		p.next = time.Now()
	}
	p.next = p.next.Add(p.gap)
	time.Sleep(time.Until(p.next))
	return nil
}

func (p *pacer) flush() error {
	_, err := p.conn.Write(p.out)
	p.out = p.out[:0]
	return err
}

// A delta's stamp is its time in base 32, between two letters: as long as any delta, and nothing in it is escaped.
const stampDigits = deltaSize - 2

func appendStamp(out []byte, t time.Time) []byte {
	const zeros = "000000000000000"
	digits := strconv.AppendInt(nil, t.UnixNano(), 32)
	out = append(append(out, 'T'), zeros[:stampDigits-len(digits)]...)
	return append(append(out, digits...), 'Z')
}

func readStamp(text []byte) (time.Time, error) {
	if len(text) != deltaSize || text[0] != 'T' || text[deltaSize-1] != 'Z' {
		return time.Time{}, fmt.Errorf("%q is no stamp", text)
	}
	ns, err := strconv.ParseInt(string(text[1:deltaSize-1]), 32, 64)
	return time.Unix(0, ns), err
}

// child is a process of this program that serves until its standard input ends.
type child struct {
	cmd   *exec.Cmd
	stdin io.Closer
	line  string // its first line
}

// startChild runs a command and waits for its first line.
func startChild(ctx context.Context, name string, args ...string) (*child, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s printed no line: %w", name, err), cmd.Process.Kill(), cmd.Wait())
	}
	return &child{cmd, stdin, line[:len(line)-1]}, nil
}

// Close ends the process and waits for it.
func (c *child) Close() error { return errors.Join(c.stdin.Close(), c.cmd.Wait()) }
