// Package aws is what the model APIs of Amazon demand of every caller: the address of a region, credentials, a signature on each request, and
// the binary frames of answers.
//
// [Credentials] finds the credentials of this machine in the order of Amazon's own programs: the environment, profiles of the shared
// files (keys, single sign-on, roles, programs), web identity, containers, and the metadata of an instance. [Signer] signs each request with
// them (Signature Version 4). Nothing is read, and nobody is asked, before the first request.
//
// [EventStream] reads Amazon's event streams. Its frames have checksums, and an error of the host comes as a frame.
//
// The rules are those of Amazon's documentation ("docs: x" names its page) and of its library for Go, which does the work.
//
// Inside the package, files depend in one direction: signer, credentials, frames, region.
package aws
