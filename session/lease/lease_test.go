package lease

import (
	"slices"
	"testing"
)

// The model check in rpc/cluster/model visits all sequences of answers. These tests are the ones to read first.

func TestClaimOfAnotherNode(t *testing.T) {
	c := NewClaim(2, 77)
	head := Head{Seq: 10, Epoch: 4, Node: 1, ID: 5}
	if got := c.Last(head, true); got != Elsewhere {
		t.Fatalf("%d, with an owner that is present", got)
	}
	if got := c.NotMine(4); got != Read {
		t.Fatalf("%d after \"not mine\"", got)
	}
	if got := c.Last(head, true); got != Publish {
		t.Fatalf("%d, although the owner gave it up", got)
	}
	w := c.Publish()
	if want := (Head{Epoch: 5, Node: 2, ID: 77}); w.Message != want || w.After != 10 {
		t.Fatalf("%+v after %d", w.Message, w.After)
	}
	if got := c.Answer(Silence, 0); got != Read {
		t.Fatalf("%d after silence", got)
	}
	own := Head{Seq: 11, Epoch: 5, Node: 2, ID: 77}
	if got := c.Last(own, true); got != Compare {
		t.Fatalf("%d for its own message", got)
	}
	if got := c.Copied(own, own); got != Done {
		t.Fatalf("%d, although the second copy has the claim", got)
	}
	if want := (Log{Epoch: 5, Tail: 11, Node: 2}); c.Log() != want || !c.Hold() {
		t.Errorf("%+v", c.Log())
	}
}

// "Not mine" counts for that epoch alone: the owner of a later one is asked anew.
func TestNotMineIsAboutOneEpoch(t *testing.T) {
	c := NewClaim(2, 77)
	c.NotMine(4)
	if got := c.Last(Head{Seq: 12, Epoch: 5, Node: 1}, true); got != Elsewhere {
		t.Errorf("%d", got)
	}
}

func TestClaimAlwaysWrites(t *testing.T) {
	c := NewClaim(2, 77)
	if got := c.Last(Head{Seq: 10, Epoch: 4, Node: 2, ID: 5}, true); got != Publish || c.Publish().Message.Epoch != 5 {
		t.Errorf("%d, %+v", got, c.Publish())
	}
}

func TestClaimOfWhatIsNotThere(t *testing.T) {
	for name, head := range map[string]Head{"no message": {}, "tombstone": {Seq: 10, Epoch: 4, Node: 1, Deleted: true}} {
		c := NewClaim(2, 77)
		if got := c.Last(head, true); got != Absent {
			t.Errorf("%s: %d", name, got)
		}
	}
}

// A log that is shorter than a read before was read from an outdated leader, or has lost messages.
func TestShorterLog(t *testing.T) {
	c := NewClaim(2, 77)
	c.Last(Head{Seq: 10, Epoch: 4}, true)
	for i, want := range []Step{ReadLater, Lost} {
		if got := c.Last(Head{Seq: 9, Epoch: 4}, true); got != want {
			t.Errorf("read %d: %d, want %d", i, got, want)
		}
	}
}

