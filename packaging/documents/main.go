// Documents writes what a release carries in addition to the program: the man page, the list and the texts of third-party
// licences, the bill of materials of a binary, and the units of systemd.
//
//	go run ./packaging/documents manpage THINKD         the man page, from the help texts of that binary
//	go run ./packaging/documents licenses               the list, docs/licenses.md
//	go run ./packaging/documents texts                  the texts of these licences
//	go run ./packaging/documents sbom BINARY            the binary's modules, as CycloneDX 1.6
//	go run ./packaging/documents socket|service         the systemd unit for users of that name
//
// Each command writes to standard output, runs at the root of the repository, and needs no internet access once the modules and the
// packages of the page are installed. The same commit gives the same bytes.
//
// Inside the package, files depend in one direction: component, licenses, sbom, manpage, main.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/thinkd/thinkd/cmd/thinkd/service"
)

func main() {
	var out bytes.Buffer
	err := write(&out, os.Args[1:])
	if err == nil {
		_, err = os.Stdout.Write(out.Bytes())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "documents:", err)
		os.Exit(1)
	}
}

func write(out io.Writer, args []string) error {
	switch {
	case len(args) == 2 && args[0] == "manpage":
		return manpage(out, args[1])
	case len(args) == 2 && args[0] == "sbom":
		return sbom(out, args[1])
	case len(args) == 1 && args[0] == "socket":
		_, err := io.WriteString(out, service.SocketUnit(service.Packaged, true))
		return err
	case len(args) == 1 && args[0] == "service":
		_, err := io.WriteString(out, service.ServiceUnit(service.Packaged, true))
		return err
	case len(args) == 1 && (args[0] == "licenses" || args[0] == "texts"):
		list, err := components()
		if err != nil {
			return err
		}
		if args[0] == "texts" {
			return texts(out, list)
		}
		return licenses(out, list)
	}
	return errors.New("usage: documents manpage THINKD | licenses | texts | sbom BINARY | socket | service")
}
