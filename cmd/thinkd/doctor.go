package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/agent/tool/approval"
	"github.com/thinkd/thinkd/agent/tool/sandbox"
	"github.com/thinkd/thinkd/cmd/thinkd/config"
	"github.com/thinkd/thinkd/cmd/thinkd/daemon"
	"github.com/thinkd/thinkd/provider/login"
	"github.com/thinkd/thinkd/rpc"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/session/bolt"
)

func (p *program) doctorCommand() *cobra.Command {
	var check, compact bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check config, keys and store, and list what is protected",
		Long: `Check the config, list the available keys, and read every page, record and entry of
the store. List what is protected from models and tools on this machine, and what is
not. A store in use is skipped; with --check, a copy of it is checked. A damaged store is
never changed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if compact {
				return p.compactStore(cmd.Context())
			}
			well := p.checkConfig()
			well = p.checkSettings() && well
			p.tellProtection()
			well = p.checkStore(cmd.Context(), check) && well
			if !well {
				return errReported
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "check the store also while a daemon uses it; needs disk space for a copy")
	cmd.Flags().BoolVar(&compact, "compact", false, "rewrite the store without its free space; needs disk space for two stores, and no running daemon")
	cmd.MarkFlagsMutuallyExclusive("check", "compact")
	return cmd
}

// finding prints one line of the report.
func (p *program) finding(what string, err error, text string) bool {
	if err != nil {
		fmt.Fprintf(p.out, "bad   %s: %v\n", what, err)
		return false
	}
	fmt.Fprintf(p.out, "ok    %s: %s\n", what, text)
	return true
}

func (p *program) checkConfig() bool {
	c, err := p.options.Config()
	path := c.Path
	if path == "" {
		path = "no file; the defaults apply"
	}
	if !p.finding("config", err, path) {
		return false
	}
	keys, err := p.checkKeys()
	for _, pc := range c.Providers {
		state := "needs no key"
		switch {
		case !pc.Key.IsZero():
			state = "key in " + pc.KeyEnv
			if pc.KeyEnvNow != "" {
				state += "; that name is deprecated, set " + pc.KeyEnvNow
			}
		case !pc.NeedsKey():
		case keys != nil && !keys.Grant(pc.ID).IsZero():
			state = "key or login in " + daemon.KeysName
		case pc.KeyEnv != "":
			state = "no key; set " + pc.KeyEnv
		default:
			state = "not logged in"
		}
		p.finding("provider "+pc.ID, nil, state)
	}
	return p.checkServers(c) && err == nil
}

// checkServers looks for the programs of MCP servers where the daemon will look for them.
func (p *program) checkServers(c config.Config) bool {
	well := true
	for _, s := range c.Servers {
		if len(s.Command) > 0 {
			path, err := exec.LookPath(s.Command[0])
			well = p.finding("MCP server "+s.Name, err, path) && well
		}
	}
	return well
}

// checkKeys reads the file of keys, which may be missing.
func (p *program) checkKeys() (*login.Keys, error) {
	dir, err := p.options.Data()
	if err != nil {
		return nil, nil // which the check of the store says
	}
	keys, err := daemon.OpenKeys(dir)
	if err != nil {
		p.finding("keys", err, "")
	}
	return keys, err
}

// checkSettings says nothing where clients have set nothing.
func (p *program) checkSettings() bool {
	dir, err := p.options.Data()
	if err != nil {
		return true // checkStore says so
	}
	path, err := daemon.CheckSettings(dir)
	return path == "" || p.finding("settings", err, path)
}

func (p *program) checkStore(ctx context.Context, inUse bool) bool {
	dir, err := p.options.Data()
	if err != nil {
		return p.finding("store", err, "")
	}
	if link, err := daemon.Greet(ctx, dir); err == nil {
		if inUse {
			return p.checkInUse(ctx, dir, link)
		}
		s := link.Status
		return p.finding("daemon", link.Close(), fmt.Sprintf(
			"process %d, version %s, serves %s: %d other clients, %d turns running; doctor --check checks the store as well",
			s.PID, s.Version, dir, s.Clients-1, s.Running))
	}
	path := filepath.Join(dir, "thinkd.db")
	report, err := bolt.CheckFile(ctx, path)
	if errors.Is(err, os.ErrNotExist) {
		return p.finding("store", nil, "none yet; it will be in "+dir)
	}
	if locked, ok := errors.AsType[*bolt.LockedError](err); ok {
		return p.finding("store", nil, fmt.Sprintf("%s is in use (%v): stop that process to check the store", path, locked))
	}
	if err != nil {
		return p.finding("store", err, "")
	}
	return p.storeFinding("store", path, rpc.NewStoreReport(report))
}

// checkInUse has the daemon check its own store.
func (p *program) checkInUse(ctx context.Context, dir string, link *door.Link) bool {
	stop := context.AfterFunc(ctx, func() { link.Close() })
	report, err := link.Check()
	if !stop() {
		err = errInterrupted
	}
	if err := errors.Join(err, link.Close()); err != nil {
		return p.finding("store", err, "")
	}
	return p.storeFinding("store", filepath.Join(dir, "thinkd.db"), report)
}

func (p *program) compactStore(ctx context.Context) error {
	dir, err := p.options.Data()
	if err != nil {
		return err
	}
	before, after, err := bolt.Compact(ctx, filepath.Join(dir, "thinkd.db"))
	if err != nil {
		return err
	}
	p.finding("store", nil, fmt.Sprintf("rewritten: %d KiB, of which %d KiB were free, are now %d KiB; %d sessions, %d entries",
		before.Size>>10, before.Free>>10, after.Size>>10, after.Sessions, after.Entries))
	return nil
}

// tellProtection prints what is protected from models and tools on this machine, and what is not.
func (p *program) tellProtection() {
	c, err := p.options.Config()
	if err != nil {
		return // checkConfig has said so
	}
	dir, err := p.options.Data()
	if err != nil {
		dir = ""
	}
	for _, kind := range []struct {
		danger approval.Danger
		text   string
	}{
		{approval.Protected, "file tools are refused for"},
		{approval.Secret, "each call of a file tool needs approval for"},
		{approval.Program, "a change needs approval also in tool mode edit:"},
	} {
		paths := make(map[string][]string)
		var abouts []string
		for _, place := range p.options.Guard(c, dir).Places() {
			if place.Danger != kind.danger {
				continue
			}
			if paths[place.About] == nil {
				abouts = append(abouts, place.About)
			}
			paths[place.About] = append(paths[place.About], place.Path)
		}
		for _, about := range abouts {
			p.finding("files", nil, fmt.Sprintf("%s %s (%s)", kind.text, strings.Join(paths[about], ", "), about))
		}
	}
	if len(c.Tools.Files.Open) > 0 {
		p.unprotected("files", "no approval is needed for "+strings.Join(c.Tools.Files.Open, ", ")+" (tools.files.open)")
	}
	if why := daemon.Hidden(); why == "" {
		p.finding("memory", nil, "other programs of your user can read neither the environment nor the memory of thinkd, and there are no core dumps")
	} else {
		p.unprotected("memory", "other programs of your user can read the environment and the memory of thinkd: "+why)
	}
	var exposed []string
	for _, pc := range c.Providers {
		if !pc.Key.IsZero() && pc.KeyEnv != "" {
			exposed = append(exposed, pc.KeyEnv)
		}
	}
	if len(exposed) > 0 {
		p.unprotected("keys", "every program of your user can read "+strings.Join(exposed, ", ")+" in the environment of your shell or editor; `thinkd auth set PROVIDER` keeps a key in a file instead")
	}
	p.tellSandbox(p.options.Sandbox(c))
	p.unprotected("mcp servers", "they can read and change everything that your user can")
}

func (p *program) tellSandbox(box sandbox.Sandbox) {
	kind, err := box.Choose()
	network := "have no network"
	if box.Network {
		network = "have the network (tools.sandbox_network)"
	}
	switch {
	case err != nil:
		p.unprotected("run", fmt.Sprintf("all commands are refused: the sandbox cannot be created: %v", err))
	case kind == sandbox.Off:
		p.unprotected("run", "commands can read and change everything that your user can; there is no sandbox (tools.sandbox)")
	case kind == sandbox.Bwrap:
		p.finding("run", nil, "commands run in bubblewrap: they see no protected files and no secret places of the home folder and the session's folder, write only in the session's folder, and "+network)
	case kind == sandbox.Landlock:
		p.finding("run", nil, "commands run under Landlock: they can read no protected files and no secret places of the home folder and the session's folder, write only in the session's folder, and "+network)
		p.unprotected("run", "under Landlock commands can list the names in secret places, and next to a secret in the session's folder they cannot create, rename or remove files")
		for _, text := range sandbox.Lacks() {
			p.unprotected("run", "under Landlock of this kernel "+text)
		}
	}
}

// unprotected prints a line about what nothing protects. It is no fault of the installation.
func (p *program) unprotected(what, text string) { fmt.Fprintf(p.out, "note  %s: %s\n", what, text) }
