package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/cmd/thinkd/daemon"
	"github.com/thinkd/thinkd/cmd/thinkd/doctor"
	"github.com/thinkd/thinkd/cmd/thinkd/printable"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/session/search"
)

func (p *program) sessionsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "sessions", Short: "List, search, show, export, delete and back up sessions", Args: noCommand, RunE: help}
	cmd.AddCommand(p.sessionsListCommand(), p.sessionsSearchCommand(), p.sessionsShowCommand(), p.sessionsExportCommand(), p.sessionsDeleteCommand(),
		p.sessionsBackupCommand())
	return cmd
}

func (p *program) sessionsListCommand() *cobra.Command {
	var query, cwd, model string
	var limit int
	var watch, archived, asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List sessions, newest first, with the tokens they used and what they cost", Args: cobra.NoArgs,
		Long: `List sessions, newest first, with the tokens they used and what they cost. With --watch,
the command then shows each change of a session in a line, until you interrupt it.`,
		RunE: p.onDaemon(func(link *door.Link, _ []string) error {
			if watch {
				return p.watchSessions(link, limit)
			}
			var list sessionPage
			params := present("query", query, "cwd", cwd, "model_id", model)
			params["archived"] = archived
			for left := limit; left > 0; {
				params["limit"] = min(left, 1000)
				var page sessionPage
				var raw struct{ Sessions []json.RawMessage }
				if err := listPage(link, "session/list", params, &page, &raw); err != nil {
					return err
				}
				if !asJSON {
					list.Sessions = append(list.Sessions, page.Sessions...)
				} else if err := p.printLines(raw.Sessions); err != nil {
					return err
				}
				left -= len(page.Sessions)
				if page.Next == "" {
					break
				}
				params["cursor"] = page.Next
			}
			return list.print(p.out)
		}),
	}
	cmd.Flags().StringVar(&query, "query", "", "only sessions whose title contains `TEXT`")
	cmd.Flags().StringVar(&cwd, "cwd", "", "only sessions with this working `DIR`")
	cmd.Flags().StringVar(&model, "model", "", "only sessions with this `MODEL`, as PROVIDER/ID")
	cmd.Flags().BoolVar(&archived, "archived", false, "only archived sessions; without it, only the others")
	cmd.Flags().IntVar(&limit, "limit", 100, "at most `N` sessions")
	cmd.Flags().BoolVar(&watch, "watch", false, "then show what changes")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object for each session, one per line")
	for _, filter := range []string{"query", "cwd", "model", "archived", "json"} {
		cmd.MarkFlagsMutuallyExclusive("watch", filter)
	}
	return cmd
}

