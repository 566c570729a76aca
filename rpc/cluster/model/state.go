package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/session/lease"
)

const (
	maxNodes   = 3
	maxLog     = 12
	maxPrompts = 2
	maxNotices = 2
)

// lostID is the id of the message that the store has lost.
const lostID = 255

// kind is what a message of the log says.
type kind uint8

const (
	none    kind = iota
	create       // the session, with its first owner
	claim        // a new owner
	release      // the owner gives up the log
	prompt       // a prompt of a client, in the queue
	start        // its turn starts: a model call or a tool runs after this
	end          // the turn ended
	cut          // the turn ended interrupted: a later owner found it open
	empty        // nothing: the owner makes sure that it still is the owner
	deleted      // the tombstone
)

var kindNames = [...]string{"none", "create", "claim", "release", "prompt", "start of", "end of", "interrupted", "empty entry", "tombstone"}

// message is one message of the log. Its sequence is its index plus 1.
type message struct {
	kind   kind
	prompt uint8
	node   uint8 // who wrote it: an incarnation
	owner  uint8 // who owns the log after it
	epoch  uint8
	id     uint8
	run    bool   // of a release
	number uint32 // of the update that it becomes
}

func (m message) String() string {
	switch m.kind {
	case prompt, start, end, cut:
		return fmt.Sprintf("%s p%d", kindNames[m.kind], m.prompt)
	case claim:
		return fmt.Sprintf("claim %d", m.epoch)
	}
	return kindNames[m.kind]
}

func (m message) head(seq uint8) lease.Head {
	if m.kind == none {
		return lease.Head{}
	}
	return lease.Head{Seq: uint64(seq), Epoch: uint64(m.epoch), Node: lease.Node(m.owner), ID: lease.ID(m.id), Run: m.run, Deleted: m.kind == deleted}
}

// net is where the exchange of a node with the store stands.
type net uint8

const (
	quiet    net = iota // it has none
	reading             // it is to read the last message
	later               // the same, after 10 s
	asking              // it is to ask the owner
	sent                // its message is on the way to the store
	stored              // its message is stored, the acknowledgement is on the way
	conflict            // its message was refused, the answer is on the way
)

// node is one machine. All but id, inc and stray is lost in a crash.
type node struct {
	id  uint8 // of this run of the process; 0: it does not run
	inc uint8 // runs before

	stopped bool // it takes no steps (SIGSTOP, a suspended machine), and does not know it
	cut     bool // it is out of contact, and knows it: it starts, tells and accepts nothing
	drains  bool

	net    net
	seq    uint8 // with stored
	writes bool  // the exchange is write, not claim
	claim  lease.Claim
	token  uint8 // the id of the claim
	before uint8 // the owner that the claim takes the session from
	write  lease.Write
	out    message // what is published
	fresh  bool    // it was sent less than 2 s ago, and the node was in contact ever since

	taken uint8 // a message is on its way to it: another node has claimed the session with this epoch
	lost  bool  // it has read that this is so

	open      bool
	log       lease.Log
	confirmed bool
	held      bool
	runs      uint8  // the prompt whose turn runs
	pending   uint8  // the prompt whose start was acknowledged too late
	feed      uint32 // the last number of an update

	take   bool  // it is asked to take the session
	hand   bool  // it is to ask another node to take the session
	saw    bool  // it noticed that another node is gone
	unmark uint8 // a removal of the marker is on the way: the sequence plus 1

	stray      message // a message that was given up and may still arrive
	strayAfter uint8
}

// budget counts what may still happen.
type budget struct {
	crash, restart, stop, drop, election, silence, giveUp, lose uint8 // faults
	remove, create, drain, letGo, notice                        uint8 // requests of people, and what nodes do now and then
	taken                                                       uint8 // messages that a session was taken; all others are lost
}

