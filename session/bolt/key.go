package bolt

import (
	"encoding/binary"
	"fmt"

	"github.com/thinkd/thinkd/session"
)

// rowKey names a session in the file: its owner, and its id. All that is kept of a session is under keys that begin with this one or
// have it behind a letter, so a session can only be reached by its owner.
//
//	the operator's  ID
//	all others      0x01, length of tenant, tenant, length of user, user, ID     (lengths as uvarints)
//
// No two sessions have the same key: an operator's id that begins with 0x01 is written like the others. Keys of the operator's
// sessions are those of format 4, which knew no owners.
type rowKey string

// ownedBy is the first byte of a key with the names of an owner. Ids begin with a digit, and numbers below 2^56 with a zero byte.
const ownedBy = 0x01

// ownerKey is what the keys of an owner begin with.
func ownerKey(o session.Owner) []byte {
	if o == session.Operator {
		return nil
	}
	return appendOwner(nil, o)
}

func appendOwner(key []byte, o session.Owner) []byte {
	key = append(key, ownedBy)
	for _, name := range []string{o.Tenant, o.User} {
		key = append(binary.AppendUvarint(key, uint64(len(name))), name...)
	}
	return key
}

// owned makes the key of a word of an owner: the id of a session, or that of a stamp.
func owned(o session.Owner, word string) string {
	if o == session.Operator && (word == "" || word[0] != ownedBy) {
		return word
	}
	return string(append(appendOwner(nil, o), word...))
}

func keyOf(ref session.Ref) rowKey { return rowKey(owned(ref.Owner, string(ref.ID))) }

// splitOwner takes the owner off a key. A key that is damaged is an error.
func splitOwner(key string) (o session.Owner, word string, err error) {
	if key == "" || key[0] != ownedBy {
		return session.Operator, key, nil
	}
	rest := []byte(key[1:])
	for _, name := range []*string{&o.Tenant, &o.User} {
		length, n := binary.Uvarint(rest)
		if n <= 0 || length > uint64(len(rest)-n) {
			return session.Owner{}, "", fmt.Errorf("%w: a key has no owner", session.ErrDamaged)
		}
		*name, rest = string(rest[n:n+int(length)]), rest[n+int(length):]
	}
	return o, string(rest), nil
}

// ref is the session that a key names. A key that is damaged is returned as an id of the operator.
func (k rowKey) ref() session.Ref {
	o, id, err := splitOwner(string(k))
	if err != nil {
		return session.Ref{ID: session.ID(k)}
	}
	return session.Ref{Owner: o, ID: session.ID(id)}
}

func (k rowKey) String() string { return k.ref().String() }

// of is the key of another session of the same owner.
func (k rowKey) of(id session.ID) rowKey {
	return keyOf(session.Ref{Owner: k.ref().Owner, ID: id})
}
