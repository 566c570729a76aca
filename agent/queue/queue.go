package queue

import (
	"slices"
	"sync/atomic"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/room"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// Total counts the bytes of the prompts that wait in all sessions of a daemon. It is safe for concurrent use. A nil *Total in New counts nothing.
type Total struct{ bytes atomic.Int64 }

// Bytes is the sum.
func (t *Total) Bytes() int64 { return t.bytes.Load() }

// Queue is the prompts of one session that wait, in order: first those that steer the running turn. It belongs to the goroutine of
// the session.
type Queue struct {
	Held bool // no prompt starts until somebody continues the queue, or adds one

	list  []feed.Queued // shared with updates, so its elements never change
	known map[session.TurnID]prompt
	bytes int64
	total *Total
}

// prompt is what is known of a prompt that waits.
type prompt struct {
	bytes  int64
	steers bool
}

// New is an empty queue. Its bytes count for total, until Close.
func New(total *Total) *Queue {
	return &Queue{known: make(map[session.TurnID]prompt), total: total}
}

// Len is the number of prompts that wait.
func (q *Queue) Len() int { return len(q.list) }

// First is the turn of the first prompt. There must be one.
func (q *Queue) First() session.TurnID { return q.list[0].Turn }

// Update is the queue as clients get it. It costs nothing, however long the queue is: the list is shared.
func (q *Queue) Update() feed.QueueUpdate {
	if len(q.list) == 0 {
		return feed.QueueUpdate{Queue: []feed.Queued{}, Held: q.Held}
	}
	return feed.QueueUpdate{Queue: slices.Clip(q.list), Held: q.Held}
}

// Steering lists the turns of the prompts that steer the running turn, in order.
func (q *Queue) Steering() (turns []session.TurnID) {
	for _, waiting := range q.list {
		if q.known[waiting.Turn].steers {
			turns = append(turns, waiting.Turn)
		}
	}
	return turns
}

// Add puts a prompt at the end, or, if it steers, after the others that steer.
func (q *Queue) Add(id session.TurnID, p session.Prompt) {
	at, waiting := len(q.list), feed.NewQueued(id, p)
	if p.Steer {
		if i := slices.IndexFunc(q.list, func(other feed.Queued) bool { return !q.known[other.Turn].steers }); i >= 0 {
			at = i
		}
	}
	if at == len(q.list) {
		q.list = append(q.list, waiting)
	} else { // into a new array: updates share the old one
		q.list = slices.Concat(q.list[:at], []feed.Queued{waiting}, q.list[at:])
	}
	q.known[id] = prompt{room.OfBlocks(p.Content), p.Steer}
	q.count(q.known[id].bytes)
}

// Replace puts a prompt in the place of the one that its turn had. One that does not wait is ignored.
func (q *Queue) Replace(id session.TurnID, p session.Prompt) {
	i := q.index(id)
	if i < 0 {
		return
	}
	q.list = slices.Clone(q.list) // updates share the old one
	q.list[i] = feed.NewQueued(id, p)
	was := q.known[id]
	q.known[id] = prompt{room.OfBlocks(p.Content), was.steers}
	q.count(q.known[id].bytes - was.bytes)
}

// Move puts a prompt in front of another one, or at the end if before is empty. Both must wait, and neither may steer.
func (q *Queue) Move(id, before session.TurnID) {
	i := q.index(id)
	moved := q.list[i]
	q.list = slices.Concat(q.list[:i], q.list[i+1:]) // a new array: updates share the old one
	to := len(q.list)
	if before != "" {
		to = q.index(before)
	}
	q.list = slices.Insert(q.list, to, moved)
}

func (q *Queue) index(id session.TurnID) int {
	return slices.IndexFunc(q.list, func(waiting feed.Queued) bool { return waiting.Turn == id })
}

// Remove takes a prompt out. One that does not wait is ignored.
func (q *Queue) Remove(id session.TurnID) {
	i := q.index(id)
	switch {
	case i == 0:
		q.list = q.list[1:]
	case i > 0: // into a new array: updates share the old one
		q.list = slices.Concat(q.list[:i], q.list[i+1:])
	}
	q.count(-q.known[id].bytes)
	delete(q.known, id)
}

// Close takes the bytes of the queue out of the total.
func (q *Queue) Close() { q.count(-q.bytes) }

func (q *Queue) count(bytes int64) {
	q.bytes += bytes
	if q.total != nil {
		q.total.bytes.Add(bytes)
	}
}

// RoomFor returns a *room.Error if the queue of the session, or those of all sessions, would exceed so many bytes with one more
// prompt.
func (q *Queue) RoomFor(content provider.Blocks, session, all int64) error {
	more := room.OfBlocks(content)
	switch {
	case q.bytes+more > session:
		return &room.Error{What: "the prompts that wait in this session are too large together", Limit: "max_session_queue_bytes", Bytes: session}
	case q.total != nil && q.total.Bytes()+more > all:
		return &room.Error{What: "the prompts that wait in all sessions are too large together", Limit: "max_queue_bytes", Bytes: all}
	}
	return nil
}
