// Package search finds text in sessions. There is no index: a [Scan] reads the logs of sessions, the last changed session first, within
// [Bounds], and returns where the next Scan goes on.
//
// Guarantees:
//
//   - a Scan returns what is on disk: blocks that a model still writes are found when they are sealed;
//   - a Scan reads at least a little, so a client that follows [Page].Next reaches the end;
//   - no transaction of the store is open when a Scan returns, and it loads no agent;
//   - the memory of a Scan is bounded, however long a log or a text is;
//   - a session that changes between two Scans is on at least one page, and may be on both.
//
// Inside the package, files depend in one direction: scan, place, match.
package search
