package rpc

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/thinkd/thinkd/rpc/conn"
)

// method is an entry of the tables from which dispatch and rpc.discover come. Only define makes one.
type method struct {
	name   string
	right  right
	doc    string      // one sentence, for rpc.discover
	errors []conn.Code // that it returns in addition to those of every request, see everyRequest
	late   bool        // its answer always takes its time
	waits  bool        // its answer may take its time

	params, result reflect.Type

	begin func(ctx context.Context, c *client, params json.RawMessage, reply reply) (outcome, error)
}

// right is what a client must be allowed to do to call a method. The token of the daemon has all rights.
type right struct{ word string }

var (
	use      = right{"use"}      // to have sessions
	keys     = right{"keys"}     // to set keys and to log in
	settings = right{"settings"} // to set what holds for all sessions
	admin    = right{"admin"}    // to run the daemon: the methods of its own commands
)

// everyRequest are the errors that each request may get, whatever its method.
var everyRequest = []conn.Code{conn.CodeInvalidRequest, conn.CodeInvalidParams, conn.CodeInternal, conn.CodeClosing,
	conn.CodeTooLarge, conn.CodeOverloaded}

// codes are all errors that a request of the method may get, in ascending order.
func (m method) codes() []conn.Code {
	all := slices.Concat(everyRequest, m.errors)
	if m.waits {
		all = append(all, conn.CodeCancelled)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// reply gives a request its answer: once, from any goroutine. What the same goroutine writes before and after it is
// written before and after it.
type reply func(value any, err error)

// finish waits for a late answer. ctx ends when the client cancels the request or goes.
type finish func(ctx context.Context) (any, error)

// outcome is how a request is answered: with a value at once, by finish, or by reply, which somebody else has.
type outcome struct {
	value   any
	finish  finish
	replies bool
}

// handler is how a method answers; made by now, late, either or inOrder.
type handler[P, R any] struct {
	late  bool // always
	waits bool // sometimes or always
	begin func(ctx context.Context, c *client, p P, reply reply) (outcome, error)
}

// define makes a method: its name, the right that it takes, one sentence about it, how it answers, and its errors. P and R
// are structs. A member of P without omitempty or omitzero is required.
func define[P, R any](name string, right right, doc string, answers handler[P, R], errors ...conn.Code) method {
	m := method{name: name, right: right, doc: doc, errors: errors, late: answers.late, waits: answers.waits,
		params: reflect.TypeFor[P](), result: reflect.TypeFor[R]()}
	fields := fieldsOf(m.params)
	m.begin = func(ctx context.Context, c *client, params json.RawMessage, reply reply) (outcome, error) {
		var p P
		if err := decodeParams(params, reflect.ValueOf(&p).Elem(), fields); err != nil {
			return outcome{}, err
		}
		return answers.begin(ctx, c, p, reply)
	}
	return m
}

// now answers at once. run is called on the connection's reading goroutine: it holds up every later request and update of
// this client, so it waits only for a store.
func now[P, R any](run func(context.Context, *client, P) (R, error)) handler[P, R] {
	return handler[P, R]{begin: func(ctx context.Context, c *client, p P, _ reply) (outcome, error) {
		value, err := run(ctx, c, p)
		return outcome{value: value}, err
	}}
}

// late answers when it has done what takes its time. begin is called as the run of now is, so that requests take effect in
// order. The function that it returns waits on a goroutine of its own, ended by the context and awaited by serve.
func late[P, R any](begin func(context.Context, *client, P) (func(context.Context) (R, error), error)) handler[P, R] {
	return handler[P, R]{late: true, waits: true, begin: func(ctx context.Context, c *client, p P, _ reply) (outcome, error) {
		wait, err := begin(ctx, c, p)
		if err != nil {
			return outcome{}, err
		}
		return outcome{finish: func(ctx context.Context) (any, error) { return wait(ctx) }}, nil
	}}
}

// either answers late where waits says so, and otherwise at once.
func either[P, R any](waits func(*client, P) bool, run func(context.Context, *client, P) (R, error),
	begin func(context.Context, *client, P) (func(context.Context) (R, error), error)) handler[P, R] {
	atOnce, later := now(run), late(begin)
	return handler[P, R]{waits: true, begin: func(ctx context.Context, c *client, p P, reply reply) (outcome, error) {
		if waits(c, p) {
			return later.begin(ctx, c, p, reply)
		}
		return atOnce.begin(ctx, c, p, reply)
	}}
}

// inOrder answers among the updates of a session: begin is called as the run of now is. If it returns no error, it sees to
// it that reply is called, by the goroutine that writes those updates.
func inOrder[P, R any](begin func(ctx context.Context, c *client, p P, reply reply) error) handler[P, R] {
	return handler[P, R]{begin: func(ctx context.Context, c *client, p P, reply reply) (outcome, error) {
		return outcome{replies: true}, begin(ctx, c, p, reply)
	}}
}
