package share

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/session"
)

// Share lets a guest use a session.
type Share struct {
	Ref    session.Ref
	Guest  session.Owner
	Access session.Access
}

// Bounds of the stored data.
const (
	maxGuests = 64   // of one session
	maxShares = 1000 // with one guest
)

// Errors of [Shares.Set].
var (
	ErrOperator = errors.New("sessions of the operator cannot be shared: they may have tools on the machine")
	ErrSelf     = errors.New("the session is this user's own")
	ErrFull     = fmt.Errorf("a session has at most %d guests, and a user at most %d shared sessions", maxGuests, maxShares)
	ErrNotKept  = errors.New("the file, or the store of the cluster, cannot be written")
)

// Shares are all shares of a daemon, or of the nodes of a cluster. It is safe for concurrent use.
type Shares struct {
	kept keeper

	mu  sync.Mutex
	all map[place]Share
	of  map[session.Ref][]session.Owner // the guests of each session, by name; replaced together with all
}

// keeper keeps the shares of a Shares.
type keeper interface {
	// newest makes all what the keeper has. The caller holds mu.
	newest(s *Shares)

	// change changes the shares of the sessions that are named, or of all sessions, and keeps the result. to may be called several times.
	change(s *Shares, of []session.ID, to func(map[place]Share) error) error
}

// place is a session of somebody, as a guest names it.
type place struct {
	guest session.Owner
	id    session.ID
}

// stored is a Share in the file.
type stored struct {
	Tenant  string         `json:"tenant,omitempty"`
	User    string         `json:"user"`
	Session session.ID     `json:"session_id"`
	Guest   string         `json:"guest"`
	Access  session.Access `json:"access"`
}

func (r stored) share() Share {
	return Share{session.Ref{Owner: session.Owner{Tenant: r.Tenant, User: r.User}, ID: r.Session}, session.Owner{Tenant: r.Tenant, User: r.Guest}, r.Access}
}

func (one Share) stored() stored {
	return stored{one.Ref.Owner.Tenant, one.Ref.Owner.User, one.Ref.ID, one.Guest.User, one.Access}
}

// sound reports whether Set could have made the share.
func (one Share) sound() bool {
	return one.Ref.Owner != session.Operator && slices.Contains(one.Access.Words(), string(one.Access))
}

type file struct {
	Version int      `json:"version"`
	Shares  []stored `json:"shares"`
}

const version = 1

// Open reads the shares. A text that is damaged or of a later version is an error.
func Open(kept durable.Value) (*Shares, error) {
	s := &Shares{kept: inFile{kept}, all: make(map[place]Share)}
	text, err := kept.Get()
	if err != nil || text == nil {
		return s, err
	}
	var read file
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, fmt.Errorf("%s is damaged: restore it, or remove it to end all sharing: %w", kept.Name(), err)
	}
	if read.Version != version {
		return nil, fmt.Errorf("%s has version %d, and this build knows version %d", kept.Name(), read.Version, version)
	}
	for _, r := range read.Shares {
		one := r.share()
		if !one.sound() {
			return nil, fmt.Errorf("%s is damaged: it shares session %s in a way that nobody could set", kept.Name(), r.Session)
		}
		s.all[place{one.Guest, r.Session}] = one
	}
	s.of = guestsOf(slices.SortedFunc(maps.Values(s.all), compare))
	return s, nil
}

// guestsOf has the guests of each session, of shares in order.
func guestsOf(all []Share) map[session.Ref][]session.Owner {
	of := make(map[session.Ref][]session.Owner)
	for _, one := range all {
		of[one.Ref] = append(of[one.Ref], one.Guest)
	}
	return of
}

// Guests lists those with whom a session is shared, by name. The list must not be changed. It is With for those who need only the names, and
// costs a look at a map.
func (s *Shares) Guests(ref session.Ref) []session.Owner {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept.newest(s)
	return s.of[ref]
}

