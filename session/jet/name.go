package jet

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"regexp"
	"sync"

	"github.com/thinkd/thinkd/session"
)

// Subjects have no names of people in them: servers write subjects to logs, and names may have any bytes. A tenant and a user have random
// ids of 13 characters, and everything else is a ULID, a number or a hash.
//
//	P.log.<shard>.<tenant>.<user>.<session>                     the log of a session
//	P.state.<tenant>.<user>.<b>.<b>.<kind>.<key>                one value; b are buckets by the hash of the key
//	P.ckpt.<tenant>.<user>.<session>.<epoch>.<block>            growth of an open block
//	P.open.<tenant>.<user>.<session>                            a mark
//	P.made.<tenant>.<user>                                      stamps, the newest MaxStamps
//	P.people.<kind>.<hash>, P.all.<name>                        ids of people; values of the whole store
//	P.table.<hash>                                              a row of a table
//	P.audit.<day>.<directory>                                   records of requests
var (
	prefixForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`) })
	personForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z2-7]{13}$`) })
)

var base = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// newPerson mints the id of a tenant or a user.
func newPerson() string {
	var random [9]byte
	rand.Read(random[:])
	return base.EncodeToString(random[:])[:13]
}

// hashed is a token for a text with any bytes in it.
func hashed(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return base.EncodeToString(h.Sum(nil))[:32]
}

// person is an owner, as subjects name it.
type person struct{ tenant, user string }

func (p person) valid() bool {
	return personForm().MatchString(p.tenant) && personForm().MatchString(p.user)
}

func (p person) String() string { return p.tenant + "." + p.user }

// names makes the names of streams and subjects.
type names struct {
	prefix string
	shards int
}

func (n names) shard(id session.ID) int {
	h := fnv.New32a()
	h.Write([]byte(id))
	return int(h.Sum32() % uint32(n.shards))
}

func (n names) logStream(shard int) string { return fmt.Sprintf("%s_LOG_%d", n.prefix, shard) }
func (n names) state() string              { return n.prefix + "_STATE" }
func (n names) ckpt() string               { return n.prefix + "_CKPT" }
func (n names) made() string               { return n.prefix + "_MADE" }
func (n names) open() string               { return n.prefix + "_OPEN" }
func (n names) tables() string             { return n.prefix + "_TABLE" }
func (n names) audit() string              { return n.prefix + "_AUDIT" }

// place is where a log is.
type place struct {
	ref             session.Ref
	stream, subject string
}

func (n names) place(p person, ref session.Ref) place {
	shard := n.shard(ref.ID)
	return place{ref, n.logStream(shard), fmt.Sprintf("%s.log.%d.%s.%s", n.prefix, shard, p, ref.ID)}
}

// The kinds of values of an owner.
const (
	kindSession  = "s" // its record as lists have it, and what it used
	kindMarks    = "r" // who has read how much of it
	kindHold     = "h" // a call that no log has
	kindImported = "i" // lines of an older build
	kindBlocks   = "q" // what each node may spend of the owner's quota
)

func (n names) owners(p person) string { return fmt.Sprintf("%s.state.%s.>", n.prefix, p) }

func (n names) value(p person, kind, key string) string {
	bucket := hashed(key)
	return fmt.Sprintf("%s.state.%s.%s.%s.%s.%s", n.prefix, p, bucket[:1], bucket[1:2], kind, key)
}

func (n names) growth(p person, id session.ID) string {
	return fmt.Sprintf("%s.ckpt.%s.%s", n.prefix, p, id)
}

func (n names) stamps(p person) string { return fmt.Sprintf("%s.made.%s", n.prefix, p) }
func (n names) people(kind, hash string) string {
	return fmt.Sprintf("%s.people.%s.%s", n.prefix, kind, hash)
}
func (n names) row(table, key string) string {
	return fmt.Sprintf("%s.table.%s", n.prefix, hashed(table, key))
}
func (n names) rows() string { return n.prefix + ".table.>" }
func (n names) audited(day session.Day, dir string) string {
	return fmt.Sprintf("%s.audit.%s.%s", n.prefix, day, dir)
}
func (n names) all(name string) string { return fmt.Sprintf("%s.all.%s", n.prefix, name) }

// people knows the ids of owners. An id is given once and stays, also if all of the owner's data is deleted: other nodes may know it. The store
// keeps it under a hash of the names, without them.
type people struct {
	api
	names
	mu    sync.Mutex
	known map[session.Owner]person
}

// maxName is how long the name of a tenant or a user may be, in bytes.
const maxName = 255

// find is the id of an owner; ok is false if it has none, and so has never kept anything.
func (s *people) find(ctx context.Context, owner session.Owner) (p person, ok bool, err error) {
	return s.id(ctx, owner, false)
}

// make is find, and gives an id to an owner that has none.
func (s *people) make(ctx context.Context, owner session.Owner) (person, error) {
	if len(owner.Tenant) > maxName || len(owner.User) > maxName {
		return person{}, fmt.Errorf("%s: a name has more than %d bytes", owner, maxName)
	}
	p, _, err := s.id(ctx, owner, true)
	return p, err
}

func (s *people) id(ctx context.Context, owner session.Owner, mint bool) (p person, ok bool, err error) {
	s.mu.Lock()
	p, ok = s.known[owner]
	s.mu.Unlock()
	if ok {
		return p, true, nil
	}
	for _, part := range []struct {
		into *string
		kind string
		hash string
	}{{&p.tenant, "t", hashed(owner.Tenant)}, {&p.user, "u", hashed(owner.Tenant, owner.User)}} {
		if *part.into, err = s.token(ctx, s.people(part.kind, part.hash), mint); err != nil || *part.into == "" {
			return p, false, err
		}
	}
	if !p.valid() {
		return p, false, fmt.Errorf("%w: %s has the id %s", session.ErrDamaged, owner, p)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) >= maxKnown {
		clear(s.known)
	}
	s.known[owner] = p
	return p, true, nil
}

// maxKnown is how many owners are kept in memory.
const maxKnown = 10_000

// token is what a subject of names has.
func (s *people) token(ctx context.Context, subject string, mint bool) (id string, err error) {
	minted := newPerson()
	_, err = s.cas(ctx, s.state(), subject, func(old message, ok bool) ([]byte, error) {
		if ok {
			return nil, json.Unmarshal(old.data, &id)
		}
		if !mint {
			return nil, nil
		}
		id = minted
		return json.Marshal(minted)
	})
	return id, err
}
