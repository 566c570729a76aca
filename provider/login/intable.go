package login

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/thinkd/thinkd/provider/durable"
)

// inTable keeps each entry in a row of a table that several nodes share.
//
// At some vendors a refresh token works once, and each renewal returns the next one. Two nodes must not use the same token. So a node that
// renews a login writes a claim into the row, uses the token, and stores the new one. The other nodes wait for that. No decision depends on the
// clocks of two nodes: a node gives a claim claimTime from when it sees it first. After that the claim's node is dead or cut off, and may have used the
// token. Nobody tries the token a second time, because a vendor may then end the whole login: it is void until somebody logs in.
type inTable struct {
	durable.Table
	version *uint64 // of the rows that Keys has; nil before the first

	mu   sync.Mutex
	seen map[keyOf]sight // claims of other nodes
}

// sight is a claim, and when this node saw it first.
type sight struct {
	claim string
	at    time.Time
}

const (
	claimTime = 30 * time.Second
	useTime   = 20 * time.Second // for the exchange under a claim
)

// OpenTable returns the keys that several nodes share. Changes at one node apply at the others within a second. The texts of the table must be encrypted.
func OpenTable(table durable.Table) (*Keys, error) {
	rows, _ := table.Rows()
	for row, text := range rows {
		if _, _, err := readRow(row, text); err != nil {
			return nil, fmt.Errorf("%s: %w", table.Name(), err)
		}
	}
	return &Keys{kept: &inTable{Table: table, seen: make(map[keyOf]sight)}}, nil
}

// row is the key of a row.
func (a keyOf) row() string {
	text, _ := json.Marshal([]string{a.Tenant, a.User, a.Provider, a.Name}) // of strings: never fails
	return string(text)
}

// errRow does not quote the text, which may have a key.
var errRow = errors.New("is not as this build writes it")

func readRow(row string, text []byte) (of keyOf, e entry, err error) {
	var parts []string
	if json.Unmarshal([]byte(row), &parts) != nil || len(parts) != 4 {
		return of, e, fmt.Errorf("the row %q %w", row, errRow)
	}
	of = keyOf{Holder{parts[0], parts[1]}, parts[2], parts[3]}
	if text != nil && json.Unmarshal(text, &e) != nil {
		return of, e, fmt.Errorf("the key of %s %w", of.Provider, errRow)
	}
	return of, e, nil
}

// newest leaves out rows that it cannot read.
func (t *inTable) newest(k *Keys) {
	if t.version != nil && *t.version == t.Version() {
		return
	}
	rows, version := t.Rows()
	all := make(map[keyOf]entry, len(rows))
	for row, text := range rows {
		if of, e, err := readRow(row, text); err == nil {
			all[of] = e
		}
	}
	t.version, k.all = &version, all
}

func (t *inTable) change(_ *Keys, of []keyOf, to func(map[keyOf]entry)) error {
	for _, one := range of {
		_, err := t.put(one, func(old entry) (entry, error) {
			next := map[keyOf]entry{}
			if old != (entry{}) {
				next[one] = old
			}
			to(next)
			return next[one], nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// put changes one entry; the zero entry is none. It returns the entry that is there afterwards.
func (t *inTable) put(of keyOf, to func(old entry) (entry, error)) (now entry, err error) {
	var refused error
	err = t.Change(context.Background(), of.row(), func(text []byte) ([]byte, error) { // which bounds its time
		var old entry
		if _, old, refused = readRow(of.row(), text); refused != nil {
			return nil, refused
		}
		if now, refused = to(old); refused != nil || now == (entry{}) {
			return nil, refused
		}
		return json.Marshal(now)
	})
	if err != nil && refused == nil {
		err = fmt.Errorf("%w: %w", ErrNotKept, err)
	}
	return now, err
}

// plain is the entry without what is said about its renewal.
func (e entry) plain() entry {
	e.Claim, e.Void = "", false
	return e
}

// renew implements [keeper].
func (t *inTable) renew(ctx context.Context, k *Keys, of keyOf, old Grant, use func(context.Context) (Grant, error)) (Grant, error) {
	claim := rand.Text()
	for {
		changed := t.Changed()
		e, err := t.claim(of, old, claim)
		switch {
		case err != nil:
			return old, err
		case e.plain() != entryOf(old):
			return e.grant(), nil
		case e.Claim == claim:
			return t.use(ctx, k, of, old, claim, use)
		}
		if err := t.wait(ctx, of, e.Claim, changed); err != nil {
			return old, err
		}
	}
}

// claim puts a claim into the row, unless it has another one, or another grant. It returns what the row has afterwards.
func (t *inTable) claim(of keyOf, old Grant, claim string) (entry, error) {
	return t.put(of, func(e entry) (entry, error) {
		switch {
		case e.plain() != entryOf(old):
		case e.Void:
			return e, ErrUsedUp
		case e.Claim == "":
			e.Claim = claim
		}
		return e, nil
	})
}

// use uses the grant, and keeps the next one.
func (t *inTable) use(ctx context.Context, k *Keys, of keyOf, old Grant, claim string, use func(context.Context) (Grant, error)) (Grant, error) {
	bound, cancel := context.WithTimeout(ctx, useTime)
	defer cancel()
	next, failed := use(bound)
	e, err := t.put(of, func(e entry) (entry, error) {
		switch {
		case e.Claim != claim: // somebody has logged in or out
			return e, nil
		case failed != nil:
			return e.plain(), nil
		}
		return entryOf(next), nil
	})
	switch {
	case failed != nil: // if the claim stays, the others do not try the token again
		return old, errors.Join(failed, err)
	case err != nil:
		k.override(of, entryOf(next))
		return next, err
	}
	return e.grant(), nil
}

// wait returns when a row has changed. If the claim of another node stays for claimTime, it makes the login void.
func (t *inTable) wait(ctx context.Context, of keyOf, claim string, changed <-chan struct{}) error {
	t.mu.Lock()
	if t.seen[of].claim != claim {
		t.seen[of] = sight{claim, time.Now()}
	}
	late := time.NewTimer(claimTime - time.Since(t.seen[of].at))
	t.mu.Unlock()
	defer late.Stop()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-late.C:
	}
	_, err := t.put(of, func(e entry) (entry, error) {
		e.Void = e.Void || e.Claim == claim
		return e, nil
	})
	return err
}
