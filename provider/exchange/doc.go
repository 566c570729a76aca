// Package exchange is what the adapters of all wire APIs share: the HTTP call, the answer as it comes, and its end.
//
// A [Caller] posts a request and classifies what fails. Its errors are a [*provider.Error] that names the provider and the
// request id and holds no secret, or the context's cause. Redirects are not followed, and compressed answers are refused.
// [Caller.Form] finds out whether an answer is a stream or one JSON value, because hosts label them wrongly.
// [Growth] joins pieces of text that may be cut inside a character, and [Stencil] recognises an event that differs from
// the one before only in its text.
//
// What a vendor's error means is package refusal's part, and what an earlier conversation looks like in a request is
// package replay's. The JSON of a vendor appears in its adapter only.
package exchange
