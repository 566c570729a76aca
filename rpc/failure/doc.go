// Package failure turns errors into those that clients get.
//
// Guarantees:
//
//   - [Known] and [OfRequest] are the one table from the errors of the daemon to the codes of the protocol. No text of a cause
//     passes: it may name a file or a host.
//   - What the table does not know becomes an internal error ([Internal]). The client gets a reference into the log, and the
//     log gets the reason, for a panic with its stack.
//
// Everything here is safe for concurrent use.
//
// Inside the package, files depend in one direction: internal, known.
package failure
