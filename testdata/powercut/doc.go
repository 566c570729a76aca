// Package powercut proves that what the daemon acknowledged outlives a power cut.
//
// The daemon's data directory lies on a disk of ours: a file system in user space (FUSE) that keeps what was synced
// apart from what was only written. The test drives the daemon through its protocol, cuts the power in the middle, and
// builds the disks that could have been left: with nothing, all, or any part of what was not synced, writes torn at
// sectors too. On each of them a daemon has to start and to have all that any client was told.
//
// It is a module of its own, since nothing else needs a FUSE library:
//
//	go test -C testdata/powercut -v . -cuts 100
package powercut
