// Package rpc serves clients that speak JSON-RPC 2.0.
//
// A [Server] serves connections. One connection is one life of a client: [Server.Serve] returns when it has ended and
// nothing of it is left running. Package conn finds the requests in the bytes, package dispatch runs their methods. This
// package has the methods of the native protocol, and follows sessions for the client. Package acp has those of editors. Clients on
// the network come in through package network.
//
// Guarantees, in addition to those of packages conn and dispatch:
//
//   - Methods see the sessions of their principal and no others.
//   - A slow client leaves its updates in their subscriptions, which merge them (attach.go).
//
// Methods are entries of one typed table (package method, table.go), from which dispatch, rpc.discover and [Document] come.
// The private methods of the unix socket (local.go) have their names and types in package door, which is their client.
//
// Inside the package, files depend in one direction: server; table; local; discover; ask, turn, tools, settings, history, share and watch;
// session and summaries; model; attach, newtools, initialize, identity and auth; params; client.
package rpc
