package jet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/lease"
)

// Audit is the stream with the records of requests of all nodes. A message has whole lines of one file of a node: the files are the truth, and the stream
// has copies of them. A message is stored only behind the last one of its file, so that a part of a file that is sent twice is stored once.
//
// The stream denies that messages are deleted or purged. A message goes when it is older than MaxAge of the stream, which an operator may set. Audit is
// safe for concurrent use.
type Audit struct {
	api
	names
}

// AuditOptions are those of [OpenAudit]. They apply to a stream that is made; one that is there stays as it is.
type AuditOptions struct {
	Prefix   string // of the store
	Replicas int
	MaxAge   time.Duration // of records; 0: they stay
}

// AuditMessage is a part of the file of a day.
type AuditMessage struct {
	Seq      uint64 // of the stream; Append does not read it
	Day      session.Day
	Dir      string // the id of the directory with the file; see [NewAuditDir]
	Node     string // whose directory it is, for people
	From, To int64  // the bytes of the file
	Lines    []byte // those bytes, or nothing if they have no record
	Damaged  bool   // somebody else has written the message: only Seq is known
}

// AuditBytes is the longest Lines of a message.
const AuditBytes = partSize

// NewAuditDir mints the id of a directory.
func NewAuditDir() string { return newPerson() }

// ValidAuditDir reports whether a text is such an id.
func ValidAuditDir(id string) bool { return personForm().MatchString(id) }

// anyDir stands for all directories.
const anyDir = "*"

// OpenAudit makes the stream if it is not there.
func OpenAudit(ctx context.Context, link Link, opt AuditOptions) (*Audit, error) {
	if !prefixForm().MatchString(opt.Prefix) {
		return nil, fmt.Errorf("the prefix %q: a prefix has 1 to 32 letters, digits, - and _", opt.Prefix)
	}
	a := &Audit{api{link}, names{prefix: opt.Prefix}}
	err := a.create(ctx, stream{Name: a.audit(), Subjects: []string{a.prefix + ".audit.>"}, Storage: "file", Replicas: opt.Replicas, MaxBytes: -1, MaxAge: opt.MaxAge,
		PerSubject: -1, Discard: "new", DenyDelete: true, DenyPurge: true})
	if err != nil {
		return nil, fmt.Errorf("the audit of store %s: %w", opt.Prefix, err)
	}
	return a, nil
}

// auditHead is the header of a message.
type auditHead struct {
	Node string `json:"node"`
	From int64  `json:"from"`
	To   int64  `json:"to"`
}

// Append makes one try to store a message, behind the one with the sequence after, which is the last one of its day and directory; 0: there is none. After
// an error it is not known whether the message was stored, and [Audit.Last] says so. Another try takes another connection.
func (a *Audit) Append(ctx context.Context, try int, m AuditMessage, after uint64) (seq uint64, err error) {
	if len(m.Lines) > AuditBytes || !ValidAuditDir(m.Dir) || !validDay(m.Day) {
		return 0, fmt.Errorf("a part of the audit of %q in %q with %d bytes cannot be stored", m.Day, m.Dir, len(m.Lines))
	}
	head, err := json.Marshal(auditHead{m.Node, m.From, m.To})
	if err != nil {
		return 0, err
	}
	answer, seq, full := a.publish(ctx, try, a.audited(m.Day, m.Dir), write{after: &after, head: string(head)}, m.Lines)
	switch {
	case answer == lease.Stored:
		return seq, nil
	case full:
		return 0, fmt.Errorf("%w: the stream %s has no space left", session.ErrReadOnly, a.audit())
	case answer == lease.Conflict:
		return 0, errors.New("another message was stored before")
	}
	return 0, errors.New("no acknowledgement of the store servers")
}

// Last is the last message of a day and a directory; ok is false if there is none.
func (a *Audit) Last(ctx context.Context, day session.Day, dir string) (m AuditMessage, ok bool, err error) {
	found, ok, err := a.last(ctx, a.audit(), a.audited(day, dir))
	if err != nil || !ok {
		return m, false, err
	}
	return a.parse(found), true, nil
}

