// Package remote connects commands to daemons of other machines, and logs people in there.
//
// A daemon says at /oidc which OpenID provider lets its users in. [Login] leads a person through the device flow of that provider. The
// tokens are in a file of the data directory, which only its owner can read. [Connect] renews them when they expire.
//
// Guarantees:
//
//   - A token goes to the daemon that it is for, over TLS or within this machine. No redirect is followed with it.
//   - No error has a token.
//
// Inside the package, files depend in one direction: address, file, login, connect.
package remote
