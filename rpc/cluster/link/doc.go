// Package link lets any node of a cluster serve any session. A client is connected to one node, its edge. A session that another node serves is
// reached over a link:
//
//	client ══ edge: dispatch.Client ── Edge ── remote ══ mTLS ══ Owner ── rpc.Server.ServeLink: owner
//
// The edge finds the node for each request ([Nodes]). For each client and each node that it needs there is one link: a TCP connection with TLS 1.3
// that carries the messages of that client. The other node serves the link as a connection of its own, with the client's principal, and so with
// its own queue, merging, stale, order, approvals and tools. The edge gives the requests other ids, and passes on what comes back without decoding
// it. TCP's flow control is that of one client, so a client that reads slowly delays nobody else, and its updates wait where they merge.
//
// A link carries messages behind Content-Length headers. A message of the client, or for it, is a JSON object or array. A message of the two nodes
// begins with a letter: [hello], which opens a link, [met], its answer, [grant], which renews the link, and [bye], which says why it ends.
//
// Guarantees:
//
//   - both ends show a certificate of the cluster's CA whose only URI is spiffe://CLUSTER/node/NAME, and a node of this name must be
//     present. Certificates are read again every hour and by [Identity.Reload]. A link ends when a certificate of it would not be accepted any more;
//   - the grant of the client travels with its expiry and the id of its token. The owner ends the link when the grant expires or when it knows the
//     token to be revoked, also while the edge hangs. A node can claim any principal: the key of a node is worth the data of all users;
//   - when a node ends or is gone, its clients get an error for each request in flight, and stale for each session that they follow there, or a text if
//     they speak ACP;
//   - a request is sent to one node, once. What a link receives has bounds, which are checked before anything is done with it.
//
// Inside the package, files depend in one direction: words, identity, config, places, remote, edge and owner.
package link
