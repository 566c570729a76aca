// Package forecast reads from the log of a session what a quote of its next prompt is made of.
//
// [New] copies what a quote needs, on the goroutine of the session. [Draft.Quote] asks the adapter what it would send, which may take
// milliseconds for a long conversation, so it runs anywhere else. The requests are those that the session would make: the next one,
// the last one that a vendor has counted, and the one that would follow a compaction.
//
// Inside the package, files depend in one direction: quoted, forecast, counted.
package forecast
