// Package provider is the conversation model and the contract of a model API.
//
// A conversation is a list of [Message]s made of [Block]s. The same types serve prompts, the stored log, the ends of
// a stream and the protocol: there is no second model of a message anywhere. What a vendor attaches to a block
// (signatures, encrypted reasoning, item ids) travels beside it as [State]: the vendor's own JSON with its [Origin],
// kept value-exact and looked at by nobody but the adapter that wrote it.
//
// A model API is a [Provider]. It is given a [Request], which carries everything a call depends on: the model's row,
// the [Decision] on thinking, the repairs in force, the history. It answers with a sequence of [Event]s that ends in
// exactly one [Stop] or one error.
//
// Guarantees that every adapter keeps and provider/providertest checks:
//
//   - a block opens with [Begin], grows by [Delta] and closes with [End]; deltas add up to the end's text;
//   - [End] carries the whole block with its State, so that nobody but the adapter accumulates;
//   - nothing follows the Stop or the error;
//   - when the loop over the sequence has ended, nothing of the call is left running.
//
// This package imports nothing else of the project.
package provider
