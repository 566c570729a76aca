// Package thinkd is a client of thinkd, a daemon that keeps conversations with reasoning models. It needs the standard library only;
// package websocket, which is below it, connects to `thinkd serve`.
//
// A [Client] is one connection that reconnects by itself. A [Session] follows one conversation, and goes on after a lost connection. A
// [Turn] is the sequence of events that one prompt causes.
//
// Guarantees:
//
//   - Events of a session arrive in order, each once, also over lost connections. If the daemon no longer has some of them, for example
//     because it was restarted, a [Snapshot] comes in their place.
//   - A request without a response is repeated if that has no second effect. Otherwise it fails with [ErrLost].
//   - When [Client.Close] returns, nothing of the client is left running, except functions of tools that ignore their context.
//
// The types and the methods of [Client] are generated from the daemon's table of methods. protocol.md describes them. Optional numbers and
// booleans are pointers: [To] makes one.
package thinkd

// To returns a pointer to a value, for optional members.
func To[T any](value T) *T { return &value }
