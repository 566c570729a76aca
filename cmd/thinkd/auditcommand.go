package main

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/cmd/thinkd/config"
	"github.com/thinkd/thinkd/cmd/thinkd/daemon"
	"github.com/thinkd/thinkd/rpc/audit"
	"github.com/thinkd/thinkd/session"
)

func (p *program) auditCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "audit", Short: "Export the records of who called which method", Args: noCommand, RunE: help,
		Long: `With [auth] in the config, the daemon records each request: who made it, from where, on which
session, and with what result. The records have nothing of what was said.`,
	}
	cmd.AddCommand(p.auditExportCommand())
	return cmd
}

func (p *program) auditExportCommand() *cobra.Command {
	var q audit.Query
	var from, to string
	cmd := &cobra.Command{
		Use: "export", Short: "Print the records as JSON lines, the oldest first", Args: cobra.NoArgs,
		Long: `Print the records as JSON lines, the oldest first. Days are in UTC. The daemon need not run.
With [cluster] in the config, the records are those of all nodes, and the store servers must run.`,
		Example: "  thinkd audit export --from 2026-11-01 --user ann",
		RunE: func(cmd *cobra.Command, _ []string) error {
			for flag, day := range map[string]string{"from": from, "to": to} {
				if _, err := time.Parse(time.DateOnly, day); day != "" && err != nil {
					return fmt.Errorf("--%s %q: must be a day as YYYY-MM-DD", flag, day)
				}
			}
			q.From, q.To = session.Day(from), session.Day(to)
			dir, err := p.options.Data()
			if err != nil {
				return err
			}
			c, wrong := p.options.Config()
			if wrong != nil { // the records of one machine need no config
				p.notice(fmt.Sprintf("only the records of %s are printed, because the config cannot be read: %v", dir, wrong))
				c = config.Config{}
			}
			damaged, err := daemon.ExportAudit(cmd.Context(), p.out, dir, c, q)
			if damaged > 0 {
				p.notice(fmt.Sprintf("left out %s: no whole record", count(damaged, "line")))
			}
			return err
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "first `DAY`, as YYYY-MM-DD (default: the first that there is)")
	cmd.Flags().StringVar(&to, "to", "", "last `DAY` (default: today)")
	cmd.Flags().StringVar(&q.User, "user", "", "only requests of the user with this `NAME`")
	cmd.Flags().StringVar(&q.Tenant, "tenant", "", "only requests of users of this `TENANT`")
	cmd.Flags().StringVar(&q.Session, "session", "", "only requests about the session with this `ID`")
	return cmd
}

// audit records what a command did without the daemon.
func (p *program) audit(c config.Config, r audit.Record) error {
	if !c.Auth.Users {
		return nil
	}
	dir, err := p.options.Data()
	if err != nil {
		return err
	}
	log, err := audit.Open(daemon.AuditDir(dir), slog.New(slog.NewTextHandler(p.errOut, nil)))
	if err != nil {
		return err
	}
	r.From = "command"
	log.Append(r)
	return errors.Join(err, log.Close())
}
