// Package auth decides who a client is.
//
// A client shows a token, and an [Admitter] answers with a [Grant]: the principal whose requests the connection makes, and how long
// that lasts. [Tokens] is the admitter of API tokens, which the operator makes for users and for programs. A [Lease] joins the grants
// that follow each other on one connection, because a client may renew its grant before that ends.
//
//	token ──▶ Admitter ──▶ Grant ──▶ Lease ──▶ the connection's context
//
// Guarantees:
//
//   - A token is on disk only as its SHA-256, and in no log.
//   - A connection ends within a second after its grant is revoked or expires. The wall clock decides on expiry, also after the machine
//     has slept.
//   - While a node of a cluster cannot learn which tokens were revoked, it takes none, and the connections of all of them end.
//   - A grant is renewed for the same owner only.
//
// Inside the package, files depend in one direction: shared, tokens, record, rate, lease, grant.
package auth
