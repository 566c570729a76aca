// Package mcphttp makes the HTTP transports to MCP servers and to the authorization servers of their logins.
//
// A daemon with users connects for people who do not own its network. The operator chooses their servers, but the owner of a domain
// can point it at any address: at a database inside, or at the metadata service that gives machines in a cloud their credentials
// (169.254.169.254). So a [Public] transport connects to public addresses only.
//
//	name ── resolver ──► addresses ──► check each one ──► connect to the address that was checked
//
// The check is part of the dial, so there is no second look-up that could have another answer (DNS rebinding). It applies to each
// connection, also after a redirect. A proxy would look the name up itself, where the check cannot see the answer. So these transports use
// no proxy.
//
// An address in an IPv6 prefix with an IPv4 address in it counts as that IPv4 address, for the prefixes that standards define. A network's
// own NAT64 prefix (RFC 6052, section 2.2) looks like any public address and is not recognised.
//
// Inside the package, files depend in one direction: address, transport.
package mcphttp
