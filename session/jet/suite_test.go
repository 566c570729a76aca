package jet_test

import (
	"context"
	"fmt"
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
	t.Parallel()
	testgo.Cost(t)
	suite(t, 1, 2)
}

func suite(t *testing.T, replicas, shards int) {
	link := jettest.Outside(t, jettest.Start(t, replicas).Dial())
	var n atomic.Int32
	t.Run("store", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) session.Store {
			prefix := fmt.Sprint("t", n.Add(1))
			s, err := jet.Open(t.Context(), link, jet.Options{Prefix: prefix, Shards: shards, Replicas: replicas, MaxGrowth: 1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { remove(t, link, prefix, shards) })
			return s
		})
	})
}

// remove removes the streams of a store, so that the servers do not keep those of all tests.
func remove(t *testing.T, link jet.Link, prefix string, shards int) {
	streams := []string{"STATE", "MADE", "OPEN", "CKPT", "TABLE"}
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
