// Package chat shows a conversation with a session in a terminal.
//
// A [talk] is the state: the conversation as the daemon's notifications report it, the open questions, and the pending requests.
// It does no I/O except sending requests, which never blocks. One goroutine owns it. Two views show it. The screen draws the lower
// end (what is being written, the input, one line of state) and leaves the rest to the terminal's scrollback, where a person can
// read, search and copy it. Plain lines are for other terminals, and for pipes.
//
// Text in the scrollback is never drawn again. So text goes there only when it is final: an answer block by block, and its code line by line;
// tool output when it is complete, cut to eight rows. A thought stays on the screen with what follows it, as long as there is room, so that
// it can be folded and unfolded. The reader shows all of both. It covers the screen, and restores it afterwards. A side question never
// goes there: its box is above the input until the person closes it.
// There are no borders around text, prose is folded between words, and the terminal folds code. So a copy of code is the code.
// When the window changes its size, the terminal folds what is on the screen; then the visible rows are written again.
//
// Text of models and tools is cleaned of control characters: it cannot move the cursor, set the title or the clipboard.
//
// Inside the package, files depend in one direction: chat, program, lines, keys, outside, complete, resize, screen, suggestion, terminal,
// command, session, cost, compact, talk, aside, print, conversation, item, prose, limit, card, cardrows, wire, picker, input, look, text.
package chat
