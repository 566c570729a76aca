package lists

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/thinkd/thinkd/agent/watch"
	"github.com/thinkd/thinkd/session"
)

// message is what a node has to say. Its number is the header numberName. One without a body repeats the last number.
type message struct {
	Changes []change `json:"changes,omitempty"`
	Watched []owner  `json:"watched,omitempty"` // whose lists clients of the sender begin to watch
	Missed  []string `json:"missed,omitempty"`  // the nodes of which the sender missed messages
	End     bool     `json:"end,omitempty"`     // nothing follows: the sender ends
}

const numberName = "Thinkd-Number"

// The bounds of a message. A row is larger than batchBytes only if its session has long names or metadata.
const (
	batchBytes = 64 << 10
	maxBytes   = 512 << 10
	maxOwners  = 1000 // of Watched
)

// change is a watch.Change.
type change struct {
	Kind    string          `json:"kind"`
	Of      owner           `json:"owner"`
	Epoch   uint64          `json:"epoch,omitempty"`
	Needs   watch.Need      `json:"needs,omitempty"`
	Session session.Session `json:"session"`
}

// owner has names with any bytes.
type owner struct {
	Tenant []byte `json:"tenant,omitempty"`
	User   []byte `json:"user,omitempty"`
}

func ownerOf(o session.Owner) owner { return owner{[]byte(o.Tenant), []byte(o.User)} }

func (o owner) owner() session.Owner {
	return session.Owner{Tenant: string(o.Tenant), User: string(o.User)}
}

var kinds = map[watch.Kind]string{watch.Created: "created", watch.Changed: "changed", watch.Removed: "removed"}

func changeOf(c watch.Change) change {
	return change{kinds[c.Kind], ownerOf(c.Of), c.Epoch, c.Needs, c.Session}
}

func (c change) change() (out watch.Change, err error) {
	if err := session.CheckID(string(c.Session.ID)); err != nil {
		return out, fmt.Errorf("session id %w", err)
	}
	for kind, word := range kinds {
		if word == c.Kind {
			return watch.Change{Kind: kind, Session: c.Session, Of: c.Of.owner(), Needs: c.Needs, Epoch: c.Epoch}, nil
		}
	}
	return out, fmt.Errorf("kind of change %q", c.Kind)
}

// empty reports whether there is nothing to say.
func (m message) empty() bool {
	return len(m.Changes) == 0 && len(m.Watched) == 0 && len(m.Missed) == 0 && !m.End
}

var errLarge = errors.New("larger than a message may be")

func (m message) encode() ([]byte, error) {
	data, err := json.Marshal(m)
	if err == nil && len(data) > maxBytes {
		err = errLarge
	}
	return data, err
}

// decode checks what it reads: all changes can be published.
func decode(data []byte) (m message, changes []watch.Change, err error) {
	if len(data) > maxBytes {
		return m, nil, errLarge
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, nil, err
	}
	for _, one := range m.Changes {
		c, err := one.change()
		if err != nil {
			return m, nil, err
		}
		changes = append(changes, c)
	}
	return m, changes, nil
}

func subject(prefix, node string) string { return prefix + ".lists." + node }

// number is that of a message, 0 if it has none.
func number(header string) uint64 {
	n, err := strconv.ParseUint(header, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
