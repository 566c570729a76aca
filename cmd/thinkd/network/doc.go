// Package network lets clients in over TCP: browsers and other machines.
//
// A client that connects waits in the lobby, which bounds connections that have not shown the token, in all and by address. Once
// it has shown the token and become a WebSocket, it belongs to the server of clients.
//
//	TCP ──▶ lobby ──▶ http.Server ──▶ rpc/network (token, origin) ──▶ rpc.Server
//
// Inside the package, files depend in one direction: browser, token, lobby, listen.
package network
