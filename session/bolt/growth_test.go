package bolt

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/storetest"
)

// grown begins a write transaction in which open blocks of a session have so many pieces. It is rolled back at the end.
func grown(t testing.TB, pieces int, blocks ...session.BlockRef) *bbolt.Tx {
	t.Helper()
	s, err := openStore(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	storetest.Create(t, s, session.Session{ID: storetest.ID(1)})
	tx, err := s.db.Begin(true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tx.Rollback() })
	text := strings.Repeat("x", checkpointSize)
	for _, ref := range blocks {
		for i := range pieces {
			if err := (piece{rowKey(storetest.ID(1)), ref, i * len(text), text}).store(tx); err != nil {
				t.Fatal(err)
			}
		}
	}
	return tx
}

// count is how many pieces each block has.
func count(t *testing.T, tx *bbolt.Tx) map[session.BlockRef]int {
	t.Helper()
	n := map[session.BlockRef]int{}
	bucket := tx.Bucket(growthBucket).Bucket([]byte(storetest.ID(1)))
	if bucket == nil {
		return n
	}
	if err := bucket.ForEach(func(key, sealed []byte) error {
		ref, _, _, err := readPiece(rowKey(storetest.ID(1)), key, sealed)
		n[ref]++
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// An entry removes all pieces of the blocks that it ends, and no piece of another one.
func TestDeleteGrowth(t *testing.T) {
	const pieces = 40
	ref := func(turn session.TurnID, message session.MessageID, number int) session.BlockRef {
		return session.BlockRef{Turn: turn, Message: message, Number: number, Kind: provider.KindText}
	}
	blocks := []session.BlockRef{ref(storetest.TurnA, storetest.MsgA, 0), ref(storetest.TurnA, storetest.MsgA, 1), ref(storetest.TurnA, storetest.MsgA, 256), ref(storetest.TurnB, storetest.MsgB, 1)}
	for _, test := range []struct {
		body session.Body
		left []session.BlockRef
	}{
		{session.Setting{}, blocks},
		{session.Sealed{Message: storetest.MsgA, Number: 1}, []session.BlockRef{blocks[0], blocks[2], blocks[3]}},
		{session.Sealed{Message: storetest.MsgA, Number: 2}, blocks},
		{session.Retry{Message: storetest.MsgA, Discarded: []int{0, 256}}, []session.BlockRef{blocks[1], blocks[3]}},
		{session.MessageEnd{Message: storetest.MsgA}, blocks[3:]},
		{session.TurnEnd{}, blocks[3:]},
	} {
		t.Run(fmt.Sprintf("%+v", test.body), func(t *testing.T) {
			tx := grown(t, pieces, blocks...)
			if err := deleteGrowth(tx, rowKey(storetest.ID(1)), []session.Entry{{Turn: storetest.TurnA, Body: test.body}}); err != nil {
				t.Fatal(err)
			}
			want := map[session.BlockRef]int{}
			for _, ref := range test.left {
				want[ref] = pieces
			}
			if diff := cmp.Diff(want, count(t, tx)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	tx := grown(t, pieces, blocks...)
	all := []session.Entry{{Turn: storetest.TurnA, Body: session.TurnEnd{}}, {Turn: storetest.TurnB, Body: session.MessageEnd{Message: storetest.MsgB}}}
	if err := deleteGrowth(tx, rowKey(storetest.ID(1)), all); err != nil {
		t.Fatal(err)
	}
	if tx.Bucket(growthBucket).Bucket([]byte(storetest.ID(1))) != nil {
		t.Error("the bucket of a session without open blocks is still there")
	}
}

// BenchmarkAppendWhileOpen is the part of an append that looks for pieces to remove, while the model writes a block of 10 MB.
func BenchmarkAppendWhileOpen(b *testing.B) {
	tx := grown(b, 10<<20/checkpointSize, session.BlockRef{Turn: storetest.TurnA, Message: storetest.MsgA, Kind: provider.KindThinking})
	entries := []session.Entry{{Body: session.Setting{}}}
	b.ReportAllocs()
	for b.Loop() {
		if err := deleteGrowth(tx, rowKey(storetest.ID(1)), entries); err != nil {
			b.Fatal(err)
		}
	}
}
