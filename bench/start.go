package main

import (
	"errors"
	"time"
)

const ms = float64(time.Millisecond)

// measureStart measures how long a client waits for a program that it starts: for the first answer and for the first delta.
func (b *bench) measureStart(s subject) error {
	data, err := b.data()
	if err != nil {
		return err
	}
	if s.floor {
		return b.started(s, "running", "started", func() (*instance, error) { return b.launch(s, data) })
	}
	if s.peer != nil { // the first start makes files that the second one finds
		launch := func() (*instance, error) { return b.launch(s, data) }
		if err := b.started(s, "", "", launch); err != nil {
			return err
		}
		return b.started(s, "started", "", launch)
	}
	if s.door == "ws" { // the client has no process, so it waits for the connection
		daemon, page, err := b.serve(data)
		if err != nil {
			return err
		}
		err = b.started(s, "running", "", func() (*instance, error) { return connect(page) })
		if err := errors.Join(err, daemon.stop()); err != nil {
			return err
		}
		return b.started(s, "started", "", func() (*instance, error) { return b.launch(s, data) })
	}
	daemon, err := b.daemon(data)
	if err != nil {
		return err
	}
	door := func() (*instance, error) {
		p, err := b.thinkd(data, "stdio")
		if err != nil {
			return nil, err
		}
		return &instance{client: speak(p, native{}), processes: []*process{p}}, nil
	}
	err = b.started(s, "running", "", door)
	if err := errors.Join(err, daemon.stop()); err != nil {
		return err
	}
	return b.started(s, "started", "", door) // the daemon exits soon: see openHouse
}

// connect starts a client of a daemon that serves.
func connect(page string) (*instance, error) {
	w, err := dialWebSocket(page)
	if err != nil {
		return nil, err
	}
	return &instance{client: w.client(), conn: w.conn}, nil
}

// startRows are named after the state of the daemon before the start.
var startRows = map[string]struct {
	name string
	goal goal // of the first delta
}{
	"running": {"daemon running", goal{ratio: 2}},
	"started": {"daemon to be started", goal{ratio: 3}},
}

// started measures one start, for one or two rows.
func (b *bench) started(s subject, row, also string, start func() (*instance, error)) error {
	began := time.Now()
	i, err := start()
	if err != nil {
		return err
	}
	err = i.initialize(i.client)
	answered := time.Since(began)
	var id string
	if err == nil {
		id, err = i.session(i.client, "")
	}
	if err == nil {
		err = i.prompt(i.client, id, order{deltas: 1000, thoughts: 1})
	}
	if err == nil {
		err = i.untilDelta()
	}
	spoken := time.Since(began)
	if err == nil {
		err = i.until(1)
	}
	if err := errors.Join(err, i.end()); err != nil {
		return err
	}
	for _, name := range []string{row, also} {
		if r, ok := startRows[name]; ok {
			b.add("start to first answer, "+r.name, "ms", goal{}, s.name, float64(answered)/ms)
			b.add("start to first delta, "+r.name, "ms", r.goal, s.name, float64(spoken)/ms)
		}
	}
	return nil
}
