// Package structure reads how this module is built: its packages, their files, and what these use of each other.
//
// Load asks the go command, and checks the types of each package. So its answer is what the compiler sees on this system:
// files of another system and files of tests are left out.
//
// Inside the package, files depend in one direction: order, load.
package structure
