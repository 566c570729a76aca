// Package heartbeat tells the nodes of a cluster which of them are present, over NATS. Package presence decides; this package sends, listens and
// asks.
//
// A node has a connection to each store server. On each it sends a heartbeat twice a second, and listens for those of all nodes. Its own ones, which come
// back on the connection that they were sent on, prove its contact with that server. Messages of a connection arrive in order, so what comes
// behind an own heartbeat was sent to that server later.
//
// A node that ends says so. A node of which another one wants a session answers whether it has the log open, or a claim of it on the way.
// Subjects have the random numbers of nodes alone; a question has the names of the owner, for the node that is asked.
//
// Files: clock, then message, node.
package heartbeat
