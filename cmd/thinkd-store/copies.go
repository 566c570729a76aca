package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/thinkd/thinkd/session/jet"
	"github.com/thinkd/thinkd/session/jet/archive"
)

// client is how a command reaches the servers.
type client struct {
	servers, creds string
	cert, key, ca  string
	dir            string
	log            config // its log_level and log_format
}

func (c *client) flags(set *flag.FlagSet) {
	set.StringVar(&c.servers, "servers", "127.0.0.1:4222", "the `ADDRESSES` of all store servers, separated by commas")
	set.StringVar(&c.creds, "creds", "", "the `FILE` node.creds")
	set.StringVar(&c.cert, "tls-cert", "", "the certificate of this client, a PEM `FILE`")
	set.StringVar(&c.key, "tls-key", "", "its key, a PEM `FILE`")
	set.StringVar(&c.ca, "tls-ca", "", "the authority that signs the certificates of servers, a PEM `FILE`")
	set.StringVar(&c.log.LogLevel, "log-level", "info", "debug, info, warn or error")
	set.StringVar(&c.log.LogFormat, "log-format", "text", "text or json")
}

// connect connects to each server, now or as soon as it can be reached.
func (c *client) connect() (conns jet.Conns, closeAll func(), err error) {
	closeAll = func() {
		for _, conn := range conns {
			conn.Close()
		}
	}
	options := []nats.Option{nats.Name("thinkd-store"), nats.IgnoreDiscoveredServers()}
	if c.creds != "" {
		options = append(options, nats.UserCredentials(c.creds))
	}
	if c.ca != "" {
		options = append(options, nats.RootCAs(c.ca))
	}
	if c.cert != "" || c.key != "" {
		options = append(options, nats.ClientCert(c.cert, c.key))
	}
	for _, server := range strings.Split(c.servers, ",") {
		conn, err := jet.Dial(server, options...)
		if err != nil {
			closeAll()
			return nil, nil, fmt.Errorf("servers: %s: %w", server, err)
		}
		conns = append(conns, conn)
	}
	return conns, closeAll, nil
}

// parse reads flags, and nothing else.
func parse(set *flag.FlagSet, args []string, log io.Writer) error {
	set.SetOutput(log)
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() > 0 {
		return fmt.Errorf("%q is not a flag", set.Arg(0))
	}
	return nil
}

var errDir = errors.New("--dir: missing: name the directory of the second copy")

// runCopy keeps a second copy until ctx ends.
func runCopy(ctx context.Context, args []string, logTo io.Writer) error {
	set := flag.NewFlagSet("thinkd-store copy", flag.ContinueOnError)
	var c client
	c.flags(set)
	prefix := set.String("prefix", "thinkd", "the `PREFIX` of the store's streams")
	set.StringVar(&c.dir, "dir", "", "the `DIR` of the second copy, on no disk of a store server")
	keep := set.Duration("keep", archive.DefaultKeep, "how far back the copy can be restored to a point in time")
	if err := parse(set, args, logTo); err != nil {
		return err
	}
	if c.dir == "" {
		return errDir
	}
	if *keep <= 0 {
		return fmt.Errorf("--keep: %v must be above 0", *keep)
	}
	log, err := c.log.newLog(logTo)
	if err != nil {
		return err
	}
	conns, closeAll, err := c.connect()
	if err != nil {
		return err
	}
	defer closeAll()
	f := archive.Follower{Link: conns, Prefix: *prefix, Dir: c.dir, Log: log, Asked: conns, Keep: *keep}
	log.Info("The second copy is kept", "dir", c.dir, "servers", c.servers)
	return f.Run(ctx)
}

// verify reads a copy, and says what it has.
func verify(ctx context.Context, args []string, out, log io.Writer) error {
	set := flag.NewFlagSet("thinkd-store verify", flag.ContinueOnError)
	dir := set.String("dir", "", "the `DIR` of the second copy")
	if err := parse(set, args, log); err != nil {
		return err
	}
	if *dir == "" {
		return errDir
	}
	report, err := archive.Verify(ctx, *dir)
	if err != nil {
		return err
	}
	if err := printJSON(out, report); err != nil {
		return err
	}
	if n := len(report.Broken); n > 0 {
		return fmt.Errorf("the chains of %d logs are broken", n)
	}
	return nil
}

// restore puts a copy back.
func restore(ctx context.Context, args []string, out, logTo io.Writer) error {
	set := flag.NewFlagSet("thinkd-store restore", flag.ContinueOnError)
	var c client
	c.flags(set)
	set.StringVar(&c.dir, "dir", "", "the `DIR` of the second copy")
	until := set.String("until", "", "leave out what was stored after this `TIME`, such as 2026-11-28T12:00:00Z")
	replicas := set.Int("replicas", 3, "the `NUMBER` of servers that have each stream")
	limit := set.String("max-log", "", "the `SIZE` that each stream with logs may have, such as 40GiB; empty: no limit")
	if err := parse(set, args, logTo); err != nil {
		return err
	}
	if c.dir == "" {
		return errDir
	}
	r := archive.Restoring{Dir: c.dir, Store: jet.Options{Replicas: *replicas}}
	var err error
	if *until != "" {
		if r.Until, err = time.Parse(time.RFC3339, *until); err != nil {
			return fmt.Errorf("--until: %q is not a time such as 2026-11-28T12:00:00Z", *until)
		}
	}
	if r.Store.MaxBytes, err = parseSize(*limit); err != nil {
		return fmt.Errorf("--max-log: %w", err)
	}
	conns, closeAll, err := c.connect()
	if err != nil {
		return err
	}
	defer closeAll()
	r.Conns = conns
	done, err := r.Restore(ctx)
	return errors.Join(printJSON(out, done), err)
}

func printJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
