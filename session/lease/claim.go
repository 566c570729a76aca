package lease

// Claim is an attempt of a node to own the log of a session. It begins with Read. It always writes, also if the last message names
// this node already: a read proves nothing, and the message fences all that this node sent before and gave up.
type Claim struct {
	node  Node
	id    ID
	known uint64 // the log goes at least up to this sequence, because this claim has read it
	freed uint64 // the owner of this epoch says that it has no Log
	short bool
	hold  bool
	write Write
}

// NewClaim makes a claim with a random id.
func NewClaim(node Node, id ID) Claim {
	return Claim{node: node, id: id}
}

// Last takes the last message of the log. It may be old. present says whether the node is present that it names as the owner.
func (c *Claim) Last(last Head, present bool) Step {
	switch {
	case last.ID == c.id && last.Seq != 0:
		c.write.Message = last
		return Compare
	case last.Seq < c.known:
		if !c.short {
			c.short = true
			return ReadLater
		}
		return Lost
	case last.Seq == 0, last.Deleted:
		return Absent
	case last.Node != 0 && last.Node != c.node && present && last.Epoch > c.freed:
		return Elsewhere
	}
	c.known, c.short = last.Seq, false // a log that gets shorter while it is claimed has lost messages too
	c.hold = !last.Run && last.Node != c.node
	c.write = Write{Message: Head{Epoch: last.Epoch + 1, Node: c.node, ID: c.id}, After: last.Seq}
	return Publish
}

// NotMine takes the answer of the owner that it neither has a Log with this epoch nor a claim on the way. That is as good as a release.
func (c *Claim) NotMine(epoch uint64) Step {
	c.freed = max(c.freed, epoch)
	return Read
}

// Answer takes the answer to a try. seq is the sequence if it was Stored.
func (c *Claim) Answer(answer Answer, seq uint64) Step {
	switch answer {
	case Stored:
		c.write.Message.Seq = seq
		return Compare
	case Refused:
		return Rejected
	}
	return Read
}

// Copied takes the last message that the second copy of the stream has of this log, up to the sequence of the claim, and the message of the log
// with the same sequence. Both are zero if the copy has none. If they differ, the store has lost what the copy has, and has given its sequence out
// again. Only a stored claim can be compared: until then, the former owner may append more, and the store lose it.
func (c *Claim) Copied(there, here Head) Step {
	if there.ID != here.ID {
		return Lost
	}
	return Done
}

// Publish is the message of the claim, and the sequence that it expects.
func (c *Claim) Publish() Write { return c.write }

// Log is the log of a claim that is Done. The owner reads all entries up to its tail: that is the one read that is not old.
func (c *Claim) Log() Log {
	return Log{Epoch: c.write.Message.Epoch, Tail: c.write.Message.Seq, Node: c.node}
}

// Hold reports whether the queue waits for a person after a claim that is Done. It continues automatically only after a planned move:
// after a crash, a prompt in the queue may have been the cause.
func (c *Claim) Hold() bool { return c.hold }
