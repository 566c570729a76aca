package session

import (
	"fmt"
	"testing"
)

// The marks of a session are bounded: that of the principal who has read least goes.
func TestMarkReadIsBounded(t *testing.T) {
	var s Session
	for i := range MaxReaders + 10 {
		if !s.MarkRead(fmt.Sprint(i), 1000-i) {
			t.Fatalf("mark %d is no news", i)
		}
	}
	if len(s.Read) != MaxReaders || s.Read["0"] != 1000 || s.Read[fmt.Sprint(MaxReaders+9)] != 1000-MaxReaders-9 || s.Read["99"] != 0 {
		t.Errorf("%d marks: %v", len(s.Read), s.Read)
	}
}

// Records share their maps, so a mark makes a new one.
func TestMarkReadCopies(t *testing.T) {
	s := Session{Read: map[string]int{"ann": 1}}
	other := s
	s.MarkRead("ann", 2)
	if other.Read["ann"] != 1 {
		t.Error("the mark changed another record")
	}
}

func TestEndedAfter(t *testing.T) {
	v := NewView(Session{ID: NewID()})
	start, end := TurnStart{}, TurnEnd{StopReason: StopEndTurn}
	for _, e := range []Entry{
		{Turn: "A", Body: Prompt{Message: "MA"}}, {Turn: "A", Body: start}, {Turn: "A", Body: end},
		{Turn: "B", Body: Prompt{Message: "MB", Append: true}}, {Turn: "B", Body: end},
		{Turn: "C", Body: Prompt{Message: "MC"}}, {Turn: "C", Body: start},
		{Turn: "D", Body: Prompt{Message: "MD", Queued: true, Steer: true}}, {Turn: "D", Body: Steered{Into: "C"}},
		{Turn: "C", Body: end},
		{Turn: "E", Body: Prompt{Message: "ME", Queued: true}}, {Turn: "E", Body: TurnEnd{StopReason: StopCancelled}},
		{Turn: "F", Body: Prompt{Message: "MF"}}, {Turn: "F", Body: start},
	} {
		if err := v.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	if v.Session.Ended != 2 {
		t.Errorf("%d turns ended, want 2", v.Session.Ended)
	}
	for id, want := range map[TurnID]int{"A": 1, "B": 1, "C": 0, "D": 0, "E": 0, "F": 0} {
		if got := v.EndedAfter(v.Turn(id)); got != want {
			t.Errorf("%d turns ended after %s, want %d", got, id, want)
		}
	}
}
