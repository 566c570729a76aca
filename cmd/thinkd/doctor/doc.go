// Package doctor checks an installation: its config, its keys and its store. It also says what on this machine is protected from models and
// tools, and what is not.
//
// It changes nothing, except that Compact rewrites the store. Each finding is a problem (bad), as it should be (ok), or a note.
//
// Inside the package, files depend in one direction: doctor, store, protection, report.
package doctor
