// Package mcplogin logs in to MCP servers that demand OAuth 2.1 (specification: authorization). The official SDK does the protocol: it finds
// the authorization server (RFC 9728, RFC 8414), registers the client (RFC 7591), and exchanges the code with PKCE (RFC 7636). This package
// keeps the tokens with the other logins of the daemon, renews them, and serves the address that the browser returns to.
//
//	server ── 401 ──► Authorize ──► "run thinkd auth login mcp:NAME"
//	thinkd auth login ──► Login ── browser ──► loopback ──► tokens in keys.json ──► TokenSource
//
// A [Login] is the login to one server: of the operator's config, or at an address that a client of the operator named. It is safe for
// concurrent use. There must be one for each id, because a refresh token may be valid once.
//
// Guarantees:
//
//   - A login never starts on its own: a server that demands one gets an error that names the command.
//   - A token is bound to the address of its server. If the config has another address for the server, the token is not sent.
//   - Tokens and secrets of clients are in no error and no log. The browser returns to 127.0.0.1 alone.
//   - Redirects are never followed, because requests have tokens.
//
// Inside the package, files depend in one direction: tokens, login.
package mcplogin