// Of returns whose session an id is to a guest, and what the guest may do; ok is false if nobody shares such a session with the guest.
func (s *Shares) Of(guest session.Owner, id session.ID) (one Share, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept.newest(s)
	one, ok = s.all[place{guest, id}]
	return one, ok
}

// Access is Of for those who need only the access.
func (s *Shares) Access(guest session.Owner, id session.ID) (session.Access, bool) {
	one, ok := s.Of(guest, id)
	return one.Access, ok
}

// With lists the guests of a session, by name.
func (s *Shares) With(ref session.Ref) []Share {
	return s.list(func(one Share) bool { return one.Ref == ref })
}

// To lists what is shared with a guest, the oldest session first.
func (s *Shares) To(guest session.Owner) []Share {
	return s.list(func(one Share) bool { return one.Guest == guest })
}

func (s *Shares) list(which func(Share) bool) (list []Share) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept.newest(s)
	for _, one := range s.all {
		if which(one) {
			list = append(list, one)
		}
	}
	slices.SortFunc(list, compare)
	return list
}

func compare(a, b Share) int {
	return cmp.Or(a.Ref.Compare(b.Ref), strings.Compare(a.Guest.User, b.Guest.User))
}

// Set shares a session with a user of its owner's tenant, or changes what the user may do; with an empty access it ends the share. The caller
// has checked that there is such a session. Errors are those of this package; after one, nothing has changed.
func (s *Shares) Set(ref session.Ref, user string, access session.Access) error {
	guest := session.Owner{Tenant: ref.Owner.Tenant, User: user}
	switch {
	case ref.Owner == session.Operator:
		return ErrOperator
	case guest == ref.Owner:
		return ErrSelf
	}
	return s.kept.change(s, []session.ID{ref.ID}, func(next map[place]Share) error {
		at := place{guest, ref.ID}
		old, there := next[at]
		switch {
		case there && old.Ref != ref: // two owners have a session with this id: the guest keeps the one that came first
			return ErrFull
		case access == "":
			delete(next, at)
			return nil
		case !there && !roomFor(next, ref, guest):
			return ErrFull
		}
		next[at] = Share{ref, guest, access}
		return nil
	})
}

// roomFor reports whether one more share fits.
func roomFor(all map[place]Share, ref session.Ref, guest session.Owner) bool {
	guests, shares := 0, 0
	for _, one := range all {
		if one.Ref == ref {
			guests++
		}
		if one.Guest == guest {
			shares++
		}
	}
	return guests < maxGuests && shares < maxShares
}

// Forget ends the shares of a session that was deleted.
func (s *Shares) Forget(ref session.Ref) error {
	return s.remove([]session.ID{ref.ID}, func(one Share) bool { return one.Ref == ref })
}

// ForgetUser ends all shares by a user and with one.
func (s *Shares) ForgetUser(o session.Owner) error {
	return s.remove(nil, func(one Share) bool { return one.Ref.Owner == o || one.Guest == o })
}

// remove ends shares of the sessions that are named, or of all sessions.
func (s *Shares) remove(of []session.ID, which func(Share) bool) error {
	return s.kept.change(s, of, func(next map[place]Share) error {
		maps.DeleteFunc(next, func(_ place, one Share) bool { return which(one) })
		return nil
	})
}

// inFile keeps all shares in one text.
type inFile struct{ durable.Value }

func (inFile) newest(*Shares) {}

func (kept inFile) change(s *Shares, _ []session.ID, to func(map[place]Share) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := maps.Clone(s.all)
	if err := to(next); err != nil {
		return err
	}
	if maps.Equal(next, s.all) {
		return nil
	}
	write := file{Version: version, Shares: []stored{}}
	sorted := slices.SortedFunc(maps.Values(next), compare)
	for _, one := range sorted {
		write.Shares = append(write.Shares, one.stored())
	}
	text, err := json.MarshalIndent(write, "", "  ")
	if err == nil {
		err = kept.Put(append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %w", kept.Name(), ErrNotKept, err)
	}
	s.all, s.of = next, guestsOf(sorted)
	return nil
}
