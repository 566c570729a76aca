package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// Turns and messages of the samples.
const (
	TurnA = session.TurnID("01K0000000000000000000000A")
	TurnB = session.TurnID("01K0000000000000000000000B")
	MsgA  = session.MessageID("01K000000000000000000000MA")
	MsgB  = session.MessageID("01K000000000000000000000MB")
)

// ID is the id of the nth session: ids sort as their numbers.
func ID(n int) session.ID { return session.ID(fmt.Sprintf("01K%023d", n)) }

// Said is a prompt, its message named U and the turn.
func Said(turn session.TurnID, text string) session.Entry {
	return session.Entry{Time: 1000, Turn: turn, Body: session.Prompt{Message: session.MessageID("U" + turn), Content: provider.Blocks{provider.Text{Text: text}}}}
}

// Started is the start of a turn.
func Started(turn session.TurnID) session.Entry {
	return session.Entry{Time: 2000, Turn: turn, Body: session.TurnStart{Model: session.ModelRef{Provider: "sim", ID: "claude"}}}
}

// Sealed is a block of text.
func Sealed(turn session.TurnID, message session.MessageID, number int, text string) session.Entry {
	return session.Entry{Time: 3000, Turn: turn, Body: session.Sealed{Message: message, Number: number, Block: provider.Text{Text: text}}}
}

// MessageEnded is the end of a message that took so many tokens of output.
func MessageEnded(turn session.TurnID, message session.MessageID, output int) session.Entry {
	return session.Entry{Time: 4000, Turn: turn, Body: session.MessageEnd{Message: message, StopReason: "end_turn", Usage: provider.Usage{Output: output}}}
}

// Ended is the end of a turn that took 7 tokens of output and 3 s.
func Ended(turn session.TurnID) session.Entry {
	return session.Entry{Time: 5000, Turn: turn, Body: session.TurnEnd{StopReason: "end_turn", Usage: provider.Usage{Output: 7}, DurationMS: 3000}}
}

// Create keeps a new session.
func Create(t testing.TB, s session.Sessions, record session.Session) {
	t.Helper()
	if err := s.Create(t.Context(), record); err != nil {
		t.Fatal(err)
	}
}

// Append claims a session, appends entries, and gives the session back.
func Append(ctx context.Context, s session.Sessions, id session.ID, entries ...session.Entry) (last uint64, err error) {
	log, err := s.Claim(ctx, id)
	if err != nil {
		return 0, err
	}
	last, err = log.Append(ctx, entries...)
	return last, errors.Join(err, log.Release(ctx))
}

// Add is Append for tests.
func Add(t testing.TB, s session.Sessions, id session.ID, entries ...session.Entry) uint64 {
	t.Helper()
	last, err := Append(t.Context(), s, id, entries...)
	if err != nil {
		t.Fatal(err)
	}
	return last
}

// Claim makes the test the holder of a log.
func Claim(t testing.TB, s session.Sessions, id session.ID) session.Log {
	t.Helper()
	log, err := s.Claim(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// AddTo appends entries to a log, and returns the position of the last.
func AddTo(t testing.TB, log session.Log, entries ...session.Entry) uint64 {
	t.Helper()
	last, err := log.Append(t.Context(), entries...)
	if err != nil {
		t.Fatal(err)
	}
	return last
}

// Entries reads all of a log.
func Entries(t testing.TB, s session.Sessions, id session.ID) []session.Entry {
	t.Helper()
	entries, err := s.Entries(t.Context(), id, 0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// WantErr fails the test if an error is another one.
func WantErr(t testing.TB, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: error %v, want %v", what, got, want)
	}
}

// Equal fails the test with the difference of two values.
func Equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Stored waits as long as a store may keep growth back, and compares the checkpoints of a session.
func Stored(t testing.TB, log session.Log, want []session.Growth) {
	t.Helper()
	time.Sleep(time.Second) // of the bubble
	synctest.Wait()
	got, err := log.Checkpoints(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(got) > 0 || len(want) > 0 {
		Equal(t, "checkpoints", got, want)
	}
}

// CreationBy is what a stamped request for the nth session keeps.
func CreationBy(stamp string, n int) session.Creation {
	return session.Creation{Stamp: session.Stamp{ID: stamp, Digest: []byte{byte(n), 0, 255}}, Session: ID(n), Answer: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))}
}

// Once makes the nth session by a stamped request, and returns what the first with the stamp kept.
func Once(t testing.TB, s session.Sessions, stamp string, n int) session.Creation {
	t.Helper()
	first, err := s.CreateOnce(t.Context(), session.Session{ID: ID(n), Title: stamp}, CreationBy(stamp, n))
	if err != nil {
		t.Fatal(err)
	}
	return first
}

// remembered is what the store knows of an id; ok is false for nothing.
func remembered(t testing.TB, s session.Sessions, stamp string) (session.Creation, bool) {
	t.Helper()
	m, ok, err := s.Creation(t.Context(), stamp)
	if err != nil {
		t.Fatal(err)
	}
	return m, ok
}

// Conversed makes a session of three turns; the second has two replies, and the third waits.
func Conversed(t *testing.T, s session.Sessions, id session.ID) {
	t.Helper()
	record := session.Session{ID: id, System: "be brief"}
	record.Model = session.ModelRef{Provider: "sim", ID: "claude"}
	Create(t, s, record)
	title := "named"
	turnC := session.TurnID("01K0000000000000000000000C")
	Add(t, s, id, Said(TurnA, "one"), Started(TurnA), Sealed(TurnA, MsgA, 0, "reply one"), MessageEnded(TurnA, MsgA, 3), Ended(TurnA),
		Said(TurnB, "two"), Started(TurnB), Said(turnC, "three"), Sealed(TurnB, MsgB, 0, "reply two"), MessageEnded(TurnB, MsgB, 3),
		session.Entry{Body: session.Setting{Title: &title}},
		Sealed(TurnB, "MC", 0, "more"), MessageEnded(TurnB, "MC", 3), Ended(TurnB))
}
