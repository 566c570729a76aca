// Package report has what a daemon can count about its sessions: turns, model calls and tool calls that are over.
//
// A report has nothing of what was said. An exception is the text of a failure in Turn.End, which may be a vendor's, and is not
// for counting.
package report
