package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// client speaks the protocol for the commands of this program: one call at a time, and the notifications between.
type client struct {
	conn    net.Conn
	in      *bufio.Reader
	next    int
	serving sync.WaitGroup
	served  error // what the server's side ended with; after serving

	notify func(message) error // nil: notifications are dropped
}

func newClient(conn net.Conn) *client { return &client{conn: conn, in: bufio.NewReader(conn)} }

type message struct {
	ID     *int            `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *callError      `json:"error"`
	raw    []byte
}

// callError is an error that the daemon answered.
type callError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

func (e *callError) Error() string { return e.Message }

// call sends a request and reads until its answer.
func (c *client) call(method string, params, result any) error {
	c.next++
	request, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.next, "method": method, "params": params})
	if err != nil {
		return err
	}
	if _, err := c.conn.Write(append(request, '\n')); err != nil {
		return c.gone(err)
	}
	for {
		m, err := c.read()
		if err != nil {
			return err
		}
		if m.ID == nil || *m.ID != c.next {
			continue
		}
		if m.Error != nil {
			return m.Error
		}
		return json.Unmarshal(m.Result, result)
	}
}

// read is the next message; a notification goes to notify as well.
func (c *client) read() (message, error) {
	line, err := c.in.ReadBytes('\n')
	if err != nil {
		return message{}, c.gone(err)
	}
	m := message{raw: line}
	if err := json.Unmarshal(line, &m); err != nil {
		return message{}, fmt.Errorf("answer of the daemon: %w", err)
	}
	if m.Method != "" && c.notify != nil {
		return m, c.notify(m)
	}
	return m, nil
}

func (c *client) gone(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) {
		return errors.New("the daemon has ended")
	}
	return err
}

// close ends the connection and waits for the server's side. That it could not write to the end is no news to one who
// has hung up.
func (c *client) close() error {
	err := c.conn.Close()
	c.serving.Wait()
	if errors.Is(c.served, io.ErrClosedPipe) {
		return err
	}
	return errors.Join(err, c.served)
}

// dial starts what is needed and connects to it; hangUp ends all of it.
func (p *program) dial(ctx context.Context, d *daemon, err error) (c *client, hangUp func() error, _ error) {
	if err != nil {
		return nil, nil, err
	}
	c = d.connect(ctx)
	return c, func() error { return errors.Join(c.close(), d.close()) }, nil
}
