// Package toolhost defines what runs tools.
//
// A [Host] is an MCP server or the daemon itself. Tools of a client have no Host: the agent publishes the call and waits for the
// client's result. A host can implement more: [Examiner], [Inspector] and [Hinter].
//
// Guarantees of the agent: a host gets only calls whose arguments are complete and fit the schema, each call once. A denied call
// never reaches it.
package toolhost
