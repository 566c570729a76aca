// Package fallback decides with which model and key a turn goes on when its model cannot be called, and when the session returns.
//
// A chain has the first choice of a turn and its fallbacks, in the operator's order. Each kind of error has a [Rule]:
//
//	call fails ──► Never ──────────────────────────────► the turn ends, or is parked, as without fallbacks
//	          ├──► AfterRetries ──► again, at most twice ──┐
//	          └──► AtOnce ─────────────────────────────────┴──► Next: the first link that was not tried for this call
//
// Package agent stores each switch, tells clients, and makes the calls. A session stays with the link that answered, because each
// change voids the vendor's prompt cache and what it has encrypted. [Returns] says when it goes back. If all links fail, [Soonest] says
// which can be called again first.
//
// All of it is pure: no I/O and no clock. Inside the package, files depend in one direction: rule, chain.
package fallback
