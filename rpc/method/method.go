package method

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/session"
)

// Entry is what the tables say about a method.
type Entry struct {
	Name   string
	Right  Right
	Doc    string      // one sentence, for rpc.discover
	Errors []conn.Code // that it returns in addition to those of every request, see EveryRequest
	Late   bool        // its answer always takes its time
	waits  bool        // its answer may take its time

	Params, Result reflect.Type

	Session string         // the member of the params that names a session; empty: none does
	Guests  session.Access // what a guest of a shared session needs to call it; empty: it is for the session's owner
}

// Method is an entry of the tables from which dispatch and rpc.discover come. Only Define makes one.
type Method[C any] struct {
	Entry
	Begin func(ctx context.Context, c C, params json.RawMessage, reply Reply) (Outcome, error)
}

// ForGuests makes it a method that guests of a shared session may call who have an access.
func (m Method[C]) ForGuests(a session.Access) Method[C] {
	m.Guests = a
	return m
}

// Admits refuses a guest of a session for whom the method is not.
func (m Entry) Admits(a session.Access) error {
	switch {
	case m.Guests == "":
		return &conn.Error{Code: conn.CodeForbidden, Message: m.Name + " is for the owner of the session", Data: map[string]any{"right": "owner"}}
	case m.Guests == session.WriteAccess && a != session.WriteAccess:
		return &conn.Error{Code: conn.CodeForbidden, Message: m.Name + " needs write access, and the session is shared for reading", Data: map[string]any{"right": string(m.Guests)}}
	}
	return nil
}

// Bound is a method of one client.
type Bound struct {
	Entry
	Begin func(ctx context.Context, params json.RawMessage, reply Reply) (Outcome, error)
}

// For binds the method to a client.
func (m Method[C]) For(c C) Bound {
	return Bound{m.Entry, func(ctx context.Context, params json.RawMessage, reply Reply) (Outcome, error) {
		return m.Begin(ctx, c, params, reply)
	}}
}

// EveryRequest are the errors that each request may get, whatever its method.
var EveryRequest = []conn.Code{conn.CodeInvalidRequest, conn.CodeInvalidParams, conn.CodeInternal, conn.CodeClosing,
	conn.CodeTooLarge, conn.CodeForbidden, conn.CodeQuota, conn.CodeOverloaded}

// Codes are all errors that a request of the method may get, in ascending order.
func (m Entry) Codes() []conn.Code {
	all := slices.Concat(EveryRequest, m.Errors)
	if m.waits {
		all = append(all, conn.CodeCancelled)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Reply gives a request its answer: once, from any goroutine. What the same goroutine writes before and after it is
// written before and after it.
type Reply func(value any, err error)

// Finish waits for a late answer. ctx ends when the client cancels the request or goes.
type Finish func(ctx context.Context) (any, error)

// Outcome is how a request is answered: with a value at once, by Finish, or by the Reply, which somebody else has.
type Outcome struct {
	Value   any
	Finish  Finish
	Replies bool
}

// Handler is how a method answers; made by Now, Late, Either or InOrder.
type Handler[C, P, R any] struct {
	late  bool // always
	waits bool // sometimes or always
	begin func(ctx context.Context, c C, p P, reply Reply) (Outcome, error)
}

// Define makes a method: its name, the right that it takes, one sentence about it, how it answers, and its errors. P and R
// are structs. A member of P without omitempty or omitzero is required.
func Define[C, P, R any](name string, right Right, doc string, answers Handler[C, P, R], errors ...conn.Code) Method[C] {
	m := Method[C]{Entry: Entry{Name: name, Right: right, Doc: doc, Errors: errors, Late: answers.late, waits: answers.waits,
		Params: reflect.TypeFor[P](), Result: reflect.TypeFor[R]()}}
	fields := FieldsOf(m.Params)
	for _, f := range fields {
		if of, ok := reflect.Zero(m.Params.FieldByIndex(f.Index).Type).Interface().(SessionNamer); ok && of.NamesSession() {
			m.Session = f.Name
		}
	}
	m.Begin = func(ctx context.Context, c C, params json.RawMessage, reply Reply) (Outcome, error) {
		var p P
		if err := DecodeParams(params, reflect.ValueOf(&p).Elem(), fields); err != nil {
			return Outcome{}, err
		}
		return answers.begin(ctx, c, p, reply)
	}
	return m
}

// SessionOf is the session that a request names; ok is false if it names none, or none that could be.
func (m Entry) SessionOf(params json.RawMessage) (id session.ID, ok bool) {
	if m.Session == "" || len(params) == 0 || params[0] != '{' {
		return "", false
	}
	for name, value := range conn.Members(params) {
		var word string
		if name != m.Session || json.Unmarshal(value, &word) != nil || string(value) == "null" {
			continue
		}
		id = session.ID(word) // the last one counts, as in decoding
	}
	return id, session.CheckID(string(id)) == nil
}

// NewSession is the session that a result of the method names, if the method makes sessions; empty: none. message is the whole answer.
func (m Entry) NewSession(message []byte) session.ID {
	for _, name := range []string{"session_id", "sessionId"} {
		for _, f := range FieldsOf(m.Result) {
			if f.Name == name {
				return session.ID(gjson.GetBytes(message, "result."+name).String())
			}
		}
	}
	return ""
}

// Now answers at once. run is called on the connection's reading goroutine: it holds up every later request and update of
// this client, so it waits only for a store.
func Now[C, P, R any](run func(context.Context, C, P) (R, error)) Handler[C, P, R] {
	return Handler[C, P, R]{begin: func(ctx context.Context, c C, p P, _ Reply) (Outcome, error) {
		value, err := run(ctx, c, p)
		return Outcome{Value: value}, err
	}}
}

// Late answers when it has done what takes its time. begin is called as the run of Now is, so that requests take effect in
// order. The function that it returns waits on a goroutine of its own, ended by the context and awaited by serve.
func Late[C, P, R any](begin func(context.Context, C, P) (func(context.Context) (R, error), error)) Handler[C, P, R] {
	return Handler[C, P, R]{late: true, waits: true, begin: func(ctx context.Context, c C, p P, _ Reply) (Outcome, error) {
		wait, err := begin(ctx, c, p)
		if err != nil {
			return Outcome{}, err
		}
		return Outcome{Finish: func(ctx context.Context) (any, error) { return wait(ctx) }}, nil
	}}
}

// Either answers late where waits says so, and otherwise at once.
func Either[C, P, R any](waits func(C, P) bool, run func(context.Context, C, P) (R, error),
	begin func(context.Context, C, P) (func(context.Context) (R, error), error)) Handler[C, P, R] {
	atOnce, later := Now(run), Late(begin)
	return Handler[C, P, R]{waits: true, begin: func(ctx context.Context, c C, p P, reply Reply) (Outcome, error) {
		if waits(c, p) {
			return later.begin(ctx, c, p, reply)
		}
		return atOnce.begin(ctx, c, p, reply)
	}}
}

// InOrder answers among the updates of a session: begin is called as the run of Now is. If it returns no error, it sees to
// it that reply is called, by the goroutine that writes those updates.
func InOrder[C, P, R any](begin func(ctx context.Context, c C, p P, reply Reply) error) Handler[C, P, R] {
	return Handler[C, P, R]{begin: func(ctx context.Context, c C, p P, reply Reply) (Outcome, error) {
		return Outcome{Replies: true}, begin(ctx, c, p, reply)
	}}
}

// Nothing is the params or the result of a method that has none.
type Nothing struct{}
