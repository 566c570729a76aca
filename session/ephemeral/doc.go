// Package ephemeral is a [session.Store] that keeps ephemeral sessions in memory, and all others in the store of the data directory.
//
// Guarantees, in addition to those of [session.Store]:
//
//   - nothing of an ephemeral session is on disk, except what its model calls used and cost: the ledger has that, with the id of the
//     session, the model, the level and who paid;
//   - an ephemeral session ends with [Store.Close], or with the process;
//   - a fork of an ephemeral session is ephemeral, and one of another session is not: a fork shares the log;
//   - a listing has both kinds, the last changed first. Each page has the guarantees of [session.Sessions.List].
//
// The stamp of a request that made an ephemeral session is in memory too. After a restart, a repetition of the request makes a new session.
//
// A call of an ephemeral session has its reservation in the ledger before the call, by Hold, and after it by Settle what it used. So a
// crash during the call is counted as for any other session.
//
// Inside the package, files depend in one direction: ledger, store, log, sessions.
package ephemeral
