// Package rpc speaks JSON-RPC 2.0 with clients.
//
// A [Server] serves connections. One connection is one life of a client: [Server.Serve] returns when it has ended and
// nothing of it is left running. Between the bytes and the JSON-RPC library lies the [Stream]. It reads frames (lines
// or Content-Length headers, as the client begins, or the messages of a WebSocket), checks each message, splits batches,
// swaps ids, and writes what waits. The library sees a method and a number of ours for an id, nothing else. What a session
// tells stays in its subscription until the connection's writer comes for it. Clients on the network come in through [HTTP],
// which asks for a token.
//
// Guarantees:
//
//   - Order: the requests of a connection take effect in the order sent, one after another. Nothing that a request
//     causes is written before its answer. A late answer holds up nobody.
//   - Answers: each request with a readable id gets exactly one, its id byte for byte as it was sent. What cannot be
//     read is answered with id null. A notification gets none. A batch gets one array, or nothing.
//   - Bounds: a message costs at most its limit while it is read, and one that is larger is skipped as it comes.
//     What waits to be written is bounded; a client that takes nothing for ten seconds is disconnected.
//   - Errors: every error that leaves passes through errors.go, which knows the codes. What it does not know is an
//     internal error with a reference into the log, and tells nothing else.
//
// Methods are entries of one typed table (method.go), from which dispatch and rpc.discover come.
//
// The other side is here too, for the daemon's own commands: a [Link] is a connection to the daemon, and a [Door] joins a
// client on a pipe to whichever daemon there is.
package rpc
