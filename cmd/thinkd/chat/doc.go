// Package chat is the conversation of a person with a session, in a terminal.
//
// A [talk] is the state: the conversation as the daemon's notifications tell it, the questions that are open, what was
// asked of the daemon. It does no I/O beyond sending requests, which the daemon always takes, and belongs to one
// goroutine. Two faces show it: the screen draws its lower end (what is being written, the input, one line of state)
// and leaves the rest to the terminal's own scrollback, where it can be read, searched and copied; plain lines are for
// terminals that cannot do that, and for pipes.
//
// What is in the scrollback is never drawn again. So text goes there when nothing can change it any more: an answer
// line by line, thinking and the output of tools when they are whole, cut to eight rows. All of it is in the reader,
// which covers the screen and leaves it as it was. Nothing stands around the text, prose is folded between words, and
// code is left to the terminal to fold: what is copied is what was said.
//
// Text of models and tools is cleaned of control characters: it cannot move the cursor, set the title or the clipboard.
package chat
