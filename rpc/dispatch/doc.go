// Package dispatch runs the requests of a connection as methods, whichever protocol its client speaks.
//
// A [Client] is a connection: package conn finds the requests in its bytes and keeps their order. A [Protocol] has the methods and the
// form of the errors. A [Server] is what the connections of a daemon have in common.
//
// Guarantees, in addition to those of package conn:
//
//   - A method runs on the connection's reading goroutine, one after the other, and waits for nothing but a store. An answer that
//     takes time comes from a goroutine of its own.
//   - A method runs only if the client's principal has its right, and a method that names a session only if the [Router] leaves
//     the session to this daemon.
//   - Every error that leaves passes through package failure, which knows the codes. A panic becomes an internal error, and
//     neither ends the connection nor the daemon.
//   - When [Client.Serve] returns, nothing of the connection is left running.
//
// Inside the package, files depend in one direction: sender, client, router, server, guests and follow.
package dispatch
