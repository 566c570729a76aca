package node

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/jet"
)

// Durability is what a node knows of the promise that an acknowledged append is on disk.
type Durability string

// The values of Durability.
const (
	Verified   Durability = "verified"   // each store server syncs each message before it acknowledges it
	Unverified Durability = "unverified" // a server does not, or does not say, or is not connected
)

// Syncs is what a store server says of its disk.
type Syncs string

// The values of Syncs.
const (
	SyncUnknown Syncs = ""       // it does not say, or was not asked since it started
	SyncAlways  Syncs = "always" // each message, before it is acknowledged
	SyncLate    Syncs = "late"   // at intervals: a power cut loses what was acknowledged
)

const (
	diskTime  = 2 * time.Second  // for an answer of a server about its disk
	diskAgain = 10 * time.Minute // until a server that did not answer is asked again
)

// disks is what the store servers say of their disks. Each start of a server has another id, so a server that was restarted with another config is asked
// again. Only the system account of NATS can ask: see docs/cluster.md.
type disks struct {
	log   *slog.Logger
	conns jet.Conns

	asking sync.Mutex // held while servers are asked

	mu    sync.Mutex
	known []disk // by connection
}

// disk is what one server says.
type disk struct {
	id    string // of this run of the server; empty: none was asked
	name  string
	syncs Syncs
	asked time.Time
}

func newDisks(conns jet.Conns, log *slog.Logger) *disks {
	return &disks{log: log, conns: conns, known: make([]disk, len(conns))}
}

// watch asks servers that were started, until ctx ends.
func (d *disks) watch(ctx context.Context) {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		d.ask(ctx, true)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// ask asks each connected server that was not asked since its start, and returns when all have answered, or after diskTime. With again, it also asks those
// that did not answer diskAgain ago.
func (d *disks) ask(ctx context.Context, again bool) {
	d.asking.Lock()
	defer d.asking.Unlock()
	var asked sync.WaitGroup
	for i, conn := range d.conns {
		id, old := conn.ConnectedServerId(), d.of(i)
		late := again && old.syncs == SyncUnknown && time.Since(old.asked) >= diskAgain
		if id == "" || id == old.id && !late {
			continue
		}
		asked.Go(func() { // ends with its request
			next := disk{id: id, name: conn.ConnectedServerName(), asked: time.Now()}
			var err error
			next.syncs, err = syncsOf(ctx, conn, id)
			if ctx.Err() != nil {
				return
			}
			d.note(i, next)
			d.report(old, next, err)
		})
	}
	asked.Wait()
}

// syncsOf asks a server for the settings of its JetStream.
func syncsOf(ctx context.Context, conn *nats.Conn, id string) (Syncs, error) {
	ctx, cancel := context.WithTimeout(ctx, diskTime)
	defer cancel()
	reply, err := conn.RequestWithContext(ctx, "$SYS.REQ.SERVER."+id+".JSZ", []byte(`{"config":true}`))
	if err != nil {
		return SyncUnknown, err
	}
	var answer struct {
		Data struct {
			Disabled bool `json:"disabled"`
			Config   *struct {
				SyncAlways bool `json:"sync_always"` // false: absent
			} `json:"config"`
		} `json:"data"`
	}
	err = json.Unmarshal(reply.Data, &answer)
	switch {
	case err != nil:
		return SyncUnknown, err
	case answer.Data.Config == nil || answer.Data.Disabled:
		return SyncUnknown, fmt.Errorf("the answer has no settings of JetStream")
	case answer.Data.Config.SyncAlways:
		return SyncAlways, nil
	}
	return SyncLate, nil
}

// report logs what has changed.
func (d *disks) report(old, next disk, err error) {
	switch {
	case next.syncs == SyncLate:
		d.log.Error("a store server does not sync messages before it acknowledges them, so a power cut loses sessions, and no new ones are created: set sync_interval to always in the jetstream block of its config, and restart it", "server", next.name)
	case next.syncs == SyncUnknown && old.id != next.id:
		d.log.Warn("a store server does not say whether it syncs messages before it acknowledges them: let the account of the nodes import $SYS.REQ.SERVER.*.JSZ", "server", next.name, "err", err)
	case next.syncs == SyncAlways:
		d.log.Debug("a store server syncs each message before it acknowledges it", "server", next.name)
	}
}

func (d *disks) of(i int) disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.known[i]
}

func (d *disks) note(i int, one disk) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known[i] = one
}

// now is what is known of the server that a connection has at the moment.
func (d *disks) now(i int) disk {
	if one := d.of(i); one.id != "" && one.id == d.conns[i].ConnectedServerId() {
		return one
	}
	return disk{}
}

// durability is Verified if all servers are connected and sync.
func (d *disks) durability() Durability {
	for i := range d.conns {
		if d.now(i).syncs != SyncAlways {
			return Unverified
		}
	}
	return Verified
}

// creatable is why no session may be created; nil: one may. It waits for a server that was just started.
func (d *disks) creatable(ctx context.Context) error {
	d.ask(ctx, false)
	for i := range d.conns {
		if one := d.now(i); one.syncs == SyncLate {
			return &session.UnsyncedError{Server: one.name}
		}
	}
	return nil
}
