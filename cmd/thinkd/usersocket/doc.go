// Package usersocket lets the users of a machine in over a unix socket that everybody can open.
//
// The kernel says which account is at the other end of a connection, so users need no token. A map from accounts to users decides who
// comes in, as whom. The operator's own socket is another one, in the data directory.
//
// Guarantees:
//
//   - Whoever can replace the socket's file could pretend to be the daemon. So the socket's folder must belong to root or to the daemon's
//     account, and nobody else may be able to write it. A folder in which anybody can make files, such as /tmp, is refused.
//   - A connection counts for the account of the process that connected, also if another process uses it later.
//   - An account has at most [maxPeer] connections, and all accounts together [maxAll].
//
// Inside the package, files depend in one direction: socket, the files for one system.
package usersocket
