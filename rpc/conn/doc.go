// Package conn turns the bytes of a connection into checked JSON-RPC 2.0 calls, and back. It knows no method, no agent
// and no session: native clients and editors use it alike.
//
//	bytes ──► Frames ──► Conn ──► handle(Call)
//	bytes ◄── Frames ◄── Queue ◄── Call.Send, Conn.Notify, Source.Next
//
// [Frames] finds messages in bytes: lines or Content-Length headers ([NewByteFrames]), or the messages of a WebSocket
// ([AcceptWebSocket]). A [Conn] checks each message, splits batches, and gives the handler one [Call] after another. The
// JSON-RPC library below it sees a method and a number of ours for an id, nothing else. The [Queue] bounds what waits to
// be written. What a session publishes stays in its [Source] until the connection has room for it.
//
// Guarantees:
//
//   - Order: the handler gets the requests of a connection in the order sent, one after another. Nothing that a request
//     causes is written before its answer. A late answer delays no other.
//   - Answers: each request with a readable id gets exactly one, its id byte for byte as it was sent. What cannot be
//     read is answered with id null. A notification gets none. A batch gets one array, or nothing.
//   - Bounds: a message costs at most its limit while it is read, and one that is larger is skipped as it comes.
//     What waits to be written is bounded; a client that takes nothing for ten seconds is disconnected.
//   - End: when [Conn.Serve] returns, nothing of the connection is left running, except what the caller started.
//
// Inside the package, files depend in one direction: conn, stream, queue; stream on batch, message; websocket on
// websocket_conn; bytes on reader; all of them on frames and error. jsonstring and stdio stand alone.
package conn
