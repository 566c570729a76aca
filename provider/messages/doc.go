// Package messages is the adapter for Anthropic's Messages API, which other hosts offer too.
//
// A request (request.go) consists of the system prompt, the tools and the history. An answer (reply.go) is a list of blocks:
// thinking, text and tool calls.
//
// A block keeps the vendor's JSON as its State if our kinds of blocks cannot express all of it. That is the case for thinking,
// redacted and unknown blocks, for text with citations, and for tool calls with further members. The next request returns the
// State unchanged to the same vendor, whatever the model is: the server decides which thinking a model can read.
// [docs: preserved-thinking] Thinking is left out and counted if it has no signature, comes from another vendor, or would be
// the end of a message.
//
// The adapter tolerates faults in an answer: an index that repeats or never began, a delta of the wrong kind, unknown events
// and unknown blocks. It counts them, logs them at debug level, and mixes no blocks. An answer is complete only after
// message_stop. If it ends earlier, the open blocks get no End.
//
// Facts are from the vendor's documentation. "docs: x" names its page.
//
// Inside the package, files depend in one direction: stream, seal, block, reply and messages; then listing, request, cache, history,
// management, control, api and host.
package messages
