// Package agent runs sessions: turns, model calls, tool calls, and the updates for clients.
//
// An [Agent] is a goroutine with a mailbox. Only this goroutine sees the state of its session. A method of Agent sends it a closure and
// waits for the result. A closure computes, and writes to the store at most once. It never uses the network. Each model call runs in
// a second goroutine, which sends what arrives as steps. So does each tool call that a host runs.
//
//	method ──closure──► mailbox ──► goroutine of the agent ──► Log.Append, then feed ──► subscriptions
//	model call ──steps──►───────────────┘
//	tool call  ──steps──►───────────────┘
//
// A [Group] has the agents of a daemon. It loads a session when it is needed, unloads an idle one, and ends what a crash left open.
//
// Other packages hold what needs no state of a session: feed sends updates to clients, transcript turns the log into what a model
// is sent, queue keeps the prompts that wait, relay carries what calls produce, summary and suspect handle conversations that are
// too long or refused, loaded unloads models from servers, park decides when parked turns resume, fallback with which model a turn goes
// on if its own cannot be called, egress which providers a session may reach, budget and room count, and tool
// decides on calls and runs them.
//
// A turn goes up through the files, and each step ends with the next event of the loop: prompt starts the turn, compact and call
// make a model call, stream takes in its events, tools runs the calls of the reply and makes the next model call, retry handles a
// failed one. end closes whatever is open, from any of these.
//
// A turn is parked between two steps: after a failed call (retry), for a person's answer (tools) or until a time (prompt). It is then
// in the log, in park's yard and, while its session is loaded, in state.run, without a call. The group wakes it.
//
// Inside the package, files depend in one direction: config, decide, reply, notice, turn, state, await, record, contact, confirm, agent, end, call,
// compact, retry, prompt, tools, snapshot, aside, stream, loop, group.
//
// Guarantees:
//
//   - store first, publish second: a prompt, a sealed block, an end or a setting is on disk before its update is published and
//     before its request is answered;
//   - the updates of a session are numbered without a gap, and no number is used twice, even over restarts. The notice that nothing can
//     be stored is the exception, because its number cannot be stored;
//   - only the holder of a log writes to it: an agent claims the log of its session when it starts, and releases it when it ends;
//   - every start of a turn, message or block has exactly one end. If the daemon or its store fails in between, the log has the end
//     before the session is read again;
//   - a cancel ends the model call and the tools of its turn at once, also while a store that several processes share does not answer;
//   - a client that returns during a turn gets exactly what it missed, within the bounds of [Agent.AttachAfter]. Otherwise it starts
//     from the current state;
//   - a tool call runs at most once, even over crashes. It has exactly one result, which goes to the model directly after the message
//     with the call;
//   - a call that needs confirmation runs only after the first "yes" that arrives in time;
//   - a parked turn survives the end of the process, by a crash as well. No model call and no tool of it runs meanwhile;
//   - a prompt with a stamp ([session.Stamp]) runs once, however often it is sent;
//   - a slow subscriber delays neither the agent nor another subscriber;
//   - a turn keeps the model and the level that it started with, unless it falls back. Each switch is in the log before the next call
//     is made, and clients know of it before that call's answer;
//   - nothing of a session goes to a provider outside its egress.
package agent
