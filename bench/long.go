package main

import (
	"errors"
	"os"
)

// longGoals are the limits for a long session, by the names of what grows.
var longGoals = map[string]goal{"attach, not loaded": {most: 50}, "prompt to first delta": {most: 15}, "memory, daemon and door": {most: 40}}

// measureLong measures a session of many messages, and one long thought.
func (b *bench) measureLong(s subject) error {
	n := b.scale.long
	data, ids, err := b.filled(1, n/2) // a prompt and its answer
	if err != nil {
		return err
	}
	i, err := b.start(s, data)
	if err != nil {
		return err
	}
	err = i.resume(b.recorder(s, grouped(n)+" messages", longGoals), string(ids[0]))
	if err := errors.Join(err, i.end(), os.RemoveAll(data)); err != nil {
		return err
	}
	return b.thought(b.recorder(s, "a thought of "+grouped(b.scale.thought)+" bytes", longGoals), b.scale.thought)
}

// measureViewers measures a session that many clients follow.
func (b *bench) measureViewers(s subject) error {
	goals := map[string]goal{"CPU of a delta, to all of them": {most: 4000}}
	return b.viewed(b.recorder(s, grouped(b.scale.viewers)+" viewers", goals), b.scale.viewers, order{deltas: b.scale.paced / 2, thoughts: 1, pace: 100})
}

// recorder records figures of a subject in rows whose names begin with what was measured.
func (b *bench) recorder(s subject, of string, goals map[string]goal) recorder {
	return func(name, unit string, value float64) { b.add(of+": "+name, unit, goals[name], s.name, value) }
}
