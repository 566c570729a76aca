package jet_test

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/jet"
	"github.com/thinkd/thinkd/session/jet/jettest"
	"github.com/thinkd/thinkd/session/storetest"
)

// TestOneServer is the contract of every store, with one server.
func TestOneServer(t *testing.T) {
	testgo.Cost(t)
	suite(t, 1, 2)
}

var whole = flag.Bool("three", false, "TestThreeServers runs the whole suite")

// TestThreeServers is the same with three servers, each of which has a replica of each stream. Without -three it leaves out what takes
// longest, and runs the rest for one owner.
func TestThreeServers(t *testing.T) {
	testgo.Cost(t)
	suite(t, 3, 1)
}

// slow begin the names of the tests that make a thousand sessions, or hundreds for many lists.
var slow = []string{"create once, many", "stamps of several owners", "list while sessions change", "list in pages"}

// short reports whether a test belongs to the short form with three servers.
func short(name string) bool {
	return !strings.HasSuffix(name, ", "+session.Operator.String()) &&
		!slices.ContainsFunc(slow, func(start string) bool { return strings.HasPrefix(name, start) })
}

func suite(t *testing.T, replicas, shards int) {
	link := jettest.Outside(t, jettest.Start(t, replicas).Dial())
	var n atomic.Int32
	t.Run("store", func(t *testing.T) {
		keep := func(name string) bool { return replicas == 1 || *whole || short(name) }
		storetest.RunSome(t, func(t *testing.T) session.Store {
			prefix := fmt.Sprint("t", n.Add(1))
			s, err := jet.Open(t.Context(), link, jet.Options{Prefix: prefix, Shards: shards, Replicas: replicas, MaxGrowth: 1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { remove(t, link, prefix, shards) })
			return s
		}, keep)
	})
}

// remove removes the streams of a store, so that the servers do not keep those of all tests.
func remove(t *testing.T, link jet.Link, prefix string, shards int) {
	streams := []string{"STATE", "MADE", "CKPT"}
	for k := range shards {
		streams = append(streams, fmt.Sprint("LOG_", k))
	}
	for _, name := range streams {
		m := nats.NewMsg("$JS.API.STREAM.DELETE." + prefix + "_" + name)
		if answer, err := link.Request(context.Background(), 0, m); err != nil {
			t.Errorf("remove: %v, %v", answer, err)
		}
	}
}
