// Package users administers the users of a daemon, for the operator: it lists them, and deletes all that is theirs.
//
// Guarantees:
//
//   - What it lists has nothing of conversations, and no titles.
//   - When [Admin.Delete] has returned without an error, no file of the store has anything of the user's. It searched all files of the
//     data directory for the sessions that were deleted. In a cluster this is up to the store servers, and other nodes delete their part first.
//   - A deletion that failed or was cut off can be repeated.
//
// Inside the package, files depend in one direction: admin, scan.
package users
