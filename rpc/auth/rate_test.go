package auth

import (
	"fmt"
	"testing"
	"time"

	"github.com/thinkd/thinkd/session"
)

// A user has a number of requests in a minute, whatever others do. The operator has any number.
func TestRates(t *testing.T) {
	now := time.Unix(1e9, 0)
	r := NewRates(func(o session.Owner) int { return map[string]int{"ann": 60, "bob": 1, "": 1}[o.User] })
	r.now = func() time.Time { return now }
	ann, bob := session.Owner{User: "ann"}, session.Owner{User: "bob"}
	take := func(o session.Owner) (n int) {
		for n < 1000 {
			if _, ok := r.Take(o); !ok {
				return n
			}
			n++
		}
		return n
	}
	if a, b, c, d := take(ann), take(bob), take(session.Owner{User: "eve"}), take(session.Operator); a != 60 || b != 1 || c != 1000 || d != 1000 {
		t.Errorf("in a moment: %d, %d, %d, %d", a, b, c, d)
	}
	if resets, _ := r.Take(ann); !resets.Equal(now.Add(time.Second)) {
		t.Errorf("it says %v", resets.Sub(now))
	}
	now = now.Add(time.Second)
	if n := take(ann); n != 1 {
		t.Errorf("%d a second later", n)
	}
	now = now.Add(time.Hour)
	if n := take(ann); n != 60 {
		t.Errorf("%d an hour later", n)
	}
}

// Users who went away are forgotten.
func TestRatesAreBounded(t *testing.T) {
	now := time.Unix(1e9, 0)
	r := NewRates(func(session.Owner) int { return 60 })
	r.now = func() time.Time { return now }
	for i := range 3 * maxRates {
		r.Take(session.Owner{User: fmt.Sprint(i)})
		now = now.Add(time.Second)
	}
	if n := len(r.full); n > maxRates {
		t.Errorf("%d users are remembered", n)
	}
}
