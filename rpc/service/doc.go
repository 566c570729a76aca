// Package service does what all protocols of the daemon offer their clients: it finds models and agents, and prepares new sessions and
// their tools.
//
// [Config] is what the daemon gives it. A [Caller] is a client that asks, with the principal for whom it asks. Errors name the member
// of the native protocol's params, and are ready for package failure.
//
// Guarantees:
//
//   - A caller sees the sessions of its principal and no others.
//   - A client of another user gets the daemon's own tools, starts programs and declares tools harmless only as far as the
//     operator's config allows it.
//
// Everything here is safe for concurrent use. Only [Caller.Equip] and what asks an agent wait.
//
// Inside the package, files depend in one direction: equip, new, model, service, sessions.
package service
