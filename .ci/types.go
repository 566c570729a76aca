// Types checks the types of the module's packages and of their tests for other systems, without compiling anything:
//
//	go run .ci/types.go windows/amd64 darwin/arm64
//
// It reads the declarations of what they import, and no more of it. So it takes seconds where a build takes minutes.
package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	failures := 0
	for _, target := range os.Args[1:] {
		system, arch, _ := strings.Cut(target, "/")
		all, err := packages.Load(&packages.Config{
			Mode:  packages.LoadAllSyntax &^ packages.NeedTypesInfo,
			Env:   append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0"),
			Tests: true,
		}, "./...")
		if err != nil {
			fmt.Fprintf(os.Stderr, "types: %s: %v\n", target, err)
			os.Exit(1)
		}
		if n := packages.PrintErrors(all); n > 0 || len(all) == 0 {
			fmt.Fprintf(os.Stderr, "types: %s: %d errors in %d packages\n", target, n, len(all))
			failures++
		}
	}
	if failures > 0 {
		os.Exit(1)
	}
}
