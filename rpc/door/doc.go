// Package door is the side of the daemon's own commands: a [Link] is a connection to the daemon, and a [Door] joins a
// client on a pipe to the daemon that runs at the moment. It also has the wire types of the daemon's private methods, which the
// daemon's server shares. It knows the messages that pass only as far as it must answer for a daemon that has ended.
//
// Guarantees:
//
//   - Each request of a door's client gets exactly one answer: the daemon's, or 1006 if the daemon ended first.
//   - A client on a door outlives the daemon: it learns which sessions to attach to again, and sends nothing twice.
//   - When [Door.Run] returns, nothing of it is left running.
//
// Inside the package, files depend in one direction: door, relay, ledger and link, wire and acp.
package door
