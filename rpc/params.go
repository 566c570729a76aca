package rpc

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/session"
)

type sessionParams struct {
	Session method.ID[session.ID] `json:"session_id"`
}

// clientID is what a client calls a request, so that it can send it again and have it done once. Any text will do.
type clientID string

const maxClientID = 256 // bytes: it is kept with what the request made

func (c *clientID) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	if len(text) > maxClientID {
		return fmt.Errorf("is longer than %d bytes", maxClientID)
	}
	*c = clientID(text)
	return nil
}

// JSONSchema is what rpc.discover tells of it.
func (clientID) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Description: fmt.Sprintf("any text of at most %d bytes", maxClientID)}
}

// creationStamp is the stamp of a request that creates a session. A store remembers these requests in one list, so the method is a part
// of the id: a fork and a new session may have the same client_id.
func creationStamp(method string, id *clientID, params any) (*session.Stamp, error) {
	stamp, err := stampOf(id, params)
	if stamp != nil {
		stamp.ID = method + " " + stamp.ID
	}
	return stamp, err
}

// stampOf is the stamp of a request, nil if its client gave it no id. The digest is that of the params as they were
// understood, without the id: so the order of members does not count, nor does one that is null or not known. The caller leaves out
// members that are set to their default.
func stampOf(id *clientID, params any) (*session.Stamp, error) {
	if id == nil {
		return nil, nil
	}
	text, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(text)
	return &session.Stamp{ID: string(*id), Digest: digest[:]}, nil
}

// seqNumber is a sequence number as a client gives it. Any JSON number that is whole will do.
type seqNumber struct {
	n     uint64
	given bool
}

func (s *seqNumber) UnmarshalJSON(data []byte) error {
	s.given = true
	if json.Unmarshal(data, &s.n) == nil {
		return nil
	}
	var n float64
	if err := json.Unmarshal(data, &n); err != nil {
		return err
	}
	switch {
	case n != math.Trunc(n):
		return errors.New("must be a whole number")
	case n < 0:
		return errors.New("must be a whole number from 0")
	case n >= 1<<64: // ahead of any session, as the largest is
		s.n = math.MaxUint64
	default:
		s.n = uint64(n)
	}
	return nil
}

// JSONSchema is what rpc.discover tells of it.
func (seqNumber) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "integer", Minimum: new(float64)}
}

// updateName is the name of a notification of a session.
type updateName string

// updateNames lists all names.
func updateNames() (names []string) {
	for _, e := range feed.Events() {
		names = append(names, e.Method())
	}
	return names
}

// JSONSchema is what rpc.discover tells of it.
func (updateName) JSONSchema() *jsonschema.Schema {
	s := method.Kind("string")
	for _, name := range updateNames() {
		s.Enum = append(s.Enum, name)
	}
	return s
}

func (n *updateName) UnmarshalJSON(data []byte) error {
	var word string
	if err := json.Unmarshal(data, &word); err != nil {
		return err
	}
	*n = updateName(word)
	if names := updateNames(); !slices.Contains(names, word) {
		return fmt.Errorf("%q is not one of %s", word, strings.Join(names, ", "))
	}
	return nil
}

// wanted are the notifications of a session that a client gets, by name; nil: all.
type wanted map[string]bool

func wantedOf(names []updateName) wanted {
	if names == nil {
		return nil
	}
	w := make(wanted)
	for _, n := range names {
		w[string(n)] = true
	}
	return w
}

// has reports whether the client gets an event. The end of a session is never left out.
func (w wanted) has(e feed.Event) bool { return w == nil || w[e.Method()] || deleted(e) }

// deleted reports whether an event is the last one of a session.
func deleted(e feed.Event) bool {
	update, ok := e.(feed.SessionUpdate)
	return ok && update.Deleted
}

// of are those of some updates that the client gets; nil if there are no updates.
func (w wanted) of(updates []*feed.Update) []*feed.Update {
	if w == nil || updates == nil {
		return updates
	}
	some := make([]*feed.Update, 0, len(updates))
	for _, u := range updates {
		if w.has(u.Event) {
			some = append(some, u)
		}
	}
	return some
}

// Bounds of pages.
const (
	defaultLimit = 100
	maxLimit     = 1000
)

// pageLimit is how many a client wants at most: absent 100, and never more than 1,000. Any JSON number that is whole will
// do: some languages write 100.0.
type pageLimit struct {
	n     int
	given bool
}

func (l *pageLimit) UnmarshalJSON(data []byte) error {
	var n float64
	if err := json.Unmarshal(data, &n); err != nil {
		return err
	}
	if n != math.Trunc(n) {
		return errors.New("must be a whole number")
	}
	if n < 0 {
		return errors.New("must be a whole number from 0")
	}
	*l = pageLimit{int(min(n, maxLimit)), true}
	return nil
}

// JSONSchema is what rpc.discover tells of it.
func (pageLimit) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "integer", Minimum: new(float64), Default: json.RawMessage(strconv.Itoa(defaultLimit))}
}

// orDefault is the number, which may be 0.
func (l pageLimit) orDefault() int {
	if !l.given {
		return defaultLimit
	}
	return l.n
}

// page is the number for what comes in pages: one of nothing would lead nowhere.
func (l pageLimit) page() (int, error) {
	n := l.orDefault()
	if n == 0 {
		return 0, conn.InvalidParams("limit", "must be at least 1")
	}
	return n, nil
}

// askedLevel is a level as a client asks for it. An unknown word is refused as a level that no model has.
type askedLevel string

const none askedLevel = "none" // another spelling of off

// UnmarshalJSON takes the words of [provider.ParseLevel], and the empty one.
func (l *askedLevel) UnmarshalJSON(data []byte) error {
	var word string
	if err := json.Unmarshal(data, &word); err != nil {
		return err
	}
	*l = askedLevel(word)
	if word == "" {
		return nil
	}
	_, err := provider.ParseLevel(word)
	return err
}

// JSONSchema is what rpc.discover says of it.
func (askedLevel) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{method.Ref("Level"), method.Constant(string(none))}}
}

// askedOptions are options as a client asks for them.
type askedOptions struct{ provider.Options }

// UnmarshalJSON refuses unknown members and invalid values by name.
func (o *askedOptions) UnmarshalJSON(data []byte) (err error) {
	o.Options, err = service.ReadOptions(data)
	return err
}

// plain is what a digest has of o: nil if nothing is asked for, and no member that is set to its default.
func (o *askedOptions) plain() *askedOptions {
	if o.orNil() == nil {
		return nil
	}
	return &askedOptions{o.Options.Plain()}
}

// orNil is nil if nothing is asked for.
func (o *askedOptions) orNil() *provider.Options {
	if o == nil || o.IsZero() {
		return nil
	}
	return &o.Options
}

// level is empty where the client asks for none.
func (l askedLevel) level() provider.Level {
	if l == none {
		return provider.Off
	}
	return provider.Level(l)
}
