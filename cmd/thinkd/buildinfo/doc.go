// Package buildinfo says which version of the program a binary is.
//
// The version comes from the first of these that has one: the linker flag of a release, the module's version that the go command
// stored in the binary, or [Unknown]. The go command stores the tag for `go install MODULE@TAG` and for a build of a tagged commit.
// For another commit it stores a pseudo-version, which has the commit's time: a later commit has a later version.
package buildinfo
