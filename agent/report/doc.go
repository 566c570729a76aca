// Package report has what a daemon can count about its sessions: turns, model calls and tool calls that are over.
//
// A report has no content of the conversation, with one exception: the text of a failure in Turn.End, which may be a vendor's. Do not
// export that text.
package report
