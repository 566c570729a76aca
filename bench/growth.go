package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// growths are the sizes that grow while thinkd is used.
func growths() []*growth {
	return []*growth{
		{name: "messages", size: "messages in a session", sizes: steps(10, 10_000, 2), measure: (*bench).growMessages},
		{name: "sessions", size: "sessions in the store", sizes: steps(1, 100_000, 1), measure: (*bench).growSessions},
		{name: "subscribers", size: "subscribers of a session", sizes: steps(1, 1000, 2), measure: (*bench).growSubscribers},
		{name: "thinking", size: "bytes of a thought", sizes: steps(1000, 10_000_000, 2), measure: (*bench).growThinking},
	}
}

// steps returns sizes at equal distances on a logarithmic scale, perDecade of them in each decade.
func steps(from, to float64, perDecade int) (sizes []float64) {
	n := int(math.Round(math.Log10(to/from) * float64(perDecade)))
	for i := range n + 1 {
		sizes = append(sizes, math.Round(from*math.Pow(10, float64(i)/float64(perDecade))))
	}
	return sizes
}

// plots measures all growths, draws them into a directory, and returns a table of their exponents.
func (b *bench) plots(dir string) (string, error) {
	if err := b.warm(); err != nil {
		return "", err
	}
	var out strings.Builder
	out.WriteString("| what grows | cost | at | | at | | exponent | |\n|---|---|---:|---:|---:|---:|---:|---|\n")
	var pictures strings.Builder
	for _, g := range growths() {
		if !b.only.MatchString(g.name) {
			continue
		}
		for _, size := range g.sizes {
			if b.scale.growMost > 0 && size > b.scale.growMost*g.sizes[0] {
				break
			}
			began := time.Now()
			if err := g.measure(b, g, int(size)); err != nil {
				return "", fmt.Errorf("%s %s: %w", grouped(int(size)), g.size, err)
			}
			b.progress(grouped(int(size))+" "+g.size, began)
		}
		for _, c := range g.curves {
			x, y := c.medians()
			last := len(x) - 1
			verdict := "linear or better"
			if c.exponent() > mostLinear {
				verdict = "**worse than linear**"
			}
			fmt.Fprintf(&out, "| %s | %s, %s | %s | %s | %s | %s | %.2f | %s |\n", g.size, c.name, c.unit,
				grouped(int(x[0])), short(y[0]), grouped(int(x[last])), short(y[last]), c.exponent(), verdict)
		}
		file := "growth-" + g.name + ".svg"
		if err := os.WriteFile(filepath.Join(dir, file), g.draw(), 0o644); err != nil {
			return "", err
		}
		fmt.Fprintf(&pictures, "\n![%s](%s)\n", g.size, file)
	}
	return out.String() + pictures.String() + "\n", nil
}

// growMessages measures a long session: loading it from the store, attaching again, and a turn, whose request contains the
// whole session.
func (b *bench) growMessages(g *growth, messages int) error {
	data, ids, err := b.filled(1, max(messages/2, 1)) // a prompt and its answer
	if err != nil {
		return err
	}
	for range b.scale.growAgain {
		i, err := b.start(stdio, data)
		if err != nil {
			return err
		}
		if err := errors.Join(i.resume(g.at(messages), string(ids[0])), i.end()); err != nil {
			return err
		}
	}
	return os.RemoveAll(data)
}

// resume makes a daemon load a session and run another turn of it.
func (i *instance) resume(add recorder, id string) error {
	for _, name := range []string{"attach, not loaded", "attach, loaded"} {
		began := time.Now()
		if _, err := i.call("session/attach", fmt.Sprintf(`{"session_id":%q,"limit":50}`, id)); err != nil {
			return err
		}
		add(name, "ms", float64(time.Since(began))/ms)
	}
	began := time.Now()
	f, err := i.flow([]string{id}, order{deltas: 20, thoughts: 1})
	add("prompt to first delta", "ms", float64(i.first.Sub(began))/ms)
	add("CPU of a turn", "ms", float64(f.cpu)/ms)
	return err
}

