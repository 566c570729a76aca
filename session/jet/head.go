package jet

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/lease"
)

// head says what a message of a log is. It is the header headName.
//
// A body that is longer than partSize is split over several messages, each compared and appended. Only the last of them commits: readers
// skip parts without it. So there are messages that commit, and messages that do not.
type head struct {
	Session session.ID `json:"id"`
	Pos     uint64     `json:"pos"` // of the last entry, up to and including this message
	N       int        `json:"n,omitempty"`
	Epoch   uint64     `json:"epoch"`
	Node    lease.Node `json:"node,omitempty"`
	ID      lease.ID   `json:"try"`
	Turn    string     `json:"turn,omitempty"` // that runs
	Run     bool       `json:"run,omitempty"`
	Deleted bool       `json:"deleted,omitempty"`
	Part    int        `json:"part"`
	Parts   int        `json:"parts"`
	Back    uint64     `json:"back,omitempty"`  // the message before; 0: none
	Base    uint64     `json:"base,omitempty"`  // the newest message before that commits; 0: none
	First   uint64     `json:"first,omitempty"` // the oldest that commits; 0: this one
	Map     uint64     `json:"map,omitempty"`   // the newest before that has a map of the log; 0: none
	Since   int        `json:"since,omitempty"` // how many messages commit after that one, before this one
	Mapped  bool       `json:"mapped,omitempty"`
	Prev    digest     `json:"prev"`
}

// digest is the hash of a message and all before it in its log.
type digest [sha256.Size]byte

func (d digest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d[:]), nil }

func (d *digest) UnmarshalText(text []byte) error {
	if len(text) != 2*len(d) {
		return fmt.Errorf("digest of %d characters", len(text))
	}
	_, err := hex.Decode(d[:], text)
	return err
}

// digest is over a fixed form: servers add headers, and may reorder them.
func (h head) digest(body []byte) digest {
	form := append([]byte(nil), h.Prev[:]...)
	word := func(s string) {
		form = binary.BigEndian.AppendUint64(form, uint64(len(s)))
		form = append(form, s...)
	}
	flag := func(b bool) uint64 {
		if b {
			return 1
		}
		return 0
	}
	word(string(h.Session))
	word(h.Turn)
	for _, n := range []uint64{h.Pos, uint64(h.N), h.Epoch, uint64(h.Node), uint64(h.ID), flag(h.Run), flag(h.Deleted), uint64(h.Part), uint64(h.Parts),
		h.Back, h.Base, h.First, h.Map, uint64(h.Since), flag(h.Mapped)} {
		form = binary.BigEndian.AppendUint64(form, n)
	}
	sum := sha256.Sum256(body)
	return sha256.Sum256(append(form, sum[:]...))
}

// next is the head of a message that follows last, the newest, and base, the newest that commits. They may be the same.
func next(base, last found) head {
	h := head{Session: base.Session, Pos: base.Pos, Turn: base.Turn, Part: 1, Parts: 1, Back: last.seq, Prev: last.digest(), Base: base.seq,
		First: base.oldest(), Map: base.Map, Since: base.Since + 1}
	if base.Mapped {
		h.Map, h.Since = base.seq, 0
	}
	return h
}

// beginning is what the first message of a log follows.
func beginning(id session.ID) digest { return sha256.Sum256([]byte(id)) }

// commits reports whether the message ends an append.
func (h head) commits() bool { return h.Part == h.Parts }

// lease is what the rules of ownership see of a message.
func (h head) lease(seq uint64) lease.Head {
	return lease.Head{Seq: seq, Epoch: h.Epoch, Node: h.Node, ID: h.ID, Run: h.Run, Deleted: h.Deleted}
}

func (h head) encode() (string, error) {
	data, err := json.Marshal(h)
	return string(data), err
}

// found is a message of a log that was read.
type found struct {
	head
	seq  uint64
	body []byte // of this message alone
}

// oldest is the sequence of the first message of the log that commits.
func (f found) oldest() uint64 {
	if f.First == 0 {
		return f.seq
	}
	return f.First
}

func (f found) digest() digest { return f.head.digest(f.body) }

func damaged(p place, format string, args ...any) error {
	return fmt.Errorf("session %s: %w: %s", p.ref, session.ErrDamaged, fmt.Sprintf(format, args...))
}

func (p place) parse(m message) (f found, err error) {
	if err := json.Unmarshal([]byte(m.head), &f.head); err != nil {
		return f, damaged(p, "message %d of %s: %v", m.seq, p.stream, err)
	}
	if f.Session != p.ref.ID || f.Parts < 1 || f.Part < 1 || f.Part > f.Parts || f.N < 0 || f.Back >= m.seq && f.Back > 0 {
		return f, damaged(p, "message %d of %s has the head %s", m.seq, p.stream, m.head)
	}
	f.seq, f.body = m.seq, m.data
	return f, nil
}

// newID mints the id of a message, and newNode that of a node.
func newID() lease.ID { return lease.ID(random()) }

func newNode() lease.Node { return lease.Node(random()) }

func random() uint64 {
	var b [8]byte
	rand.Read(b[:])
	return max(binary.BigEndian.Uint64(b[:]), 1)
}
