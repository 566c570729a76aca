// Package messages is the simulator's face for Anthropic's Messages API: /v1/messages, /v1/messages/count_tokens and
// /v1/models, and Copilot's /copilot/v1/messages.
//
// It refuses what Anthropic refuses, above all thinking that comes back changed, moved or without its context. It also
// answers every path that no other face claims, with Anthropic's 404.
package messages
