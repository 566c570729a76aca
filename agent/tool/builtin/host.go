package builtin

import (
	"context"

	"github.com/thinkd/thinkd/agent/recall"
	"github.com/thinkd/thinkd/agent/tool/approval"
	"github.com/thinkd/thinkd/agent/tool/guard"
	"github.com/thinkd/thinkd/agent/tool/process"
	"github.com/thinkd/thinkd/agent/tool/sandbox"
	"github.com/thinkd/thinkd/session/tool"
)

// Name is the name of the host in every session.
const Name = "builtin"

// Files reads and writes texts instead of the disk: the buffers of an editor, which may not be saved yet. Paths are absolute, and
// below a root of the place. The error for a file that does not exist is fs.ErrNotExist. It is safe for concurrent use.
type Files interface {
	Read(ctx context.Context, path string) (string, error)
	Write(ctx context.Context, path, text string) error
}

// Terminal runs commands instead of the daemon, where people can watch them. It is safe for concurrent use.
type Terminal interface {
	// Run runs a command to its end, or until ctx ends. progress follows the rules of [toolhost.Host].
	Run(ctx context.Context, c Command, progress func(chunk string)) (Exit, error)
}

// Command is a line for the system's shell.
type Command struct {
	Line string
	Dir  string // absolute
	Call string // the id of the call that runs it
}

// Exit is how a command ended.
type Exit struct {
	Output string // of both streams, in the order of arrival; long output has only its beginning and its end
	Code   int
	Signal string // the signal that ended it; empty: none
}

// Place is where a session works.
type Place struct {
	Roots    []string // folders, absolute; relative paths are below the first
	Files    Files    // nil: the disk
	Terminal Terminal // nil: the daemon itself

	// Recall searches what a summary replaces of the conversation; nil: there is nothing. It returns soon after ctx ends.
	Recall func(ctx context.Context, q recall.Query) (string, error)
}

// Tools are the tools of a daemon. They are safe for concurrent use.
type Tools struct {
	config Config
	edits  locks
}

// Config is the settings of [Tools].
type Config struct {
	PassEnv []string     // variables of the daemon that commands get in addition to the usual ones
	Guard   *guard.Guard // of files; nil: the built-in lists

	Sandbox    sandbox.Sandbox    // of commands
	Supervisor process.Supervisor // of commands; nil: they have only a process group
}

// New returns the tools. It starts nothing.
func New(c Config) *Tools {
	if c.Guard == nil {
		c.Guard = guard.New(guard.Config{})
	}
	return &Tools{config: c, edits: locks{held: make(map[string]*lock)}}
}

// In returns the host that runs the tools at a place. It needs no Close.
func (t *Tools) In(p Place) *Host { return &Host{tools: t, place: p} }

// Host runs the tools at a place. It implements [toolhost.Host] and [toolhost.Examiner].
type Host struct {
	tools *Tools
	place Place

	look    *guard.Look      // of a call that runs
	decided approval.Concern // what it was decided on
	call    string           // its id
}

// with is the host for one call.
func (h *Host) with(call string, effect tool.Effect, decided approval.Concern) *Host {
	return &Host{h.tools, h.place, h.tools.config.Guard.Look(effect == tool.Edit), decided, call}
}

// Name is [Name].
func (h *Host) Name() string { return Name }

// Close does nothing: what a call starts ends with the call.
func (h *Host) Close() error { return nil }
