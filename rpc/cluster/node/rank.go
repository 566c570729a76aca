package node

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"slices"

	"github.com/thinkd/thinkd/rpc/cluster/heartbeat"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/lease"
)

// ranked orders nodes by who is to take a session. All nodes compute the same order, and each session has another one, so the sessions of a node that
// is gone spread over all others.
func ranked(nodes []lease.Node, id session.ID) []lease.Node {
	weight := func(n lease.Node) uint64 {
		h := fnv.New64a()
		h.Write(binary.BigEndian.AppendUint64([]byte(id), uint64(n)))
		return mix(h.Sum64())
	}
	list := slices.Clone(nodes)
	slices.SortFunc(list, func(a, b lease.Node) int {
		return cmp.Or(cmp.Compare(weight(b), weight(a)), cmp.Compare(a, b))
	})
	return list
}

func numbers(peers []heartbeat.Peer) (list []lease.Node) {
	for _, p := range peers {
		list = append(list, p.Node)
	}
	return list
}

// mix spreads a hash whose inputs differ in their last bytes alone.
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	return h
}
