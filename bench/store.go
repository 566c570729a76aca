package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/bolt"
)

// recorded returns the conversation to copy. It is recorded once in a run.
func (b *bench) recorded() (*conversation, error) {
	if b.template == nil {
		var err error
		if b.template, err = b.record(); err != nil {
			return nil, err
		}
	}
	return b.template, nil
}

// record makes a daemon store a short conversation, and reads it from the store.
func (h *house) record() (*conversation, error) {
	data, err := h.data()
	if err != nil {
		return nil, err
	}
	i, err := h.start(stdio, data)
	if err != nil {
		return nil, err
	}
	id, err := i.session(i.client, "")
	if err == nil {
		err = i.prompt(i.client, id, order{deltas: 20, thoughts: 1})
	}
	if err == nil {
		err = i.until(1)
	}
	if err := errors.Join(err, i.end()); err != nil {
		return nil, err
	}
	store, err := bolt.Open(data, bolt.Options{})
	if err != nil {
		return nil, err
	}
	c, kept := &conversation{}, store.For(session.Operator)
	if c.record, err = kept.Get(h.ctx, session.ID(id)); err == nil {
		c.entries, err = kept.Entries(h.ctx, session.ID(id), 0, 1000)
	}
	return c, errors.Join(err, store.Close())
}

// filled returns a new data directory with a number of sessions, and the number of turns in each.
func (b *bench) filled(sessions, turns int) (data string, ids []session.ID, err error) {
	c, err := b.recorded()
	if err != nil {
		return "", nil, err
	}
	if data, err = b.data(); err != nil {
		return "", nil, err
	}
	ids, err = c.keep(b.ctx, data, sessions, turns)
	return data, ids, err
}

// keep stores copies of c with a number of turns each, and returns their ids. It writes many in parallel, so that they share
// commits.
func (c *conversation) keep(ctx context.Context, data string, sessions, turns int) (ids []session.ID, err error) {
	store, err := bolt.Open(data, bolt.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	ids = make([]session.ID, sessions)
	const writers = 256
	failed := make([]error, writers)
	var making sync.WaitGroup
	for w := range writers {
		making.Go(func() {
			for i := w; i < sessions && failed[w] == nil; i += writers {
				ids[i] = session.NewID()
				failed[w] = c.keepOne(ctx, store.For(session.Operator), ids[i], turns)
			}
		})
	}
	making.Wait()
	return ids, errors.Join(failed...)
}

// keepOne stores one session. It appends many turns in one transaction.
func (c *conversation) keepOne(ctx context.Context, kept session.Sessions, id session.ID, turns int) error {
	s := c.record
	s.ID, s.Created, s.Title = id, time.Now().UnixMilli(), ""
	if err := kept.Create(ctx, s); err != nil {
		return err
	}
	log, err := kept.Claim(ctx, id)
	if err != nil {
		return err
	}
	var entries []session.Entry
	for turn := range turns {
		again, err := c.again(turn)
		if err != nil {
			return err
		}
		entries = append(entries, again...)
		if turn == turns-1 || len(entries) > 1000 {
			if _, err := log.Append(ctx, entries...); err != nil {
				return err
			}
			entries = entries[:0]
		}
	}
	return log.Release(ctx)
}

// again returns a copy of the turn with new ids, as the nth turn of a session.
func (c *conversation) again(n int) ([]session.Entry, error) {
	turn := session.NewTurnID()
	messages := make(map[session.MessageID]session.MessageID)
	own := func(id session.MessageID) session.MessageID {
		if messages[id] == "" {
			messages[id] = session.NewMessageID()
		}
		return messages[id]
	}
	entries := make([]session.Entry, 0, len(c.entries))
	for _, e := range c.entries {
		e.Turn = turn
		if e.Seq != 0 {
			e.Seq += uint64(n) * 1000
		}
		switch b := e.Body.(type) {
		case session.Prompt:
			b.Message = own(b.Message)
			e.Body = b
		case session.Sealed:
			b.Message = own(b.Message)
			e.Body = b
		case session.MessageEnd:
			b.Message = own(b.Message)
			e.Body = b
		case session.TurnStart, session.Reserved, session.TurnEnd:
		default:
			return nil, fmt.Errorf("a conversation with an entry of %T", b)
		}
		entries = append(entries, e)
	}
	return entries, nil
}
