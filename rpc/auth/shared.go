package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/durable"
)

// Shared has the records of API tokens that several nodes share. A token that is created or revoked at one of them is so at all of them within a second,
// except at a node that has no contact with the store servers. That node takes no API tokens after some seconds.
type Shared struct{ Table durable.Table }

// Create implements [Records].
func (s Shared) Create(r Record) (Record, provider.Secret, error) {
	r, token, err := Issue(r, time.Now())
	if err != nil {
		return r, token, err
	}
	text, err := json.Marshal(r)
	if err == nil {
		err = s.Table.Change(context.Background(), r.ID, func([]byte) ([]byte, error) { return text, nil }) // which bounds its time
	}
	return r, token, err
}

// Revoke implements [Records].
func (s Shared) Revoke(id string) error {
	if !tokenID().MatchString(id) {
		return ErrNoToken
	}
	there := false
	err := s.Table.Change(context.Background(), id, func(old []byte) ([]byte, error) {
		there = there || old != nil // the first removal may have no answer
		return nil, nil
	})
	if err == nil && !there {
		return ErrNoToken
	}
	return err
}

// List implements [Records].
func (s Shared) List() (list []Record, err error) {
	rows, _ := s.Table.Rows()
	var errs []error
	for id, text := range rows {
		r, err := readRecord(text, id)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: token %s: %w", s.Table.Name(), id, err))
			continue
		}
		list = append(list, r)
	}
	slices.SortFunc(list, byAge)
	return list, errors.Join(errs...)
}

func (s Shared) look(before mark, now time.Time) (at mark, changed bool) {
	at = mark{taken: now, version: s.Table.Version()}
	return at, before.taken.IsZero() || before.version != at.version
}

func (s Shared) fresh() bool { return s.Table.Fresh() }
