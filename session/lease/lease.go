package lease

import "strconv"

// Node is one run of a node: a random number that it draws when it starts. A node that restarts is another Node. 0 is no node.
type Node uint64

// Word is the node in subjects and messages.
func (n Node) Word() string { return strconv.FormatUint(uint64(n), 16) }

// ParseNode reads the word of a node; 0: it is none.
func ParseNode(word string) Node {
	n, err := strconv.ParseUint(word, 16, 64)
	if err != nil {
		return 0
	}
	return Node(n)
}

// ID is the random number of one append. All tries of the append have the same.
type ID uint64

// Head is what the last message of a log says.
type Head struct {
	Seq     uint64 // the sequence of the message in the store; 0 if the log has no message
	Epoch   uint64 // increases by one with each claim
	Node    Node   // the owner; 0 after a release
	ID      ID
	Run     bool // of a release: the queue was running, and goes on at the next owner
	Deleted bool // a tombstone: the session does not exist, and nothing may follow
}

// Answer is what became of one try to publish a message.
type Answer uint8

const (
	Stored   Answer = iota + 1 // the store acknowledged it, with its sequence
	Conflict                   // the sequence that was expected is not the last one, or another message is on its way: this try is not stored
	Silence                    // a timeout, no leader, and every answer that is not listed: it is not known whether this try is, or will be, stored
	Refused                    // too large, or not permitted: neither this try nor another one can be stored
)

// Step is what the driver does next. Those from Done on are results: nothing follows them.
type Step uint8

const (
	Publish   Step = iota + 1 // publish Message, which expects the sequence After, and call Answer
	Read                      // after 50 to 500 ms, read the last message of the log at the leader, and call Last
	ReadLater                 // the same after 10 s: no outdated leader answers for that long
	Compare                   // of a claim that is stored: read the last message that the second copy has up to its sequence, and call Copied
	Elsewhere                 // ask the owner, which is present. If it answers "not mine", call NotMine, and read again
	Done                      // stored; of a claim: Log is the log
	Fenced                    // somebody else has claimed the log, and the message is not in it
	Unknown                   // the message may be in the log or not, and the Log is of no use: claim the log to find out
	Lost                      // the store has lost what it had acknowledged: the session is read-only until it is restored
	Rejected                  // the message is not in the log, and cannot be stored
	Absent                    // there is no such session, or it was deleted
)
