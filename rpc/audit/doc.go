// Package audit records who called which method, on which session, from where, and with what result.
//
// A [Log] appends a [Record] for each request to the file of its day, before the client gets the answer. [Export] reads the files.
// In a cluster, package rpc/cluster/trail copies them to a stream with [Days] and [Chunk].
//
// Guarantees:
//
//   - A record has nothing that was said: of params it has the ids of sessions and the names of users, of results the ids of new sessions,
//     and of errors the code and its word. A method that does not exist is recorded without its name.
//   - Records are only ever appended. Several processes may append to a file, and no record is cut by another.
//   - Records that could not be written are counted, and the count is the next record that can be.
//   - A loss of power can lose the records of the last seconds; the end of a process loses none.
//
// Inside the package, files depend in one direction: log, export, chunk, record.
package audit