func (p *program) sessionsSearchCommand() *cobra.Command {
	var in []string
	var cwd string
	var limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use: "search TEXT", Short: "Find text in all sessions, the last changed first", Args: cobra.ExactArgs(1),
		Long: `Find text in the titles, prompts, answers and tools of all sessions, the last changed first.
Thoughts are searched with --in thought. There is no index: a search reads the sessions.`,
		RunE: p.onDaemon(func(link *door.Link, args []string) error {
			params := present("text", args[0], "cwd", cwd)
			if len(in) > 0 {
				params["in"] = in
			}
			for left := limit; left > 0; {
				params["limit"] = min(left, 1000)
				var page foundPage
				var raw struct{ Found []json.RawMessage }
				err := listPage(link, "session/search", params, &page, &raw)
				if err == nil && asJSON {
					err = p.printLines(raw.Found)
				} else if err == nil {
					err = page.print(p.out)
				}
				if err != nil {
					return err
				}
				left -= len(page.Found)
				if page.Next == "" {
					break
				}
				params["cursor"] = page.Next
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object for each session, one per line")
	cmd.Flags().StringSliceVar(&in, "in", nil, "only in these `PLACES`: title, prompt, thought, answer, tool")
	complete(cmd, "in", search.Place("").Words()...)
	cmd.Flags().StringVar(&cwd, "cwd", "", "only sessions with this working `DIR`")
	cmd.Flags().IntVar(&limit, "limit", 20, "at most `N` sessions")
	return cmd
}

// listPage makes a request for a page, and reads its result twice: for people, and as it is.
func listPage(link *door.Link, method string, params any, results ...any) error {
	var answer json.RawMessage
	if err := link.Call(method, params, &answer); err != nil {
		return err
	}
	for _, r := range results {
		if err := json.Unmarshal(answer, r); err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
	}
	return nil
}

// printLines prints JSON values, one per line.
func (p *program) printLines(list []json.RawMessage) error {
	for _, line := range list {
		if _, err := fmt.Fprintf(p.out, "%s\n", line); err != nil {
			return err
		}
	}
	return nil
}

// foundPage is what session/search returns.
type foundPage struct {
	Found []struct {
		Session  listedSession
		Excerpts []struct{ In, Text string }
	}
	Next string `json:"next_cursor"`
}

func (page foundPage) print(w io.Writer) error {
	for _, f := range page.Found {
		if _, err := fmt.Fprintf(w, "%s  %s  %s\n", f.Session.ID, time.UnixMilli(f.Session.Updated).Format("2006-01-02 15:04"), f.Session.name()); err != nil {
			return err
		}
		for _, x := range f.Excerpts {
			if _, err := fmt.Fprintln(w, printable.Wrap(fmt.Sprintf("  %s: %s", x.In, x.Text), printable.Columns(w), 2)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *program) table() *tabwriter.Writer { return tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0) }

// sessionPage is what session/list and session/watch return.
type sessionPage struct {
	Sessions []listedSession
	Next     string `json:"next_cursor"`
}

type listedSession struct {
	ID      string `json:"session_id"`
	Title   string
	Status  string
	Needs   string
	Updated int64
	Model   struct{ Provider, ID string }
	Usage   provider.Usage
	Owner   string // who shares it; empty: it is one's own
	Access  string
}

// name is the title, with whose session it is.
func (s listedSession) name() string {
	if s.Owner == "" {
		return s.Title
	}
	return fmt.Sprintf("[%s, %s] %s", s.Owner, s.Access, s.Title)
}

// needs says in words what a session needs of a person. Of a parked turn and a held queue the status says it.
var needs = map[string]string{"approval": ", needs approval", "answer": ", needs a tool result", "read": ", unread"}

// print writes a line for each session. On a terminal, it fits: the title comes before what may be cut off at the edge.
func (page sessionPage) print(to io.Writer) error {
	return page.printIn(to, printable.Columns(to))
}

// titleAt is the column in which titles begin on a terminal: behind an id and a time.
const titleAt = 26 + 2 + len("2006-01-02 15:04") + 2

// printIn is print for so many columns; 0: no terminal reads it.
func (page sessionPage) printIn(to io.Writer, columns int) error {
	var rows strings.Builder
	w := tabwriter.NewWriter(&rows, 0, 0, 2, ' ', 0)
	for _, s := range page.Sessions {
		title, last := "", s.name()
		if columns > 0 {
			title, last = printable.Cut(s.name(), max(columns*2/3-titleAt, 20))+"\t", ""
		}
		fmt.Fprintf(w, "%s\t%s\t%s%s\t%s/%s\t%d tokens\t%v\t%s\n", s.ID, time.UnixMilli(s.Updated).Format("2006-01-02 15:04"), title,
			s.Status+needs[s.Needs], s.Model.Provider, s.Model.ID, s.Usage.Input+s.Usage.Output, s.Usage.Cost, last)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(to, printable.Cut(rows.String(), columns))
	return err
}

// watchSessions lists sessions, and then shows what changes.
func (p *program) watchSessions(link *door.Link, limit int) error {
	for {
		var page sessionPage
		if err := link.Call("session/watch", map[string]any{"limit": limit}, &page); err != nil {
			return err
		}
		if err := page.print(p.out); err != nil {
			return err
		}
		if err := p.showChanges(link); err != nil {
			return err
		}
	}
}

// showChanges returns when changes were missed.
func (p *program) showChanges(link *door.Link) error {
	for {
		n, err := link.Next()
		if err != nil {
			return err
		}
		if n.Method != "list_update" {
			continue
		}
		var u struct {
			Created, Changed []listedSession
			Removed          []string
			Stale            bool
		}
		if err := json.Unmarshal(n.Params, &u); err != nil {
			return fmt.Errorf("%s: %w", n.Method, err)
		}
		now := time.Now().Format("15:04:05")
		line := func(what string, s listedSession) {
			_, failed := fmt.Fprintf(p.out, "%s  %-7s  %s  %s  %s\n", now, what, s.ID, s.Status+needs[s.Needs], s.Title)
			err = errors.Join(err, failed)
		}
		for _, s := range u.Created {
			line("created", s)
		}
		for _, s := range u.Changed {
			line("changed", s)
		}
		for _, id := range u.Removed {
			line("removed", listedSession{ID: id})
		}
		if err != nil || u.Stale {
			return err
		}
	}
}

func (p *program) sessionsShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show a session's conversation as Markdown", Args: cobra.ExactArgs(1),
		RunE: p.onDaemon(func(link *door.Link, args []string) error { return p.export(link, args[0], "markdown", true) }),
	}
}

func (p *program) sessionsExportCommand() *cobra.Command {
	var format string
	var thinking bool
	cmd := &cobra.Command{
		Use: "export ID", Short: "Write a session to standard output, as JSON lines or Markdown", Args: cobra.ExactArgs(1),
		Long: `Write a session to standard output. As JSON, the first line is the session, and each
further line is a message. Signatures and encrypted thinking are not exported.`,
		RunE: p.onDaemon(func(link *door.Link, args []string) error { return p.export(link, args[0], format, thinking) }),
	}
	cmd.Flags().StringVar(&format, "format", "json", "json or markdown")
	complete(cmd, "format", "json", "markdown")
	cmd.Flags().BoolVar(&thinking, "thinking", true, "include thinking")
	return cmd
}

// export writes a session page by page.
func (p *program) export(link *door.Link, id, format string, thinking bool) error {
	params := map[string]any{"session_id": id, "format": format, "thinking": thinking}
	for first := true; ; first = false {
		var page struct {
			Session  json.RawMessage
			Messages []json.RawMessage
			Text     string
			Next     string `json:"next_cursor"`
		}
		if err := link.Call("session/export", params, &page); err != nil {
			return err
		}
		lines := page.Messages
		if format == "json" && first {
			lines = append([]json.RawMessage{page.Session}, lines...)
		}
		if err := p.printLines(lines); err != nil {
			return err
		}
		if _, err := io.WriteString(p.out, page.Text); err != nil {
			return err
		}
		if page.Next == "" {
			return nil
		}
		params["cursor"] = page.Next
	}
}

func (p *program) sessionsDeleteCommand() *cobra.Command {
	return &cobra.Command{
		Use: "delete ID...", Short: "Delete sessions", Args: cobra.MinimumNArgs(1),
		RunE: p.onDaemon(func(link *door.Link, args []string) error {
			for _, id := range args {
				// The method takes what is not there for a success. A person who names it has made a mistake.
				err := link.Call("session/state", map[string]any{"session_id": id}, nil)
				if e, ok := errors.AsType[*conn.Error](err); ok && e.Code == conn.CodeNotFound {
					return fmt.Errorf("%s: %w", id, err)
				}
				if err := link.Call("session/delete", map[string]any{"session_id": id}, nil); err != nil {
					return fmt.Errorf("%s: %w", id, err)
				}
			}
			return nil
		}),
	}
}

func (p *program) sessionsBackupCommand() *cobra.Command {
	return &cobra.Command{
		Use: "backup FILE", Short: "Copy all sessions to a new file, while they are in use", Args: cobra.ExactArgs(1),
		Long: `Copy all sessions, as they are at one moment, to a new file, and check the copy.
Turns continue during the copy. An existing file is not overwritten. To restore, stop the
daemon and replace thinkd.db in the data directory by the copy. Images
and documents are in FILE.blobs: replace the folder blobs by it.`,
		RunE: p.onDaemon(func(link *door.Link, args []string) error {
			path, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			report, err := link.Backup(path)
			if err != nil {
				return err
			}
			findings := doctor.Report{Found: p.printFinding}
			well := findings.Store("copy", path, report)
			if report.Blobs+report.LostBlobs > 0 {
				err := error(nil)
				if report.LostBlobs > 0 {
					err = fmt.Errorf("%d of %d are damaged and not copied", report.LostBlobs, report.Blobs+report.LostBlobs)
				}
				well = findings.Add("images and documents", err, fmt.Sprintf("%s: %d files", daemon.BlobsOf(path), report.Blobs)) && well
			}
			if !well {
				return errReported
			}
			return nil
		}),
	}
}
