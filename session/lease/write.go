package lease

// Write is one append, from its first try to its result. While it runs, the session stands still: nothing that follows from the
// append may be published, and no number of an update be used.
type Write struct {
	Message Head   // as it is published. The sequence is set when the Write is Done
	After   uint64 // the sequence of the last message that the writer knows

	doubt bool // a try was not answered, so it may be stored at any time
	short bool // the last Read found a shorter log than the writer knows
}

// Answer takes the answer to a try. seq is the sequence if it was Stored.
func (w *Write) Answer(answer Answer, seq uint64) Step {
	switch answer {
	case Stored:
		w.Message.Seq = seq
		return Done
	case Refused:
		if w.doubt {
			return Unknown
		}
		return Rejected
	case Silence:
		w.doubt = true
	}
	return Read
}

// Last takes the last message of the log. It may be old.
func (w *Write) Last(last Head) Step {
	switch {
	case last.ID == w.Message.ID && last.Seq != 0:
		w.Message.Seq = last.Seq
		return Done
	case last.Seq > w.After:
		if w.doubt { // a try may be in the log before that message
			return Unknown
		}
		return Fenced
	case last.Seq < w.After:
		return w.shorter()
	}
	w.short = false
	return Publish // at most one try is stored: all expect the same sequence
}

func (w *Write) shorter() Step {
	if !w.short {
		w.short = true
		return ReadLater
	}
	return Lost
}

// GiveUp ends a Write that has no result after 30 s. A try may still be stored later, so the result is Unknown. The Log is of no use
// any more: a new claim fences what is on the way.
func (w *Write) GiveUp() Step { return Unknown }
