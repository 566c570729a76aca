// Package share keeps which sessions their owners share, with whom, and what the guests may do.
//
// A session is shared with users of the owner's tenant, by name. A guest reads it, or reads and writes it; everything else is the owner's.
//
//	owner ──▶ Set ──▶ Shares ──▶ Access, asked before each request of a guest
//
// Guarantees:
//
//   - A share is on disk before it takes effect, and so is its end.
//   - Nothing is shared across tenants, and nothing of the operator's.
//   - In a cluster, a change takes effect at once at its node, and within a second at the others.
//   - Access takes no time that depends on how much is shared.
//
// Inside the package, files depend in one direction: table, share.
package share
