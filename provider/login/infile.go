package login

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/thinkd/thinkd/provider/durable"
)

// inFile keeps all entries in one text.
type inFile struct{ durable.Value }

// namedKey is a further key in the file, and ownedKey the key of a holder.
type namedKey struct {
	Provider string `json:"provider"`
	Name     string `json:"name"`
	Key      string `json:"key"`
}

type ownedKey struct {
	Holder
	Provider string `json:"provider"`
	Key      string `json:"key"`
}

type keptKeys struct {
	Version   int              `json:"version"`
	Providers map[string]entry `json:"providers"`
	Named     []namedKey       `json:"keys,omitempty"`    // sorted
	Owned     []ownedKey       `json:"holders,omitempty"` // sorted
}

const keysVersion = 1

// OpenKeys reads the keys. Two processes must not have the same keys open. A text that is damaged or of a later version is an error,
// which does not quote the text.
func OpenKeys(kept durable.Value) (*Keys, error) {
	k := &Keys{kept: inFile{kept}, all: map[keyOf]entry{}}
	text, err := kept.Get()
	if err != nil {
		return nil, err
	}
	if text == nil {
		return k, nil
	}
	var read keptKeys
	if err := json.Unmarshal(text, &read); err != nil { // the error could quote a key
		return nil, fmt.Errorf("%s is damaged: it is not the JSON that thinkd wrote; restore it, or remove it and give the keys again", kept.Name())
	}
	if read.Version != keysVersion {
		return nil, fmt.Errorf("%s has version %d, and this build knows version %d", kept.Name(), read.Version, keysVersion)
	}
	for id, e := range read.Providers {
		k.all[keyOf{Provider: id}] = e
	}
	for _, further := range read.Named {
		k.all[keyOf{Provider: further.Provider, Name: further.Name}] = entry{Key: further.Key}
	}
	for _, own := range read.Owned {
		k.all[keyOf{Holder: own.Holder, Provider: own.Provider}] = entry{Key: own.Key}
	}
	return k, nil
}

func (inFile) newest(*Keys) {}

func (kept inFile) change(k *Keys, _ []keyOf, to func(map[keyOf]entry)) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	next := maps.Clone(k.all)
	to(next)
	if maps.Equal(next, k.all) {
		return nil
	}
	if err := kept.write(next); err != nil {
		return fmt.Errorf("%s: %w: %w", kept.Name(), ErrNotKept, err)
	}
	k.all = next
	return nil
}

func (kept inFile) write(all map[keyOf]entry) error {
	file := keptKeys{Version: keysVersion, Providers: map[string]entry{}}
	for of, e := range all {
		switch {
		case of.Holder != (Holder{}):
			file.Owned = append(file.Owned, ownedKey{of.Holder, of.Provider, e.Key})
		case of.Name != "":
			file.Named = append(file.Named, namedKey{of.Provider, of.Name, e.Key})
		default:
			file.Providers[of.Provider] = e
		}
	}
	slices.SortFunc(file.Named, func(a, b namedKey) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(file.Owned, func(a, b ownedKey) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.User, b.User), cmp.Compare(a.Provider, b.Provider))
	})
	text, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return err
	}
	return kept.Put(append(text, '\n'))
}

// renew replaces the grant only if it is still the old one, so that a logout meanwhile has its effect.
func (kept inFile) renew(ctx context.Context, k *Keys, of keyOf, old Grant, use func(context.Context) (Grant, error)) (Grant, error) {
	next, err := use(ctx)
	if err != nil {
		return old, err
	}
	next.access = "" // nobody else reads it
	changed := false
	err = kept.change(k, []keyOf{of}, func(all map[keyOf]entry) {
		if changed = all[of] == entryOf(old); changed {
			all[of] = entryOf(next)
		}
	})
	if err != nil && changed {
		k.override(of, entryOf(next))
	}
	if !changed {
		next = k.entry(of).grant()
	}
	return next, err
}
