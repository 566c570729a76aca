// Package transport makes the HTTP connections to the addresses of providers: through a proxy, with the certificates of a company, and
// with a check that a connection still works.
//
// All transports accept TLS 1.2 and newer, never follow a redirect to another protocol, and never decompress an answer. An HTTP/2
// connection on which nothing arrives is pinged; without a reply it is closed, and the calls on it fail with a transport error, which
// the agent repeats if no answer had begun. So a call does not wait for the network that a laptop has left.
//
// Errors of this package never hold the password of a proxy.
//
// Inside the package, files depend in one direction: settings, transport, trace.
package transport
