package acp

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/rpc/wire"
	"github.com/thinkd/thinkd/session"
)

const pageSize = 100 // sessions in a list

type listParams struct {
	CWD      string        `json:"cwd,omitempty"`
	Cursor   string        `json:"cursor,omitempty"`
	Archived archiveFilter `json:"archived,omitempty"`
}

// archiveFilter is ACP's word for which sessions a list has.
type archiveFilter string

// selects is the filter as the store has it.
func (f archiveFilter) selects() (*bool, error) {
	switch f {
	case "", "exclude":
		return new(bool), nil
	case "only":
		return new(true), nil
	case "include":
		return nil, nil
	}
	return nil, conn.InvalidParams("archived", "%q is none of exclude, include, only", wire.Characters(string(f), 100))
}

type listResult struct {
	Sessions []listed `json:"sessions"`
	Next     string   `json:"nextCursor,omitempty"`
}

type listed struct {
	ID      session.ID `json:"sessionId"`
	CWD     string     `json:"cwd"`
	Title   string     `json:"title,omitempty"`
	Updated string     `json:"updatedAt"`

	Archived bool `json:"archived"`
}

// list is a page of sessions, newest first: clients ask for it when they start, and wait for some seconds at most. Editors create a session
// for each panel that they open, so sessions that were never used are left out.
func list(ctx context.Context, e *Editor, p listParams) (listResult, error) {
	archived, err := p.Archived.selects()
	if err != nil {
		return listResult{}, err
	}
	page, next, err := e.Sessions().List(ctx, session.Query{Cursor: p.Cursor, Limit: pageSize, Filter: session.Filter{CWD: p.CWD, Archived: archived}})
	if err != nil {
		return listResult{}, err
	}
	r := listResult{Sessions: make([]listed, 0, len(page)), Next: next}
	for _, s := range page {
		if s.Status == session.Damaged || unused(s) {
			continue // nothing could be done with it, or there is nothing in it
		}
		if !filepath.IsAbs(s.CWD) { // the client that created the session named none, and ACP demands one
			s.CWD = rootDirectory()
		}
		r.Sessions = append(r.Sessions, listed{s.ID, s.CWD, s.Title, timestamp(s.Updated), s.Archived})
	}
	return r, nil
}

// unused reports whether nobody ever said anything in a session. The first prompt gives it a title, unless the prompt has no text.
func unused(s session.Session) bool {
	return s.Title == "" && s.Ended == 0 && s.Queued == 0 && s.Status == session.Idle && len(s.Shared) == 0
}

// rootDirectory is an absolute path. On Windows, a root without a volume is not absolute.
func rootDirectory() string {
	if root := string(filepath.Separator); filepath.IsAbs(root) {
		return root
	}
	return `C:\`
}

// deleteSession is a success for what is not there.
func deleteSession(ctx context.Context, e *Editor, p sessionParams) (method.Nothing, error) {
	if p.Session.ID == "" {
		return method.Nothing{}, nil
	}
	return method.Nothing{}, e.Sessions().Delete(ctx, p.Session.ID)
}

// closeSession ends following a session. If no other client follows it, what this client has asked for is cancelled. A turn of
// another client goes on in any case.
func closeSession(ctx context.Context, e *Editor, p sessionParams) (method.Nothing, error) {
	if err := p.Session.check(); err != nil {
		return method.Nothing{}, err
	}
	id := p.Session.ID
	if _, err := e.Sessions().Get(ctx, id); err != nil {
		return method.Nothing{}, err
	}
	th := e.forget(id)
	if th == nil {
		return method.Nothing{}, nil
	}
	th.answerCompact(promptResult{Stop: stopCancelled}, nil)
	th.mu.Lock()
	open := maps.Clone(th.prompts)
	clear(th.prompts)
	th.mu.Unlock()
	_, err := service.OnAgent(ctx, e, id, func(a *agent.Agent) (struct{}, error) {
		return struct{}{}, a.Leave(ctx, slices.Collect(maps.Keys(open)))
	})
	for _, reply := range open {
		reply(promptResult{Stop: stopCancelled}, nil)
	}
	if err != nil {
		return method.Nothing{}, fmt.Errorf("leaving: %w", err)
	}
	return method.Nothing{}, nil
}

// archive closes a session and hides it from lists.
func archive(ctx context.Context, e *Editor, p sessionParams) (method.Nothing, error) {
	if _, err := closeSession(ctx, e, p); err != nil {
		return method.Nothing{}, err
	}
	_, err := e.change(ctx, p.Session, agent.Change{Archived: new(true)})
	return method.Nothing{}, err
}

func unarchive(ctx context.Context, e *Editor, p sessionParams) (method.Nothing, error) {
	_, err := e.change(ctx, p.Session, agent.Change{Archived: new(bool)})
	return method.Nothing{}, err
}

type titleParams struct {
	Session sessionID `json:"sessionId"`
	Title   string    `json:"title"`
}

type titleResult struct {
	Title string `json:"title"`
}

// setTitle stores a title as one line. Titles of the daemon never replace it.
func setTitle(ctx context.Context, e *Editor, p titleParams) (titleResult, error) {
	title, err := service.ReadTitle(p.Title)
	switch {
	case err != nil:
		return titleResult{}, err
	case title == "":
		return titleResult{}, conn.InvalidParams("title", "is empty")
	}
	_, err = e.change(ctx, p.Session, agent.Change{Title: &title})
	return titleResult{title}, err
}

type statusResult struct {
	Status string `json:"status"`
}

// sessionStatus says whether the session's agent is in memory. It loads nothing.
func sessionStatus(ctx context.Context, e *Editor, p sessionParams) (statusResult, error) {
	if err := p.Session.check(); err != nil {
		return statusResult{}, err
	}
	s, err := e.Sessions().Get(ctx, p.Session.ID)
	if err != nil {
		return statusResult{}, err
	}
	if _, loaded := e.Sessions().Live(s); loaded {
		return statusResult{"open"}, nil
	}
	return statusResult{"saved"}, nil
}

// fork makes a session that shares the whole history of another one, and follows it. A fork has the directory, the system prompt and the
// tools of its origin, because signed thinking is bound to them.
func fork(ctx context.Context, e *Editor, p openParams) (newResult, error) {
	if err := p.check(e); err != nil {
		return newResult{}, err
	}
	made, err := e.Sessions().Fork(ctx, p.Session.ID, "")
	if err != nil {
		return newResult{}, err
	}
	st, err := e.join(ctx, made.ID, string(p.CWD))
	if err != nil {
		return newResult{}, err
	}
	e.reoffer(st, p.Servers, p.CWD)
	e.setRoots(made.ID, p.Roots)
	return newResult{made.ID, e.opened(st)}, nil
}
