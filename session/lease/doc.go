// Package lease decides who owns the log of a session in a cluster, and what an owner may believe about its appends. It has no network,
// no clock and no goroutine. The driver of a store carries out the steps that it returns, and gives it the answers:
//
//	Claim: Read ──► Elsewhere ──► NotMine ──► Read
//	         └────► Publish ──► Answer ──► Done, or Read again
//	Write: Publish ──► Answer ──► Done, Rejected, or Read ──► Done, Fenced, Unknown, Lost, or Publish again
//
// The log of a session is the sequence of messages on its subject. Each names its epoch, its owner and a random id. A message is stored only
// if the last one has the sequence that the publisher expects (compare and append). So a claim, which is a message with the next epoch,
// is the lease and the fence at once: every append of the former owner expects a sequence that is not the last one any more. There is no
// other record of ownership that could disagree.
//
// Three things make that hard. A read may be answered by a leader that has lost its office, and so be old: nothing here trusts a read
// that says "still yours". An answer may be missing although the message was stored, or will be. And a store may lose what it acknowledged.
//
// All types are small comparable values, so that the model check in rpc/cluster/model can visit all their states. It runs this
// code, not a copy.
//
// Files: lease, then write, log, claim.
package lease
