package main

import (
	"fmt"
	"net/url"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
)

// The settings that thinkd relies on.
const (
	pingInterval = 5 * time.Second // a client without an answer to maxPings pings is disconnected: its machine may have lost its power
	maxPings     = 2
	maxPayload   = 1 << 20
)

// options are those of the embedded server.
func (c *config) options() (*server.Options, error) {
	host, port, err := splitAddress(c.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	o := &server.Options{
		ServerName: c.Name, Host: host, Port: port, NoSigs: true, MaxPayload: maxPayload,
		PingInterval: pingInterval, MaxPingsOut: maxPings,
		JetStream: true, StoreDir: c.Dir, SyncAlways: true, DisableJetStreamBanner: true,
	}
	if o.JetStreamMaxMemory, err = parseSize(c.MaxMemory); err != nil {
		return nil, fmt.Errorf("max_memory: %w", err)
	}
	if o.JetStreamMaxStore, err = parseSize(c.MaxDisk); err != nil {
		return nil, fmt.Errorf("max_disk: %w", err)
	}
	if c.Monitor != "" {
		if o.HTTPHost, o.HTTPPort, err = splitAddress(c.Monitor); err != nil {
			return nil, fmt.Errorf("monitor: %w", err)
		}
	}
	if err := c.addCluster(o); err != nil {
		return nil, err
	}
	if err := c.addTLS(o); err != nil {
		return nil, err
	}
	if c.Keys != "" {
		return o, c.addKeys(o)
	}
	return o, nil
}

func (c *config) addCluster(o *server.Options) (err error) {
	if c.ClusterListen == "" {
		return nil
	}
	o.Cluster = server.ClusterOpts{Name: c.Cluster, PingInterval: pingInterval, MaxPingsOut: maxPings}
	if o.Cluster.Host, o.Cluster.Port, err = splitAddress(c.ClusterListen); err != nil {
		return fmt.Errorf("cluster_listen: %w", err)
	}
	for _, route := range c.Routes {
		o.Routes = append(o.Routes, &url.URL{Scheme: "nats-route", Host: route})
	}
	return nil
}

// addTLS encrypts all connections. With an authority, nodes and servers must have a certificate of it.
func (c *config) addTLS(o *server.Options) error {
	if c.TLSCert == "" {
		return nil
	}
	ask := server.TLSConfigOpts{CertFile: c.TLSCert, KeyFile: c.TLSKey, CaFile: c.TLSCA, Verify: c.TLSCA != ""}
	config, err := server.GenTLSConfig(&ask)
	if err != nil {
		return fmt.Errorf("tls: %w", err)
	}
	o.TLSConfig, o.TLS, o.TLSVerify, o.TLSTimeout = config, true, ask.Verify, 5
	if c.ClusterListen != "" {
		o.Cluster.TLSConfig, o.Cluster.TLSTimeout = config.Clone(), 5
		o.Cluster.TLSConfig.RootCAs = o.Cluster.TLSConfig.ClientCAs // servers are clients of each other
	}
	return nil
}

// addKeys has only those admitted that the keys name.
func (c *config) addKeys(o *server.Options) error {
	t, operator, err := readTrust(c.Keys)
	if err != nil {
		return err
	}
	resolver := &server.MemAccResolver{}
	for _, token := range []string{t.System, t.Account} {
		account, err := jwt.DecodeAccountClaims(token)
		if err == nil {
			err = resolver.Store(account.Subject, token)
		}
		if err != nil {
			return fmt.Errorf("keys: %w", err)
		}
	}
	o.TrustedOperators, o.AccountResolver, o.SystemAccount = []*jwt.OperatorClaims{operator}, resolver, operator.SystemAccount
	o.Cluster.Username, o.Cluster.Password = "store", t.Route
	for _, route := range o.Routes {
		route.User = url.UserPassword("store", t.Route)
	}
	return nil
}

// exportSettings lets nodes ask a server without keys for its settings. Where there are keys, they say so: see newTrust.
func (c *config) exportSettings(one *server.Server) error {
	if c.Keys != "" {
		return nil
	}
	system, nodes := one.SystemAccount(), one.GlobalAccount()
	err := system.AddServiceExport(settingsService, []*server.Account{nodes})
	if err == nil {
		err = nodes.AddServiceImport(system, settingsService, settingsService)
	}
	if err != nil {
		return fmt.Errorf("nodes cannot ask for the settings of this server: %w", err)
	}
	return nil
}
