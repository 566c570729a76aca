package session

import (
	"cmp"
	"fmt"
)

// Owner is the owner of a session: a user of a tenant. Sessions of different owners have nothing in common. On one machine all sessions
// belong to the [Operator].
//
// Both names are opaque and compared byte by byte. A store keeps names of up to 255 bytes each, with any bytes in them. It may refuse
// to create a session for longer ones.
type Owner struct {
	Tenant string
	User   string
}

// Operator is the owner of all sessions of a daemon that serves one person. It is the zero Owner.
var Operator = Owner{}

func (o Owner) String() string {
	if o == Operator {
		return "the operator"
	}
	return fmt.Sprintf("user %q of tenant %q", o.User, o.Tenant)
}

// Ref names a session among those of all owners.
type Ref struct {
	Owner Owner
	ID    ID
}

// String is the id alone for a session of the operator.
func (r Ref) String() string {
	if r.Owner == Operator {
		return string(r.ID)
	}
	return fmt.Sprintf("%s of %s", r.ID, r.Owner)
}

// Compare orders by id, and then by owner.
func (r Ref) Compare(s Ref) int {
	return cmp.Or(cmp.Compare(r.ID, s.ID), cmp.Compare(r.Owner.Tenant, s.Owner.Tenant), cmp.Compare(r.Owner.User, s.Owner.User))
}
