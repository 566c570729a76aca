// Package simtest has what the tests of the simulator's faces share: requests of each API, written by hand, and readers of
// answers. It knows nothing of the simulator, and only tests import it.
package simtest
