//go:build proof

package main

import (
	"os"

	"github.com/thinkd/thinkd/cmd/thinkd/proof/inside"
)

// The system tests build the program with the tag proof (cmd/thinkd/proof).
func init() {
	if v := os.Getenv(inside.VersionVariable); v != "" {
		version = v
	}
	inside.Offer()
}
