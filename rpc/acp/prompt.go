package acp

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/mediatype"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/rpc/wire"
	"github.com/thinkd/thinkd/session"
)

type promptParams struct {
	Session sessionID     `json:"sessionId"`
	Prompt  []promptBlock `json:"prompt"`
}

// promptBlock is a ContentBlock of any type.
type promptBlock struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Data     string `json:"data"`
	MIME     string `json:"mimeType"`
	URI      string `json:"uri"`
	Name     string `json:"name"`
	Resource struct {
		URI  string  `json:"uri"`
		Text *string `json:"text"`
		Blob string  `json:"blob"`
		MIME string  `json:"mimeType"`
	} `json:"resource"`
}

// prompt says something. The answer comes behind the last update of its turn; one that comes while a turn runs waits
// for its own.
func prompt(ctx context.Context, e *Editor, p promptParams, reply method.Reply) error {
	th, said, err := e.says(ctx, p)
	if err != nil {
		return err
	}
	if text, ok := said.Content[0].(provider.Text); ok {
		switch strings.TrimSpace(text.Text) {
		case "/" + commandCompact:
			return th.compact(ctx, reply)
		case "/" + commandUncompact:
			return th.uncompact(ctx, reply)
		}
	}
	e.Attend()
	// The turn may be over before the agent's answer is here: the sender waits for the lock.
	th.mu.Lock()
	r, err := service.OnAgent(ctx, e, p.Session.ID, func(a *agent.Agent) (agent.Receipt, error) { return a.Prompt(ctx, said) })
	if err == nil {
		th.prompts[r.Turn], th.mine[r.Turn] = reply, true
		th.waits.Store(true)
	}
	th.mu.Unlock()
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { // at the latest with the connection; run waits where it has work
		if errors.Is(context.Cause(ctx), conn.ErrCancelled) {
			e.Run(func() { th.cancel(e.Conn.Context(), r.Turn) })
		}
	})
	return nil
}

// says is what a prompt amounts to, and the thread that its answer will be written by.
func (e *Editor) says(ctx context.Context, p promptParams) (th *thread, said agent.Prompt, err error) {
	if err := p.Session.check(); err != nil {
		return nil, said, err
	}
	if said, err = readPrompt(p.Prompt); err != nil {
		return nil, said, err
	}
	if th = e.thread(p.Session.ID); th != nil && e.Follows(p.Session.ID) {
		return th, said, nil
	}
	if _, err = e.join(ctx, p.Session.ID); err != nil {
		return nil, said, err
	}
	if th = e.thread(p.Session.ID); th == nil { // it was deleted since
		return nil, said, session.ErrNotFound
	}
	return th, said, nil
}

// readPrompt makes a prompt of content blocks. A link becomes text that says what it is. A blob is a file: whether the model takes it is
// decided before the call.
func readPrompt(blocks []promptBlock) (said agent.Prompt, err error) {
	for i, b := range blocks {
		at := fmt.Sprintf("prompt.%d", i)
		switch b.Type {
		case "text":
			if strings.TrimSpace(b.Text) != "" {
				said.Content = append(said.Content, provider.Text{Text: b.Text})
			}
		case "image", "audio":
			data, err := base64.StdEncoding.DecodeString(b.Data)
			if err != nil || len(data) == 0 {
				return said, conn.InvalidParams(at+".data", "is no base64, or empty")
			}
			said.Content = append(said.Content, provider.Media{Type: b.MIME, Data: data})
		case "resource_link":
			said.Content = append(said.Content, provider.Text{Text: fmt.Sprintf("[%s](%s)", b.Name, b.URI)})
		case "resource":
			r := b.Resource
			switch {
			case r.Text != nil:
				said.Content = append(said.Content, provider.Text{Text: fmt.Sprintf("<resource uri=%q>\n%s\n</resource>", r.URI, *r.Text)})
			default:
				data, err := base64.StdEncoding.DecodeString(r.Blob)
				if err != nil || len(data) == 0 {
					return said, conn.InvalidParams(at+".resource.blob", "is no base64, or empty")
				}
				name := fileName(r.URI)
				said.Content = append(said.Content, provider.Media{Type: cmp.Or(r.MIME, mediatype.OfFile(name, data)), Name: name, Data: data})
			}
		default:
			return said, conn.InvalidParams(at+".type", "%q is none of text, image, audio, resource_link, resource", wire.Characters(b.Type, 100))
		}
	}
	if len(said.Content) == 0 {
		return said, conn.InvalidParams("prompt", "is empty")
	}
	return said, readCommand(&said)
}

// fileName is the name of the file that an address names, of at most 255 bytes.
func fileName(uri string) string {
	address, _, _ := strings.Cut(uri, "?")
	name := path.Base(address)
	if unescaped, err := url.PathUnescape(name); err == nil {
		name = unescaped
	}
	if name == "." || name == "/" {
		return ""
	}
	return wire.Characters(name, 60)
}

// readCommand takes a command off the first text of a prompt.
func readCommand(said *agent.Prompt) error {
	text, ok := said.Content[0].(provider.Text)
	if !ok {
		return nil
	}
	rest, ok := strings.CutPrefix(text.Text, "/"+commandThink+" ")
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

// cancel ends one turn, running or queued. The answer to its prompt comes from the sender.
func (th *thread) cancel(ctx context.Context, turn session.TurnID) {
	e := th.e
	_, err := service.OnAgent(ctx, e, th.id, func(a *agent.Agent) (bool, error) { return a.Cancel(ctx, turn) })
	if err != nil && ctx.Err() == nil {
		e.server.config.Log.Warn("a cancelled prompt continues", "session", th.id, "turn", turn, "err", err)
	}
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
