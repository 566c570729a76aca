// Package method defines the methods of a protocol as entries of a typed table. Dispatch and the OpenRPC document come from
// the same entries.
//
// [Define] makes a [Method] of a name, the right that a client needs, one sentence, and a function. The types of the
// function's params and result say what the method takes and returns: [DecodeParams] fills the params from JSON, and
// [Schemas] describes both. A method is defined for one type of client, C, that its function gets.
//
// Guarantees:
//
//   - A method without a right does not compile.
//   - Params are checked member by member. Each error names its member.
//   - What a request has that its method does not know is found at every depth ([Known]), by the schema that rpc.discover shows.
//   - No schema refers to itself, so that tools which replace references come to an end.
//
// Everything here is safe for concurrent use, except [Schemas], which one goroutine fills.
//
// Inside the package, files depend in one direction: id, params, right, method, schema, hint, unknown, document.
package method
