package acp

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/acp/blocks"
	"github.com/thinkd/thinkd/rpc/acp/command"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/failure"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/session/tool"
)

// sendCommands sends the list of commands, unless the client has it.
func (th *thread) sendCommands(ctx context.Context) error {
	servers, err := th.prompters(ctx)
	if err != nil {
		return nil // the end of the session comes next
	}
	prompts, names := make(map[string][]toolhost.Prompt), []string{}
	for name, host := range servers {
		prompts[name], names = host.Prompts(), append(names, name)
	}
	slices.Sort(names)
	list := command.List(prompts, names)
	text := string(compactJSON(list))
	if text == th.commands {
		return nil
	}
	th.commands = text
	return th.send(ctx, nil, update{Kind: "available_commands_update", Commands: list})
}

// prompters are the hosts of the session that may have prompts, by the names of their servers.
func (th *thread) prompters(ctx context.Context) (map[string]toolhost.Prompter, error) {
	record, err := th.e.Sessions().Get(ctx, th.id)
	if err != nil {
		return nil, err
	}
	list := make(map[string]toolhost.Prompter)
	for _, host := range th.e.Sessions().Hosts(record) {
		if p, ok := host.(toolhost.Prompter); ok {
			list[tool.Tool{Host: tool.MCP, Source: host.Name()}.Server()] = p
		}
	}
	return list, nil
}

// command does what a prompt asks for that is a command, and reports whether it was one. Commands that wait answer later.
func (th *thread) command(ctx context.Context, said agent.Prompt, reply method.Reply) (did bool, err error) {
	text, ok := said.Content[0].(provider.Text)
	if !ok {
		return false, nil
	}
	name, rest, ok := command.Split(text.Text)
	if !ok {
		return false, nil
	}
	alone := len(said.Content) == 1
	switch name {
	case command.Compact, command.Uncompact:
		if rest != "" || !alone {
			return false, nil
		}
		if name == command.Compact {
			return true, th.compact(ctx, reply)
		}
		return true, th.uncompact(ctx, reply)
	case command.Model:
		if rest == "" || !alone {
			return false, conn.InvalidParams("prompt", "/model needs the id of a model, and nothing else")
		}
		return true, th.setModel(ctx, rest, reply)
	case command.Export:
		th.afterwards(ctx, reply, func(ctx context.Context) error { return th.export(ctx, rest, reply) })
		return true, nil
	}
	server, prompt, ok := strings.Cut(strings.TrimPrefix(name, "mcp:"), ":")
	if !ok || !strings.HasPrefix(name, "mcp:") {
		return false, nil
	}
	servers, err := th.prompters(ctx)
	if err != nil || servers[server] == nil {
		return false, err
	}
	th.afterwards(ctx, reply, func(ctx context.Context) error { return th.mcpPrompt(ctx, servers[server], prompt, rest, said, reply) })
	return true, nil
}

// afterwards runs what waits for somebody, and replies with its error.
func (th *thread) afterwards(ctx context.Context, reply method.Reply, run func(context.Context) error) {
	th.e.Run(func() { // ends with the request or the connection; serve waits
		_, err := failure.Guard(func() (method.Nothing, error) { return method.Nothing{}, run(ctx) })
		switch {
		case errors.Is(context.Cause(ctx), conn.ErrCancelled):
			reply(promptResult{Stop: stopCancelled}, nil)
		case err != nil:
			reply(nil, err)
		}
	})
}

// say shows a text that is no part of the session, before the answer to a request.
func (th *thread) say(ctx context.Context, text string) error {
	for piece := range blocks.Chunks(text) {
		message, err := encode(envelope{Version: "2.0", Method: "session/update", Params: notification{th.id,
			update{Kind: "agent_message_chunk", Content: blocks.Content{Type: "text", Text: piece}}}}) // the sender owns th.pending
		if err != nil {
			return err
		}
		if err := th.e.Notify(ctx, message); err != nil {
			return err
		}
	}
	return nil
}

func (th *thread) setModel(ctx context.Context, id string, reply method.Reply) error {
	m, err := th.e.Model(id, "")
	if err != nil {
		return err
	}
	st, err := th.e.change(ctx, sessionID{th.id}, agent.Change{Model: &m})
	if err != nil {
		return err
	}
	th.afterwards(ctx, reply, func(ctx context.Context) error { // a client that reads nothing would hold up the connection
		if err := th.say(ctx, "The model is "+st.Model.Provider+"/"+st.Model.ID+", thinking: "+string(st.Decision.Effective)+"."); err != nil {
			return err
		}
		reply(promptResult{Stop: "end_turn"}, nil)
		return nil
	})
	return nil
}

// export writes the session to a file of the editor, or shows it if the editor writes no files.
func (th *thread) export(ctx context.Context, file string, reply method.Reply) error {
	text, err := th.e.export(ctx, th.id)
	if err != nil {
		return err
	}
	if th.e.can.FS.Write {
		record, err := th.e.Sessions().Get(ctx, th.id)
		if err != nil {
			return err
		}
		if file == "" {
			file = "session.md"
		}
		if !filepath.IsAbs(file) {
			file = filepath.Join(record.CWD, file)
		}
		if _, err := th.e.call(ctx, "fs/write_text_file", fileParams{th.id, file, &text}); err != nil {
			return conn.InvalidParams("prompt", "the session cannot be exported: %v", err)
		}
		text = "The session is in " + file + "."
	}
	if err := th.say(ctx, text); err != nil {
		return err
	}
	reply(promptResult{Stop: "end_turn"}, nil)
	return nil
}

// mcpPrompt has the agent take what a prompt of a server says.
func (th *thread) mcpPrompt(ctx context.Context, server toolhost.Prompter, name, rest string, said agent.Prompt, reply method.Reply) error {
	known := toolhost.Prompt{Name: name}
	for _, p := range server.Prompts() {
		if p.Name == name {
			known = p
		}
	}
	arguments, err := command.Arguments(known, rest)
	if err != nil {
		return conn.InvalidParams("prompt", "%v", err)
	}
	content, err := server.Prompt(ctx, name, arguments)
	if err != nil {
		return conn.InvalidParams("prompt", "%v", err)
	}
	said.Content = append(content, said.Content[1:]...)
	return th.prompt(ctx, said, reply)
}
