package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/rpc/wire"
)

type cancelRequest struct {
	ID string `json:"requestId"`
}

// receive gives an answer of the client to the request that waits for it. Any other answer may be for another node that serves the client too.
func (e *Editor) receive(frame []byte) {
	m := gjson.ParseBytes(bytes.Clone(frame))
	e.mu.Lock()
	waiter := e.asked[m.Get("id").String()]
	delete(e.asked, m.Get("id").String())
	e.mu.Unlock()
	if waiter == nil {
		e.Response(frame)
		return
	}
	var r response
	if failed := m.Get("error"); failed.Exists() {
		r.err = &conn.Error{Code: conn.Code(failed.Get("code").Int()), Message: failed.Get("message").String()}
	} else {
		r.result = json.RawMessage(m.Get("result").Raw)
	}
	waiter <- r
}

// ask sends a request to the client. The caller then calls wait.
func (e *Editor) ask(ctx context.Context, method string, params any) (*request, error) {
	e.mu.Lock()
	e.last++
	r := &request{e, fmt.Sprint(e.prefix, e.last), make(chan response, 1)}
	e.asked[r.id] = r.answer
	e.mu.Unlock()
	message, err := encode(envelope{Version: "2.0", Method: method, ID: r.id, Params: params})
	if err == nil {
		err = e.Conn.Notify(ctx, message)
	}
	if err != nil {
		r.forget()
		return nil, err
	}
	return r, nil
}

// forget reports whether the client had not answered.
func (r *request) forget() bool {
	r.e.mu.Lock()
	defer r.e.mu.Unlock()
	_, open := r.e.asked[r.id]
	delete(r.e.asked, r.id)
	return open
}

// takeBack cancels the request at the client, unless the client has answered.
func (r *request) takeBack(ctx context.Context) error {
	if !r.forget() {
		return nil
	}
	message, err := encode(envelope{Version: "2.0", Method: "$/cancel_request", Params: cancelRequest{r.id}})
	if err != nil {
		return err
	}
	return r.e.Conn.Notify(ctx, message)
}

// errUnasked says that the request was taken back.
var errUnasked = errors.New("the request was taken back")

// wait is the client's answer; an error of the client is an *[conn.Error]. If ctx ends first, the request is cancelled
// at the client.
func (r *request) wait(ctx context.Context) (json.RawMessage, error) {
	e := r.e
	select {
	case a := <-r.answer:
		if a.err != nil {
			return nil, a.err
		}
		return a.result, nil
	case <-e.Conn.Context().Done():
		r.forget()
		return nil, conn.ErrGone
	case <-ctx.Done():
		return nil, errors.Join(errUnasked, context.Cause(ctx), r.takeBack(e.Conn.Context()))
	}
}

// call asks the client and waits. The error is for a model.
func (e *Editor) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	r, err := e.ask(ctx, method, params)
	if err != nil {
		return nil, errors.New("the editor disconnected")
	}
	result, err := r.wait(ctx)
	refused, ok := errors.AsType[*conn.Error](err)
	switch {
	case ok && refused.Code == door.ACPNotFound:
		return nil, fs.ErrNotExist
	case ok:
		return nil, fmt.Errorf("the editor refuses: %s", wire.Characters(refused.Message, 300))
	case errors.Is(err, conn.ErrGone):
		return nil, errors.New("the editor disconnected")
	}
	return result, err
}
