package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/provider/sim"
	_ "github.com/thinkd/thinkd/provider/sim/faces"
)

func (p *program) simCommand() *cobra.Command {
	var listen string
	var pace float64
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "Serve the simulator of the model APIs on TCP, to test clients",
		Long:  sim.Help(),
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := p.options.Logger()
			if err != nil {
				return err
			}
			if pace < 0 {
				return fmt.Errorf("--pace %v is negative", pace)
			}
			l, err := net.Listen("tcp", listen)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(p.out, "http://%s\n", l.Addr()); err != nil {
				return errors.Join(err, l.Close())
			}
			server := &http.Server{Handler: sim.New(sim.Config{Pace: pace, Log: log, NoJournal: true})}
			stop := context.AfterFunc(cmd.Context(), func() { server.Close() })
			defer stop()
			if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "`ADDR` to listen on; port 0 selects a free port")
	cmd.Flags().Float64Var(&pace, "pace", 0, "deltas per second; 0: without a limit")
	return cmd
}
