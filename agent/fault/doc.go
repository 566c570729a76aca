// Package fault turns a fault of the program into an error that a client or a model may see: it has nothing but a reference into
// the log.
package fault
