package heartbeat

import (
	"encoding/json"
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
	About  About         `json:"about,omitzero"`
}

// About is what the others may know of a node.
type About struct {
	Name     string `json:"name,omitempty"`
	Link     string `json:"link,omitempty"` // where other nodes connect to it; empty: nowhere
	Draining bool   `json:"draining,omitempty"`
	Turns    int    `json:"turns,omitempty"` // that run
}

// Peer is another node that is present.
type Peer struct {
	Node lease.Node
	About
}

// question asks a node whether it has a session, or, with Take, to claim it. With Taken it notifies the node that another node has claimed the session, and
// there is no answer. With Forget it asks to delete the session if the node has it loaded, or without an ID, to end all that is the owner's at the node.
type question struct {
	Tenant []byte     `json:"tenant,omitempty"`
	User   []byte     `json:"user,omitempty"`
	ID     session.ID `json:"id"`
	Epoch  uint64     `json:"epoch"`
	Take   bool       `json:"take,omitempty"`
	Taken  bool       `json:"taken,omitempty"`
	Forget bool       `json:"forget,omitempty"`
}

type answer struct {
	NotMine bool `json:"not_mine"`
	Taken   bool `json:"taken,omitempty"`

	Forgotten bool   `json:"forgotten,omitempty"`
	Sessions  int    `json:"sessions,omitempty"` // that were deleted
	Error     string `json:"error,omitempty"`    // why nothing more was
}

func questionOf(ref session.Ref, epoch uint64) question {
	return question{Tenant: []byte(ref.Owner.Tenant), User: []byte(ref.Owner.User), ID: ref.ID, Epoch: epoch}
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
	return prefix + ".node." + node.Word()
}
