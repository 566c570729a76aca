package jet

import (
	"context"
	"encoding/json"

	"github.com/nats-io/nats.go"

	"github.com/thinkd/thinkd/session/lease"
)

// A claim asks the second copy for the last message that it has of the log, and compares the message with the one in the log. If they differ, the
// store has lost what the copy has: the chain of the log cannot show that, because a shortened chain is whole.
//
//	node ── P.copy {subject} ──► thinkd-store copy ── {seq, id} ──► node ── read seq at the leader ──► the same id, or lost
//
// The copy answers from memory, with what it has read, also if that is in no file yet. It may not know the log, or not run: then nothing is
// compared, because claims must not depend on it. Nor is anything compared with a copy of the store before a restore, which may have left out what
// that copy has: the answer has the id of the store that was copied.

// copyQuestion and copyAnswer are the words of both.
type copyQuestion struct {
	Subject string `json:"subject"`
}

type copyAnswer struct {
	Seq uint64   `json:"seq,omitempty"` // 0: it does not know the log
	ID  lease.ID `json:"id,omitempty"`

	Store string `json:"store,omitempty"` // the id of the store that was copied
}

func copySubject(prefix string) string { return prefix + ".copy" }

// copyGroup has one answer to each question: the copy listens on all of its connections.
const copyGroup = "copy"

// copied asks the second copy, which answers at the subject copies, for the last message of a log. It is zero if there is no copy that knows the log.
func (a api) copied(ctx context.Context, copies, subject string) (last lease.Head, store string) {
	data, err := json.Marshal(copyQuestion{subject})
	if err != nil {
		return last, ""
	}
	reply, err := a.link.Request(ctx, 0, &nats.Msg{Subject: copies, Data: data})
	var known copyAnswer
	if err != nil || json.Unmarshal(reply.Data, &known) != nil {
		return last, ""
	}
	return lease.Head{Seq: known.Seq, ID: known.ID}, known.Store
}
