// Package blob keeps images and documents in the data directory: [Dir] is the [session.Blobs] of one machine.
//
// Each is one file, named by the SHA-256 of its bytes. The log of a session has the names.
//
// Guarantees:
//
//   - what Keep has returned for survives a loss of power;
//   - Read never returns other bytes than those that were kept;
//   - a sweep removes only what no log refers to, even while sessions are made and deleted, and under a clock that is set back.
//
// A Dir is safe for concurrent use. One process has the directory, as it has the store: the store's lock decides that, so open
// the store first. [Dir.Tend] runs in one goroutine of the daemon; agents call Keep, Read and Forget.
package blob
