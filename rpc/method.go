package rpc

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
)

// method is an entry of the table that dispatch and rpc.discover read. A method of a later version is not in it.
type method struct {
	name  string
	doc   string   // one sentence, for rpc.discover
	later []string // members of params that a later version takes: refused, never ignored

	params, result reflect.Type

	// One of the two is set, by define or defineLate; both by defineBoth.
	now  func(ctx context.Context, c *client, params json.RawMessage) (any, error)
	late func(ctx context.Context, c *client, params json.RawMessage) (finish, error)

	patient func(c *client, params json.RawMessage) bool // of a method with both: whether this call is a late one

	// own is set instead of both, by defineOwn.
	own func(ctx context.Context, c *client, params json.RawMessage, reply reply) error
}

// reply gives a request its answer: once, from any goroutine. What the same goroutine writes before and after it is
// written before and after it.
type reply func(value any, err error)

// waits reports whether a call is answered late.
func (m method) waits(c *client, params json.RawMessage) bool {
	return m.now == nil || m.patient != nil && m.patient(c, params)
}

// finish waits for a late answer. ctx ends when the client cancels the request or goes.
type finish func(ctx context.Context) (any, error)

// define completes an entry with what answers it. run is called on the connection's reading goroutine: it holds up
// every later request and update of this client, so it waits for nothing but a store.
//
// P and R are structs. A member of P without omitempty or omitzero is required.
func define[P, R any](m method, run func(context.Context, *client, P) (R, error)) method {
	m.params, m.result = reflect.TypeFor[P](), reflect.TypeFor[R]()
	fields := fieldsOf(m.params)
	m.now = func(ctx context.Context, c *client, params json.RawMessage) (any, error) {
		var p P
		if err := decodeParams(params, reflect.ValueOf(&p).Elem(), fields, m.later); err != nil {
			return nil, err
		}
		return run(ctx, c, p)
	}
	return m
}

// defineLate completes an entry whose answer takes its time. begin is called as define's run is, so that requests take
// effect in order; what it returns waits on a goroutine of its own, ended by the context and waited for by serve.
func defineLate[P, R any](m method, begin func(context.Context, *client, P) (func(context.Context) (R, error), error)) method {
	m.params, m.result = reflect.TypeFor[P](), reflect.TypeFor[R]()
	fields := fieldsOf(m.params)
	m.late = func(ctx context.Context, c *client, params json.RawMessage) (finish, error) {
		var p P
		if err := decodeParams(params, reflect.ValueOf(&p).Elem(), fields, m.later); err != nil {
			return nil, err
		}
		wait, err := begin(ctx, c, p)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (any, error) { return wait(ctx) }, nil
	}
	return m
}

// defineBoth completes an entry whose answer takes its time where patient says so.
func defineBoth[P, R any](m method, patient func(*client, P) bool, run func(context.Context, *client, P) (R, error),
	begin func(context.Context, *client, P) (func(context.Context) (R, error), error)) method {
	both := define(m, run)
	both.late = defineLate(m, begin).late
	both.patient = func(c *client, params json.RawMessage) bool {
		var p P
		fields := fieldsOf(both.params)
		return decodeParams(params, reflect.ValueOf(&p).Elem(), fields, m.later) == nil && patient(c, p)
	}
	return both
}

// defineOwn completes an entry whose answer has its place among the updates of a session. begin is called as define's run
// is; without an error it sees to it that reply is called, by the sender that writes those updates.
func defineOwn[P, R any](m method, begin func(ctx context.Context, c *client, p P, reply reply) error) method {
	m.params, m.result = reflect.TypeFor[P](), reflect.TypeFor[R]()
	fields := fieldsOf(m.params)
	m.own = func(ctx context.Context, c *client, params json.RawMessage, reply reply) error {
		var p P
		if err := decodeParams(params, reflect.ValueOf(&p).Elem(), fields, m.later); err != nil {
			return err
		}
		return begin(ctx, c, p, reply)
	}
	return m
}

// coreMethods are those of the connection itself.
func coreMethods() []method {
	return []method{
		define(method{name: "initialize", doc: "Says who the client is and learns what the daemon can do. Optional; at most once."}, initialize),
		define(method{name: "ping", doc: "Answers."}, ping),
		define(method{name: "rpc.discover", doc: "This document."}, discover),
	}
}

// allMethods is the table of the native protocol.
func allMethods() []method {
	return slices.Concat(coreMethods(), modelMethods(), settingsMethods(), authMethods(), sessionMethods(), historyMethods(), toolMethods())
}
