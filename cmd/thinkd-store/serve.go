package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/thinkd/thinkd/cmd/thinkd/daemon/systemd"
	"github.com/thinkd/thinkd/provider/durable"
)

// startTime bounds the start. A server with much data reads all of it after a kill.
const startTime = 10 * time.Minute

// serve runs a server until ctx ends.
func serve(ctx context.Context, args []string, logTo io.Writer) error {
	c, err := readConfig(args, logTo)
	if err != nil {
		return err
	}
	log, err := c.newLog(logTo)
	if err != nil {
		return err
	}
	options, err := c.options()
	if err != nil {
		return err
	}
	if err := durable.MakeDir(c.Dir); err != nil {
		return fmt.Errorf("dir: %w", err)
	}
	c.warn(log)
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	one, err := server.NewServer(options)
	if err != nil {
		return err
	}
	one.SetLoggerV2(serverLog{log}, log.Enabled(ctx, slog.LevelDebug), false, false)
	one.Start() // it starts goroutines, and returns
	defer one.WaitForShutdown()
	defer one.Shutdown()
	if !one.ReadyForConnections(startTime) {
		return fmt.Errorf("the server accepts no connections after %v", startTime)
	}
	if err := c.exportSettings(one); err != nil {
		return err
	}
	if err := systemd.Notify(os.Getenv, systemd.Ready); err != nil {
		log.Warn("No service manager was notified", "error", err)
	}
	log.Info("The store server accepts connections", "name", c.Name, "listen", c.Listen, "dir", c.Dir)
	wait(ctx, hup, log, func() error {
		fresh, err := readConfig(args, logTo)
		if err != nil {
			return err
		}
		return fresh.reload(one)
	})
	log.Info("The store server shuts down", "name", c.Name)
	return systemd.Notify(os.Getenv, systemd.Stopping)
}

// warn says what is allowed, and not safe everywhere.
func (c *config) warn(log *slog.Logger) {
	if c.Keys != "" && c.TLSCert == "" {
		log.Warn("Connections are not encrypted. Set tls_cert and tls_key, unless the network is encrypted")
	}
	if c.ClusterListen == "" {
		log.Warn("This is the only server. What it stores is lost with its disk: set cluster_listen and routes for three servers")
	} else if len(c.Routes) < 3 {
		log.Warn("With fewer than three servers, the store stands still when one of them does", "routes", len(c.Routes))
	}
}

// wait returns when ctx ends. At SIGHUP it reads the config, the certificates and the keys again.
func wait(ctx context.Context, hup <-chan os.Signal, log *slog.Logger, reload func() error) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
		}
		if err := reload(); err != nil {
			log.Error("The config could not be reloaded; the server keeps the old one", "error", err)
			continue
		}
		log.Info("The config was read again")
	}
}

func (c *config) reload(one *server.Server) error {
	options, err := c.options()
	if err != nil {
		return err
	}
	return one.ReloadOptions(options)
}
