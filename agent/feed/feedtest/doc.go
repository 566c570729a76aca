// Package feedtest checks what a client gets of a session's updates. It is for tests.
package feedtest

import (
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/agent/feed"
)

// Exact says what is wrong with what a client gets for after. published is all updates in order, none of them merged; since is
// what the client gets, which may be merged. Together with what the client has, since must be published again, without a gap.
func Exact(published []*feed.Update, after uint64, since []*feed.Update) error {
	next := after + 1
	for _, u := range since {
		first := u.Seq
		if u.FirstSeq != 0 {
			first = u.FirstSeq
		}
		if first != next || u.FirstSeq >= u.Seq || u.Seq > published[len(published)-1].Seq {
			return fmt.Errorf("after %d comes %d to %d", next-1, u.FirstSeq, u.Seq)
		}
		from := published[first-published[0].Seq:]
		what, text := grown(u.Event)
		var want strings.Builder
		for i := range int(u.Seq-first) + 1 {
			each, piece := grown(from[i].Event)
			want.WriteString(piece)
			same := each == nil && what == nil && u.Seq == first && cmp.Equal(from[i].Event, u.Event) || each != nil && each == what
			if !same || from[i].Turn != u.Turn || from[i].Session != u.Session {
				return fmt.Errorf("%d is %+v, and comes as a part of %+v", from[i].Seq, from[i].Event, u.Event)
			}
		}
		if u.Time != from[0].Time || text != want.String() {
			return fmt.Errorf("%d to %d come as %d %+v, want %d %q", first, u.Seq, u.Time, u.Event, from[0].Time, want.String())
		}
		next = u.Seq + 1
	}
	if last := published[len(published)-1].Seq; next != last+1 {
		return fmt.Errorf("it ends with %d of %d", next-1, last)
	}
	return nil
}

// grown is growth without its text, which can be compared with ==, and the text. It is nil for other events.
func grown(e feed.Event) (what feed.Event, text string) {
	switch e := e.(type) {
	case feed.ThinkingDelta:
		text, e.Delta = e.Delta, ""
		return e, text
	case feed.MessageDelta:
		text, e.Delta = e.Delta, ""
		return e, text
	case feed.ToolOutput:
		text, e.Chunk = e.Chunk, ""
		return e, text
	}
	return nil, ""
}
