// Package responses is the simulator's face for OpenAI's Responses API: /v1/responses and /v1/models, Azure's
// /openai/v1/responses, the ChatGPT plan's /backend-api/codex/responses and its list of models, and Copilot's /responses.
//
// It refuses what OpenAI refuses, in particular encrypted reasoning that is returned through another door or without the item that
// follows it.
//
// Inside the package, files depend in one direction: errors and models at the bottom, then the request, its rules, the
// answer, and face at the top.
package responses
