// Package converse is the adapter for Amazon Bedrock's Converse API, one form for the models of many makers.
//
// A request (request.go) has the system prompt, the tools, the history, limits, and members of the model's own maker. How thinking is asked
// for (control.go), and whether it goes back (history.go), depends on the maker, which the model's id names (family.go).
//
// An answer (stream.go) is a list of blocks: reasoning, text and tool calls. Reasoning keeps the API's JSON as its State: text with or without a
// signature, or redacted content. It goes back to models of the same maker only. What else the API refuses of a history is repaired here:
// roles that do not alternate, calls without results and results without calls, blank texts, tools that are no longer offered.
//
// Facts are from Amazon's documentation ("docs: x" names its page) and from refusals that users reported.
//
// Inside the package, files depend in one direction: stream, seal, reply and converse; then listing, members, request, history, names, options,
// control, api and family.
package converse
