package jet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/thinkd/thinkd/session"
)

// This file is for those who copy whole streams, and put them back. See package archive.

// Message is a stored message.
type Message struct {
	Seq     uint64
	Time    time.Time // when it was stored, by the clock of a server
	Subject string
	Head    string // of a message of a log
	TTL     string // of a tombstone
	Data    []byte
}

// Streams are those of a store that are worth a copy: all but the growth of open blocks.
type Streams struct {
	Prefix string
	Shards int
	ID     string // of the store; it gets another one when it is restored. Empty: only older builds have opened it
}

// FindStreams reads how a store was made.
func FindStreams(ctx context.Context, link Link, prefix string) (s Streams, err error) {
	if !prefixForm().MatchString(prefix) {
		return s, fmt.Errorf("the prefix %q: a prefix has 1 to 32 letters, digits, - and _", prefix)
	}
	n := names{prefix: prefix}
	m, ok, err := api{link}.last(ctx, n.state(), n.all("format"))
	if err == nil && !ok {
		err = fmt.Errorf("there is no store with the prefix %s", prefix)
	}
	if err != nil {
		return s, err
	}
	f, err := formatOf(m.data)
	return Streams{prefix, f.Shards, f.ID}, err
}

// Logs are the streams with logs.
func (s Streams) Logs() (list []string) {
	for k := range s.Shards {
		list = append(list, names{prefix: s.Prefix}.logStream(k))
	}
	return list
}

// State is the stream with values, of which the last message of each subject counts.
func (s Streams) State() string { return names{prefix: s.Prefix}.state() }

// Made is the stream with stamps.
func (s Streams) Made() string { return names{prefix: s.Prefix}.made() }

// Tables is the stream with the rows of tables, of which the last message of each subject counts.
func (s Streams) Tables() string { return names{prefix: s.Prefix}.tables() }

// FormatOf takes the number of shards and the id of the store from a message of the stream with values. ok is false if it is not the one that has them.
func (s Streams) FormatOf(m Message) (shards int, id string, ok bool, err error) {
	if m.Subject != (names{prefix: s.Prefix}).all("format") {
		return 0, "", false, nil
	}
	f, err := formatOf(m.Data)
	return f.Shards, f.ID, true, err
}

// Filler is a subject in a stream with logs that no log has.
func Filler(logStream string) string {
	prefix, shard, _ := strings.Cut(logStream, "_LOG_")
	return fmt.Sprintf("%s.log.%s.filler", prefix, shard)
}

// ReadStream reads messages of a stream at any replica, in order, up to about so many bytes. A replica may be behind, so the list may be shorter than the
// stream. Another try asks another server.
func ReadStream(ctx context.Context, link Link, try int, stream string, from uint64, bytes int) (list []Message, err error) {
	data, err := json.Marshal(struct {
		Seq   uint64 `json:"seq"`
		Next  string `json:"next_by_subj"`
		Batch int    `json:"batch"`
		Bytes int    `json:"max_bytes"`
	}{from, ">", pageMessages, bytes})
	if err != nil {
		return nil, err
	}
	answers, err := link.Collect(ctx, try, &nats.Msg{Subject: "$JS.API.DIRECT.GET." + stream, Data: data})
	if err != nil {
		return nil, err
	}
	for _, a := range answers {
		switch status := a.Header.Get("Status"); status {
		case "":
			m, err := readMessage(a)
			if err != nil {
				return nil, err
			}
			list = append(list, m)
		case "204", "404":
			return list, nil
		default:
			return nil, fmt.Errorf("stream %s: status %s", stream, status)
		}
	}
	return list, nil
}

func readMessage(a *nats.Msg) (m Message, err error) {
	m = Message{Subject: a.Header.Get("Nats-Subject"), Head: a.Header.Get(headName), TTL: a.Header.Get("Nats-TTL"), Data: a.Data}
	if m.Seq, err = strconv.ParseUint(a.Header.Get("Nats-Sequence"), 10, 64); err != nil {
		return m, err
	}
	m.Time, err = time.Parse(time.RFC3339Nano, a.Header.Get("Nats-Time-Stamp"))
	return m, err
}

