package model

// Rule is one rule of the cluster that can be turned off alone. Without it, the model follows an earlier, plausible rule that the check
// refuted.
type Rule uint8

const (
	CompareAndAppend    Rule = iota // off: the store appends whatever it gets
	SilenceIsGone                   // off: gone needs a "no responders" too, which a hung process never gives
	MajorityJudges                  // off: a node takes a peer for gone that it does not hear, whatever it is in contact with itself
	ClaimWrites                     // off: a claim that reads its own name takes the log without a write
	NumbersByEpoch                  // off: the numbers of updates begin above those in the log, whatever the epoch
	NotMineReleases                 // off: the name of a node that is present protects a session that it has not open
	ClaimCounts                     // off: a node answers "not mine" while its own claim is on the way
	QueueRunsAfterMove              // off: every new owner holds the queue
	TakeOver                        // off: a drain releases a session with a queue, and asks no other node to claim it
	StandStill                      // off: updates are published while an append has no result
	MarkerFirst                     // off: the marker of an open turn is published in parallel with its entry, and may be lost
	MarkerOfIncarnation             // off: the marker has the name of the node, which a restarted node has again
	MarkerOfOwn                     // off: a node does not look at markers with its own name
	MarkerBySequence                // off: the removal of a marker removes whatever is there
	SweepRepeats                    // off: a node looks at the markers only when it notices that another one is gone
	EveryRankSweeps                 // off: only the node that comes first claims what is stranded
	Tombstone                       // off: a deletion leaves nothing behind
	OwnerDeletes                    // off: a deletion needs no claim
	TombstoneOutlives               // off: the tombstone may expire before the stamp of session/new
	ConflictIsUnknown               // off: "wrong last sequence" is taken for a claim by somebody else
	DoubtIsUnknown                  // off: a fenced append is reported as refused, whatever its earlier tries did
	CompareStored                   // off: a claim that is stored does not compare the log with the second copy
	StartInTime                     // off: a tool starts after the acknowledgement of its entry, however late that is
	ConfirmLoaded                   // off: only running sessions are confirmed after a loss of contact
	ConfirmByAppend                 // off: reading the last message is enough to confirm a session
	TakenIsRead                     // off: a node believes a message that its session was taken, and does not read the log
	numRules
)

// Rules is a set of rules.
type Rules uint32

// AllRules are the rules of the cluster.
const AllRules Rules = 1<<numRules - 1

// Without is the set with one rule turned off.
func (r Rules) Without(rule Rule) Rules { return r &^ (1 << rule) }

func (r Rules) has(rule Rule) bool { return r&(1<<rule) != 0 }

var ruleNames = [numRules]string{
	"CompareAndAppend", "SilenceIsGone", "MajorityJudges", "ClaimWrites", "NumbersByEpoch", "NotMineReleases", "ClaimCounts", "QueueRunsAfterMove", "TakeOver",
	"StandStill", "MarkerFirst", "MarkerOfIncarnation", "MarkerOfOwn", "MarkerBySequence", "SweepRepeats", "EveryRankSweeps", "Tombstone", "OwnerDeletes",
	"TombstoneOutlives", "ConflictIsUnknown", "DoubtIsUnknown", "CompareStored", "StartInTime", "ConfirmLoaded", "ConfirmByAppend",
	"TakenIsRead",
}

func (r Rule) String() string { return ruleNames[r] }
