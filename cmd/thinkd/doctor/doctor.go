package doctor

import (
	"context"
	"os/exec"
	"strings"

	"github.com/thinkd/thinkd/cmd/thinkd/config"
	"github.com/thinkd/thinkd/cmd/thinkd/daemon"
	"github.com/thinkd/thinkd/provider/login"
)

// Check checks everything, and reports whether all is well. A store in use is only checked if inUse is set. The end of ctx ends the check of
// the store.
func (d *Doctor) Check(ctx context.Context, inUse bool) bool {
	well := d.checkConfig()
	well = d.checkSettings() && well
	d.protection()
	return d.checkStore(ctx, inUse) && well
}

func (d *Doctor) checkConfig() bool {
	c, err := d.Options.Config()
	path := c.Path
	if path == "" {
		path = "no file; the defaults apply"
	}
	if !d.Add("config", err, path) {
		return false
	}
	keys, err := d.checkKeys(c.Auth)
	var missing []string
	for _, pc := range c.Providers {
		state := "needs no key"
		switch {
		case !pc.Key.IsZero():
			state = "key in " + pc.KeyEnv
			if pc.KeyEnvNow != "" {
				state += "; that name is deprecated, set " + pc.KeyEnvNow
			}
		case !pc.NeedsKey():
		case keys != nil && login.NamesVariable(keys.Grant(pc.ID), pc.KeyEnv):
			missing = append(missing, pc.ID+" (the key in "+daemon.KeysName+" is the name "+pc.KeyEnv+")")
			continue
		case keys != nil && !keys.Grant(pc.ID).IsZero():
			state = "key or login in " + daemon.KeysName
		case pc.KeyEnv != "":
			text := pc.ID + " (" + pc.KeyEnv
			if pc.KeyEnvName {
				text += ", whose value is its own name"
			}
			missing = append(missing, text+")")
			continue
		default:
			missing = append(missing, pc.ID+" (thinkd auth login "+pc.ID+")")
			continue
		}
		d.Add("provider "+pc.ID, nil, state)
	}
	if len(missing) > 0 {
		d.Add("providers without a key", nil, strings.Join(missing, ", ")+"; set the variable, or store a key with thinkd auth set PROVIDER")
	}
	return d.checkServers(c) && err == nil
}

// checkServers looks for the programs of MCP servers where the daemon will look for them.
func (d *Doctor) checkServers(c config.Config) bool {
	well := true
	for _, s := range c.Servers {
		if len(s.Command) > 0 {
			path, err := exec.LookPath(s.Command[0])
			well = d.Add("MCP server "+s.Name, err, path) && well
		}
	}
	return well
}

// checkKeys reads the file of keys, which may be missing.
func (d *Doctor) checkKeys(a config.Auth) (*login.Keys, error) {
	dir, err := d.Options.Data()
	if err != nil {
		return nil, nil // which the check of the store says
	}
	keys, err := daemon.ReadKeys(context.Background(), dir, a)
	if err != nil {
		d.Add("keys", err, "")
	}
	return keys, err
}

// checkSettings says nothing where clients have set nothing.
func (d *Doctor) checkSettings() bool {
	dir, err := d.Options.Data()
	if err != nil {
		return true // checkStore says so
	}
	path, err := daemon.CheckSettings(dir)
	return path == "" || d.Add("settings", err, path)
}