// SetHeader sets what the message had in its header, to store it again.
func (m Message) SetHeader(h nats.Header) {
	if m.Head != "" {
		h.Set(headName, m.Head)
	}
	if m.TTL != "" {
		h.Set("Nats-TTL", m.TTL)
	}
}

// Acknowledged is the sequence that an answer to a publication has.
func Acknowledged(answer *nats.Msg) (seq uint64, err error) {
	if status := answer.Header.Get("Status"); status != "" {
		return 0, fmt.Errorf("status %s", status)
	}
	var ack struct {
		Error *apiError `json:"error"`
		Seq   uint64    `json:"seq"`
	}
	if err := json.Unmarshal(answer.Data, &ack); err != nil {
		return 0, err
	}
	if ack.Error != nil {
		return 0, ack.Error
	}
	return ack.Seq, nil
}

// ReadMessage reads one message by its sequence; ok is false if it is not there.
func ReadMessage(ctx context.Context, link Link, stream string, seq uint64) (m Message, ok bool, err error) {
	err = retry(ctx, func(try int) error {
		list, err := ReadStream(ctx, link, try, stream, seq, 1)
		if ok = err == nil && len(list) > 0 && list[0].Seq == seq; ok {
			m = list[0]
		}
		return err
	})
	return m, ok, err
}

// LastSeq is the sequence of the last message that a stream ever had. ok is false if there is no such stream.
func LastSeq(ctx context.Context, link Link, stream string) (seq uint64, ok bool, err error) {
	var info struct {
		State struct {
			Last uint64 `json:"last_seq"`
		} `json:"state"`
	}
	err = retry(ctx, func(try int) error {
		err := api{link}.call(ctx, try, "STREAM.INFO."+stream, struct{}{}, &info)
		if failed := (*apiError)(nil); errors.As(err, &failed) && failed.ErrCode == errNoStream {
			ok = false
			return nil
		}
		ok = err == nil
		return err
	})
	return info.State.Last, ok, err
}

// StreamTime is the time by the clock of the server that leads a stream; zero: an old server, which does not say.
func StreamTime(ctx context.Context, link Link, stream string) (time.Time, error) {
	var info struct {
		Time time.Time `json:"ts"`
	}
	err := retry(ctx, func(try int) error { return api{link}.call(ctx, try, "STREAM.INFO."+stream, struct{}{}, &info) })
	return info.Time, err
}

// Purge removes the messages of a subject.
func Purge(ctx context.Context, link Link, stream, subject string) error {
	return api{link}.purge(ctx, stream, subject, 0)
}

// Value is what the subject of a value says.
type Value struct {
	Owner string // the ids of the tenant and the user
	kind  string
	Key   string
}

// ValueOf reads the subject of a value of an owner; ok is false for other values.
func ValueOf(subject string) (v Value, ok bool) {
	tokens := strings.Split(subject, ".")
	if len(tokens) != 8 || tokens[1] != "state" {
		return v, false
	}
	return Value{tokens[2] + "." + tokens[3], tokens[6], tokens[7]}, true
}

// Forgets reports whether the value says that all values of its owner before it are gone.
func (v Value) Forgets() bool { return v.kind == kindForgotten }

// Marks is the session whose marks the value has, or "".
func (v Value) Marks() session.ID { return v.of(kindMarks) }

// Account is the session whose account the value is, or "".
func (v Value) Account() session.ID { return v.of(kindSession) }

func (v Value) of(kind string) session.ID {
	if v.kind != kind {
		return ""
	}
	return session.ID(v.Key)
}

// DeletedAccount reports whether an account is that of a deleted session, and so has nothing of its content.
func DeletedAccount(data []byte) (bool, error) {
	var r record
	err := json.Unmarshal(data, &r)
	return r.Deleted, err
}
