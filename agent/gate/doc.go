// Package gate lets model calls out, and counts what they cost.
//
// Every model call of a daemon passes its [Gate]: the calls of turns, summaries and side questions. Before a call, Enter reserves what
// the call may cost. The [Pass] that it returns is the only way to the provider, and Settle puts what the call used in place of the
// reservation:
//
//	Enter ──► Pass ──► Stream (the call runs) ──► Settle
//	  └─ *Full: a limit of the daemon has no room
//
// Guarantees:
//
//   - no call begins whose reservation does not fit into each limit, together with what was spent and what other calls have reserved,
//     except one that a person allowed;
//   - a call that needs more than it reserved gets it (Extend) until all calls together would exceed a limit by more than what this call
//     reserved first. Then the call has to end;
//   - what is reserved counts until Settle. Each pass is settled once; further calls do nothing.
//
// So all calls together spend at most one reservation more than a limit, however many run in parallel. Where a provider counts other
// tokens than were estimated, that difference comes in addition.
//
// A Gate is safe for concurrent use. It does no I/O. The reservation that Enter makes is in [Pass.Reserved], for the log of the session.
//
// Inside the package, files depend in one direction: limit, sum, gate.
package gate
