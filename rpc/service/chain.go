package service

import (
	"errors"
	"fmt"

	"github.com/thinkd/thinkd/agent/egress"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/session"
)

// Fallbacks reads the fallbacks that a client states in a member; nil: it states none. Errors are *[conn.Error].
func (c Caller) Fallbacks(member string, list *[]registry.FallbackModel) (*[]session.Link, error) {
	if list == nil {
		return nil, nil
	}
	if err := registry.CheckFallbacks(*list); err != nil {
		if wrong, ok := errors.AsType[*registry.OverrideError](err); ok {
			return nil, conn.InvalidParams(member+wrong.Field[len("fallbacks"):], "%v", wrong.Err)
		}
		return nil, err
	}
	links := make([]session.Link, 0, len(*list))
	for i, f := range *list {
		if f.Key != "" && !c.OwnsMachine() {
			return nil, conn.InvalidParams(fmt.Sprintf("%s.%d.key", member, i), "names a key of the operator; leave it out")
		}
		ref, err := c.Model(f.Model, "")
		if err != nil {
			return nil, err
		}
		level := f.Level
		if level != "" {
			if level, err = provider.ParseLevel(string(level)); err != nil {
				return nil, conn.InvalidParams(member, "%v", err)
			}
		}
		links = append(links, session.Link{Model: ref, Level: level, Key: f.Key})
	}
	return &links, nil
}

// egress returns the labels that a session may reach: those that the client, the agent and the operator all allow. Each of them may
// leave the choice to the others.
func (c Caller) egress(asked, named []string) ([]string, error) {
	if err := egress.CheckLabels(asked); err != nil {
		return nil, conn.InvalidParams("options.egress", "%v", err)
	}
	labels, ok := egress.Narrow(c.config.Egress, named)
	if ok {
		labels, ok = egress.Narrow(labels, asked)
	}
	if !ok {
		return nil, conn.InvalidParams("options.egress", "has no label that the operator and the agent allow")
	}
	return labels, nil
}
