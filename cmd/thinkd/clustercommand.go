package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/door"
)

func (p *program) clusterCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "cluster", Short: "Show a cluster, and take a node out of it", Args: noCommand, RunE: help,
		Long: `Commands for a daemon whose config has [cluster], so that several daemons share one set
of sessions. They use the unix socket of the data directory.`,
	}
	cmd.AddCommand(p.clusterStatusCommand(), p.clusterDrainCommand())
	return cmd
}

func (p *program) clusterStatusCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "status", Short: "Show the nodes and the store servers", Args: cobra.NoArgs,
		Long: "Show the nodes that are present and the store servers, as the node of the data directory\nsees them. This command does not start a daemon.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			link, err := p.options.Find(cmd.Context())
			if err != nil {
				return err
			}
			if link == nil {
				return errNotRunning
			}
			err = call(p, link, door.MethodCluster, struct{}{}, asJSON, p.showCluster)
			if refusal, ok := errors.AsType[*conn.Error](err); ok && refusal.Code == conn.CodeMethodNotFound {
				err = errors.New("the daemon is not a node of a cluster: its config has no [cluster]")
			}
			return errors.Join(err, link.Close())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (p *program) showCluster(s door.ClusterStatus) error {
	w := p.table()
	fmt.Fprintln(w, "NODE\tNUMBER\tTURNS\tSTATE") // errors come with Flush
	for i, n := range append([]door.ClusterNode{s.Node}, s.Peers...) {
		state := "present"
		switch {
		case n.Draining:
			state = "draining"
		case i == 0 && !s.Contact:
			state = "cut off"
		case i == 0:
			state = "this node"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", n.Name, n.Number, n.Turns, state)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, server := range s.Servers {
		state := "connected"
		switch {
		case !server.Connected:
			state = "not connected"
		case server.Syncs == "always":
			state += ", syncs each message"
		case server.Syncs == "late":
			state += ", does NOT sync each message: set sync_interval to always in its config"
		default:
			state += ", does not say whether it syncs each message"
		}
		if _, err := fmt.Fprintf(p.out, "store server %s: %s\n", server.URL, state); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(p.out, "durability: %s\nsessions with an open turn: %d\n", s.Durability, s.Open)
	return err
}

func (p *program) clusterDrainCommand() *cobra.Command {
	return &cobra.Command{
		Use: "drain", Short: "Move the sessions of this node to other nodes, and stop it", Args: cobra.NoArgs,
		Long: `Move the sessions of this node to other nodes, and stop the daemon. A session moves when
its turn has ended. Its queue runs at the other node. After drain_time in the config,
turns that still run are interrupted. The command returns when the daemon has ended.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.options.Drain(cmd.Context(), func(turns int) error {
				if turns > 0 {
					p.notice(fmt.Sprintf("waiting for %s", count(turns, "running turn")))
				}
				return nil
			})
		},
	}
}
