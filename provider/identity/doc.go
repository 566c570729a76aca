// Package identity gets short-lived tokens from clouds for the identity that a process has there: a service account, a federated
// workload, an identity of the machine, or the account of a person who logged in with the cloud's own command.
//
// [Google] and [Entra] say where an identity comes from, as the operator configured it. Opening one makes no call and reads no file. Each
// call of Token reads the files again, since programs replace them, and gets a new token. Keeping tokens and renewing them in time is the
// task of package login.
//
// Guarantees:
//
//   - nothing is started and nothing is called before the first token is wanted;
//   - an exchange ends with its context, follows no redirect, and reads a bounded part of the answer;
//   - calls to the metadata servers of machines never use a proxy;
//   - errors name what the cloud said and contain no secret.
//
// Inside the package, files depend in one direction: deployments, google and entra, assertion and command, metadata, exchange.
package identity
