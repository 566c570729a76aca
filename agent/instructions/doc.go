// Package instructions finds the project instructions of a folder: what AGENTS.md and CLAUDE.md tell an agent about the work in a
// repository.
//
// [Find] reads the files of the folder and of its parents, up to the root of the repository. Without a repository it reads those of the
// folder alone. In each folder AGENTS.md takes precedence over CLAUDE.md. A file counts only if it is a regular file inside the repository
// that the user owns. A link counts only if it leads to another file of one of these names: otherwise a repository could send a file
// with keys to a provider by a link. All files together have at most [Most] bytes; the files next to the folder come first.
//
// A session keeps what it found when it began. Later changes of the files apply to new sessions.
//
// Inside the package, files depend in one direction: find, text; the files for one system are below all.
package instructions
