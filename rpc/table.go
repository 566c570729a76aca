package rpc

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/rpc/conn"
)

// coreMethods are those of the connection itself.
func coreMethods() []method {
	return []method{
		define("initialize", use, "Says who the client is and learns what the daemon can do. Optional; at most once.",
			now(initialize)),
		define("ping", use, "Answers.",
			now(ping)),
		define("rpc.discover", use, "This document.",
			now(discover)),
	}
}

// nativeMethods is the table of the native protocol. Each entry has its examples in examples.txt, and a section in
// protocol.md.
func nativeMethods() []method {
	return append(coreMethods(), []method{
		define("models/list", use, "All models, or those of one provider; late where hosts are asked anew.",
			either(func(_ *client, p modelsParams) bool { return p.Refresh }, models, refreshModels), conn.CodeNoModel),
		define("model/set", use, "The session's model from the next turn on.",
			now(setModel), conn.CodeNotFound, conn.CodeNoModel, conn.CodeLevel),
		define("thinking/set", use, "The preferred level from the next turn on.",
			now(setThinking), conn.CodeNotFound, conn.CodeLevel),
		define("thinking/explain", use, "What another model or level would get: the decision, and what becomes of earlier thinking. Nothing changes.",
			now(explain), conn.CodeNotFound, conn.CodeNoModel, conn.CodeLevel),
		define("providers/list", use, "The configured providers and their defaults.",
			now(providers)),
		define("agents/list", use, "What new sessions may begin with by name.",
			now(agents)),
		define("agents/set", settings, "Makes, changes or removes an agent; it acts on new sessions.",
			now(setAgent), conn.CodeNoModel, conn.CodeLevel),
		define("providers/set", settings, "A provider's defaults, from the next turn on.",
			now(setProvider), conn.CodeNoModel, conn.CodeLevel),
		define("auth/status", use, "Which providers have the key or the login that they need.",
			now(authStatus)),
		define("auth/set_key", keys, "Keeps a key for a provider; an empty one removes it, and a login.",
			now(setKey), conn.CodeNoModel),
		define("auth/login", keys, "Begins a login to a provider; auth_update tells how it goes.",
			now(beginLogin), conn.CodeNoModel),
		define("session/new", use, "Makes a session and subscribes this connection to it; late where servers of tools are asked.",
			either((*client).newWaits, newSession, newSessionLate), conn.CodeNoModel, conn.CodeLevel),
		define("session/prompt", use, "Says something; it is on disk when it is answered.",
			now(prompt), conn.CodeNotFound, conn.CodeBusy, conn.CodeNoModel, conn.CodeLevel),
		define("session/append", use, "Adds what a user says without a model call; the next prompt sends it.",
			now(appendMessage), conn.CodeNotFound, conn.CodeBusy),
		define("turn/wait", use, "Answers when the turn has ended.",
			late(wait), conn.CodeNotFound),
		define("session/cancel", use, "Ends the running turn or takes a queued one out.",
			now(cancel), conn.CodeNotFound),
		define("session/queue", use, "Tells what waits; takes turns out; lets a held queue go on.",
			now(queueOf), conn.CodeNotFound),
		define("session/attach", use, "Subscribes this connection and answers with the state to begin from, or with what it missed.",
			now(attach), conn.CodeNotFound),
		define("session/detach", use, "Ends this connection's subscription.",
			now(detach)),
		define("session/state", use, "Tells what the session is.",
			now(state), conn.CodeNotFound),
		define("session/list", use, "A page of sessions, newest first.",
			now(list)),
		define("session/fork", use, "Makes a session that goes on from a message of this one, and shares what was said before.",
			now(fork), conn.CodeNotFound, conn.CodeBusy),
		define("session/compact", use, "Has a model summarise the earlier turns; answers when that is done.",
			late(compact), conn.CodeNotFound, conn.CodeBusy, conn.CodeProvider),
		define("session/update", use, "Sets the title, metadata, or what becomes of calls of tools.",
			now(updateSession), conn.CodeNotFound),
		define("session/delete", use, "Cancels what runs and removes the session.",
			now(deleteSession)),
		define("session/history", use, "A page of messages, in order.",
			now(history), conn.CodeNotFound),
		define("session/export", use, "The session in pages, as JSON or Markdown.",
			late(export), conn.CodeNotFound),
		define("tool/result", use, "The result of a call that clients run; the first one counts.",
			now(toolResult), conn.CodeNotFound),
		define("confirm/answer", use, "Answers the question whether a call may run; the first answer counts.",
			now(answerConfirm), conn.CodeNotFound),
		define("session/grants", use, "Lists what a person approved for later calls too; revokes grants.",
			now(grants), conn.CodeNotFound),
	}...)
}

// example is a request and its answer, as JSON.
type example struct{ params, result string }

// exampleText has a paragraph for each method: its name, and pairs of lines with params (→) and a result (←).
//
//go:embed examples.txt
var exampleText string

// examples are those of all methods, by name.
func examples() map[string][]example {
	all := make(map[string][]example)
	for paragraph := range strings.SplitSeq(strings.TrimSpace(exampleText), "\n\n") {
		lines := strings.Split(paragraph, "\n")
		for pair := range slices.Chunk(lines[1:], 2) {
			all[lines[0]] = append(all[lines[0]], example{strings.TrimPrefix(pair[0], "→ "), strings.TrimPrefix(pair[1], "← ")})
		}
	}
	return all
}
