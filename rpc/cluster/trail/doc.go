// Package trail makes the audits of all nodes of a cluster one. Each node writes its records to files, as a daemon does on one machine. A [Shipper] sends
// them to a stream of the store in the background, and [Read] reads the stream.
//
//	request ──► audit.Log ──► file of the day ──► Shipper ──► P_AUDIT ──► Read, at any node
//	                                └────── not sent yet ────────────────► Read, at this node
//
// Guarantees:
//
//   - A request waits for its record in the file, and never for the network. While the servers do not answer, records wait in the files.
//   - Each whole line of a file is in the stream once, in the order of the file, also if an acknowledgement is lost, a node is killed or a leader is elected. The
//     position is in the stream: the last message of a file says up to which byte it was sent.
//   - A node without its disk loses what was not sent. A node whose directory is an older copy of itself notices, and sends the rest as another directory.
//     The records of the days since the copy are then in the stream twice as far as both have them.
//   - Bytes that are no records are counted, and make nothing fail.
//
// Files depend in one direction: read, ship, mark.
package trail
