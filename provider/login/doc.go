// Package login keeps what model APIs are called with: keys given by hand, and tokens that a login gives.
//
// A [Source] is one provider's. It tells the [Credential] of the moment: the environment's key, else what [Keys] has in
// its file, which is a key or the lasting token of a login. Where the vendor has one, a [Flow] leads a person through
// the login and makes short-lived tokens of the lasting one. [Keyed] is a provider whose calls are each made with the
// credential of the moment.
//
// Guarantees:
//
//   - what is set or removed is on disk before it is in force, and is in force with the next call;
//   - short-lived tokens are in memory only, and are renewed ahead of their end; however many calls wait for a new one,
//     it is fetched once;
//   - a call that is refused with 401 is made once more with a new token, where one can be got;
//   - no error, log or status holds a key or a token.
package login
