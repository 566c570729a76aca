// Package watch shows one turn, or the answer to one side question, in the output of a command.
//
// The answer goes to standard output, and nothing else does. Thinking, notices and sources go to standard error. As JSON, standard output
// has what the daemon sends, one message per line. On a terminal, thinking is dim, and a line says how long nothing has come.
//
// A function of this package uses its link alone until it returns. If its context ends while a turn runs, the turn is cancelled, and its
// end is still shown.
//
// Inside the package, files depend in one direction: watch, output, outcome.
package watch
