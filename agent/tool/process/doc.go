// Package process runs the programs of tools, and ends them together with all programs that they started.
//
// A program gets only the variables that are listed here or named in the config. Its end is sure on Linux and Windows, where a
// [Supervisor] finds every descendant; on other systems it is that of the process group.
//
// Inside the package, files depend in one direction: child, its files for each system, supervise's files for each system, supervise.
package process
