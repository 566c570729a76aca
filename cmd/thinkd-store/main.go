// Thinkd-store is a store server for a cluster of thinkd: an embedded NATS server with JetStream, and settings that keep what was acknowledged.
// It is a program of its own, so that the end of a node is never the end of a store, and so that thinkd does not contain the server.
//
//	thinkd-store [FLAGS]           runs a server
//	thinkd-store credentials DIR   makes the keys of a cluster
//	thinkd-store copy [FLAGS]      keeps a second copy of the store, as files
//	thinkd-store verify [FLAGS]    checks the second copy
//	thinkd-store restore [FLAGS]   puts the second copy back into empty servers
//	thinkd-store demo [FLAGS]      runs three servers and three nodes on this machine
//	thinkd-store version
//
// Every append is synced before it is acknowledged, and a client that does not answer for 10 s is disconnected. These settings cannot be changed.
//
// Inside the package, files depend in one direction: main, demo, copies, serve, log, options, credentials, config.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/thinkd/thinkd/cmd/thinkd/buildinfo"
)

var version string // set by the linker

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "thinkd-store:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, log io.Writer) error {
	command := ""
	if len(args) > 0 && args[0] != "" && args[0][0] != '-' {
		command, args = args[0], args[1:]
	}
	switch command {
	case "":
		return serve(ctx, args, log)
	case "credentials":
		return makeCredentials(args, out, log)
	case "copy":
		return runCopy(ctx, args, log)
	case "verify":
		return verify(ctx, args, out, log)
	case "restore":
		return restore(ctx, args, out, log)
	case "demo":
		return runDemo(ctx, args, os.Stdin, out, log)
	case "version":
		_, err := fmt.Fprintln(out, "thinkd-store", buildinfo.Read(version).Version)
		return err
	}
	return fmt.Errorf("unknown command %q: there are credentials, copy, verify, restore, demo and version; without a command, thinkd-store runs a server", command)
}
