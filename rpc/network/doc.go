// Package network lets clients on the network come in: an HTTP server's handler for WebSockets and pages, with a gate in
// front of every route. It knows no method: what a client says is for the [Endpoint] that it connects to.
//
//	request ──► gate: Host, Origin ──► route ──► Authenticator or Logins ──► page, /healthz, /readyz, /metrics
//	                                                   └─────────► upgrade ──► Endpoint.Serve, until the client leaves,
//	                                                                           its token is void, or Close
//
// Guarantees:
//
//   - A request under a foreign name, or from a page of a foreign origin, reaches no route.
//   - Every route except the pages and /healthz needs a principal.
//   - A connection ends within a second after the right of its principal has ended, and with [Handler.Close].
//   - The cookie of a login lets in only over TLS, only to an endpoint that says so, and only from our own page.
//   - A sign-in at an OpenID provider ends only in the browser that began it, and always at our own page. No script sees a token of it.
//
// Inside the package, files depend in one direction: handler; gate and config; signin; renewal; login; signedin and token; seal and
// authenticator.
package network
