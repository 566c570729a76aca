// Package todo finds the plan of a session: what its models wrote last with the built-in tool todo.
//
// The plan is in the log already, as the arguments of a call, so it needs no storage of its own. It survives restarts and summaries, and a
// fork has the plan of the messages that it shares.
package todo
