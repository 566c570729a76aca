// Package messages is the simulator's face for Anthropic's Messages API: /v1/messages, /v1/messages/count_tokens and
// /v1/models, and Copilot's /copilot/v1/messages.
//
// It refuses what Anthropic refuses, in particular thinking that a client sends back changed, moved or without its context.
// It also answers every path that no other face claims, with Anthropic's 404.
//
// A request is a call. params reads it, with tools, content and context for its parts. turns checks the rules between
// messages, and replay the thinking. answer makes the reply, which stream sends.
//
// Inside the package, files depend in one direction: face, stream, params, answer, replay, turns, content, tools, copilot,
// context, cache, call, chain, models, betas, errors, edits, block.
package messages
