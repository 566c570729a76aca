package rpc

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/session"
)

// The Agent Client Protocol (ACP), version 1, as published with its schema: editors speak it with agents. Here it is a
// second face of the same sessions. An [editor] is a client that speaks it, a [thread] one session as that client
// follows it. The thread's sender writes all that the session has to say in ACP's terms, and the answers that have their
// place among it: that to a prompt behind the last update of its turn, that to session/load behind the history.
//
// What ACP has no form for rides as the native notification, in _meta of the next update.

// metaKey is where our own members are, on every type that has _meta.
const metaKey = "thinkd.dev"

// editor is what a connection is that speaks ACP.
type editor struct {
	c     *client
	local bool // it comes over our own pipe: from a process of the same user on this machine

	// What it can do, as it said in initialize. Only methods write it. Every other reader is a goroutine that a later method started.
	can acpClientCapabilities

	prefix string // of the ids of what we ask: a daemon before us has asked under another one

	mu      sync.Mutex
	last    int
	asked   map[string]chan acpResponse // by id; each has room for the answer
	threads map[session.ID]*thread
}

// acpResponse is the client's answer to what we asked.
type acpResponse struct {
	result json.RawMessage
	err    *conn.Error
}

// beEditor makes the connection one that speaks ACP. Nothing else may run on it yet.
func (c *client) beEditor(local bool) {
	e := &editor{c: c, local: local, prefix: "thinkd-" + rand.Text()[:8] + "-", asked: make(map[string]chan acpResponse),
		threads: make(map[session.ID]*thread)}
	c.editor = e
	c.Speak(e)
	c.AtEnd(e.leave)
	c.Conn.Speak(conn.Protocol{Cancel: "$/cancel_request", CancelID: "requestId", Urgent: "session/cancel", Single: true, Response: e.hear},
		c.server.EditorMessageBytes())
}

// Method makes it a [dispatch.Protocol].
func (e *editor) Method(name string) (method.Bound, bool) {
	m, ok := e.c.server.acp[name]
	return m.For(e.c), ok
}

// Failure is an error as ACP has it.
func (e *editor) Failure(failed *conn.Error) *conn.Error { return ACPError(failed) }

// EditorMessageBytes is how large a message of an editor may be, in bytes.
func (s *Server) EditorMessageBytes() int { return max(s.config.MessageBytes, door.ACPMessageBytes) }

// hear takes an answer of the client to whoever waits for it. What nobody waits for is dropped.
func (e *editor) hear(frame []byte) {
	m := gjson.ParseBytes(bytes.Clone(frame))
	e.mu.Lock()
	waiter := e.asked[m.Get("id").String()]
	delete(e.asked, m.Get("id").String())
	e.mu.Unlock()
	if waiter == nil {
		return
	}
	var r acpResponse
	if failed := m.Get("error"); failed.Exists() {
		r.err = &conn.Error{Code: conn.Code(failed.Get("code").Int()), Message: failed.Get("message").String()}
	} else {
		r.result = json.RawMessage(m.Get("result").Raw)
	}
	waiter <- r
}

// acpAsked is something that the client is asked.
type acpAsked struct {
	e      *editor
	id     string
	answer chan acpResponse
}

// ask sends a request to the client. Whoever asks calls wait.
func (e *editor) ask(ctx context.Context, method string, params any) (*acpAsked, error) {
	e.mu.Lock()
	e.last++
	r := &acpAsked{e, fmt.Sprint(e.prefix, e.last), make(chan acpResponse, 1)}
	e.asked[r.id] = r.answer
	e.mu.Unlock()
	message, err := encodeACP(acpMessage{Version: "2.0", Method: method, ID: r.id, Params: params})
	if err == nil {
		err = e.c.Conn.Notify(ctx, message)
	}
	if err != nil {
		r.forget()
		return nil, err
	}
	return r, nil
}

// forget reports whether the client had not answered.
func (r *acpAsked) forget() bool {
	r.e.mu.Lock()
	defer r.e.mu.Unlock()
	_, open := r.e.asked[r.id]
	delete(r.e.asked, r.id)
	return open
}

// takeBack tells the client that nobody waits any more, unless it has answered.
func (r *acpAsked) takeBack(ctx context.Context) error {
	if !r.forget() {
		return nil
	}
	message, err := encodeACP(acpMessage{Version: "2.0", Method: "$/cancel_request", Params: acpCancelRequest{r.id}})
	if err != nil {
		return err
	}
	return r.e.c.Conn.Notify(ctx, message)
}

// errUnasked says that the request was taken back.
var errUnasked = errors.New("the request was taken back")

// wait is the client's answer; an error of the client is an *[conn.Error]. Where ctx ends first, the client is told that
// nobody waits any more.
func (r *acpAsked) wait(ctx context.Context) (json.RawMessage, error) {
	e := r.e
	select {
	case a := <-r.answer:
		if a.err != nil {
			return nil, a.err
		}
		return a.result, nil
	case <-e.c.Conn.Context().Done():
		r.forget()
		return nil, conn.ErrGone
	case <-ctx.Done():
		return nil, errors.Join(errUnasked, context.Cause(ctx), r.takeBack(e.c.Conn.Context()))
	}
}

