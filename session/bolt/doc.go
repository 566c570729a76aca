// Package bolt is a [session.Store] in one file, thinkd.db in the data directory, for one machine.
//
// It is safe for concurrent use. Only one process can have the directory open: while another one has it, [Open] returns a
// [LockedError].
//
// Guarantees, in addition to those of [session.Store]:
//
//   - no byte of a file is written before the file was found sound, of a known format, and the one that was here before;
//   - damage of one session leaves all others readable and writable;
//   - a changed bit is never returned as content: each value begins with a checksum of itself and its key;
//   - what an older build wrote is upgraded: from format 4 on in place, in one commit; before that in a new file. The old file is kept
//     under another name, and without room for it there is no upgrade;
//   - what was deleted is in no file of the store once [Store.Compact] has returned, or Compact;
//   - a full disk makes the store read-only until there is room. A disk that fails twice makes it read-only for good.
//
// # Writing
//
// One goroutine writes. It commits at once when it is idle, and what arrives meanwhile shares the next commit:
//
//	Append, Create, Delete --> queue --> writer --> one bbolt transaction, one sync --> answers
//	Checkpoint --> growth ---(500 ms or 16 KiB)---^
//
// A commit that fails leaves open whether it is on disk. So nothing is acknowledged until the file has been closed, opened and
// read again (fault.go).
//
// # Reading
//
// bbolt trusts its file: damage makes it panic, fault, or never return. So pages that bbolt is to read are walked before, with
// package page. A start walks what all sessions share, and the records; each log is walked when it is first used. Reads copy out
// of transactions of a few milliseconds: while one is open, no page is used again.
//
// # The file
//
// These are its buckets. The constants are in layout.go. Keys of sessions and of stamps begin with the owner: the operator's
// have nothing there, and those of others the names of tenant and user. So a session cannot be reached for another owner.
//
//	meta      the format, the id of the store, and the first epoch of claims that is not reserved
//	sessions  the changing part of each record, with the position of its last entry and the number of its last change
//	fixed     the part of each record that never changes
//	index     by owner, the numbers of last changes, with the ids of their sessions: the order of listings
//	open      the running turn of each session that has one
//	made      by owner, what stamped requests made
//	forks     whose log a fork shares, and the lengths of logs whose sessions were deleted
//	log       a bucket for each session, with an entry for each position
//	growth    a bucket for each session, with what was checkpointed: a piece for each message, block and offset
//	ledger    what model calls used, by day, session and account; see ledger.go
//
// The mark, thinkd.mark, is a file with the store's id. While it is there, an empty or missing thinkd.db is a loss and no
// beginning.
//
// # Files of this package
//
// They depend on each other in one direction: layout (bytes), rows (transactions), store (the type), sessions and examine (the look at
// a file without bbolt), mark and file (opening), read, growth, queue, fault, ledger and changes (the methods of session.Store), check,
// compact and rewrite (whole files), and open on top.
package bolt
