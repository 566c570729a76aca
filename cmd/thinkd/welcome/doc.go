// Package welcome prints what thinkd can use on this machine, and offers to store a key or to log in if that is nothing. It is what a
// person sees who runs thinkd without a command in a terminal, before the chat begins.
//
// It asks only if no provider can be called. It never prints a key.
//
// Inside the package, files depend in one direction: welcome, found.
package welcome