// growSessions measures the start of a daemon with a full store, and a client's list of sessions.
func (b *bench) growSessions(g *growth, sessions int) error {
	data, _, err := b.filled(sessions, 1)
	if err != nil {
		return err
	}
	for range b.scale.growAgain {
		took, held, err := b.daemonStart(data)
		if err != nil {
			return err
		}
		g.add("daemon ready", "ms", sessions, float64(took)/ms)
		g.add("memory, daemon and door", "MiB", sessions, held/mib)
	}
	i, err := b.start(stdio, data)
	if err != nil {
		return err
	}
	for range 20 {
		began := time.Now()
		if _, err := i.call("session/list", `{"limit":100}`); err != nil {
			return errors.Join(err, i.end())
		}
		g.add("page of the list", "ms", sessions, float64(time.Since(began))/ms)
	}
	return errors.Join(i.end(), os.RemoveAll(data))
}

// growSubscribers measures a delta that is sent to many subscribers.
func (b *bench) growSubscribers(g *growth, subscribers int) error {
	return b.viewed(g.at(subscribers), subscribers, order{deltas: b.scale.paced, thoughts: 1, pace: 200})
}

// viewed measures a delta that is sent to many subscribers of a new daemon.
func (b *bench) viewed(add recorder, subscribers int, o order) error {
	data, err := b.data()
	if err != nil {
		return err
	}
	daemon, page, err := b.serve(data)
	if err != nil {
		return err
	}
	i, err := connect(page)
	if err != nil {
		return errors.Join(err, daemon.stop())
	}
	i.processes = []*process{daemon}
	return errors.Join(i.followed(add, page, subscribers, o), i.end())
}

// followed runs a turn that other clients follow too.
func (i *instance) followed(add recorder, page string, subscribers int, o order) error {
	id, err := i.session(i.client, "")
	if err != nil {
		return err
	}
	others := make([]*instance, subscribers-1)
	ended := make(chan error, len(others))
	for k := range others {
		if others[k], err = connect(page); err != nil {
			return err
		}
		defer others[k].conn.Close()
		if _, err := others[k].call("session/attach", fmt.Sprintf(`{"session_id":%q}`, id)); err != nil {
			return err
		}
	}
	before, err := i.cpu()
	if err != nil {
		return err
	}
	written, err := i.writes()
	if err != nil {
		return err
	}
	for _, other := range others {
		go func() { ended <- other.until(1) }() // ends with the turn or the connection; awaited below, unless something fails: the channel has room
	}
	f, err := i.flow([]string{id}, o)
	if err != nil {
		return err
	}
	for range others {
		if err := <-ended; err != nil {
			return err
		}
	}
	after, err := i.cpu()
	if err != nil {
		return err
	}
	now, err := i.writes()
	add("CPU of a delta, to all of them", "µs", float64(after-before)/us/float64(f.deltas))
	add("writes of a delta, to all of them", "calls", float64(now-written)/float64(f.deltas))
	return err
}

// growThinking measures a long thought.
func (b *bench) growThinking(g *growth, bytes int) error {
	for range b.scale.growAgain {
		if err := b.thought(g.at(bytes), bytes); err != nil {
			return err
		}
	}
	return nil
}

// thought measures one long thought.
func (b *bench) thought(add recorder, bytes int) error {
	return b.with(stdio, 1, "", func(i *instance, ids []string) error {
		f, err := i.flow(ids, order{deltas: bytes / deltaSize, thoughts: 1})
		if err != nil {
			return err
		}
		time.Sleep(b.scale.rest)
		held, err := i.memory()
		add("CPU of a turn", "ms", float64(f.cpu)/ms)
		add("memory, daemon and door", "MiB", held/mib)
		return err
	})
}
