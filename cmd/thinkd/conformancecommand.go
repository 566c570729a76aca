package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/cmd/thinkd/conformance"
	"github.com/thinkd/thinkd/cmd/thinkd/printable"
)

func (p *program) conformanceCommand() *cobra.Command {
	var only []string
	var model string
	var timeout time.Duration
	var list, asJSON bool
	cmd := &cobra.Command{
		Use:   "conformance COMMAND [ARGUMENT...]",
		Short: "Check that a command speaks the protocol on standard input and output",
		Long: `Start COMMAND again and again, speak the protocol with it on standard input and output, and
check that it keeps the rules of protocol.md. docs/conformance.md describes the checks.

  thinkd conformance thinkd stdio

The command needs a model that follows the instructions of the simulator; --model names it.
The sessions of the checks stay in its store, so name an empty one. The exit status is 1 if
a check fails.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			checks, err := selected(only)
			if err != nil {
				return err
			}
			if list {
				for _, c := range checks {
					fmt.Fprintf(p.out, "%-24s %s (%s)\n", c.Name, c.Rule, c.Part)
				}
				return nil
			}
			if len(args) == 0 {
				return errors.New("name the command to check, such as `thinkd conformance thinkd stdio`")
			}
			return p.checkConformance(cmd.Context(), checks, args, model, timeout, asJSON)
		},
	}
	cmd.Flags().SetInterspersed(false) // what follows the command is its own
	cmd.Flags().StringSliceVar(&only, "only", nil, "run only these `CHECKS`")
	cmd.Flags().StringVar(&model, "model", "sim/claude", "`ID` of a model that follows the simulator's instructions")
	cmd.Flags().DurationVar(&timeout, "timeout", 30*time.Second, "a check fails after this `TIME`")
	cmd.Flags().BoolVar(&list, "list", false, "list the checks and their rules")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per check")
	return cmd
}

// selected are the checks with the names, or all.
func selected(names []string) ([]conformance.Check, error) {
	all := conformance.Checks()
	if len(names) == 0 {
		return all, nil
	}
	var list []conformance.Check
	for _, name := range names {
		at := slices.IndexFunc(all, func(c conformance.Check) bool { return c.Name == name })
		if at < 0 {
			return nil, fmt.Errorf("there is no check %q; --list lists them", name)
		}
		list = append(list, all[at])
	}
	return list, nil
}

func (p *program) checkConformance(ctx context.Context, checks []conformance.Check, args []string, model string, timeout time.Duration, asJSON bool) error {
	dial := func(context.Context) (io.ReadWriteCloser, error) { return startPeer(args, p.errOut) }
	failed := 0
	for _, c := range checks {
		err := c.Run(ctx, dial, model, timeout)
		if ctx.Err() != nil {
			return errInterrupted
		}
		if err != nil {
			failed++
		}
		if err := p.printCheck(c, err, asJSON); err != nil {
			return err
		}
	}
	if !asJSON {
		fmt.Fprintf(p.out, "%d of %s passed\n", len(checks)-failed, count(len(checks), "check"))
	}
	if failed > 0 {
		return errReported
	}
	return nil
}

func (p *program) printCheck(c conformance.Check, err error, asJSON bool) error {
	text := ""
	if err != nil {
		text = printable.Clean(err.Error())
	}
	if asJSON {
		return json.NewEncoder(p.out).Encode(struct {
			Check string `json:"check"`
			OK    bool   `json:"ok"`
			Part  string `json:"part"`
			Rule  string `json:"rule"`
			Error string `json:"error,omitempty"`
		}{c.Name, err == nil, c.Part, c.Rule, text})
	}
	if err == nil {
		_, err = fmt.Fprintf(p.out, "ok    %s\n", c.Name)
		return err
	}
	_, err = fmt.Fprintf(p.out, "bad   %s: %s\n      %s: %s\n", c.Name, strings.ReplaceAll(text, "\n", " "), c.Part, c.Rule)
	return err
}

// A childPipe is the standard input and output of a command.
type childPipe struct {
	io.Reader
	io.WriteCloser
	cmd *exec.Cmd
}

func startPeer(args []string, errOut io.Writer) (io.ReadWriteCloser, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stderr = errOut
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &childPipe{out, in, cmd}, cmd.Start()
}

// peerLimit is how long a command may take to exit after the end of its input.
const peerLimit = 5 * time.Second

// Close ends the command's input, and waits until the command exits. Its status is not the subject of a check.
func (c *childPipe) Close() error {
	err := c.WriteCloser.Close()
	late := time.AfterFunc(peerLimit, func() { c.cmd.Process.Kill() })
	defer late.Stop()
	if waited := c.cmd.Wait(); waited != nil && !errors.As(waited, new(*exec.ExitError)) {
		return waited
	}
	return err
}
