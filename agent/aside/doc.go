// Package aside makes the calls for side questions, and counts what they use.
//
// A side question is one model call with the conversation of a session and a question behind it. Nothing of it goes into the log, and
// no tool runs. The caller's goroutine makes the call, so that the goroutine of the session never waits for an asker. The [Desk] is what
// both share: it bounds how many calls run. What they use is in the ledger of the store, for the budgets. Builds without a ledger kept
// it in a file, which [ReadBook] reads.
//
// Inside the package, files depend in one direction: book, desk, call.
package aside
