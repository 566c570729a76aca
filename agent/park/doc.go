// Package park decides when parked turns resume.
//
// A turn is parked between two of its steps: its vendor takes no more calls for now, cannot be reached, a person has to answer a
// question, or its prompt has a time before which it is not sent. The log has each parked turn (session.TurnParked). A [Yard] has those
// of all sessions of a daemon, loaded or not, and says which may resume.
//
// Calls of one credential share its quota. So when their time comes, one turn resumes first, as a probe, and the others wait for its
// result:
//
//	Put ──► waits ──(its time)──► runs ──► Answered: the others resume too, one, then two, then four in each look
//	          ▲                    │
//	          └──── Put: refused ──┘  the others wait as long as the probe, and a random time
//
// Guarantees:
//
//   - at most one turn of a credential resumes by time before the vendor has accepted a call of that credential;
//   - a turn resumes automatically at most once for each time that it is parked;
//   - after a restart a turn resumes automatically only if it was parked by the operator's limit, and only once.
//
// A Yard is safe for concurrent use. It starts no goroutine and reads no clock.
//
// Inside the package, files depend in one direction: reason, yard.
package park
