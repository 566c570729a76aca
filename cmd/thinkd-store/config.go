package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
)

// config is what the file and the flags say. A flag has the name of its key in the file, with a hyphen for each underscore, and wins.
type config struct {
	Name          string   `toml:"name"`
	Dir           string   `toml:"dir"`
	Listen        string   `toml:"listen"`
	Cluster       string   `toml:"cluster"`
	ClusterListen string   `toml:"cluster_listen"`
	Routes        []string `toml:"routes"`
	Keys          string   `toml:"keys"`
	TLSCert       string   `toml:"tls_cert"`
	TLSKey        string   `toml:"tls_key"`
	TLSCA         string   `toml:"tls_ca"`
	Monitor       string   `toml:"monitor"`
	MaxDisk       string   `toml:"max_disk"`
	MaxMemory     string   `toml:"max_memory"`
	LogLevel      string   `toml:"log_level"`
	LogFormat     string   `toml:"log_format"`
}

// flags defines the flags, with the values of c as defaults.
func (c *config) flags(file *string, log io.Writer) *flag.FlagSet {
	set := flag.NewFlagSet("thinkd-store", flag.ContinueOnError)
	set.SetOutput(log)
	set.StringVar(file, "config", "", "a `FILE` in TOML with the same keys; flags win")
	set.StringVar(&c.Name, "name", c.Name, "the `NAME` of this server, different from all others of the cluster")
	set.StringVar(&c.Dir, "dir", c.Dir, "the `DIR` of the data")
	set.StringVar(&c.Listen, "listen", c.Listen, "the `ADDRESS` for nodes")
	set.StringVar(&c.Cluster, "cluster", c.Cluster, "the `NAME` of the cluster, the same on all servers")
	set.StringVar(&c.ClusterListen, "cluster-listen", c.ClusterListen, "the `ADDRESS` for the other servers")
	set.Func("routes", "the cluster-listen `ADDRESSES` of all servers, separated by commas", func(s string) error {
		c.Routes = strings.Split(s, ",")
		return nil
	})
	set.StringVar(&c.Keys, "keys", c.Keys, "the `FILE` store.keys that \"thinkd-store credentials\" made, the same on all servers")
	set.StringVar(&c.TLSCert, "tls-cert", c.TLSCert, "the certificate of this server, a PEM `FILE`")
	set.StringVar(&c.TLSKey, "tls-key", c.TLSKey, "its key, a PEM `FILE`")
	set.StringVar(&c.TLSCA, "tls-ca", c.TLSCA, "the authority that signs the certificates of nodes and servers, a PEM `FILE`")
	set.StringVar(&c.Monitor, "monitor", c.Monitor, "an `ADDRESS` for monitoring over HTTP, without authentication; empty: none")
	set.StringVar(&c.MaxDisk, "max-disk", c.MaxDisk, "the most that JetStream stores, such as 200GiB; empty: 75 % of what is free")
	set.StringVar(&c.MaxMemory, "max-memory", c.MaxMemory, "the most that JetStream keeps in memory")
	set.StringVar(&c.LogLevel, "log-level", c.LogLevel, "debug, info, warn or error")
	set.StringVar(&c.LogFormat, "log-format", c.LogFormat, "text or json")
	return set
}

// readConfig reads the flags, and the file that they name.
func readConfig(args []string, log io.Writer) (c config, err error) {
	defaults := config{Listen: "127.0.0.1:4222", Cluster: "thinkd", MaxMemory: "4GiB", LogLevel: "info", LogFormat: "text"}
	var path string
	scan := defaults
	if err := scan.flags(&path, log).Parse(args); err != nil {
		return c, err
	}
	c = defaults
	if path != "" {
		if err := c.readFile(path); err != nil {
			return c, err
		}
	}
	set := c.flags(&path, log)
	if err := set.Parse(args); err != nil {
		return c, err
	}
	if set.NArg() > 0 {
		return c, fmt.Errorf("%q is not a flag", set.Arg(0))
	}
	return c, c.check()
}

func (c *config) readFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("config: %w", err)
	}
	defer f.Close()
	err = toml.NewDecoder(f).DisallowUnknownFields().Decode(c)
	var unknown *toml.StrictMissingError
	var wrong *toml.DecodeError
	switch {
	case errors.As(err, &unknown):
		line, _ := unknown.Errors[0].Position()
		return fmt.Errorf("%s:%d: unknown key %s", path, line, strings.Join(unknown.Errors[0].Key(), "."))
	case errors.As(err, &wrong):
		line, _ := wrong.Position()
		return fmt.Errorf("%s:%d: %w", path, line, err)
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

var nameForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`) })

// check returns the first thing that is wrong, by the key in the file.
func (c *config) check() error {
	switch {
	case !nameForm().MatchString(c.Name):
		return fmt.Errorf("name: %q must be 1 to 64 letters, digits, - and _", c.Name)
	case !nameForm().MatchString(c.Cluster):
		return fmt.Errorf("cluster: %q must be 1 to 64 letters, digits, - and _", c.Cluster)
	case c.Dir == "":
		return errors.New("dir: missing: name a directory for the data")
	case (c.TLSCert == "") != (c.TLSKey == ""):
		return errors.New("tls_cert and tls_key: set both or none")
	case c.TLSCA != "" && c.TLSCert == "":
		return errors.New("tls_ca: needs tls_cert and tls_key")
	case c.ClusterListen == "" && len(c.Routes) > 0:
		return errors.New("routes: needs cluster_listen")
	case c.ClusterListen != "" && len(c.Routes) == 0:
		return errors.New("cluster_listen: needs routes, the cluster_listen addresses of all servers")
	}
	for _, a := range []struct{ key, address string }{{"listen", c.Listen}, {"cluster_listen", c.ClusterListen}, {"monitor", c.Monitor}} {
		if err := c.checkAddress(a.key, a.address); err != nil {
			return err
		}
	}
	for _, route := range c.Routes {
		if _, _, err := splitAddress(route); err != nil {
			return fmt.Errorf("routes: %w", err)
		}
	}
	for key, size := range map[string]string{"max_disk": c.MaxDisk, "max_memory": c.MaxMemory} {
		if _, err := parseSize(size); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

// checkAddress refuses an address that other machines can reach, if they need no key.
func (c *config) checkAddress(key, address string) error {
	if address == "" && key != "listen" {
		return nil
	}
	host, _, err := splitAddress(address)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	ip := net.ParseIP(host)
	if host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	if key == "monitor" {
		return fmt.Errorf("monitor: %s can be reached from other machines, and has no authentication: use a loopback address", address)
	}
	if c.Keys == "" {
		return fmt.Errorf(`%s: %s can be reached from other machines, so it needs keys: run "thinkd-store credentials DIR", and set keys to the file store.keys`, key, address)
	}
	return nil
}

func splitAddress(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	if err != nil || host == "" || port < 1 || port > 65535 {
		return "", 0, fmt.Errorf("%q is not an address such as 10.0.0.1:4222", address)
	}
	return host, port, nil
}

var sizeForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\d{1,9})(MiB|GiB|TiB)$`) })

// parseSize reads a size. Empty is 0.
func parseSize(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	parts := sizeForm().FindStringSubmatch(text)
	if parts == nil {
		return 0, fmt.Errorf("%q is not a size such as 200GiB; the units are MiB, GiB and TiB", text)
	}
	n, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return 0, err
	}
	unit := map[string]int64{"MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}[parts[2]]
	if n == 0 || n > math.MaxInt64/unit {
		return 0, fmt.Errorf("%q: must be between 1MiB and 8388607TiB", text)
	}
	return n * unit, nil
}
