// Package node makes a process a node of a cluster: it opens the store that the nodes share, sends heartbeats, claims the logs of sessions, and
// takes over the sessions of nodes that are gone.
//
//	agent.Group ──► Store ──► session/jet ──► store servers
//	     ▲            └─ marks, contact          ▲
//	     └── Node ──► rpc/cluster/heartbeat ─────┘
//
// Guarantees:
//
//   - an Append of a log returns without an error only if the node is in contact then, and has been since the message was sent, so that nobody else
//     has claimed the session meanwhile;
//   - a session with an open turn, or with a prompt that waits for one, has a mark before the entry that makes it so is sent;
//   - each node looks at the marks when it starts, when a node is gone, and every minute, and claims the sessions of those that are gone. Which node
//     is first is computed; each next one waits longer, so that one that cannot claim strands nothing;
//   - a node asks each store server, after each start of it, whether it syncs messages before it acknowledges them, and creates no session while one does
//     not;
//   - a node that is cut off from a majority of the servers claims nothing. After a longer time it ends what runs.
//
// Files depend in one direction: config, rank, contact, disks, log, node, store, spend, sweep, drain, lost, serve, tables.
package node
