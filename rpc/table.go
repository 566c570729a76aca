package rpc

import (
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
)

// coreMethods are those of the connection itself.
func coreMethods() []method.Method[*client] {
	return []method.Method[*client]{
		method.Define("initialize", method.Use, "Tells the daemon who the client is, and returns what the daemon can do. Optional; at most once.",
			method.Now(initialize)),
		method.Define("ping", method.Use, "Returns an empty result.",
			method.Now(ping)),
		method.Define("rpc.discover", method.Use, "Returns this document.",
			method.Now(discover)),
	}
}

// nativeMethods is the table of the native protocol. Each entry has its examples in examples.txt, and a section in
// protocol.md.
func nativeMethods() []method.Method[*client] {
	return append(coreMethods(), []method.Method[*client]{
		method.Define("models/list", method.Use, "Returns all models, or those of one provider. With refresh, the response is late.",
			method.Either(func(_ *client, p modelsParams) bool { return p.Refresh }, models, refreshModels), conn.CodeNoModel),
		method.Define("model/set", method.Use, "Sets the session's model from the next turn on.",
			method.Now(setModel), conn.CodeNotFound, conn.CodeNoModel, conn.CodeLevel),
		method.Define("thinking/set", method.Use, "Sets the preferred level from the next turn on.",
			method.Now(setThinking), conn.CodeNotFound, conn.CodeLevel),
		method.Define("thinking/explain", method.Use, "Returns the decision for another model or level, and what would happen to earlier thinking. It changes nothing.",
			method.Now(explain), conn.CodeNotFound, conn.CodeNoModel, conn.CodeLevel),
		method.Define("providers/list", method.Use, "Returns the configured providers and their defaults.",
			method.Now(providers)),
		method.Define("agents/list", method.Use, "Returns the agents: named settings for new sessions.",
			method.Now(agents)),
		method.Define("agents/set", method.Settings, "Creates, changes or removes an agent. The change applies to new sessions.",
			method.Now(setAgent), conn.CodeNoModel, conn.CodeLevel),
		method.Define("providers/set", method.Settings, "Sets a provider's defaults, from the next turn on.",
			method.Now(setProvider), conn.CodeNoModel, conn.CodeLevel),
		method.Define("auth/status", method.Use, "Returns which providers have the key or the login that they need.",
			method.Now(authStatus)),
		method.Define("auth/set_key", method.Keys, "Stores a key for a provider. An empty key removes the stored key or login.",
			method.Now(setKey), conn.CodeNoModel),
		method.Define("auth/login", method.Keys, "Starts a login at a provider. auth_update reports its progress.",
			method.Now(beginLogin), conn.CodeNoModel),
		method.Define("session/new", method.Use, "Creates a session and subscribes this connection to it. If tool servers have to start, the response is late.",
			method.Either((*client).newWaits, newSession, newSessionLate), conn.CodeNoModel, conn.CodeLevel),
		method.Define("session/prompt", method.Use, "Sends a prompt. The prompt is on disk when the daemon responds.",
			method.Now(prompt), conn.CodeNotFound, conn.CodeBusy, conn.CodeNoModel, conn.CodeLevel),
		method.Define("session/append", method.Use, "Adds a user message without a model call. The next prompt sends it to the model.",
			method.Now(appendMessage), conn.CodeNotFound, conn.CodeBusy),
		method.Define("session/continue", method.Use, "Continues a turn that was cut off, without a prompt. With dry_run, it only returns what would happen to its blocks.",
			method.Now(continueTurn), conn.CodeNotFound, conn.CodeBusy, conn.CodeLevel),
		method.Define("session/ask", method.Use, "Asks a side question with the conversation so far. Question and answer are not recorded.",
			method.Late(ask), conn.CodeNotFound, conn.CodeNoModel, conn.CodeProvider, conn.CodeLevel),
		method.Define("turn/wait", method.Use, "Returns when the turn has ended.",
			method.Late(wait), conn.CodeNotFound),
		method.Define("turn/resume", method.Use, "Resumes a parked turn, also with another model.",
			method.Now(resumeTurn), conn.CodeNotFound, conn.CodeBusy, conn.CodeNoModel, conn.CodeLevel),
		method.Define("session/cancel", method.Use, "Ends the running turn, or removes a queued one.",
			method.Now(cancel), conn.CodeNotFound),
		method.Define("session/queue", method.Use, "Returns the pending prompts, removes some of them, or resumes a held queue.",
			method.Now(queueOf), conn.CodeNotFound),
		method.Define("session/attach", method.Use, "Subscribes this connection, and returns the current state or the updates that it missed.",
			method.Now(attach), conn.CodeNotFound),
		method.Define("session/detach", method.Use, "Ends this connection's subscription.",
			method.Now(detach)),
		method.Define("session/state", method.Use, "Returns the session.",
			method.Now(state), conn.CodeNotFound),
		method.Define("session/list", method.Use, "Returns a page of sessions, the last changed first.",
			method.Now(list)),
		method.Define("session/watch", method.Use, "Returns the first page of sessions, and subscribes this connection to the changes of the list.",
			method.Now(watchList)),
		method.Define("session/unwatch", method.Use, "Ends the subscription to the list of sessions.",
			method.Now(unwatchList)),
		method.Define("session/read", method.Use, "Marks a session as read.",
			method.Now(markRead), conn.CodeNotFound),
		method.Define("session/fork", method.Use, "Creates a session that continues from a message of this one. Both share the messages up to it.",
			method.Now(fork), conn.CodeNotFound, conn.CodeBusy),
		method.Define("session/compact", method.Use, "Lets a model summarise the earlier turns, and returns when that is done.",
			method.Late(compact), conn.CodeNotFound, conn.CodeBusy, conn.CodeProvider),
		method.Define("session/update", method.Use, "Sets the title, the metadata, the tool mode, or what happens if another model answers.",
			method.Now(updateSession), conn.CodeNotFound),
		method.Define("session/delete", method.Use, "Cancels the running turn and deletes the session.",
			method.Now(deleteSession)),
		method.Define("session/history", method.Use, "Returns a page of messages, in order.",
			method.Now(history), conn.CodeNotFound),
		method.Define("session/export", method.Use, "Returns the session in pages, as JSON or Markdown.",
			method.Late(export), conn.CodeNotFound),
		method.Define("tool/result", method.Use, "Sends the result of a call that clients run. The first result counts.",
			method.Now(toolResult), conn.CodeNotFound),
		method.Define("confirm/answer", method.Use, "Answers whether a call may run. The first answer counts.",
			method.Now(answerConfirm), conn.CodeNotFound),
		method.Define("session/grants", method.Use, "Lists the standing approvals of a session, and revokes some of them.",
			method.Now(grants), conn.CodeNotFound),
	}...)
}
