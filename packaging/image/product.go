package main

import "time"

// product is a program of which there is an image, and how its container runs. Its paths are those of the system service.
type product struct {
	name        string // of the program, of its directory below /etc, and of its data
	description string
	command     []string // what follows the program
	health      []string // a command of the program; nil: it has none
}

// products are all of them. `thinkd serve` listens on the container's own loopback: an address that others can reach needs a certificate or a proxy,
// which a config file must declare.
var products = []product{
	{"thinkd", "A daemon that keeps conversations with reasoning models", []string{"serve"}, []string{"status"}},
	{"thinkd-store", "A store server of a cluster of thinkd", []string{"--config", "/etc/thinkd-store/config.toml"}, nil},
}

func (p product) program() string { return "/usr/bin/" + p.name }
func (p product) data() string    { return "/var/lib/" + p.name }

// healthEvery is how often Docker asks a container whether it is healthy.
const (
	healthEvery = 30 * time.Second
	healthTime  = 5 * time.Second
	healthStart = 10 * time.Second
	healthTries = 3
)
