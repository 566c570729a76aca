package archive

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/thinkd/thinkd/session/jet"
)

// Run copies until ctx ends, and then writes what it has. It returns an error if a stream cannot be copied any more. The other streams are copied on.
func (f *Follower) Run(ctx context.Context) error {
	streams, err := jet.FindStreams(ctx, f.Link, f.Prefix)
	if ctx.Err() != nil { // before the servers answered: nothing was read
		return nil
	}
	if err != nil {
		return err
	}
	tails, err := f.tails(streams)
	if err != nil {
		return err
	}
	if err := f.belongs(streams.ID); err != nil {
		return err
	}
	stop, err := f.has.Serve(f.Asked, f.Prefix)
	if err != nil {
		return err
	}
	errs := make([]error, len(tails))
	var running sync.WaitGroup
	cleaning, stopCleaning := context.WithCancel(ctx)
	defer stopCleaning()
	for i, t := range tails {
		running.Go(func() { // ends with ctx
			if errs[i] = t.run(ctx); errs[i] != nil {
				stopCleaning() // what is left is not touched any more
				f.Log.Error("A stream is not copied any more", "stream", t.stream, "error", errs[i])
			}
		})
	}
	running.Go(func() { f.cleanDaily(cleaning, tails) }) // ends with ctx
	running.Wait()
	return errors.Join(append(errs, stop())...)
}

// tails opens the copies of all streams, those with logs first.
func (f *Follower) tails(streams jet.Streams) (list []*tail, err error) {
	if f.Keep == 0 {
		f.Keep = DefaultKeep
	}
	for _, stream := range append(streams.Logs(), streams.State(), streams.Made(), streams.Tables()) {
		t := f.tail(streams, stream)
		if err := t.open(); err != nil {
			return nil, fmt.Errorf("stream %s: %w", stream, err)
		}
		list = append(list, t)
	}
	return list, nil
}
