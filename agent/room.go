package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// One client must not fill the machine. Prompts that wait are in the log and not in memory; they are bounded per session and per
// daemon. Loaded sessions are
// bounded per daemon: what they hold is estimated when they are loaded and after each turn, and where there is no room for one
// more, those go that nothing runs in and nobody follows, the longest unused first. What is on disk is not bounded here.

// RoomError refuses what would exceed a bound on memory or on queues.
type RoomError struct {
	What  string // that has no room
	Limit string // the setting
	Bytes int64  // its value
}

func (e *RoomError) Error() string {
	return fmt.Sprintf("%s: the limit is %d bytes (limits.%s)", e.What, e.Bytes, e.Limit)
}

// room is what a daemon's sessions hold together, in bytes.
type room struct {
	queued atomic.Int64 // by prompts that wait
}

// sizeOfBlocks is what blocks take in memory, roughly.
func sizeOfBlocks(blocks provider.Blocks) (n int64) {
	const block = 64
	for _, b := range blocks {
		n += block + int64(len(provider.StateOf(b).Data))
		switch b := b.(type) {
		case provider.Text:
			n += int64(len(b.Text))
		case provider.Thinking:
			n += int64(len(b.Text))
		case provider.ToolCall:
			n += int64(len(b.Input) + len(b.Invalid))
		case provider.ToolResult:
			n += sizeOfBlocks(b.Blocks)
		case provider.Media:
			n += int64(len(b.Data))
		case provider.Opaque:
		}
	}
	return n
}

// sizeOfRecord is what a session's record takes.
func sizeOfRecord(s session.Session) (n int64) {
	n = int64(len(s.System) + len(s.CWD) + session.MetadataSize(s.Metadata))
	for _, t := range s.Tools {
		n += int64(len(t.Name) + len(t.Title) + len(t.Description) + len(t.Schema))
	}
	return n
}

// sizeOfView is what a session takes that is loaded.
func sizeOfView(v *session.View) (n int64) {
	const turn, message = 512, 256
	n = sizeOfRecord(v.Session)
	if c := v.Compaction(); c != nil {
		n += int64(len(c.Summary))
	}
	for _, t := range v.Turns {
		n += turn
		for _, m := range t.Messages {
			n += message
			for _, p := range m.Parts {
				n += sizeOfBlocks(provider.Blocks{p.Block})
			}
		}
	}
	return n
}

// measure takes note of what the session holds. It is for the load and for moments after which nothing of it runs.
func (s *state) measure() { s.size.Store(sizeOfView(s.view)) }

// waits takes note of what a prompt holds that waits.
func (s *state) waits(id session.TurnID, p session.Prompt) {
	s.sizes[id] = sizeOfBlocks(p.Content)
	s.setQueued(s.queued + s.sizes[id])
}

func (s *state) setQueued(now int64) {
	if s.cfg.room != nil {
		s.cfg.room.queued.Add(now - s.queued)
	}
	s.queued = now
}

// roomToQueue refuses a prompt that has no room in the queue.
func (s *state) roomToQueue(content provider.Blocks) error {
	more, l := sizeOfBlocks(content), s.cfg.Limits
	switch {
	case s.queued+more > l.SessionQueue:
		return &RoomError{"the prompts that wait in this session are too large together", "max_session_queue_bytes", l.SessionQueue}
	case s.cfg.room != nil && s.cfg.room.queued.Load()+more > l.Queues:
		return &RoomError{"the prompts that wait in all sessions are too large together", "max_queue_bytes", l.Queues}
	}
	return nil
}

// loadedSize is what all loaded sessions hold together.
func (g *Group) loadedSize() (n int64) {
	for _, a := range g.running() {
		n += a.size.Load()
	}
	return n
}

// makeRoom lets sessions go until there is room for more bytes. It is a RoomError if there is none.
func (g *Group) makeRoom(ctx context.Context, more int64, but session.ID) error {
	limit := g.cfg.Limits.Loaded
	if g.loadedSize()+more <= limit {
		return nil
	}
	type resting struct {
		*Agent
		used time.Time
	}
	var rest []resting
	for _, a := range g.running() {
		if a.id == but {
			continue
		}
		used, err := ask(ctx, a, func(s *state) (time.Time, error) { return s.used, nil })
		if err == nil { // else it is ending
			rest = append(rest, resting{a, used})
		}
	}
	slices.SortFunc(rest, func(a, b resting) int { return cmp.Compare(a.used.UnixNano(), b.used.UnixNano()) })
	for _, a := range rest {
		if g.loadedSize()+more <= limit {
			return nil
		}
		gone, err := ask(ctx, a.Agent, func(s *state) (bool, error) {
			if !s.rests() {
				return false, nil
			}
			s.end(feed.ErrClosed)
			return true, nil
		})
		if err == nil && gone {
			<-a.done
		}
	}
	if held := g.loadedSize(); held > 0 && held+more > limit {
		return &RoomError{"the sessions in use take too much memory", "max_loaded_bytes", limit}
	}
	return nil // a session that is larger than all that may be is loaded alone
}

// rests reports whether nothing of the session runs and nobody follows it.
func (s *state) rests() bool {
	s.feed.Prune()
	s.pruneWaiters()
	return s.run == nil && s.compacting == nil && !s.mayStart() && !s.feed.Subscribed() && len(s.waiters) == 0 && s.unsaved == nil
}
