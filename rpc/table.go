package rpc

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
)

// coreMethods are those of the connection itself.
func coreMethods() []method.Method[*client] {
	return []method.Method[*client]{
		method.Define("initialize", method.Use, "Says who the client is and learns what the daemon can do. Optional; at most once.",
			method.Now(initialize)),
		method.Define("ping", method.Use, "Answers.",
			method.Now(ping)),
		method.Define("rpc.discover", method.Use, "This document.",
			method.Now(discover)),
	}
}

// nativeMethods is the table of the native protocol. Each entry has its examples in examples.txt, and a section in
// protocol.md.
func nativeMethods() []method.Method[*client] {
	return append(coreMethods(), []method.Method[*client]{
		method.Define("models/list", method.Use, "All models, or those of one provider; late where hosts are asked again.",
			method.Either(func(_ *client, p modelsParams) bool { return p.Refresh }, models, refreshModels), conn.CodeNoModel),
		method.Define("model/set", method.Use, "The session's model from the next turn on.",
			method.Now(setModel), conn.CodeNotFound, conn.CodeNoModel, conn.CodeLevel),
		method.Define("thinking/set", method.Use, "The preferred level from the next turn on.",
			method.Now(setThinking), conn.CodeNotFound, conn.CodeLevel),
		method.Define("thinking/explain", method.Use, "What another model or level would get: the decision, and what becomes of earlier thinking. Nothing changes.",
			method.Now(explain), conn.CodeNotFound, conn.CodeNoModel, conn.CodeLevel),
		method.Define("providers/list", method.Use, "The configured providers and their defaults.",
			method.Now(providers)),
		method.Define("agents/list", method.Use, "What new sessions may begin with by name.",
			method.Now(agents)),
		method.Define("agents/set", method.Settings, "Makes, changes or removes an agent; it acts on new sessions.",
			method.Now(setAgent), conn.CodeNoModel, conn.CodeLevel),
		method.Define("providers/set", method.Settings, "A provider's defaults, from the next turn on.",
			method.Now(setProvider), conn.CodeNoModel, conn.CodeLevel),
		method.Define("auth/status", method.Use, "Which providers have the key or the login that they need.",
			method.Now(authStatus)),
		method.Define("auth/set_key", method.Keys, "Keeps a key for a provider; an empty one removes it, and a login.",
			method.Now(setKey), conn.CodeNoModel),
		method.Define("auth/login", method.Keys, "Begins a login to a provider; auth_update tells how it goes.",
			method.Now(beginLogin), conn.CodeNoModel),
		method.Define("session/new", method.Use, "Makes a session and subscribes this connection to it; late where servers of tools are asked.",
			method.Either((*client).newWaits, newSession, newSessionLate), conn.CodeNoModel, conn.CodeLevel),
		method.Define("session/prompt", method.Use, "Says something; it is on disk when it is answered.",
			method.Now(prompt), conn.CodeNotFound, conn.CodeBusy, conn.CodeNoModel, conn.CodeLevel),
		method.Define("session/append", method.Use, "Adds what a user says without a model call; the next prompt sends it.",
			method.Now(appendMessage), conn.CodeNotFound, conn.CodeBusy),
		method.Define("session/continue", method.Use, "Starts a turn that goes on with one that was cut off, without a prompt; or says what would become of its blocks.",
			method.Now(continueTurn), conn.CodeNotFound, conn.CodeBusy, conn.CodeLevel),
		method.Define("session/ask", method.Use, "A side question: answered with the conversation so far, and not recorded.",
			method.Late(ask), conn.CodeNotFound, conn.CodeNoModel, conn.CodeProvider, conn.CodeLevel),
		method.Define("turn/wait", method.Use, "Answers when the turn has ended.",
			method.Late(wait), conn.CodeNotFound),
		method.Define("session/cancel", method.Use, "Ends the running turn or takes a queued one out.",
			method.Now(cancel), conn.CodeNotFound),
		method.Define("session/queue", method.Use, "Tells what waits; takes turns out; lets a held queue go on.",
			method.Now(queueOf), conn.CodeNotFound),
		method.Define("session/attach", method.Use, "Subscribes this connection and answers with the state to begin from, or with what it missed.",
			method.Now(attach), conn.CodeNotFound),
		method.Define("session/detach", method.Use, "Ends this connection's subscription.",
			method.Now(detach)),
		method.Define("session/state", method.Use, "Tells what the session is.",
			method.Now(state), conn.CodeNotFound),
		method.Define("session/list", method.Use, "A page of sessions, newest first.",
			method.Now(list)),
		method.Define("session/fork", method.Use, "Makes a session that goes on from a message of this one, and shares what was said before.",
			method.Now(fork), conn.CodeNotFound, conn.CodeBusy),
		method.Define("session/compact", method.Use, "Has a model summarise the earlier turns; answers when that is done.",
			method.Late(compact), conn.CodeNotFound, conn.CodeBusy, conn.CodeProvider),
		method.Define("session/update", method.Use, "Sets the title, metadata, or what becomes of calls of tools.",
			method.Now(updateSession), conn.CodeNotFound),
		method.Define("session/delete", method.Use, "Cancels what runs and removes the session.",
			method.Now(deleteSession)),
		method.Define("session/history", method.Use, "A page of messages, in order.",
			method.Now(history), conn.CodeNotFound),
		method.Define("session/export", method.Use, "The session in pages, as JSON or Markdown.",
			method.Late(export), conn.CodeNotFound),
		method.Define("tool/result", method.Use, "The result of a call that clients run; the first one counts.",
			method.Now(toolResult), conn.CodeNotFound),
		method.Define("confirm/answer", method.Use, "Answers the question whether a call may run; the first answer counts.",
			method.Now(answerConfirm), conn.CodeNotFound),
		method.Define("session/grants", method.Use, "Lists what a person approved for later calls too; revokes grants.",
			method.Now(grants), conn.CodeNotFound),
	}...)
}

// exampleText has a paragraph for each method: its name, and pairs of lines with params (→) and a result (←).
//
//go:embed examples.txt
var exampleText string

// examples are those of all methods, by name.
func examples() map[string][]method.Example {
	all := make(map[string][]method.Example)
	for paragraph := range strings.SplitSeq(strings.TrimSpace(exampleText), "\n\n") {
		lines := strings.Split(paragraph, "\n")
		for pair := range slices.Chunk(lines[1:], 2) {
			all[lines[0]] = append(all[lines[0]], method.Example{Params: strings.TrimPrefix(pair[0], "→ "), Result: strings.TrimPrefix(pair[1], "← ")})
		}
	}
	return all
}