type acpCancelRequest struct {
	ID string `json:"requestId"`
}

// acpMessage is a notification, or with an id a request. The method stands in front of the id: so a door tells it from
// answers at a look.
type acpMessage struct {
	Version string `json:"jsonrpc"`
	Method  string `json:"method"`
	ID      string `json:"id,omitempty"`
	Params  any    `json:"params"`
}

func encodeACP(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// thread is the session as this client follows it, nil if it does not.
func (e *editor) thread(id session.ID) *thread {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.threads[id]
}

// leave ends what other clients' turns see of this one.
func (e *editor) leave() {
	e.mu.Lock()
	followed := slices.Collect(maps.Keys(e.threads))
	e.mu.Unlock()
	for _, id := range followed {
		e.c.server.editors.leave(id, e)
	}
}

// acpTable is the methods that editors have. native are ours: some of them are there under a name of their own, for
// clients that know both protocols.
func acpTable(native map[string]method.Method[*client]) map[string]method.Method[*client] {
	table := make(map[string]method.Method[*client])
	for _, m := range []method.Method[*client]{
		method.Define("initialize", method.Use, "", method.Now(acpInitialize)),
		method.Define("session/new", method.Use, "", method.InOrder[*client, acpNewParams, acpNewResult](acpNew)),
		method.Define("session/load", method.Use, "", method.InOrder[*client, acpLoadParams, acpOpened](acpLoad)),
		method.Define("session/resume", method.Use, "", method.Now(acpResume)),
		method.Define("session/list", method.Use, "", method.Now(acpList)),
		method.Define("session/delete", method.Use, "", method.Now(acpDelete)),
		method.Define("session/close", method.Use, "", method.Now(acpClose)),
		method.Define("session/prompt", method.Use, "", method.InOrder[*client, acpPromptParams, acpPromptResult](acpPrompt)),
		method.Define("session/cancel", method.Use, "", method.Now(acpCancel)),
		method.Define("session/set_mode", method.Use, "", method.Now(acpSetMode)),
		method.Define("session/set_model", method.Use, "", method.Now(acpSetModel)),
		method.Define("session/set_config_option", method.Use, "", method.Now(acpSetOption)),
		method.Define("_session/steering", method.Use, "", method.Now(acpSteer)),
	} {
		table[m.Name] = m
	}
	for _, name := range acpExtensions() {
		table["_thinkd/"+name] = native[name]
	}
	return table
}

// acpExtensions are the native methods that editors have, with the native params: those for which ACP has no form. None of
// them subscribes, makes or removes anything, or takes a key.
func acpExtensions() []string {
	return []string{"models/list", "model/set", "thinking/set", "thinking/explain", "providers/list", "agents/list",
		"session/state", "session/history", "session/queue", "session/grants", "turn/wait"}
}

// Codes that ACP has beside those of JSON-RPC.
const (
	acpLogIn    conn.Code = -32000
	acpNotFound conn.Code = -32002
)

// ACPError is an error as ACP has it: its own codes, and in data what a client can act on. Some show nothing but
// data.error, so the text is there once more.
func ACPError(e *conn.Error) *conn.Error {
	out := &conn.Error{Code: e.Code, Kind: e.DataKind(), Message: e.Message, Data: map[string]any{"error": e.Message}}
	for name, value := range e.Data {
		switch name {
		case "retry_after_ms":
			name = "retryAfterMs"
		case "request_id":
			name = "requestId"
		}
		out.Data[name] = value
	}
	switch {
	case e.Code == conn.CodeNotFound:
		out.Code = acpNotFound
	case e.Code == conn.CodeProvider && e.DataKind() == "auth":
		out.Code = acpLogIn
	case e.Code == conn.CodeNoModel, e.Code == conn.CodeLevel:
		out.Code = conn.CodeInvalidParams
	case e.Code == conn.CodeUnauthorized:
		out.Code = conn.CodeInvalidRequest
	case e.Code > 0:
		out.Code = conn.CodeInternal
	}
	if e.Code > 0 {
		out.Data["retryable"] = acpRetryable(e)
	}
	if detail, ok := e.Data["detail"].(string); ok {
		out.Data["error"] = detail
	}
	return out
}

// acpRetryable reports whether the same request may go well later. One that may have been done is not to be made again: a
// prompt would run twice.
func acpRetryable(e *conn.Error) bool {
	if e.Unknown {
		return false
	}
	switch e.Code {
	case conn.CodeBusy, conn.CodeClosing, conn.CodeOverloaded:
		return true
	case conn.CodeProvider:
		return strings.Contains(" rate_limit overloaded transport stalled ", " "+e.DataKind()+" ")
	}
	return false
}
