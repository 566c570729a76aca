// Package relay carries what a call produces from the goroutine of the call to the goroutine of its session.
//
// [Steps] are the events of a model call: a bounded queue, so a session that waits for its disk slows the model's stream down and
// loses nothing. [Output] is the output of a tool: it never slows the tool down, and loses its beginning instead.
package relay
