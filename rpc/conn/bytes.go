package conn

import (
	"io"
	"strconv"
	"sync/atomic"
	"time"
)

// ByteFrames are lines, or bodies with Content-Length headers, on a pipe or a socket. The client's first bytes decide
// which; until then, answers would be lines.
type ByteFrames struct {
	conn    io.ReadWriteCloser
	in      *reader     // the reading goroutine's
	headers atomic.Bool // set by that goroutine before the first message is out, so before any answer

	// What follows belongs to the writing goroutine.
	out   []byte
	stall *time.Timer
	hung  atomic.Bool // set by the timer before it closes the connection
}

// NewByteFrames takes a connection whose Close ends a Read and a Write under way. A message has at most limit bytes.
func NewByteFrames(conn io.ReadWriteCloser, limit int) *ByteFrames {
	return newByteFrames(conn, newReader(conn, limit, readBuffer))
}

func newByteFrames(conn io.ReadWriteCloser, in *reader) *ByteFrames {
	f := &ByteFrames{conn: conn, in: in}
	f.stall = time.AfterFunc(stallLimit, func() {
		f.hung.Store(true)
		f.conn.Close() // the write that hangs gets the error
	})
	f.stall.Stop()
	return f
}

// NewHeaderFrames is NewByteFrames with Content-Length headers from the first message on, in both directions. The buffer
// for reading has the given size in bytes.
func NewHeaderFrames(conn io.ReadWriteCloser, limit, buffer int) *ByteFrames {
	f := newByteFrames(conn, newReader(conn, limit, buffer))
	f.in.detected, f.in.headers = true, true
	f.headers.Store(true)
	return f
}

// SetLimit changes the largest size of a message. Only the reading goroutine may call it.
func (f *ByteFrames) SetLimit(limit int) { f.in.limit = limit }

// Read is that of [Frames].
func (f *ByteFrames) Read() ([]byte, error) {
	if err := f.in.detect(); err != nil {
		return nil, err
	}
	f.headers.Store(f.in.headers)
	return f.in.message()
}

// Write is that of [Frames].
func (f *ByteFrames) Write(messages [][]byte) error {
	f.out = f.out[:0]
	headers := f.headers.Load()
	for _, m := range messages {
		if headers {
			f.out = append(f.out, "Content-Length: "...)
			f.out = strconv.AppendInt(f.out, int64(len(m)), 10)
			f.out = append(f.out, "\r\n\r\n"...)
		}
		if len(m) > pieceSize { // not worth a copy
			if err := f.flush(f.out); err != nil {
				return err
			}
			f.out = f.out[:0]
			if err := f.flush(m); err != nil {
				return err
			}
		} else {
			f.out = append(f.out, m...)
		}
		if !headers {
			f.out = append(f.out, '\n')
		}
		if len(f.out) >= pieceSize {
			if err := f.flush(f.out); err != nil {
				return err
			}
			f.out = f.out[:0]
		}
	}
	err := f.flush(f.out)
	if cap(f.out) > keepBuffer {
		f.out = nil
	}
	return err
}

func (f *ByteFrames) flush(data []byte) error {
	for len(data) > 0 {
		piece := data[:min(len(data), pieceSize)]
		f.stall.Reset(stallLimit)
		n, err := f.conn.Write(piece)
		f.stall.Stop()
		switch {
		case f.hung.Load():
			return ErrStalled
		case err != nil:
			return err
		case n < len(piece):
			return io.ErrShortWrite
		}
		data = data[n:]
	}
	return nil
}

// Close is that of [Frames]. It has no way to say why: the bytes just end.
func (f *ByteFrames) Close(error) error {
	f.stall.Stop()
	return f.conn.Close()
}
