// Package provider defines the conversation model and the contract of a model API.
//
// A conversation is a list of [Message]s, which consist of [Block]s. Prompts, the stored log, streams and the protocol use the same
// types: there is no second model of a message. Vendors attach data to blocks, such as signatures, encrypted reasoning and item
// ids. A block carries it as [State]: the vendor's own JSON with its [Origin]. Its values are kept exactly, and only the adapter
// that wrote it reads it.
//
// A model API is a [Provider]. It gets a [Request] with everything that a call depends on: the facts of the model, the [Decision] on
// thinking, the repairs in effect, and the history. It returns a sequence of [Event]s that ends with exactly one [Stop] or one error.
//
// Every adapter keeps these guarantees, and provider/providertest checks them:
//
//   - [Served] comes before the first block, and again when the answer names another model;
//   - a block opens with [Begin], grows with [Delta] and closes with [End]; the deltas add up to the end's text;
//   - [End] has the whole block with its State, so that only the adapter accumulates;
//   - nothing follows the Stop or the error;
//   - when the loop over the sequence has ended, nothing of the call is still running.
//
// This package imports no other package of the project.
//
// Inside the package, files depend in one direction: cost and words, then options, secret, served and usage, then price, model,
// then citation, keepalive and lister, then message, then cache, event and media, then provider, and at the top conversion, errors and
// unfinished.
package provider
