package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/config"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/session/bolt"
)

// find connects to the daemon that is there, and starts none; nil: there is none. A daemon that is about to end is waited for.
func (o Options) find(ctx context.Context) (*door.Link, error) {
	dir, err := o.Data()
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(ctx, startLimit)
	defer stop()
	for {
		link, err := Greet(ctx, dir)
		switch {
		case err == nil:
			return link, nil
		case nobodyListens(err):
			return nil, nil
		case ctx.Err() != nil:
			return nil, fmt.Errorf("the daemon of %s does not answer: %w", dir, err)
		case !errors.Is(err, door.ErrDaemonGone):
			return nil, err
		}
		wait(ctx, maxPause)
	}
}

// Find connects to the daemon that is there, and starts none; nil: there is none.
func (o Options) Find(ctx context.Context) (*door.Link, error) { return o.find(ctx) }

// Stopped says what [Options.Stop] has ended.
type Stopped struct {
	Running     bool     // there was a daemon
	PID         int      // of the process
	Version     string   // of the daemon
	Interrupted []string // sessions whose turn was interrupted
	Clients     int      // that were connected
}

// Stop ends the daemon of the data directory, and returns when its store is free. It waits until no turn runs, for limit at most;
// then the turns are interrupted. waiting is called once if there is something to wait for. If ctx ends during the
// wait, the daemon goes on.
func (o Options) Stop(ctx context.Context, limit time.Duration, waiting func(turns int)) (Stopped, error) {
	dir, err := o.Data()
	if err != nil {
		return Stopped{}, err
	}
	link, err := o.find(ctx)
	if link == nil || err != nil {
		return Stopped{}, err
	}
	s := Stopped{Running: true, PID: link.Status.PID, Version: link.Status.Version}
	hangUp := context.AfterFunc(ctx, func() { link.Close() })
	if link.Status.Running > 0 && limit > 0 {
		waiting(link.Status.Running)
	}
	stopping, err := link.Stop(limit)
	if refusal, ok := errors.AsType[*conn.Error](err); ok && refusal.Code == conn.CodeMethodNotFound {
		err = fmt.Errorf("the daemon has version %s, which cannot be stopped by this command. End its process: kill %d", s.Version, s.PID)
	}
	if errors.Is(err, door.ErrDaemonGone) && ctx.Err() == nil {
		err = nil // somebody else ended it meanwhile
	}
	if !hangUp() {
		err = context.Cause(ctx)
	}
	if err != nil {
		return s, errors.Join(err, link.Close())
	}
	s.Interrupted, s.Clients = stopping.Interrupted, stopping.Clients
	if err := link.Close(); err != nil {
		return s, err
	}
	ctx, stop := context.WithTimeout(ctx, endTime)
	defer stop()
	for bolt.Owner(dir) == s.PID {
		if wait(ctx, firstPause); ctx.Err() != nil {
			return s, fmt.Errorf("the daemon (process %d) was asked to stop and still runs: %w", s.PID, context.Cause(ctx))
		}
	}
	return s, nil
}

// Report is the state of the daemon of a data directory, and how its config differs from that of this process.
type Report struct {
	Data    string `json:"data"` // the data directory
	Running bool   `json:"running"`

	Version   string        `json:"version,omitempty"`
	PID       int           `json:"pid,omitempty"`
	Started   time.Time     `json:"started,omitzero"`
	Uptime    time.Duration `json:"-"`
	UptimeS   int64         `json:"uptime_s,omitempty"`
	Clients   int           `json:"clients"`  // without this one
	Sessions  []string      `json:"sessions"` // in which a turn runs
	Parked    int           `json:"parked"`   // turns that resume at their time
	Listen    string        `json:"listen,omitempty"`
	Config    string        `json:"config,omitempty"`    // the file of the config in effect; empty: there is none
	Effective []string      `json:"effective,omitempty"` // the keys and the variables that the config in effect is made of

	MyVersion   string   `json:"my_version"`          // of this program
	MyConfig    string   `json:"my_config,omitempty"` // the file that a new daemon would read
	ConfigError string   `json:"config_error,omitempty"`
	Differences []string `json:"differences"` // version, keys and variables that a restart would change
}

// Status reports on the daemon. It starts none.
func (o Options) Status(ctx context.Context) (Report, error) {
	dir, err := o.Data()
	if err != nil {
		return Report{}, err
	}
	r := Report{Data: dir, MyVersion: o.Version, Sessions: []string{}, Differences: []string{}}
	mine, err := o.Config()
	if r.MyConfig = mine.Path; err != nil {
		r.ConfigError = err.Error()
	}
	link, err := o.find(ctx)
	if link == nil || err != nil {
		return r, err
	}
	theirs, err := link.Config()
	if err = errors.Join(err, link.Close()); err != nil {
		return r, err
	}
	s := link.Status
	r.Running, r.Version, r.PID, r.Clients, r.Listen = true, s.Version, s.PID, s.Clients-1, s.Listen
	r.Parked = s.Parked
	r.Sessions = append(r.Sessions, strings.Fields(s.Sessions)...)
	if s.Started > 0 {
		r.Started = time.UnixMilli(s.Started).UTC()
		r.Uptime = max(0, time.Since(r.Started)).Truncate(time.Second)
		r.UptimeS = int64(r.Uptime / time.Second)
	}
	r.Config = theirs.Path
	for _, d := range config.Compare(theirs.Facts, nil) {
		r.Effective = append(r.Effective, d.Name)
	}
	if s.Version != o.Version {
		r.Differences = append(r.Differences, "version")
	}
	if r.ConfigError == "" {
		for _, d := range config.Compare(theirs.Facts, mine.Inputs.Facts) {
			r.Differences = append(r.Differences, d.Name)
		}
	}
	return r, nil
}
