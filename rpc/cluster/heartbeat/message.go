package heartbeat

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/lease"
)

// beat is a heartbeat. Its sender's number is in the subject.
type beat struct {
	Server int           `json:"server"`          // whose connection it was sent on
	Sent   time.Duration `json:"sent"`            // by the clock of the sender
	Alone  bool          `json:"alone,omitempty"` // see presence.Contact.Alone
	Bye    bool          `json:"bye,omitempty"`
}

// question asks a node whether it has a session.
type question struct {
	Tenant []byte     `json:"tenant,omitempty"`
	User   []byte     `json:"user,omitempty"`
	ID     session.ID `json:"id"`
	Epoch  uint64     `json:"epoch"`
}

type answer struct {
	NotMine bool `json:"not_mine"`
}

func (q question) ref() session.Ref {
	return session.Ref{Owner: session.Owner{Tenant: string(q.Tenant), User: string(q.User)}, ID: q.ID}
}

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil { // of these types, none has
		panic(err)
	}
	return data
}

func beatSubject(prefix string, node string) string { return prefix + ".hb." + node }
func askSubject(prefix string, node lease.Node) string {
	return prefix + ".node." + word(node)
}

func word(node lease.Node) string { return strconv.FormatUint(uint64(node), 16) }

// sender is the node of a heartbeat's subject, 0 if it has none.
func sender(subject string) lease.Node {
	n, err := strconv.ParseUint(subject[strings.LastIndexByte(subject, '.')+1:], 16, 64)
	if err != nil {
		return 0
	}
	return lease.Node(n)
}
