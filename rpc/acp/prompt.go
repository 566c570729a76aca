package acp

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/acp/blocks"
	"github.com/thinkd/thinkd/rpc/acp/command"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/session"
)

type promptParams struct {
	Session sessionID       `json:"sessionId"`
	Prompt  []blocks.Prompt `json:"prompt"`
}

// prompt says something. The answer comes behind the last update of its turn; one that comes while a turn runs waits
// for its own.
func prompt(ctx context.Context, e *Editor, p promptParams, reply method.Reply) error {
	th, said, err := e.says(ctx, p)
	if err != nil {
		return err
	}
	if did, err := th.command(ctx, said, reply); did || err != nil {
		return err
	}
	return th.prompt(ctx, said, reply)
}

// says is what a prompt amounts to, and the thread that its answer will be written by.
func (e *Editor) says(ctx context.Context, p promptParams) (th *thread, said agent.Prompt, err error) {
	if err := p.Session.check(); err != nil {
		return nil, said, err
	}
	if said.Content, err = blocks.Read(p.Prompt); err != nil {
		return nil, said, err
	}
	if err := readCommand(&said); err != nil {
		return nil, said, err
	}
	if th = e.thread(p.Session.ID); th != nil && e.Follows(p.Session.ID) {
		return th, said, nil
	}
	if _, err = e.join(ctx, p.Session.ID, ""); err != nil {
		return nil, said, err
	}
	if th = e.thread(p.Session.ID); th == nil { // it was deleted since
		return nil, said, session.ErrNotFound
	}
	return th, said, nil
}

// readCommand takes a command off the first text of a prompt.
func readCommand(said *agent.Prompt) error {
	text, ok := said.Content[0].(provider.Text)
	if !ok {
		return nil
	}
	rest, ok := strings.CutPrefix(text.Text, "/"+command.Think+" ")
	if !ok {
		return nil
	}
	word, rest, _ := strings.Cut(strings.TrimSpace(rest), " ")
	level, err := provider.ParseLevel(word)
	if err != nil {
		return err
	}
	said.Override.Level = level
	if rest = strings.TrimSpace(rest); rest != "" {
		said.Content[0] = provider.Text{Text: rest}
		return nil
	}
	if said.Content = said.Content[1:]; len(said.Content) == 0 {
		return conn.InvalidParams("prompt", "says nothing behind the level")
	}
	return nil
}

// cancel ends the turn that runs and takes out what this client has waiting: an editor's stop means all of it.
func cancel(ctx context.Context, e *Editor, p sessionParams) (method.Nothing, error) {
	if err := p.Session.check(); err != nil {
		return method.Nothing{}, err
	}
	var waiting []session.TurnID
	if th := e.thread(p.Session.ID); th != nil {
		th.mu.Lock()
		waiting = slices.Sorted(maps.Keys(th.prompts)) // ids grow with time
		th.mu.Unlock()
	}
	_, err := service.OnAgent(ctx, e, p.Session.ID, func(a *agent.Agent) (struct{}, error) {
		for _, turn := range slices.Backward(waiting) {
			if err := a.Dequeue(ctx, turn); err != nil {
				return struct{}{}, err
			}
		}
		_, err := a.Cancel(ctx, "")
		return struct{}{}, errors.Join(err, a.StopCompaction(ctx))
	})
	return method.Nothing{}, err
}

type steerParams struct {
	promptParams
	Meta struct {
		Steering struct {
			WhenIdle string `json:"idleBehavior"`
		} `json:"steering"`
	} `json:"_meta,omitzero"`
}

type steerResult struct {
	Outcome string `json:"outcome"`
}

// steer has the turn that runs take a prompt in. It is an extension that several agents and clients share, and no part
// of ACP: the client shows the prompt itself, and a turn that begins since none ran has no request that would be answered.
func steer(ctx context.Context, e *Editor, p steerParams) (steerResult, error) {
	th, said, err := e.says(ctx, p.promptParams)
	if err != nil {
		return steerResult{}, err
	}
	e.Attend()
	said.Steer = true
	th.mu.Lock()
	defer th.mu.Unlock()
	return service.OnAgent(ctx, e, p.Session.ID, func(a *agent.Agent) (steerResult, error) {
		if p.Meta.Steering.WhenIdle == "promptRequired" {
			st, err := a.State(ctx)
			if err != nil || !st.Running {
				return steerResult{"promptRequired"}, err
			}
		}
		r, err := a.Prompt(ctx, said)
		if err != nil {
			return steerResult{}, err
		}
		th.mine[r.Turn] = true
		if r.Disposition == feed.Steered {
			return steerResult{"injected"}, nil
		}
		return steerResult{"startedNewTurn"}, nil
	})
}
