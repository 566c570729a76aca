// Package session is what a conversation is and how it is kept.
//
// A [Session] is a record with a log of [Entry]s: prompts, sealed blocks, settings, ends of turns. The log is the
// truth and is only ever appended to; what a session looks like is a fold over it ([View.Apply]), at load and live
// alike. The record is a projection of the log for listings and may be rewritten.
//
// A [Store] keeps sessions. [OpenBolt] keeps them in one file, [NewMem] in memory; both pass the same test.
//
// Guarantees:
//
//   - what Append has returned for is on disk, whole and in order;
//   - the growth of an open block is on disk soon after Checkpoint, and gone when the block is sealed;
//   - of the requests that bear one stamp ([Stamp]), one makes a session, and the others get its answer;
//   - a fork shares the log of another session up to a message, and outlives it;
//   - of what a [Compaction] stands for, a view holds no content: [View.Whole] reads it again;
//   - a store whose file is damaged, of a newer format, or not the one that was opened is never written to.
package session
