package main

import (
	"errors"
	"time"
)

const (
	us  = float64(time.Microsecond)
	mib = float64(1 << 20)
)

// flowed is the cost of a number of deltas.
type flowed struct {
	deltas int
	took   time.Duration // from the first delta to the end
	cpu    time.Duration
}

func (f flowed) perSecond() float64 { return float64(f.deltas) / f.took.Seconds() }
func (f flowed) cpuEach() float64   { return float64(f.cpu) / us / float64(f.deltas) }

// flow runs one turn in each of the sessions, in parallel, and reads everything.
func (i *instance) flow(sessions []string, o order) (flowed, error) {
	i.reset()
	before, err := i.cpu()
	if err != nil {
		return flowed{}, err
	}
	for _, id := range sessions {
		if err := i.prompt(i.client, id, o); err != nil {
			return flowed{}, err
		}
	}
	if err := i.until(len(sessions)); err != nil {
		return flowed{}, err
	}
	took := time.Since(i.first)
	after, err := i.cpu()
	if err == nil && i.deltas() != len(sessions)*o.deltas {
		err = errors.New("deltas are missing")
	}
	return flowed{i.deltas(), took, after - before}, err
}

// newSessions creates sessions.
func (i *instance) newSessions(n int, model string) ([]string, error) {
	ids := make([]string, n)
	for k := range ids {
		var err error
		if ids[k], err = i.session(i.client, model); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// with runs f with a subject on a new data directory. In each of its sessions, a short turn has ended.
func (b *bench) with(s subject, sessions int, model string, f func(i *instance, ids []string) error) error {
	data, err := b.data()
	if err != nil {
		return err
	}
	i, err := b.start(s, data)
	if err != nil {
		return err
	}
	ids, err := i.newSessions(sessions, model)
	if err == nil {
		_, err = i.flow(ids, order{deltas: 100, thoughts: 1})
	}
	if err == nil {
		err = f(i, ids)
	}
	return errors.Join(err, i.end())
}

// measureLatency measures the delay between the sending of a delta and its reading, at the pace of a model.
func (b *bench) measureLatency(s subject) error {
	const pace = 100
	return b.with(s, 1, "", func(i *instance, ids []string) error {
		i.stamped = true
		f, err := i.flow(ids, order{deltas: b.scale.paced, thoughts: 1, pace: pace})
		if err != nil {
			return err
		}
		late := milliseconds(i.late)
		b.add("latency at 100 deltas/s, p50", "ms", goal{ratio: 1.25}, s.name, quantile(late, 0.5))
		b.add("latency at 100 deltas/s, p99", "ms", goal{ratio: 1, of: "goose"}, s.name, quantile(late, 0.99))
		b.add("latency at 100 deltas/s, p99.9", "ms", goal{}, s.name, quantile(late, 0.999))
		b.add("CPU per delta at 100 deltas/s", "µs", goal{}, s.name, f.cpuEach())
		return nil
	})
}

func milliseconds(list []time.Duration) []float64 {
	out := make([]float64, len(list))
	for i, d := range list {
		out[i] = float64(d) / ms
	}
	return out
}

// measureFlow measures how many deltas a second one session can pass.
func (b *bench) measureFlow(s subject) error {
	return b.with(s, 1, "", func(i *instance, ids []string) error {
		f, err := i.flow(ids, order{deltas: b.deltas(s), thoughts: b.scale.thoughts})
		if err != nil {
			return err
		}
		b.add("deltas/s, one session", "1/s", goal{least: 200_000}, s.name, f.perSecond())
		b.add("CPU per delta, one session", "µs", goal{most: 5}, s.name, f.cpuEach())
		time.Sleep(b.scale.rest)
		held, err := i.memory()
		b.add("memory behind it, at rest", "MiB", goal{}, s.name, held/mib)
		return err
	})
}

// measureMany measures the same for 64 sessions in parallel.
func (b *bench) measureMany(s subject) error {
	const sessions = 64
	return b.with(s, sessions, "", func(i *instance, ids []string) error {
		f, err := i.flow(ids, order{deltas: max(b.deltas(s)*2/sessions, 1), thoughts: 1})
		if err != nil {
			return err
		}
		b.add("deltas/s, 64 sessions", "1/s", goal{share: 0.5}, s.name, f.perSecond())
		b.add("CPU per delta, 64 sessions", "µs", goal{}, s.name, f.cpuEach())
		return nil
	})
}

// measureMemory measures the memory of a program while its sessions are idle.
func (b *bench) measureMemory(s subject) error {
	for _, row := range []struct {
		name     string
		sessions int
		deltas   int // of another turn in each
		goal     goal
	}{{"memory, one session", 1, 0, goal{most: 18}}, {"memory, one session, after a turn of 20,000 deltas", 1, b.scale.deltas / 10, goal{most: 18}},
		{"memory, 64 sessions", 64, 0, goal{most: 40}}} {
		if s.peer != nil && row.deltas > 0 {
			continue
		}
		err := b.with(s, row.sessions, "", func(i *instance, ids []string) error {
			if row.deltas > 0 {
				if _, err := i.flow(ids, order{deltas: row.deltas, thoughts: 1}); err != nil {
					return err
				}
			}
			time.Sleep(b.scale.rest)
			held, err := i.memory()
			b.add(row.name, "MiB", row.goal, s.name, held/mib)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// measureAPI measures the flow over one wire API.
func (b *bench) measureAPI(t *table, a api) error {
	return b.with(stdio, 1, a.model, func(i *instance, ids []string) error {
		f, err := i.flow(ids, order{deltas: b.scale.deltas / 4, thoughts: 1})
		if err != nil {
			return err
		}
		t.add("deltas/s", "1/s", goal{ofBest: 1.5, higher: true}, a.name, f.perSecond())
		t.add("CPU per delta", "µs", goal{ofBest: 1.5}, a.name, f.cpuEach())
		return nil
	})
}

// warm runs everything once: the upstream records its streams from the daemon's requests, and the system reads the programs
// from the disk.
func (b *bench) warm() error {
	var errs []error
	for _, thoughts := range []int{1, b.scale.thoughts} {
		for _, a := range apis {
			if thoughts > 1 && a != apis[0] {
				continue
			}
			errs = append(errs, b.with(stdio, 1, a.model, func(i *instance, ids []string) error {
				_, err := i.flow(ids, order{deltas: 100, thoughts: thoughts})
				return err
			}))
		}
	}
	return errors.Join(errs...)
}
