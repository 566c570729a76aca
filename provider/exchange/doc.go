// Package exchange is what the adapters of all wire APIs share: a call, the answer as it comes, and its end.
//
// [Caller.Stream] runs a call. An adapter contains only its dialect: it writes a [Call], and as a [Dialect] and a [Reply] it
// says what the events of the answer mean. The rest is here:
//
//   - the HTTP call. Redirects are not followed, and compressed answers are refused;
//   - whether an answer is a stream or one JSON value, because hosts label them wrongly;
//   - the loop over the events of a stream, and whether its end is the end of the answer;
//   - a second try with a lower limit on output, if a refusal asks for one;
//   - errors. Each is a [*provider.Error] that names the provider and the request id and holds no secret, or the cause of
//     the context;
//   - [Parts], which announces and ends the blocks of an answer;
//   - [Growth], which joins pieces of text that may be cut inside a character, and [Stencil], which recognises an event that
//     differs from the one before only in its text.
//
// What a vendor's error means is in package refusal, and what an earlier conversation looks like in a request is in package
// replay. The JSON of a vendor appears in its adapter only.
//
// Inside the package, files depend in one direction: stream, whole, listing, form, part, answer, limits, http, known; outline, citation, framing,
// authorize, growth, address, encode, repair and stencil use none of these.
package exchange
