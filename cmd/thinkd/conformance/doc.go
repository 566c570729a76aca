// Package conformance checks that a server speaks the protocol of protocol.md. Each check opens connections of its own, says what the
// protocol requires, and names the part of protocol.md that requires it.
//
// The checks use the instructions of the simulator in prompts, such as [[sim: tool=lookup]]. A server under test needs a model that follows
// them.
//
// Inside the package, files depend in one direction: run, checks of tools, turns, sessions and messages, try, peer.
package conformance
