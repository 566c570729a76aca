// Package jet is a [session.Store] on NATS JetStream, for several nodes that share one store.
//
// The log of a session is a subject of a stream, and an append is one message, which also has what changes of the session's record. A message is
// stored only if the last one of its subject has the sequence that the writer expects. Package session/lease decides who may write, and what
// an answer means; this package carries out its steps. Everything else is derived from the logs, and written after them: what lists show, and
// what model calls used.
//
//	P_LOG_<k>   the logs, on disk, each in one of several streams
//	P_STATE     values, on disk: accounts of sessions, read marks, calls that no log has, budgets, ids of owners
//	P_MADE      stamps of requests, on disk
//	P_TABLE     rows that are no sessions: API tokens, shares, keys; see [Tables]
//	P_AUDIT     records of requests, which are only ever appended; see [Audit]
//	P_OPEN      marks of sessions with an open turn, on disk
//	P_CKPT      growth of open blocks, in memory
//
// A message of a log has the sequence and the digest of the one before, so holes and changes are found when it is read. A body that is
// too long for a message is split over several. A fork has copies of what it shares. A deleted session leaves a tombstone, for longer than
// the stamp of its request lives. So the id of a deleted session cannot be used again: Create returns ErrExists.
//
// An answer to an append may be missing. Then the log says whether it was stored; if even that stays unknown, the Log is of no use any more,
// and a new claim fences what may be on its way. Errors are those of session.Store, and ErrUnknown and *ElsewhereError.
//
// Reads ask the leader of a stream. A leader that has lost its office may answer for some seconds, and so may show an old state: only what
// follows a claim is certain.
//
// Files depend in one direction: link, api, name, head, body, cache, chain, fought, copied, drive, then values, made, budgets, account, growth, open,
// log, claim, ledger, sessions, delete, marks, tables, audit. Package archive uses follow, stream and copies.
package jet
