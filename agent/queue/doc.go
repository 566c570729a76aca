// Package queue keeps the prompts of a session that wait for their turn.
//
// The prompts themselves are in the log. A queue has their order, their sizes, and what clients are shown of them.
package queue
