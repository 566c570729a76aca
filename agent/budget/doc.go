// Package budget counts what model calls use, and compares it with limits.
//
// It is arithmetic: no I/O and no clock. Inside the package, files depend in one direction: limit, estimate.
package budget
