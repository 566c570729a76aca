// Package guard says which files a model's tools must not touch, and which only with a person's approval.
//
// A [Guard] has three lists. Protected files are the daemon's own: its data directory, its config, its keys. No tool touches
// them. Secret places hold what belongs to the user alone, such as .ssh: each call needs approval. Program files make
// programs run, such as a git hook: to change one needs approval even where edits run without it.
//
// A [Look] answers for one call. It compares the file itself, by device and inode, and then each folder above it, so that no
// link, hard link or other name leads around the lists:
//
//	project/notes.txt ──hard link──▶ ~/.ssh/id_ed25519   the file is the same as one of a secret place
//	project/docs      ──link──────▶ ~/.local/share/thinkd  a folder above the file is the data directory
//
// Names count where no identity can: for a file that is not there yet, and for names that are a secret anywhere (.env).
//
// Inside the package, files depend in one direction: places, set's files for each system, guard, hidden.
package guard
