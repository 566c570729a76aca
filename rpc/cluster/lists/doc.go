// Package lists publishes changes of lists of sessions to the nodes of a cluster, over core NATS. Nothing of it is stored.
//
//	sessions ──► watch.Hub ────────► Lists ═══ PREFIX.lists.NODE ═══► Lists of the others ──► watch.Hub ──► clients
//
// Each node publishes the changes of its own sessions, of all owners, four times a second. What changed in a session since the last message is one
// change, the last. A node gives the changes of the others to its clients that watch the owner's list, if there are any.
//
// The store is behind: it gets what lists show some time later, and never what a session needs of a person. So a node whose client begins to watch a list
// says so, and the others publish the sessions of that list that they have loaded.
//
// Messages of a node have numbers. They arrive on each connection to a store server, and the copies are dropped. If a number is missing, or a
// node died, or this node was out of contact, changes may be lost: all clients that watch lists get [watch.ErrStale], and list again. A node that missed
// messages also says so, and their sender repeats whose lists its clients watch. Each second a node repeats its last number, so a loss at the end is noticed.
//
// A session that moves may have changes of two nodes on the way. The change with the older epoch is dropped.
//
// Files: message, then order, then lists.
package lists
