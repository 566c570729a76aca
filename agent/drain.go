package agent

import (
	"context"
	"slices"
	"sync"

	"github.com/thinkd/thinkd/agent/watch"
	"github.com/thinkd/thinkd/session"
)

// Open loads a session if it is not loaded. What a crash left open in it is closed then. Errors: those of [Sessions.Do].
func (g *Group) Open(ctx context.Context, ref session.Ref) error {
	return g.For(ref.Owner).Do(ctx, ref.ID, func(*Agent) error { return nil })
}

// Holds reports whether a session is loaded, or parked until a time.
func (g *Group) Holds(ref session.Ref) bool {
	g.mu.Lock()
	l := g.agents[ref]
	g.mu.Unlock()
	if l != nil && !l.ended() {
		return true
	}
	_, parked := g.cfg.parks.At(ref)
	return parked
}

// Lists has the subscriptions to lists of the group's sessions.
func (g *Group) Lists() *watch.Hub { return g.cfg.lists }

// Relist publishes, for other processes alone, all loaded sessions that the lists of these owners show. Clients of another process have begun to watch
// them: the store does not have all that is true of a loaded session. It does not wait.
func (g *Group) Relist(owners []session.Owner) {
	lists := make(map[session.Owner]bool)
	for _, o := range owners {
		lists[o] = true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return
	}
	for ref, l := range g.agents {
		if !l.loaded() || !lists[ref.Owner] && !g.guestOf(ref, lists) {
			continue
		}
		g.loads.Go(func() { // ends with the group's context at the latest; Close waits
			_, _ = ask(g.ctx, l.agent, func(s *state) (struct{}, error) { // one that ends publishes what it leaves
				if !s.deleted {
					s.cfg.lists.Repeat(s.ref.Owner, s.row(Live{s.status(), s.needs()}))
				}
				return struct{}{}, nil
			})
		})
	}
}

func (g *Group) guestOf(ref session.Ref, lists map[session.Owner]bool) bool {
	return g.cfg.Guests != nil && slices.ContainsFunc(g.cfg.Guests(ref), func(guest session.Owner) bool { return lists[guest] })
}

// Confirm has a loaded session make sure that no other process has claimed it, if its log is in doubt. One that was claimed ends, and its subscribers
// attach again. It does not wait.
func (g *Group) Confirm(ref session.Ref) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.agents[ref]
	if g.closed || l == nil || !l.loaded() {
		return
	}
	g.loads.Go(func() { // ends with the group's context at the latest; Close waits
		_, _ = ask(g.ctx, l.agent, func(*state) (struct{}, error) { return struct{}{}, nil }) // it confirms first, and an error has ended the agent
	})
}

// DeleteHere deletes the owner's sessions that other processes cannot delete: those that are loaded here, and ephemeral ones. It returns how many. No client may
// act for the owner until it returns. After an error the call can be repeated. Errors: those of the store.
func (o *Sessions) DeleteHere(ctx context.Context) (n int, err error) {
	ids := o.loaded()
	for q := (session.Query{Limit: 1000}); ; {
		page, next, err := o.List(ctx, q)
		if err != nil {
			return 0, err
		}
		for _, s := range page {
			if s.Ephemeral && !slices.Contains(ids, s.ID) {
				ids = append(ids, s.ID)
			}
		}
		if q.Cursor = next; next == "" {
			break
		}
	}
	for _, id := range ids {
		if err := o.Delete(ctx, id); err != nil {
			return n, err
		}
		n++
	}
	if err := o.group.ended(ctx, o.owner); err != nil {
		return n, err
	}
	o.group.cfg.gate.Forget(o.owner)
	return n, nil
}

func (o *Sessions) loaded() (ids []session.ID) {
	g := o.group
	g.mu.Lock()
	defer g.mu.Unlock()
	for ref, l := range g.agents {
		if ref.Owner == o.owner && !l.ended() {
			ids = append(ids, ref.ID)
		}
	}
	return ids
}

// Abandon ends the agents of the sessions in which a turn runs, without a word in their logs. It is for a node of a cluster that was cut off for so
// long that other nodes serve the sessions. It does not wait.
func (g *Group) Abandon() {
	for _, a := range g.running() {
		if a.busy.Load() {
			a.stop(session.ErrCutOff)
		}
	}
}

// Drain has all sessions leave this process, and returns when they have, or when ctx ends. A session is loaded no more. One that is loaded leaves
// when its turn has ended, and its queue does not start. If the queue is to run, the log is handed over, and then moved is called, in parallel for
// several sessions. The rest is for Close.
func (g *Group) Drain(ctx context.Context, moved func(ref session.Ref, epoch uint64)) {
	g.mu.Lock()
	g.leaving = true
	loaded := make(map[session.Ref]*loading, len(g.agents))
	for ref, l := range g.agents {
		loaded[ref] = l
	}
	g.mu.Unlock()
	var leaving sync.WaitGroup
	for ref, l := range loaded {
		leaving.Go(func() { // ends with ctx at the latest
			select {
			case <-l.ready:
			case <-ctx.Done():
				return
			}
			if l.err == nil && l.agent.leave(ctx) && l.agent.handed {
				moved(ref, l.agent.epoch)
			}
		})
	}
	leaving.Wait()
}

// leave has the session leave after its turn, and reports whether it has left.
func (a *Agent) leave(ctx context.Context) bool {
	a.departs.Store(true)
	// The agent looks after each request, also after one that it refuses. One that has ended is what is wanted.
	_, _ = ask(ctx, a, func(*state) (struct{}, error) { return struct{}{}, nil })
	select {
	case <-a.done:
		return true
	case <-ctx.Done():
		return false
	}
}
