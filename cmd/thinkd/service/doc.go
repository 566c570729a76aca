// Package service registers the daemon with the service manager of the user: systemd on Linux and launchd on macOS.
//
// With systemd, the manager listens on the data directory's socket and starts the daemon for the first connection, so the daemon still exits
// when nobody needs it. launchd keeps the daemon running. Other systems have no such manager, and every function returns an error there.
//
// The functions are for the command `thinkd service` and for packages, which contain the same units. Nothing here needs root.
//
// Inside the package, files depend in one direction: unit, manager, service.
package service
