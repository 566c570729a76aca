package queue

import (
	"errors"
	"slices"
	"testing"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/room"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

func prompting(text string, steer bool) session.Prompt {
	return session.Prompt{Content: provider.Blocks{provider.Text{Text: text}}, Steer: steer}
}

func turns(u feed.QueueUpdate) (list []session.TurnID) {
	for _, q := range u.Queue {
		list = append(list, q.Turn)
	}
	return list
}

// Prompts that steer come first, in their order, and an update that was sent never changes.
func TestOrder(t *testing.T) {
	q := New(nil)
	q.Add("a", prompting("a", false))
	q.Add("b", prompting("b", false))
	before := q.Update()
	q.Add("s", prompting("s", true))
	q.Add("t", prompting("t", true))
	if got := turns(q.Update()); !slices.Equal(got, []session.TurnID{"s", "t", "a", "b"}) {
		t.Errorf("order %v", got)
	}
	if got := q.Steering(); !slices.Equal(got, []session.TurnID{"s", "t"}) {
		t.Errorf("steering %v", got)
	}
	whole := q.Update()
	q.Remove("t")
	q.Remove("s")
	q.Remove("nobody")
	q.Add("c", prompting("c", false))
	if q.First() != "a" || q.Len() != 3 {
		t.Errorf("%d wait, the first is %s", q.Len(), q.First())
	}
	if !slices.Equal(turns(before), []session.TurnID{"a", "b"}) || !slices.Equal(turns(whole), []session.TurnID{"s", "t", "a", "b"}) {
		t.Errorf("earlier updates are now %v and %v", turns(before), turns(whole))
	}
}

// The bytes of a session and of all sessions are bounded, and what leaves a queue gives its bytes back.
func TestRoom(t *testing.T) {
	total := new(Total)
	one, two := New(total), New(total)
	p := prompting("0123456789", false)
	size := room.OfBlocks(p.Content)
	one.Add("a", p)
	two.Add("b", p)
	if got := total.Bytes(); got != 2*size {
		t.Errorf("%d bytes wait, want %d", got, 2*size)
	}
	for _, test := range []struct {
		session, all int64
		limit        string // empty: there is room
	}{{2 * size, 3 * size, ""}, {2*size - 1, 3 * size, "max_session_queue_bytes"}, {2 * size, 3*size - 1, "max_queue_bytes"}} {
		err := one.RoomFor(p.Content, test.session, test.all)
		full, _ := errors.AsType[*room.Error](err)
		if (err == nil) != (test.limit == "") || full != nil && full.Limit != test.limit {
			t.Errorf("%+v: %v", test, err)
		}
	}
	one.Remove("a")
	two.Close()
	if got := total.Bytes(); got != 0 {
		t.Errorf("%d bytes are left", got)
	}
}
