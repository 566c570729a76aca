package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/cmd/thinkd/config"
	"github.com/thinkd/thinkd/cmd/thinkd/daemon"
	"github.com/thinkd/thinkd/rpc/audit"
	"github.com/thinkd/thinkd/rpc/auth"
	"github.com/thinkd/thinkd/rpc/method"
)

func (p *program) tokenCommand() *cobra.Command {
	return p.tokensCommand("token")
}

// tokensCommand is the command under one of its names.
func (p *program) tokensCommand(name string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   name,
		Short: "Create, list and revoke API tokens of users and programs",
		Long: `Create, list and revoke API tokens. A token lets its bearer in at the listener of
thinkd serve, with some of the rights of a user, or of the operator. The daemon takes them
if the config has [auth]; docs/teams.md says what users can do. Only a digest of each token
is stored. Changes apply within a second, also to open connections. If the config has
[cluster], the tokens are those of all nodes.`,
		Args: noCommand,
	}
	cmd.AddCommand(p.tokenCreateCommand(), p.tokenListCommand(), p.tokenRevokeCommand())
	return cmd
}

// tokens opens the records of API tokens. The caller must call end.
func (p *program) tokens(ctx context.Context, c config.Config) (records auth.Records, end func(), err error) {
	dir, err := p.options.Data()
	if err != nil {
		return nil, nil, err
	}
	return daemon.OpenTokens(ctx, dir, c)
}

func (p *program) tokenCreateCommand() *cobra.Command {
	var r auth.Record
	var expires string
	cmd := &cobra.Command{
		Use: "create", Short: "Create a token, and print it once", Args: cobra.NoArgs,
		Long: `Create a token and print it. It cannot be shown again.

With --user, the token is of that user, who has sessions of their own. The first token of a
user makes the user. Without --user, the token is the operator's, with fewer rights.

Rights: use (sessions), keys (those of the tenant, or the daemon's), settings (what applies to all sessions),
admin (run the daemon), audit (read what others did).`,
		Example: `  thinkd token create --user ann --rights use --expires 30d
  thinkd token create --rights use --note "nightly script" --expires never`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			until, err := expiry(expires, time.Now())
			if err != nil {
				return err
			}
			r.Expires = until
			c, err := p.options.Config()
			if err != nil {
				return err
			}
			records, end, err := p.tokens(cmd.Context(), c)
			if err != nil {
				return err
			}
			defer end()
			made, token, err := records.Create(r)
			if err != nil {
				return err
			}
			if err := p.audit(c, audit.Record{Method: "token/create", Token: made.ID, About: &audit.About{Tenant: r.Tenant, User: r.User}}); err != nil {
				return err
			}
			p.notice("token " + made.ID + ": keep it safe, it is not shown again")
			if !c.Auth.Users {
				p.notice("the daemon takes no API tokens yet: add [auth] to the config, and restart it with `thinkd restart`")
			}
			_, err = fmt.Fprintln(p.out, token.Reveal())
			return err
		},
	}
	cmd.Flags().StringVar(&r.User, "user", "", "`NAME` of the user (default: the token is the operator's)")
	cmd.Flags().StringVar(&r.Tenant, "tenant", "", "`NAME` of the user's tenant: users of different tenants may have the same name")
	cmd.Flags().StringSliceVar(&r.Rights, "rights", []string{method.Use.String()}, "`LIST` of rights")
	cmd.Flags().StringVar(&expires, "expires", "30d", "`TIME` after which the token is void, such as 12h or 30d, or never")
	cmd.Flags().StringVar(&r.Note, "note", "", "`TEXT` that says what the token is for")
	var words []string
	for _, right := range method.Rights() {
		words = append(words, right.String())
	}
	complete(cmd, "rights", words...)
	return cmd
}

// expiry reads a length of time, from now on, in Unix milliseconds; 0 for never. Days are 24 hours.
func expiry(text string, now time.Time) (int64, error) {
	wrong := fmt.Errorf(`--expires %q: must be a length of time such as "30d", "12h" or "90m", or "never"`, text)
	if text == "never" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if days, found := strings.CutSuffix(text, "d"); found {
		n, convErr := strconv.Atoi(days)
		if convErr != nil || n > maxTokenDays {
			return 0, wrong
		}
		d, err = time.Duration(n)*24*time.Hour, nil
	}
	if err != nil || d <= 0 {
		return 0, wrong
	}
	return now.Add(d).UnixMilli(), nil
}

// maxTokenDays is a bound for lengths of time; who wants more says never.
const maxTokenDays = 36500

func (p *program) tokenListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the tokens", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, wrong := p.options.Config()
			records, end, err := p.tokens(cmd.Context(), c)
			if err != nil {
				return errors.Join(err, wrong)
			}
			defer end()
			list, err := records.List()
			err = errors.Join(err, wrong)
			for i := range list {
				list[i].Digest = ""
			}
			if asJSON {
				text, encodeErr := json.Marshal(append([]auth.Record{}, list...))
				_, writeErr := fmt.Fprintf(p.out, "%s\n", text)
				return errors.Join(err, encodeErr, writeErr)
			}
			return errors.Join(err, p.showTokens(list, time.Now()))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON list")
	return cmd
}

func (p *program) showTokens(list []auth.Record, now time.Time) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(p.errOut, "There are no API tokens. Create one with `thinkd token create`.")
		return err
	}
	w := tabwriter.NewWriter(p.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tUSER\tTENANT\tRIGHTS\tCREATED\tEXPIRES\tNOTE") // errors come with Flush
	for _, r := range list {
		user, expires := r.User, "never"
		if user == "" {
			user = "(" + method.Operator().Name + ")"
		}
		if r.Expires != 0 {
			expires = time.UnixMilli(r.Expires).Format(time.DateTime)
		}
		if r.Expired(now) {
			expires = "expired"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.ID, user, r.Tenant, strings.Join(r.Rights, ","), time.UnixMilli(r.Created).Format(time.DateTime), expires, r.Note)
	}
	return w.Flush()
}

func (p *program) tokenRevokeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID...", Short: "Revoke tokens, and disconnect their bearers", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, wrong := p.options.Config() // a wrong config is no reason to let a bearer in: the tokens are those of the data directory then
			records, end, err := p.tokens(cmd.Context(), c)
			if err != nil {
				return errors.Join(err, wrong)
			}
			defer end()
			errs := []error{wrong}
			for _, id := range args {
				err := records.Revoke(id)
				if err != nil {
					err = fmt.Errorf("%s: %w", id, err)
				} else if wrong == nil {
					err = p.audit(c, audit.Record{Method: "token/revoke", Token: id})
				}
				errs = append(errs, err)
			}
			return errors.Join(errs...)
		},
	}
}
