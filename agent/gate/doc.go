// Package gate lets model calls out, and counts what they cost.
//
// Every model call of a daemon passes its [Gate]: the calls of turns, summaries and side questions. Before a call, Enter reserves what
// the call may cost. The [Pass] that it returns is the only way to the provider, and Settle puts what the call used in place of the
// reservation:
//
//	Enter ──► Pass ──► Stream (the call runs) ──► Settle
//	  └─ *Full: a limit of the daemon has no room
//
// A call has two estimates. What it probably uses counts as spent while it runs, so that a person is asked when a limit is nearly
// used up, and not earlier. What it may use at most is its reservation: nothing is in the vendor's cache, and the answer is as long as
// the request allows, with thinking that nobody sees. The log keeps the reservation, and it is what the call has used if the daemon
// is killed.
//
// Guarantees:
//
//   - no call begins that probably does not fit into each limit, together with what was spent and what other calls probably use, except
//     one that a person allowed;
//   - no call begins in parallel to others if all of them together could exceed a limit by more than the largest of their reservations;
//   - a call that only others leave no room for is Busy: it may begin when they have ended, and nobody needs to be asked;
//   - a call that uses more than it probably would goes on (Extend) until all calls together would exceed a limit by more than what it
//     probably used when it began. Then the call has to end;
//   - what is reserved counts until Settle. Each pass is settled once; further calls do nothing.
//
// So all calls together spend at most one reservation more than a limit, however many run in parallel, and however often the daemon is
// killed. A vendor that charges more tokens than the request allows, or another price than the catalog's, is not foreseen.
//
// In a cluster (Join), the gates of all nodes spend the quotas and the limits together. Each has a block of them, from which its calls are paid, and changes it
// by compare and set when a call does not fit; see share. Then a limit is exceeded by at most one reservation for each node.
//
// A Gate is safe for concurrent use. It reads the ledger and changes blocks by the functions that it was given, and never with its lock. The reservation that
// Enter makes is in [Pass.Reserved], for the log of the session.
//
// Inside the package, files depend in one direction: amount, limit, sum, share, quota, gate.
package gate
