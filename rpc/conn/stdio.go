package conn

import (
	"io"
	"sync"
)

// Stdio joins a process's standard input and output to one connection for [NewByteFrames]. Closing it ends a Read and a
// Write under way. The system's own files do not promise that: a read of a terminal or of a blocking pipe goes on, and
// making them non-blocking would change them for every process that shares them.
//
// Two goroutines read and write the files. Both end with the connection, except while one is blocked in a system call: then it
// ends when its read or write returns, at the latest with the process. Neither file is closed.
func Stdio(in io.Reader, out io.Writer) io.ReadWriteCloser {
	s := &stdio{closed: make(chan struct{}), read: newHandover(in.Read), written: newHandover(out.Write)}
	go s.read.run(s.closed) // ends when closed is; no caller can wait for it, since the system may hold it
	go s.written.run(s.closed)
	return s
}

type stdio struct {
	read, written handover
	once          sync.Once
	closed        chan struct{}
}

func (s *stdio) Read(b []byte) (int, error)  { return s.read.do(b, s.closed) }
func (s *stdio) Write(b []byte) (int, error) { return s.written.do(b, s.closed) }

func (s *stdio) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

// handover makes calls of a function on another goroutine, one after the other.
type handover struct {
	call    func([]byte) (int, error)
	work    chan []byte
	results chan result // one fits, so that run goes on if do has left
}

type result struct {
	n   int
	err error
}

func newHandover(call func([]byte) (int, error)) handover {
	return handover{call, make(chan []byte), make(chan result, 1)}
}

func (h handover) run(closed <-chan struct{}) {
	for {
		select {
		case b := <-h.work:
			n, err := h.call(b)
			h.results <- result{n, err}
		case <-closed:
			return
		}
	}
}

// do makes one call. After a close the buffer may still be in use, so its owner has ended with the connection.
func (h handover) do(b []byte, closed <-chan struct{}) (int, error) {
	select {
	case h.work <- b:
	case <-closed:
		return 0, io.ErrClosedPipe
	}
	select {
	case r := <-h.results:
		return r.n, r.err
	case <-closed:
		return 0, io.ErrClosedPipe
	}
}
