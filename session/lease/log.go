package lease

// Log is the log of a session as its owner has it. Every entry up to Tail is known to the owner.
type Log struct {
	Epoch uint64
	Tail  uint64 // the sequence of the last message
	Node  Node
}

// Write begins an append to the log. Only one may run. After Done, call Settled.
func (l Log) Write(id ID) Write {
	return Write{Message: Head{Epoch: l.Epoch, Node: l.Node, ID: id}, After: l.Tail}
}

// Release begins the append that gives the log up. The queue goes on at the next owner. Nothing may follow.
func (l Log) Release(id ID) Write {
	return Write{Message: Head{Epoch: l.Epoch, ID: id, Run: true}, After: l.Tail}
}

// Settled takes note of an append that is Done.
func (l *Log) Settled(w Write) { l.Tail = w.Message.Seq }

// Marker says that a session has an open turn, or a queue that is to run. It is stored before the entry that makes it so is sent, and
// removed after the entry that ends it. So there may be a marker too many, which costs one look, and never one too few.
type Marker struct {
	Node  Node
	Epoch uint64
}

// Stranded reports whether a node that lists the markers must claim the session. present says whether the marker's node is present. open
// says whether the node that lists has the log open: a marker may name a node that has lost the log and runs on.
func (m Marker) Stranded(self Node, open, present bool) bool {
	if m.Node == self {
		return !open
	}
	return m.Node != 0 && !present
}

// Removable reports whether the owner of a log may remove the marker, after the end of its turn or after it found nothing to do. It removes
// the marker by its sequence, so that a removal that arrives late does not hit the next one. The marker of a later owner is not its own.
func (m Marker) Removable(owner Log) bool { return m.Node != 0 && m.Epoch <= owner.Epoch }
