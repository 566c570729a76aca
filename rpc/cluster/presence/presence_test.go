package presence

import (
	"testing"
	"time"
)

const s = time.Second

func TestContactNeedsAMajority(t *testing.T) {
	for servers, need := range map[int]int{1: 1, 2: 2, 3: 2, 4: 3, 5: 3} {
		c := NewContact(servers)
		for k := range need {
			if _, ok := c.Since(14 * s); ok {
				t.Errorf("in contact with %d of %d servers", k, servers)
			}
			beat(&c, k, 10, 12)
		}
		if since, ok := c.Since(14 * s); !ok || since > 15*s {
			t.Errorf("%d of %d servers: since %s, %t", need, servers, since, ok)
		}
	}
}

// beat returns a heartbeat each second, as soon as it is sent.
func beat(c *Contact, server int, from, to time.Duration) {
	for at := from; at <= to; at++ {
		c.Returned(server, at*s, at*s, Default)
	}
}

// Contact counts from when a heartbeat was sent, and only if it lasts. It begins anew if the next one was sent after the end of the contact before.
func TestContactEnds(t *testing.T) {
	c := NewContact(1)
	beat(&c, 0, 10, 20)
	for _, tt := range []struct {
		now, since time.Duration
		ok         bool
	}{{13*s - 1, 0, false}, {13 * s, 13 * s, true}, {23*s - 1, 13 * s, true}, {23 * s, 0, false}} {
		if since, ok := c.Since(tt.now); ok != tt.ok || since != tt.since {
			t.Errorf("at %s: since %s, %t", tt.now, since, ok)
		}
	}
	beat(&c, 0, 23, 26)
	if _, ok := c.Since(26*s - 1); ok {
		t.Error("in contact at once after a break")
	}
	if since, ok := c.Since(26 * s); !ok || since != 26*s {
		t.Errorf("since %s, %t", since, ok)
	}
}

func TestInTime(t *testing.T) {
	c := NewContact(1)
	beat(&c, 0, 7, 10) // in contact from 10 s to 13 s
	for _, tt := range []struct {
		sent, now time.Duration
		want      bool
	}{
		{11 * s, 12 * s, true},
		{10 * s, 12 * s, false},  // too late
		{9 * s, 10 * s, false},   // sent before the contact
		{12 * s, 13 * s, false},  // out of contact
		{10 * s, 12*s - 1, true}, // the last moment
	} {
		if got := c.InTime(tt.sent, tt.now, Default); got != tt.want {
			t.Errorf("sent at %s, acknowledged at %s: %t", tt.sent, tt.now, got)
		}
	}
}

func TestGone(t *testing.T) {
	for _, tt := range []struct {
		returned, heard, now time.Duration
		want                 bool
	}{
		{17 * s, 10 * s, 18 * s, true},
		{17 * s, 13 * s, 18 * s, false}, // not silent for long enough
		{14 * s, 10 * s, 18 * s, false}, // out of contact itself
		{15 * s, 10 * s, 16 * s, false}, // it may not have read yet what came before its own heartbeat
	} {
		c := NewContact(1)
		beat(&c, 0, 1, tt.returned/s)
		if got := c.Gone(tt.heard, tt.now, Default); got != tt.want {
			t.Errorf("%+v: %t", tt, got)
		}
	}
}
