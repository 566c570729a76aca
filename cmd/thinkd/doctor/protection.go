package doctor

import (
	"fmt"
	"strings"

	"github.com/thinkd/thinkd/agent/tool/approval"
	"github.com/thinkd/thinkd/agent/tool/guard"
	"github.com/thinkd/thinkd/agent/tool/sandbox"
	"github.com/thinkd/thinkd/cmd/thinkd/daemon"
)

// protection prints what is protected from models and tools on this machine, and what is not.
func (d *Doctor) protection() {
	c, err := d.Options.Config()
	if err != nil {
		return // checkConfig has said so
	}
	dir, err := d.Options.Data()
	if err != nil {
		dir = ""
	}
	d.places(d.Options.Guard(c, dir).Places())
	if len(c.Tools.Files.Open) > 0 {
		d.Note("files", "no approval is needed for "+strings.Join(c.Tools.Files.Open, ", ")+" (tools.files.open)")
	}
	if why := daemon.Hidden(); why == "" {
		d.Add("memory", nil, "other programs of your user can read neither the environment nor the memory of thinkd, and there are no core dumps")
	} else {
		d.Note("memory", "other programs of your user can read the environment and the memory of thinkd: "+why)
	}
	var exposed []string
	for _, pc := range c.Providers {
		if !pc.Key.IsZero() && pc.KeyEnv != "" {
			exposed = append(exposed, pc.KeyEnv)
		}
	}
	if len(exposed) > 0 {
		d.Note("keys", "every program of your user can read "+strings.Join(exposed, ", ")+" in the environment of your shell or editor; `thinkd auth set PROVIDER` keeps a key in a file instead")
	}
	d.sandbox(d.Options.Sandbox(c))
	d.Note("mcp servers", "they can read and change everything that your user can")
}

// dangers are the kinds of protected places, each with the rule for it.
var dangers = []struct {
	danger approval.Danger
	rule   string
}{
	{approval.Protected, "file tools are refused for"},
	{approval.Secret, "each call of a file tool needs approval for"},
	{approval.Program, "a change needs approval also in tool mode edit:"},
}

// places lists the protected places by what they are, or counts them in one finding.
func (d *Doctor) places(list []guard.Place) {
	var counts []string
	for _, kind := range dangers {
		paths := make(map[string][]string)
		var abouts []string
		n := 0
		for _, place := range list {
			if place.Danger != kind.danger {
				continue
			}
			if n++; paths[place.About] == nil {
				abouts = append(abouts, place.About)
			}
			paths[place.About] = append(paths[place.About], place.Path)
		}
		if n > 0 {
			counts = append(counts, fmt.Sprintf("%s %d places", kind.rule, n))
		}
		for _, about := range abouts {
			if d.All {
				d.Add("files", nil, fmt.Sprintf("%s %s (%s)", kind.rule, strings.Join(paths[about], ", "), about))
			}
		}
	}
	if !d.All && len(counts) > 0 {
		d.Add("files", nil, strings.Join(counts, "; ")+"; `thinkd doctor -v` lists them")
	}
}

func (d *Doctor) sandbox(box sandbox.Sandbox) {
	kind, err := box.Choose()
	network := "have no network"
	if box.Network {
		network = "have the network (tools.sandbox_network)"
	}
	switch {
	case err != nil:
		d.Note("run", fmt.Sprintf("all commands are refused: the sandbox cannot be created: %v", err))
	case kind == sandbox.Off:
		d.Note("run", "commands can read and change everything that your user can; there is no sandbox (tools.sandbox)")
	case kind == sandbox.Bwrap:
		d.Add("run", nil, "commands run in bubblewrap: they see no protected files and no secret places of the home folder and the session's folder, write only in the session's folder, and "+network)
	case kind == sandbox.Landlock:
		d.Add("run", nil, "commands run under Landlock: they can read no protected files and no secret places of the home folder and the session's folder, write only in the session's folder, and "+network)
		d.Note("run", "under Landlock commands can list the names in secret places, and next to a secret in the session's folder they cannot create, rename or remove files")
		for _, text := range sandbox.Lacks() {
			d.Note("run", "under Landlock of this kernel "+text)
		}
	}
}
