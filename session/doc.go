// Package session defines what a conversation is, and what keeps it.
//
// A [Session] is a record with a log of [Entry]s: prompts, sealed blocks, settings, ends of turns. The log is the truth, and
// entries are only ever added to it. What a session looks like is a fold over its log, a [View]: [View.Apply] is the only code
// that changes one, when a log is loaded and while its session runs. The record is a projection of the log for listings.
//
// A [Store] keeps sessions, and [Blobs] keep the images and documents that logs refer to. Both are interfaces. Package bolt
// is the store in one file and mem the one in memory; package blob has the files of Blobs. Each store passes the tests of
// package storetest.
//
// Guarantees:
//
//   - when Append has returned, its entries are on disk, whole and in order;
//   - the growth of an open block is on disk soon after Checkpoint, and gone when the block is sealed;
//   - if several requests have the same stamp ([Stamp]), only one creates a session, and the others get its answer;
//   - a session, and all that it shares, can be reached only for its owner;
//   - a fork shares the log of another session up to a message, and outlives that session;
//   - once a [Compaction] cannot be undone any more, a view has no content of the messages that it replaces: [View.Whole] reads them again;
//   - a store never writes to data that is damaged, of a newer format, or not the data that it opened.
//
// A Store and Blobs are safe for concurrent use. A View belongs to one goroutine: that of the agent that runs the session.
// Each session has an [Owner], the user it belongs to. [Store.For] returns the sessions of one owner, and there is no other way to them.
// Each log has at most one holder, the agent that writes to it. [Sessions.Claim] makes a holder and returns a [Log]. A later claim
// fences that Log. The holder calls [Recover] before its first Append.
//
// The files of this package depend on each other in one direction: session, owner, stamp, body, entry, record, log, store, query
// and blobs define what is kept; message, turn, view, compaction, apply and fork are the fold; load, recover and whole read a Store.
package session
