package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/rpc/door"
)

func (p *program) adminCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "admin", Short: "Administer users: their tokens, quotas and sessions", Args: noCommand, RunE: help,
		Long: `Administer the users of a daemon whose config has [auth]. The commands are the operator's:
they use the unix socket of the data directory.`,
	}
	cmd.AddCommand(p.adminUsersCommand(), p.tokensCommand("tokens"), p.adminQuotasCommand(), p.adminSessionsCommand())
	return cmd
}

func (p *program) adminUsersCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "users", Short: "List and delete users", Args: noCommand, RunE: help}
	cmd.AddCommand(p.usersListCommand("list", "List users, with their sessions, tokens and use", p.showUsers), p.adminDeleteCommand())
	return cmd
}

func (p *program) adminQuotasCommand() *cobra.Command {
	cmd := p.usersListCommand("quotas", "Show what users used of their quotas", p.showQuotas)
	cmd.Long = "Show what users used of their quotas. The config sets quotas, under [auth.quota] and\n[auth.quotas.USER]; a restart applies a change."
	return cmd
}

// usersListCommand is a command that shows all users.
func (p *program) usersListCommand(name, short string, show func(door.Users) error) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: name, Short: short, Args: cobra.NoArgs,
		RunE: p.onDaemon(func(link *door.Link, _ []string) error {
			return call(p, link, door.MethodUsers, struct{}{}, asJSON, func(u door.Users) error {
				if len(u.Users) == 0 {
					p.notice("there are no users yet: create a token for one with `thinkd token create --user NAME`")
					return nil
				}
				return show(u)
			})
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (p *program) showUsers(list door.Users) error {
	w := p.table()
	fmt.Fprintln(w, "USER\tSESSIONS\tLAST CHANGE\tTOKENS\tACCOUNTS\tTODAY\tTHIS MONTH") // errors come with Flush
	for _, u := range list.Users {
		changed := "-"
		if u.Updated != 0 {
			changed = time.UnixMilli(u.Updated).Format("2006-01-02 15:04")
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%s\t%s\t%s\n", u, u.Sessions, changed, u.Tokens, accounts(u.Accounts), use(u.UsedDay), use(u.UsedMonth))
	}
	return w.Flush()
}

func accounts(uids []int) string {
	if len(uids) == 0 {
		return "-"
	}
	var words []string
	for _, uid := range uids {
		words = append(words, strconv.Itoa(uid))
	}
	return strings.Join(words, ",")
}

func use(u door.UserUse) string { return fmt.Sprintf("%d tokens, %.2f USD", u.Tokens, u.Cost) }

func (p *program) showQuotas(list door.Users) error {
	w := p.table()
	fmt.Fprintln(w, "USER\tTOKENS TODAY\tTOKENS THIS MONTH\tUSD TODAY\tUSD THIS MONTH\tSTORED BYTES\tPARALLEL CALLS\tREQUESTS A MINUTE")
	for _, u := range list.Users {
		q := u.Quota
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", u, ofTokens(u.UsedDay.Tokens, q.DayTokens), ofTokens(u.UsedMonth.Tokens, q.MonthTokens),
			ofCost(u.UsedDay.Cost, q.DayCost), ofCost(u.UsedMonth.Cost, q.MonthCost), ofBytes(u.Stored, q.Stored), atMost(q.Calls), atMost(q.Requests))
	}
	return w.Flush()
}

func ofTokens(used, most int) string {
	if most == 0 {
		return strconv.Itoa(used)
	}
	return fmt.Sprintf("%d of %d", used, most)
}

// ofBytes shows what a user has stored. Without a quota nothing is counted.
func ofBytes(used *int64, most int) string {
	if used == nil {
		return "-"
	}
	return fmt.Sprintf("%d of %d", *used, most)
}

func ofCost(used, most float64) string {
	if most == 0 {
		return fmt.Sprintf("%.2f", used)
	}
	return fmt.Sprintf("%.2f of %.2f", used, most)
}

func atMost(most int) string {
	if most == 0 {
		return "any"
	}
	return strconv.Itoa(most)
}

// tenantFlag is the tenant of the users that a command names.
func tenantFlag(cmd *cobra.Command, into *string) {
	cmd.Flags().StringVar(into, "tenant", "", "`NAME` of the user's tenant")
}

func (p *program) adminDeleteCommand() *cobra.Command {
	var u door.UserName
	var sure, asJSON bool
	cmd := &cobra.Command{
		Use: "delete USER", Short: "Delete a user, with their sessions and tokens", Args: cobra.ExactArgs(1),
		Long: `Delete all that is a user's: connections, tokens, sessions with their images and documents,
and what the ledger has of their use. The store's file is then rewritten, because it still
has the bytes of what was deleted, and all files of the data directory are searched for
the sessions. The command names the files in which it finds one, such as the log. A
cluster has no such store file; there, the other nodes delete their part first.

Backups are not changed. A user who also has an account in socket_users of the config can
come back, without sessions.`,
		Example: "  thinkd admin users delete ann --yes",
		RunE: p.onDaemon(func(link *door.Link, args []string) error {
			u.User = args[0]
			if !sure {
				return fmt.Errorf("this deletes all sessions of %s for good; repeat the command with --yes", u)
			}
			return call(p, link, door.MethodDeleteUser, u, asJSON, func(d door.UserDeletion) error { return showDeletion(p.out, u, d) })
		}),
	}
	tenantFlag(cmd, &u.Tenant)
	cmd.Flags().BoolVar(&sure, "yes", false, "delete without a question")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func showDeletion(out io.Writer, u door.UserName, d door.UserDeletion) error {
	_, err := fmt.Fprintf(out, "deleted %s: %s, %s, %s, %s of images and documents\n", u,
		count(d.Sessions, "session"), count(d.Tokens, "token"), count(d.Keys, "key"), count(d.Media, "file"))
	if d.Size > 0 { // otherwise the store is that of a cluster
		_, failed := fmt.Fprintf(out, "the store has %d bytes now, and had %d\n", d.Left, d.Size)
		err = errors.Join(err, failed)
	}
	if len(d.NamedIn) > 0 {
		_, failed := fmt.Fprintf(out, "ids of deleted sessions still occur in: %s\n", strings.Join(d.NamedIn, ", "))
		err = errors.Join(err, failed)
	}
	return err
}

func (p *program) adminSessionsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "sessions", Short: "List and delete sessions of users, without showing what was said", Args: noCommand, RunE: help}
	cmd.AddCommand(p.userSessionsListCommand(), p.userSessionsDeleteCommand())
	return cmd
}

func (p *program) userSessionsListCommand() *cobra.Command {
	var params door.UserSessionsParams
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list USER", Short: "List the sessions of a user, without their titles", Args: cobra.ExactArgs(1),
		RunE: p.onDaemon(func(link *door.Link, args []string) error {
			params.User = args[0]
			w := p.table()
			for {
				var page door.UserSessions
				if err := link.Call(door.MethodUserSessions, params, &page); err != nil {
					return err
				}
				for _, s := range page.Sessions {
					if asJSON {
						if err := json.NewEncoder(p.out).Encode(s); err != nil {
							return err
						}
						continue
					}
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", s.ID, time.UnixMilli(s.Updated).Format("2006-01-02 15:04"), s.Status, s.Model, use(s.UserUse))
				}
				if params.Cursor = page.Next; page.Next == "" {
					return w.Flush()
				}
			}
		}),
	}
	tenantFlag(cmd, &params.Tenant)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object for each session, one per line")
	return cmd
}

func (p *program) userSessionsDeleteCommand() *cobra.Command {
	var params door.UserSessionParams
	cmd := &cobra.Command{
		Use: "delete USER ID...", Short: "Delete sessions of a user", Args: cobra.MinimumNArgs(2),
		RunE: p.onDaemon(func(link *door.Link, args []string) error {
			params.User = args[0]
			for _, params.Session = range args[1:] {
				if err := link.Call(door.MethodDeleteSession, params, nil); err != nil {
					return fmt.Errorf("%s: %w", params.Session, err)
				}
			}
			return nil
		}),
	}
	tenantFlag(cmd, &params.Tenant)
	return cmd
}
