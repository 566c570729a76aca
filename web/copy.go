//go:build ignore

// Copy brings protocol.md here.
package main

import (
	"log"
	"os"
)

func main() {
	text, err := os.ReadFile("../protocol.md")
	if err == nil {
		err = os.WriteFile("protocol.md", text, 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
}