// state is all there is: the store, the nodes, what clients know.
type state struct {
	log    [maxLog]message
	n      uint8 // messages that the log ever had
	bound  uint8 // and may have
	old    uint8 // the outdated leader answers reads with the log up to here; 0: there is none
	copied uint8 // the store has lost a message, which the second copy has with this sequence; 0: it has lost none
	marker lease.Marker
	marked uint8 // n at the time of the marker: stands for its sequence

	nodes [maxNodes]node
	left  budget

	acked    [maxPrompts + 1]bool // the client got the response that the prompt is stored
	ran      [maxPrompts + 1]uint8
	gone     bool               // the client got the response that the session is deleted
	expired  bool               // the tombstone was removed
	trouble  bool               // something failed that lets an owner hold the queue
	reported bool               // a loss was reported
	notices  [maxNotices]uint32 // the numbers of updates that no entry of the log stands for
}

// name is the name of an incarnation: "B", and "B/2" after its first restart.
func name(id uint8) string {
	if id == 0 {
		return "nobody"
	}
	n := string(rune('A' + (id-1)%maxNodes))
	if run := (id - 1) / maxNodes; run > 0 {
		n += fmt.Sprintf("/%d", run+1)
	}
	return n
}

func machine(id uint8) int { return int(id-1) % maxNodes }

// top is the last message among the first n, and its sequence; 0 if there is none.
func (s *state) top(n uint8) (message, uint8) {
	for i := int(n) - 1; i >= 0; i-- {
		if s.log[i].kind != none {
			return s.log[i], uint8(i + 1)
		}
	}
	return message{}, 0
}

// view is what a reader of the log up to a sequence knows.
type view struct {
	queue   [maxPrompts]uint8 // prompts without a start
	queued  int
	has     [maxPrompts + 1]bool
	openRun uint8 // a prompt with a start and no end
	ended   [maxPrompts + 1]bool
	last    uint32 // the last number of an update
	exists  bool
}

func (s *state) view(tail uint8) view {
	var v view
	var started [maxPrompts + 1]bool
	for _, m := range s.log[:tail] {
		switch m.kind {
		case create:
			v.exists = true
		case deleted:
			v.exists = false
		case prompt:
			v.has[m.prompt] = true
		case start:
			started[m.prompt], v.openRun = true, m.prompt
		case end, cut:
			v.ended[m.prompt] = true
			if v.openRun == m.prompt {
				v.openRun = 0
			}
		}
		v.last = max(v.last, m.number)
	}
	for _, m := range s.log[:tail] {
		if m.kind == prompt && !started[m.prompt] && !slices.Contains(v.queue[:v.queued], m.prompt) {
			v.queue[v.queued] = m.prompt
			v.queued++
		}
	}
	return v
}

// freshID is the smallest id that no message has: so states differ only in what matters.
func (s *state) freshID() uint8 {
	var used [64]bool
	for _, m := range s.log[:s.n] {
		used[m.id] = true
	}
	for i := range s.nodes {
		used[s.nodes[i].stray.id], used[s.nodes[i].out.id], used[s.nodes[i].token] = true, true, true
	}
	id := uint8(1)
	for used[id] {
		id++
	}
	return id
}

// show is a line about a state: the log, who has it open, and what is wrong.
func show(s state) string {
	var b strings.Builder
	for _, m := range s.log[:s.n] {
		switch m.kind {
		case none:
			b.WriteString("- ")
		case claim:
			fmt.Fprintf(&b, "%s%d ", name(m.node), m.epoch)
		case create:
			fmt.Fprintf(&b, "create:%s1 ", name(m.node))
		case release:
			b.WriteString("release ")
		case prompt:
			fmt.Fprintf(&b, "p%d ", m.prompt)
		case start:
			fmt.Fprintf(&b, "start%d ", m.prompt)
		case end:
			fmt.Fprintf(&b, "end%d ", m.prompt)
		case cut:
			fmt.Fprintf(&b, "cut%d ", m.prompt)
		case empty:
			b.WriteString(". ")
		case deleted:
			b.WriteString("deleted ")
		}
	}
	for _, n := range s.nodes {
		if n.open {
			fmt.Fprintf(&b, "[%s has epoch %d up to %d]", name(n.id), n.log.Epoch, n.log.Tail)
		}
	}
	return b.String()
}
