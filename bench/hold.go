package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/thinkd/thinkd/session"
)

// measureStored measures what many stored sessions cost at the start of a daemon, and what idle attached sessions cost.
func (b *bench) measureStored(s subject) error {
	empty, err := b.data()
	if err != nil {
		return err
	}
	if err := b.ready(s, empty, "empty store", goal{}, goal{}); err != nil {
		return err
	}
	for _, n := range []int{b.scale.stored, b.scale.attached} {
		made, err := b.stored(n)
		if err != nil {
			return err
		}
		name := grouped(n) + " stored sessions"
		if err := b.ready(s, made.dir, name, goal{ratio: 1.2, than: "daemon ready, empty store"}, goal{ratio: 1.1, than: "memory, empty store"}); err != nil {
			return err
		}
	}
	made, err := b.stored(b.scale.attached)
	if err != nil {
		return err
	}
	return b.attached(s, made.dir, made.ids)
}

// stored returns a data directory with many sessions. It is made once.
func (b *bench) stored(n int) (full, error) {
	if made, ok := b.full[n]; ok {
		return made, nil
	}
	dir, ids, err := b.filled(n, 1)
	if b.full == nil {
		b.full = make(map[int]full)
	}
	b.full[n] = full{dir, ids}
	return b.full[n], err
}

// ready measures the start of a daemon on a used data directory, and its memory.
func (b *bench) ready(s subject, data, name string, time, memory goal) error {
	first, err := b.daemon(data)
	if err != nil {
		return err
	}
	if err := first.stop(); err != nil {
		return err
	}
	took, held, err := b.daemonStart(data)
	if err != nil {
		return err
	}
	b.add("daemon ready, "+name, "ms", time, s.name, float64(took)/ms)
	b.add("memory, "+name, "MiB", memory, s.name, held/mib)
	return nil
}

// daemonStart measures the start of a daemon, and its memory after a client has requested a page of sessions.
func (h *house) daemonStart(data string) (took time.Duration, held float64, err error) {
	began := time.Now()
	daemon, err := h.daemon(data)
	if err != nil {
		return 0, 0, err
	}
	took = time.Since(began)
	door, err := h.thinkd(data, "stdio")
	if err != nil {
		return 0, 0, errors.Join(err, daemon.stop())
	}
	i := &instance{client: speak(door, native{}), processes: []*process{door, daemon}}
	_, err = i.call("session/list", `{"limit":100}`)
	if err == nil {
		held, err = i.memory()
	}
	return took, held, errors.Join(err, i.end())
}

// attached measures the memory of a daemon whose client follows all sessions.
func (b *bench) attached(s subject, data string, ids []session.ID) error {
	i, err := b.start(s, data)
	if err != nil {
		return err
	}
	begun := time.Now()
	for _, id := range ids {
		if _, err := i.call("session/attach", fmt.Sprintf(`{"session_id":%q,"limit":10}`, id)); err != nil {
			return errors.Join(err, i.end())
		}
	}
	took := time.Since(begun)
	time.Sleep(b.scale.rest)
	held, err := i.memory()
	b.add(fmt.Sprintf("memory, %s attached sessions", grouped(len(ids))), "MiB", goal{most: 250}, s.name, held/mib)
	b.add("attach to one of them", "ms", goal{}, s.name, float64(took)/ms/float64(len(ids)))
	return errors.Join(err, i.end())
}

// measureCrowd measures the cost of many sessions in which models think at their pace. It also measures the latency, because a daemon
// that falls behind does not use more CPU time than there is.
func (b *bench) measureCrowd(s subject) error {
	const pace, more = 50, 10 * time.Second // for slow machines
	n, warm, long := b.scale.crowd, b.scale.crowdWarm, b.scale.crowdLong
	data, ids, err := b.filled(n, 1)
	if err != nil {
		return err
	}
	i, err := b.start(s, data)
	if err != nil {
		return err
	}
	i.stamped = true
	seen, err := i.crowd(ids, order{deltas: pace * int((warm + long + more).Seconds()), thoughts: 1, pace: pace, crowd: n}, warm, long)
	if err == nil {
		name := fmt.Sprintf("%s sessions at %d deltas/s", grouped(n), pace)
		b.add(name, "cores", goal{most: coresOf(runtime.NumCPU())}, s.name, seen.cpu.Seconds()/seen.took.Seconds())
		b.add(name+": delivered", "deltas/s", goal{least: 0.98 * float64(n*pace)}, s.name, seen.perSecond())
		b.add(name+": latency p99", "ms", goal{most: 50}, s.name, quantile(milliseconds(i.late), 0.99))
	}
	for _, p := range i.processes { // kill them: a clean end would wait for all thinking
		err = errors.Join(err, p.kill())
	}
	return errors.Join(err, os.RemoveAll(data))
}

