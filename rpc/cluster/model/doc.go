// Package model checks the rules of the cluster before there is a cluster. It is a small explicit-state model checker in Go, and a world
// for it: one session, two or three nodes, a store, clients, and what can fail.
//
// The world runs the code that ships. What a node does about a claim or an append is decided by package session/lease, the
// first number of updates by session.FirstSeq, and which session is stranded by lease.Marker. The world adds what a driver and a network
// do: messages arrive late, twice or never, answers are lost, outdated leaders answer reads, nodes stop, lose contact, die and
// start again. Explore visits every state that can come about within the bounds of a Scenario, nearest first.
//
//	Scenario ──► start ──► steps of faults, network, nodes, clients ──► every state ──► Harm, with the shortest trace, or none
//
// A Harm is a broken invariant, such as a prompt that is lost, or a goal that cannot be reached any more, such as a turn that nobody
// closes. A goal counts on no fault: from every state, steps of nodes, and of clients where the goal says so, must lead to it.
//
// Every Rule can be turned off alone. The world then follows an earlier rule that was plausible, and the test demands that the check finds
// the Harm. So the check shows for each rule what it is for, and that the world can tell the difference.
//
// What is not modelled: the content of entries, checkpoints, links between nodes except questions about ownership, and time. A contract
// stands for time: a node is taken for gone only while it does not run or is out of contact, and by then everything that it sent
// in contact is older than what may start a tool. The tests of package presence check that contract, with the same Explore. The rules by which nodes
// spend a quota have a model of their own, in the tests of agent/gate.
//
// Files: harm and rules, then explore, state, store, scenario, moves, exchange, then network, node and outside, which make the steps, and check.
package model
