package acp

import (
	"context"
	"maps"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/session"
)

func (e *Editor) subscribe(ctx context.Context, id session.ID, limit int) (snap agent.Snapshot, sub *feed.Subscription, err error) {
	_, err = service.OnAgent(ctx, e, id, func(a *agent.Agent) (struct{}, error) {
		if snap, sub, err = a.Attach(ctx, limit); err == nil {
			sub.Confirms() // each editor has to answer session/request_permission
		}
		return struct{}{}, err
	})
	return snap, sub, err
}

// startSender sends the client the updates of a session after a snapshot. The sender calls first before it sends any of them, so the
// thread exists when the client has its answer.
// openedIn is the directory that the client named, empty if it created the session.
func (e *Editor) startSender(snap agent.Snapshot, sub *feed.Subscription, openedIn string, first func()) {
	id := snap.Session.ID
	th := e.replace(id)
	th.begin(snap)
	th.openedIn = openedIn
	th.sent(e.options(snap.State))
	e.Follow(id, func(ctx context.Context) error {
		defer sub.Close()
		first()
		return th.run(ctx, snap, sub)
	})
}

// join sends the client the updates of a session from now on. dir is the directory that the client opens it in, empty if it named none.
func (e *Editor) join(ctx context.Context, id session.ID, dir string) (agent.State, error) {
	snap, sub, err := e.subscribe(ctx, id, 0)
	if err != nil {
		return agent.State{}, err
	}
	e.startSender(snap, sub, dir, func() {})
	return snap.State, nil
}

// replace makes a new thread of a session. The sender of the one before has ended then, and its open prompts are this
// one's.
func (e *Editor) replace(id session.ID) *thread {
	e.Unfollow(id)
	th := &thread{e: e, id: id, prompts: make(map[session.TurnID]method.Reply), mine: make(map[session.TurnID]bool),
		calls: make(map[string][]*toolCall), started: make(map[string]string), terminals: make(map[string]string), questions: make(map[string]*question)}
	e.mu.Lock()
	before := e.threads[id]
	e.threads[id] = th
	e.mu.Unlock()
	e.server.editors.enter(id, e)
	if before != nil {
		before.mu.Lock()
		defer before.mu.Unlock()
		maps.Copy(th.prompts, before.prompts)
		maps.Copy(th.mine, before.mine)
		th.waits.Store(len(th.prompts) > 0)
		clear(before.prompts)
		if reply := before.compacted; reply != nil { // the outcome of the summary is sent as an update
			before.compacted = nil
			reply(promptResult{Stop: "end_turn"}, nil)
		}
	}
	return th
}

// forget ends what the client follows, and is the thread that it was.
func (e *Editor) forget(id session.ID) *thread {
	e.Unfollow(id)
	e.server.editors.leave(id, e)
	e.mu.Lock()
	defer e.mu.Unlock()
	th := e.threads[id]
	delete(e.threads, id)
	return th
}
