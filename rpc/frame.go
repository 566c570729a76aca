package rpc

import (
	"bufio"
	"errors"
	"io"
	"strconv"
	"sync/atomic"
	"time"
)

// frames is how messages lie in the bytes of a connection. One goroutine reads, one writes, any may close.
type frames interface {
	// Read is the next message: not empty, not checked, valid until the next Read. An *[Error] is for the client, and
	// the next Read goes on behind what was wrong. Any other error ends the connection; io.EOF: the client went.
	Read() ([]byte, error)

	// Write sends messages in order, in as few writes as their sizes allow. It changes none of them: they are shared
	// between connections. errStalled says that the client took nothing for stallLimit.
	Write(messages [][]byte) error

	// Close ends the connection, a Read or Write under way too. A framing that can say why tells the client the cause:
	// io.EOF, errStalled, errMalformed, or that of a context. Closing twice is harmless.
	Close(cause error) error
}

const (
	// stallLimit is how long a client may take nothing.
	stallLimit = 10 * time.Second

	// pieceSize is what a client has to take in that time: a write that the system splits shows no progress before
	// it is whole, so that large messages are written in pieces.
	pieceSize = 16 << 10

	// Buffers are small and not kept when they have grown: most connections are idle most of the time.
	readBuffer = 4 << 10
	linkBuffer = 64 << 10 // of a command to the daemon, which has one, and whose daemon has much to say
	keepBuffer = 8 << 10
)

var errStalled = errors.New("the client took nothing for " + stallLimit.String())

// byteFrames are lines, or bodies with Content-Length headers, on a pipe or a socket. The client's first bytes decide
// which; until then, answers would be lines.
type byteFrames struct {
	conn  io.ReadWriteCloser
	limit int // bytes of a message

	headers atomic.Bool // set by the reader, before the first message is out, so before any answer

	// What follows belongs to the reader.
	in       *bufio.Reader
	detected bool
	long     []byte // a message that is larger than the reader's buffer
	rest     restOf // what to skip first

	// What follows belongs to the writer.
	out   []byte
	stall *time.Timer
	hung  atomic.Bool // set by the timer before it closes the connection
}

// newByteFrames takes a connection whose Close ends a Read and a Write under way.
func newByteFrames(conn io.ReadWriteCloser, limit int) *byteFrames {
	return newBufferedFrames(conn, limit, readBuffer)
}

func newBufferedFrames(conn io.ReadWriteCloser, limit, buffer int) *byteFrames {
	f := &byteFrames{conn: conn, limit: limit, in: bufio.NewReaderSize(conn, buffer)}
	f.stall = time.AfterFunc(stallLimit, func() {
		f.hung.Store(true)
		f.conn.Close() // the write that hangs gets the error
	})
	f.stall.Stop()
	return f
}

func (f *byteFrames) Read() ([]byte, error) {
	if cap(f.long) > keepBuffer {
		f.long = nil
	}
	if !f.detected {
		if err := f.detect(); err != nil {
			return nil, err
		}
	}
	if f.headers.Load() {
		return f.readBody()
	}
	return f.readLine()
}

// headerStart begins the header block of a message, whichever of LSP's two headers comes first.
const headerStart = "content-"

// detect looks at the first bytes that are no white space, one at a time: it must not wait for a byte more than it
// needs, and not depend on how the bytes arrive. JSON begins with no letter C.
func (f *byteFrames) detect() error {
	// Windows PowerShell puts a byte order mark in front of what it pipes.
	if err := f.skip("\xef\xbb\xbf"); err != nil {
		return err
	}
	for {
		c, err := f.in.Peek(1)
		if err != nil {
			return err
		}
		if c[0] != ' ' && c[0] != '\t' && c[0] != '\r' && c[0] != '\n' {
			break
		}
		if _, err := f.in.Discard(1); err != nil {
			return err
		}
	}
	f.headers.Store(f.begins(headerStart))
	f.detected = true
	return nil
}

// begins reports whether the next bytes are the word, ASCII case ignored, without taking them.
func (f *byteFrames) begins(word string) bool {
	for n := 1; n <= len(word); n++ {
		bytes, err := f.in.Peek(n)
		if err != nil || lower(bytes[n-1]) != word[n-1] {
			return false
		}
	}
	return true
}

func (f *byteFrames) skip(word string) error {
	if !f.begins(word) {
		return nil
	}
	_, err := f.in.Discard(len(word))
	return err
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func (f *byteFrames) Write(messages [][]byte) error {
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

func (f *byteFrames) flush(data []byte) error {
	for len(data) > 0 {
		piece := data[:min(len(data), pieceSize)]
		f.stall.Reset(stallLimit)
		n, err := f.conn.Write(piece)
		f.stall.Stop()
		switch {
		case f.hung.Load():
			return errStalled
		case err != nil:
			return err
		case n < len(piece):
			return io.ErrShortWrite
		}
		data = data[n:]
	}
	return nil
}

// Close has no way to say why: the bytes just end.
func (f *byteFrames) Close(error) error {
	f.stall.Stop()
	return f.conn.Close()
}
