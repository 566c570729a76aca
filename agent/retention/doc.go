// Package retention deletes old sessions by the operator's rules, and has the store's file rewritten, so that nothing of them is left in it.
//
// [Rules] are pure: they say whether a session is old enough. A [Keeper] applies them: it looks once when Run begins and then each
// [Every]. The daemon starts Run after its other parts, and ends it before them.
//
// Guarantees:
//
//   - a session in which something runs, waits or is queued is never deleted, nor one that a client follows: [Keeper.Delete] checks that
//     and the rule again at the moment of the deletion, on the goroutine that would start a turn;
//   - a session that cannot be read is never deleted;
//   - the file is rewritten only while no turn runs, and only if something was deleted since, by whomever;
//   - an error ends a round, and the next round begins again.
//
// Inside the package, files depend in one direction: rules, keeper.
package retention
