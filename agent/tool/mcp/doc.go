// Package mcp runs tools on servers of the Model Context Protocol. A server is a program that speaks the protocol on its standard input
// and output, or an address that speaks it over streamable HTTP.
//
// A [Host] is one server. It starts when it is first needed. If a call finds that the server has exited, it starts again, once per call.
// A call during which the server exits fails and is not repeated. A program has a supervisor or a separate process group, which ends
// with it. Its standard error goes to the log.
//
// The names of a server's tools begin with the server's name and two underscores. The tools of a session are those at its start: a later
// change applies to later sessions.
//
// A server with resources has two tools more, list_resources and read_resource, unless it has tools of these names. Its
// prompts are for people, who name them. A server that a client offers for a session learns the session's folder as its root. Sampling and
// elicitation are not offered.
//
// Inside the package, files depend in one direction: server, content, resource, listing, link, host, prompt.
package mcp
