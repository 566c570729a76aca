// Generate writes the types of the client libraries and docs/reference.md from rpc.discover. Its argument is the folder clients.
//
// The document of rpc.discover is made from the daemon's table of methods, so all three libraries have the same methods, notifications
// and words.
package main

import (
	"log"
	"os"
	"path/filepath"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/rpc"
)

// files are what is written, by path in the folder clients.
var files = map[string]func(gjson.Result) string{
	"typescript/src/types.ts":       typescript,
	"python/thinkd_client/types.py": python,
	"go/types.go":                   golang,
	"../docs/reference.md":          reference,
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: generate FOLDER")
	}
	doc, err := discover()
	if err != nil {
		log.Fatal(err)
	}
	for path, write := range files {
		if err := os.WriteFile(filepath.Join(os.Args[1], path), []byte(write(doc)), 0o644); err != nil {
			log.Fatal(err)
		}
	}
}

// discover is the document that a daemon of this build answers rpc.discover with.
func discover() (gjson.Result, error) {
	text, err := rpc.Document("")
	return gjson.ParseBytes(text), err
}
