// Package builtin has the daemon's own tools for work on files: read_file, write_file, edit_file, list, search and run. Two more
// tools do not: recall reads what a summary replaces of the conversation, and todo shows people a plan.
//
// [Tools] are the tools of the daemon. [Tools.In] creates the [Host] of a session, which works in a [Place]: the session's folders. No
// path leads out of them, whatever links there are: the system's calls for rooted access ensure it. The tools refuse everything that is
// not a plain file, files that are too large, and files of a [guard.Guard] unless the call was approved for them. A command that run
// starts is not limited to the folders. It is a program of the user, so it has a separate effect to decide on.
//
// An editor can replace the disk and the execution of programs, see [Files] and [Terminal].
//
// Inside the package, files depend in one direction: bounds, ignore, lock, host, path, files, search, run, inspect, table; the files
// for one system are below all.
package builtin
