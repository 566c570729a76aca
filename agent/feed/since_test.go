package feed_test

import (
	"sort"
	"testing"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/feed/feedtest"
)

// A client that comes back gets just what it missed, as far back as the feed remembers.
func TestSince(t *testing.T) {
	const base = 1 << 24
	for _, test := range feed.MemoryCases() {
		t.Run(test.Name, func(t *testing.T) {
			f := feed.New("s", base)
			var published []*feed.Update
			for i, e := range test.List {
				f.Publish("t", int64(i)*3, e)
				published = append(published, &feed.Update{Session: "s", Seq: f.Seq(), Time: int64(i) * 3, Turn: "t", Event: e})
			}
			oldest := base + uint64(sort.Search(len(test.List), func(i int) bool { return f.Since(base+uint64(i)) != nil }))
			for after := oldest; after <= f.Seq(); after += 1 + (f.Seq()-oldest)/17 {
				if err := feedtest.Exact(published, after, f.Since(after)); err != nil {
					t.Errorf("after %d: %v", after, err)
				}
			}
		})
	}
}
