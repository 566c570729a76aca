// Package quote says what the next prompt of a session will cost, before anybody sends it.
//
// It is arithmetic: no I/O and no clock. [Make] turns [Facts] into a [Quote]. Package forecast reads the facts from the log.
//
// # How a prompt is measured
//
// A vendor counts the tokens of a prompt when it answers. So the prompt of the last call is known, and a quote measures only what
// the next request adds to it or takes away, with the characters for each token that the vendor's count implies. The answer to the
// last call was counted as output. Without such a count, all of the prompt is an estimate, and [Quote.Counted] is false.
//
// # How a bill is bounded
//
// The first call of a turn costs what its prompt costs. What follows, the answer and the calls after results of tools, is not known.
// The earlier turns of the session, repeated with the present prompt and at the present price, show how much that was. The bounds are
// where a later turn lies in 95 of 100 cases if the logarithm of this amount is normally distributed. A session without earlier turns
// gets the wide bounds of a guess.
//
// What is not known stays unknown: a model without a price has no cost, and a vendor that says nothing about its cache has no number
// of tokens that it reads from there. The lower bound then assumes that it reads all, and the upper bound that it reads nothing.
//
// Inside the package, files depend in one direction: quote, turns and diagnose, input, facts, measure.
package quote
