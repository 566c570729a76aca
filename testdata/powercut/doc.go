// Package powercut tests that acknowledged data survives a power cut.
//
// The daemon's data directory is on a file system in user space (FUSE) that separates synced data from data that was only written. The
// test drives the daemon through its protocol and cuts the power at some moment. Then it builds the disks that could be left: with
// none, all, or any part of the unsynced data, and with torn sectors. On each disk a daemon has to start and to have everything that
// was acknowledged to a client.
//
// It is a separate module, because nothing else needs a FUSE library:
//
//	go test -C testdata/powercut -v . -cuts 100
package powercut
