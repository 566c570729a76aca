// Package acp serves editors: clients that speak the Agent Client Protocol (ACP), version 1, as published with its schema. It shows them the same
// sessions as the native protocol does.
//
//	feed.Subscription ──► thread: a sender ──► session/update, and answers among them ──► the connection's queue
//	session/prompt ─────► thread.prompts ────► answered after the last update of the turn
//
// A [Server] is what the editors of a daemon have in common, an [Editor] one client, and a thread one session as that client follows it.
// The thread's sender is a goroutine. It writes all that the session publishes in ACP's terms, and the answers that have their place
// among the updates: the answer to a prompt after the last update of its turn, the answer to session/load after the history.
//
// Guarantees:
//
//   - An answer to a prompt is written after the last update of its turn, and each prompt is answered once.
//   - If ACP has no form for an update, the native notification is sent in _meta of the next update.
//   - A question to a person is cancelled when another client has answered it.
//   - [Files] and [Terminal] lend what the editor has to the daemon's tools. They wait no longer than their context.
//
// Editors may call some native methods under the prefix _thinkd/.
//
// Inside the package, files depend in one direction: table; session, manage, prompt, commands and auth; follow; update and replay; permission,
// compact and call; answer; send, host and options; request; editor; types. The packages blocks, command, option and permit have what
// needs no connection.
package acp
