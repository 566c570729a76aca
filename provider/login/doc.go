// Package login keeps the credentials for model APIs: keys that people set, and tokens that a login or a cloud returns.
//
// A [Source] belongs to one provider. It returns the current [Credential]: the key in the environment, or otherwise what [Keys] has in
// its file or in the table of a cluster, which is a key or the long-lived token of a login, or otherwise a token of the [Identity] that the process has in a cloud. If
// the vendor has a login, a [Flow] leads a person through it and exchanges the long-lived token for short-lived ones. [Keyed] is a
// provider that gets the current credential for each call. A [Holder], who is a user or a tenant, may have a key in [Keys] as well, for which
// there is a Source of its own.
//
// Guarantees:
//
//   - a change is on disk before it takes effect, and it applies from the next call;
//   - short-lived tokens are only in memory, except in a cluster, where the nodes share those of a login that an exchange uses up. They are renewed before they expire, and fetched once, however many calls wait for one;
//   - of the nodes of a cluster one exchanges such a login, and the others use what it got. No token is used twice;
//   - a call that fails with 401 is repeated once with a new token, if there is one;
//   - no error, log or status contains a key or a token.
//
// Inside the package, files depend in one direction: holder, http and keys, infile and intable, owned, flow, identity, source, keyed and copilot, chatgpt and convert.
package login
