// Package agent runs sessions: one goroutine, its turns, its subscribers.
//
// An [Agent] is a goroutine with a mailbox. All that a session is at the moment stands in one struct that only this
// goroutine sees. Methods of Agent send it a closure and wait for the answer; a closure does arithmetic and at most
// one write to the store, never a call over the network. A model call is a second goroutine that sends what arrives
// as steps, and so is each call of a tool that a host runs.
//
// A [Group] holds the agents of a daemon: it loads a session when somebody asks for it, lets an idle one go, and
// closes what a crash left open.
//
// What happens is told as [Update]s through a [Subscription] with a bounded queue.
//
// Guarantees:
//
//   - store first, publish second: an update that tells of a prompt, a sealed block, an end or a setting is sent only
//     when that is on disk, and so is the answer to whoever caused it;
//   - a session's updates are numbered without a gap, and no number is used twice, over restarts too (but that of the
//     notice that nothing can be stored, which nothing can store);
//   - every start of a turn, message or block is followed by exactly one end; where the daemon or its store goes down in
//     between, the log has the end by the time that the session is read again;
//   - a client that comes back while the turn runs is told just what it missed, as long as that is within bounds
//     ([Agent.AttachAfter]); else it begins anew;
//   - a call of a tool runs at most once, over crashes too, and has just one result, which goes back to the model right
//     behind the message that called;
//   - a call about which a person is to be asked runs after the first yes that comes in time, and never else;
//   - a prompt with a stamp ([session.Stamp]) runs once, however often it is said;
//   - no subscriber's slowness is felt by the agent or by another subscriber;
//   - a turn runs with the model and the level that it began with.
package agent
