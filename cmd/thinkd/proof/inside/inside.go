// Package inside is the part of the system tests that runs in the program. The tests build the program with the tag proof,
// and so with this package: it does what an environment variable asks for, and nothing without one. The program that
// people use does not have it.
package inside

import (
	"errors"
	"fmt"
	"os"
)

// Offer does what the environment asks this process for, when the program starts.
func Offer() {
	if err := errors.Join(offerMisdeed(), offerCalls()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	offerHeap()
}

// VersionVariable makes the program another version of itself.
const VersionVariable = "THINKD_TEST_VERSION"