// The store lost message 11 of the former owner, and gave its sequence to the claim.
func TestClaimInThePlaceOfWhatWasLost(t *testing.T) {
	claim := Head{Seq: 11, Epoch: 5, Node: 2, ID: 77}
	earlier := Head{Seq: 10, Epoch: 4, Node: 1, ID: 5}
	for name, test := range map[string]struct {
		there, here Head
		want        Step
	}{
		"the copy has the claim":           {claim, claim, Done},
		"the copy is behind":               {earlier, earlier, Done},
		"the copy is empty":                {Head{}, Head{}, Done},
		"the copy has what was lost":       {Head{Seq: 11, Epoch: 4, Node: 1, ID: 6}, claim, Lost},
		"an earlier message was lost":      {Head{Seq: 10, Epoch: 4, Node: 1, ID: 4}, earlier, Lost},
		"the log has nothing in its place": {earlier, Head{}, Lost},
	} {
		c := NewClaim(2, 77)
		c.Last(earlier, false)
		if got := c.Answer(Stored, 11); got != Compare {
			t.Fatalf("%d after it was stored", got)
		}
		if got := c.Copied(test.there, test.here); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}

func TestQueueAfterClaim(t *testing.T) {
	for name, c := range map[string]struct {
		head Head
		hold bool
	}{
		"a crash":        {Head{Seq: 1, Epoch: 1, Node: 1}, true},
		"a planned move": {Head{Seq: 1, Epoch: 1, Run: true}, false},
		"a release of a session that held its queue": {Head{Seq: 1, Epoch: 1}, true},
		"its own earlier claim":                      {Head{Seq: 1, Epoch: 1, Node: 2}, false},
	} {
		claim := NewClaim(2, 77)
		if claim.Last(c.head, false); claim.Hold() != c.hold {
			t.Errorf("after %s the queue is held: %t", name, !c.hold)
		}
	}
}

func TestWrite(t *testing.T) {
	tail := Head{Seq: 10, Epoch: 4, Node: 1, ID: 5}
	own := Head{Seq: 11, Epoch: 4, Node: 1, ID: 77}
	claim := Head{Seq: 11, Epoch: 5, Node: 2, ID: 8}
	later := Head{Seq: 12, Epoch: 5, Node: 2, ID: 8}
	short := Head{Seq: 9, Epoch: 4, Node: 1, ID: 4}
	for name, c := range map[string]struct {
		events []any
		want   []Step
	}{
		"stored":                           {[]any{Stored}, []Step{Done}},
		"too large":                        {[]any{Refused}, []Step{Rejected}},
		"too large, after silence":         {[]any{Silence, tail, Refused}, []Step{Read, Publish, Unknown}},
		"stored, the answer is lost":       {[]any{Silence, own}, []Step{Read, Done}},
		"not stored, again":                {[]any{Silence, tail, Stored}, []Step{Read, Publish, Done}},
		"its own retry is in the way":      {[]any{Silence, tail, Conflict, own}, []Step{Read, Publish, Read, Done}},
		"a claim":                          {[]any{Conflict, claim}, []Step{Read, Fenced}},
		"a claim, after silence":           {[]any{Silence, later}, []Step{Read, Unknown}},
		"an outdated leader":               {[]any{Conflict, short, claim}, []Step{Read, ReadLater, Fenced}},
		"a store that lost messages":       {[]any{Conflict, short, short}, []Step{Read, ReadLater, Lost}},
		"a leader that is outdated, twice": {[]any{Silence, short, tail, Silence, short, tail}, []Step{Read, ReadLater, Publish, Read, ReadLater, Publish}},
	} {
		w := Log{Epoch: 4, Tail: 10, Node: 1}.Write(77)
		var got []Step
		for _, event := range c.events {
			switch e := event.(type) {
			case Answer:
				got = append(got, w.Answer(e, 11))
			case Head:
				got = append(got, w.Last(e))
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
		if got[len(got)-1] == Done && w.Message.Seq != 11 {
			t.Errorf("%s: sequence %d", name, w.Message.Seq)
		}
	}
}

func TestStranded(t *testing.T) {
	for _, c := range []struct {
		marker        Node
		open, present bool
		want          bool
	}{
		{0, false, false, false},
		{1, false, true, false},
		{1, false, false, true},
		{2, true, true, false},
		{2, false, true, true}, // it lost the log, and runs on
	} {
		if got := (Marker{Node: c.marker}).Stranded(2, c.open, c.present); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

func TestRemovable(t *testing.T) {
	for marker, want := range map[Marker]bool{{}: false, {Node: 1, Epoch: 3}: true, {Node: 1, Epoch: 4}: true, {Node: 2, Epoch: 5}: false} {
		if got := marker.Removable(Log{Epoch: 4, Node: 1}); got != want {
			t.Errorf("%+v: %t", marker, got)
		}
	}
}