// coresOf is how many of a machine's cores the crowd may use.
func coresOf(cores int) float64 {
	if cores <= 2 {
		return 1.5
	}
	return 2.5
}

// crowd starts a turn in each session. The answers begin together. It measures for a while, after a time to warm up.
func (i *instance) crowd(ids []session.ID, o order, warm, long time.Duration) (flowed, error) {
	answered := 0
	for _, id := range ids {
		if _, err := i.send("session/attach", fmt.Sprintf(`{"session_id":%q,"limit":1}`, id)); err != nil {
			return flowed{}, err
		}
		if _, err := i.send("session/prompt", promptParams(string(id), o)); err != nil {
			return flowed{}, err
		}
		for answered < len(ids)*2 { // so that at most 64 requests are pending
			if i.calls-answered < 64 {
				break
			}
			m, err := i.read()
			if err != nil {
				return flowed{}, err
			}
			if m != nil {
				answered++
			}
		}
	}
	if err := i.untilDelta(); err != nil {
		return flowed{}, err
	}
	for begun := time.Now(); time.Since(begun) < warm; {
		if _, err := i.read(); err != nil {
			return flowed{}, err
		}
	}
	i.reset()
	before, err := i.cpu()
	begun := time.Now()
	for err == nil && time.Since(begun) < long {
		_, err = i.read()
	}
	took := time.Since(begun)
	if err != nil {
		return flowed{}, err
	}
	if i.ends > 0 {
		return flowed{}, errors.New("turns have ended before all was measured")
	}
	after, err := i.cpu()
	return flowed{i.deltas(), took, after - before}, err
}

// measureCrash kills a daemon during thinking, and reads from the next daemon how much was stored: the time between the kill and the
// last delta that is not lost.
func (b *bench) measureCrash(s subject) error {
	data, err := b.data()
	if err != nil {
		return err
	}
	i, err := b.start(s, data)
	if err != nil {
		return err
	}
	i.stamped = true
	id, err := i.session(i.client, "")
	if err == nil {
		err = i.prompt(i.client, id, order{deltas: 10_000, thoughts: 1, pace: 100})
	}
	if err == nil {
		err = i.untilDelta()
	}
	var read []time.Time // when each delta was read
	for begun := time.Now(); err == nil && time.Since(begun) < b.scale.crash; {
		_, err = i.read()
		for len(read) < i.deltas() {
			read = append(read, i.last)
		}
	}
	killed := time.Now()
	for _, p := range i.processes { // the door first, because it would start another daemon
		err = errors.Join(err, p.kill())
	}
	if i.conn != nil {
		i.conn.Close()
	}
	if err != nil {
		return err
	}
	kept, err := b.kept(s, data, id, i.first)
	if err != nil {
		return err
	}
	youngest := i.first
	if n := min(kept, len(read)); n > 0 {
		youngest = read[n-1]
	}
	b.add("thinking kept after kill -9", "%", goal{}, s.name, 100*float64(min(kept, len(read)))/float64(max(len(read), 1)))
	b.add("thinking lost by kill -9", "ms", goal{most: 1000}, s.name, float64(killed.Sub(youngest))/ms)
	return nil
}

// kept returns how many deltas of a killed program's session are stored.
func (b *bench) kept(s subject, data, id string, since time.Time) (int, error) {
	if s.peer != nil {
		return storedStamps(data, since.Add(-time.Second)) // the stamp is older than the reading
	}
	again, err := b.start(stdio, data)
	if err != nil {
		return 0, err
	}
	r, err := again.call("session/history", fmt.Sprintf(`{"session_id":%q}`, id))
	if err := errors.Join(err, again.end()); err != nil {
		return 0, err
	}
	kept := 0
	for _, m := range r.Get("messages").Array() {
		for _, block := range m.Get("content").Array() {
			if block.Get("type").Str == "thinking" {
				kept += len(block.Get("text").Str) / deltaSize
			}
		}
	}
	return kept, nil
}
