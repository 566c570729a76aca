// Package rpc speaks JSON-RPC 2.0 with clients.
//
// A [Server] serves connections. One connection is one life of a client: [Server.Serve] returns when it has ended and
// nothing of it is left running. Package conn finds the requests in the bytes, and keeps their order. This package finds
// the method of a request, decodes its params, runs it, and follows sessions for the client. Clients on the network come
// in through package network.
//
// Guarantees, besides those of package conn:
//
//   - A method runs on the connection's reading goroutine and waits for nothing but a store. An answer that takes time
//     comes from a goroutine of its own.
//   - Each connection has a [Principal]. A method runs only if the principal has the method's right, and a method that names a
//     session only if the [Router] leaves it to this daemon. Methods see the sessions of their principal and no others.
//   - Errors: every error that leaves passes through package failure, which knows the codes. What it does not know is an
//     internal error with a reference into the log, and says nothing else.
//   - A slow client leaves its updates in their subscriptions, which merge them (follow.go).
//
// Methods are entries of one typed table (package method, table.go), from which dispatch, rpc.discover and [Document] come.
// The private methods of the unix socket (local.go) have their names and types in package door, which is their client.
package rpc