// End is the sequence of the last message of a day; 0: there is none.
func (a *Audit) End(ctx context.Context, day session.Day) (uint64, error) {
	m, _, err := a.last(ctx, a.audit(), a.audited(day, anyDir))
	return m.seq, err
}

// auditBatch is how many messages one batch has at most, and bytes.
const (
	auditBatch      = 32
	auditBatchBytes = 2 << 20
)

// Read returns the next messages of a day, from one sequence to another, in order. The caller knows that there is a message at upto. The list is empty if there
// is none any more.
func (a *Audit) Read(ctx context.Context, day session.Day, from, upto uint64) (list []AuditMessage, err error) {
	var found []message
	g := get{Seq: from, Next: a.audited(day, anyDir)}
	err = retry(ctx, func(try int) (err error) {
		many := g
		many.Batch, many.MaxBytes = auditBatch, auditBatchBytes
		if found, _, err = a.batch(ctx, try, a.audit(), many); err != nil || len(found) > 0 {
			return err
		}
		m, ok, err := a.ask(ctx, try, a.audit(), g) // the replica is behind
		if ok {
			found = []message{m}
		}
		return err
	})
	for _, m := range found {
		if m.seq >= from && m.seq <= upto {
			list = append(list, a.parse(m))
		}
	}
	return list, err
}

// parse reads a message.
func (a *Audit) parse(m message) AuditMessage {
	p := AuditMessage{Seq: m.seq, Lines: m.data}
	var head auditHead
	day, dir, ok := a.auditSubject(m.subject)
	if !ok || json.Unmarshal([]byte(m.head), &head) != nil || head.From < 0 || head.To < head.From || int64(len(m.data)) > head.To-head.From {
		return AuditMessage{Seq: m.seq, Damaged: true}
	}
	p.Day, p.Dir, p.Node, p.From, p.To = day, dir, head.Node, head.From, head.To
	return p
}

// auditSubject is what a subject says.
func (a *Audit) auditSubject(subject string) (day session.Day, dir string, ok bool) {
	rest, ok := strings.CutPrefix(subject, a.prefix+".audit.")
	word, dir, two := strings.Cut(rest, ".")
	day = session.Day(word)
	return day, dir, ok && two && validDay(day) && ValidAuditDir(dir)
}

func validDay(day session.Day) bool {
	_, err := time.Parse(time.DateOnly, string(day))
	return err == nil
}

// auditInfo is what the leader says of the stream.
type auditInfo struct {
	Time   time.Time `json:"ts"`
	Total  int       `json:"total"`
	Config struct {
		MaxAge time.Duration `json:"max_age"`
	} `json:"config"`
	State struct {
		Subjects map[string]uint64 `json:"subjects"`
	} `json:"state"`
}

// Oldest is the time before which messages have gone, by the clock of a server; zero: none goes.
func (a *Audit) Oldest(ctx context.Context) (time.Time, error) {
	var info auditInfo
	err := retry(ctx, func(try int) error { return a.call(ctx, try, "STREAM.INFO."+a.audit(), struct{}{}, &info) })
	if err != nil || info.Config.MaxAge == 0 {
		return time.Time{}, err
	}
	return info.Time.Add(-info.Config.MaxAge), nil
}

// Days are those of which the stream has messages, the oldest first.
func (a *Audit) Days(ctx context.Context) ([]session.Day, error) {
	days := make(map[session.Day]struct{})
	ask := struct {
		Filter string `json:"subjects_filter"`
		Offset int    `json:"offset"`
	}{Filter: a.prefix + ".audit.>"}
	for {
		var info auditInfo
		err := retry(ctx, func(try int) error {
			info = auditInfo{}
			return a.call(ctx, try, "STREAM.INFO."+a.audit(), ask, &info)
		})
		if err != nil {
			return nil, err
		}
		for subject := range info.State.Subjects {
			if day, _, ok := a.auditSubject(subject); ok {
				days[day] = struct{}{}
			}
		}
		ask.Offset += len(info.State.Subjects)
		if len(info.State.Subjects) == 0 || ask.Offset >= info.Total {
			return slices.Sorted(maps.Keys(days)), nil
		}
	}
}
