// Package agent runs sessions: their turns, model calls and tools.
//
// An [Agent] is a goroutine with a mailbox. The whole state of a session is in one struct that only this goroutine uses. A method
// of Agent sends it a closure and waits for the answer. A closure computes, and writes to the store at most once; it never calls
// the network. A model call has a goroutine of its own, and so does each call of a tool that a host runs. They send what arrives
// through package relay.
//
// A [Group] holds the agents of a daemon. It loads a session when somebody asks for it, unloads an idle one, and closes what a
// crash left open.
//
//	clients ──closures──► Agent ──Append──► Store
//	   ▲                   │  ▲
//	   └─────── feed ◄─────┘  └──relay── model calls, tools
//
// Other packages hold the parts that need no state of a session: feed sends updates to clients, transcript makes what a model is
// sent of the log, budget counts, relay carries, and tool decides on calls and runs them.
//
// Guarantees:
//
//   - Store first, publish second: an update about a prompt, a sealed block, an end or a setting is sent when that is on disk, and
//     so is the answer to the request that caused it.
//   - The updates of a session are numbered without a gap, and no number is used twice, not even after a restart.
//   - Every start of a turn, message or block is followed by exactly one end. If the daemon or its store stops in between, the log
//     has the end by the time the session is read again.
//   - A client that comes back while a turn runs gets exactly what it missed, within bounds ([Agent.AttachAfter]). Beyond the bounds
//     it gets the whole state.
//   - A tool call runs at most once, even if the daemon crashes. It has exactly one result, which follows the message that called.
//   - A call that needs confirmation runs only after the first "yes" that arrives in time.
//   - A prompt with a stamp ([session.Stamp]) runs once, however often it is sent.
//   - No subscriber slows the agent or another subscriber down.
//   - A turn keeps the model and the level that it began with.
package agent
