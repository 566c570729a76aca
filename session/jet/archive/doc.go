// Package archive keeps a second copy of a store on JetStream, as files, and puts it back. The store servers have no part in it, so it helps
// where they lose what they had acknowledged, and where all of them are lost.
//
// A stream becomes a directory of segments. A segment has messages in the order of their sequences, and is named by the first and the last
// sequence that it covers and by the hash of its bytes. It begins with the name of the segment before, so none can be missing or exchanged:
//
//	DIR/thinkd_LOG_0/00000000000000000001-00000000000000004711-<sha256>.segment
//
// [Follower] writes segments: each time 8 MiB are there, or what it has is 60 s old. So what all servers lose at once is what was stored in the
// last minute. Where it goes on, the files say: the servers keep nothing for it. It checks the chains of the logs as it goes, and that
// the stream still has what was copied last.
//
// [Verify] reads a copy and checks all of it. [Restore] puts it back into empty servers, up to a point in time. A log gets its old sequences, because
// messages name each other by them. A session that was deleted stays deleted, also if that was later than the point in time: its
// tombstone is restored alone.
//
// Once a day a Follower removes what no restore needs, such as the messages of deleted sessions. See clean.go.
//
// Files depend in one direction: segment, dir, follow, clean, then run and verify, then restore.
package archive
